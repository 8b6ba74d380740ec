"""What lasted from when to when, one to a line."""

from overnight.reporting.drawing.axis import scale_of, time_axis
from overnight.reporting.drawing.canvas import Canvas, fitted, text_width
from overnight.reporting.parts import Timeline

_WIDEST_LABEL, _ROOM = 320, 14


def draw_timeline(drawing: Timeline, canvas: Canvas) -> None:
    label_room = min(_WIDEST_LABEL, max((text_width(span.label) for span in drawing.spans), default=0)) + _ROOM
    begin, end = (2.0, canvas.width - 2.0) if canvas.narrow else (label_room, canvas.width - _ROOM)
    scale = scale_of((at for span in drawing.spans for at in (span.begin, span.end)), begin, end)
    step = 32.0 if canvas.narrow else 20.0
    bottom = 6 + step * len(drawing.spans)
    time_axis(canvas, scale, 6, bottom)
    for place, span in enumerate(drawing.spans):
        y = 6 + step * place
        x, until = scale(span.begin), scale(span.end)
        if canvas.narrow:
            canvas.text(begin, y + 13, fitted(span.label, end - begin), full=span.label)
            canvas.box(x, y + 17, max(until - x, 2.0), 10, f"bar {span.tone}", title=span.note)
        else:
            label = fitted(span.label, label_room - _ROOM)
            canvas.text(begin - _ROOM, y + step / 2 + 4, label, "label", "end", full=span.label)
            canvas.box(x, y + 4, max(until - x, 2.0), step - 8, f"bar {span.tone}", title=span.note)
