"""Bars of parts that add up."""

from collections.abc import Sequence

from overnight.reporting.drawing.axis import Scale, bottom_axis
from overnight.reporting.drawing.canvas import Canvas, fitted, text_width
from overnight.reporting.parts import Bar, Bars

_WIDEST_LABEL, _ROOM, _MOST = 240, 14, 60


def draw_bars(drawing: Bars, canvas: Canvas) -> None:
    rows = list(drawing.rows)[:_MOST]
    note_room = max((text_width(row.note) for row in rows), default=0.0)
    note_room += 12 if note_room else 0
    label_room = min(_WIDEST_LABEL, max((text_width(row.label) for row in rows), default=0)) + _ROOM
    begin, end = (2.0, canvas.width - 2.0) if canvas.narrow else (label_room, canvas.width - _ROOM - note_room)
    longest = max((sum(part or 0 for part in row.parts) for row in rows), default=0) or 1
    scale = Scale(0.0, float(longest), begin, end)
    used = [place for place in range(len(drawing.words)) if any(row.parts[place] for row in drawing.rows)]
    top = _legend([drawing.words[place] for place in used], [drawing.tones[place] for place in used], canvas) + 6
    step = 40.0 if canvas.narrow else 26.0
    bottom = top + step * len(rows)
    bottom_axis(canvas, scale, top, bottom, drawing.axis, dollars=drawing.dollars, whole=not drawing.dollars)
    for place, row in enumerate(rows):
        y = top + step * place
        if canvas.narrow:
            canvas.text(begin, y + 14, fitted(row.label, end - begin - note_room), full=row.label)
            canvas.text(end, y + 14, row.note, "tick", "end")
            _bar(row, drawing, scale, y + 20, 14, canvas)
        else:
            label = fitted(row.label, label_room - _ROOM)
            canvas.text(begin - _ROOM, y + step / 2 + 4, label, "label", "end", full=row.label)
            canvas.text(canvas.width - 2, y + step / 2 + 4, row.note, "tick", "end")
            _bar(row, drawing, scale, y + 5, step - 10, canvas)
    if len(drawing.rows) > _MOST:
        more = f"{len(drawing.rows) - _MOST:,} more are in the table"
        canvas.text(canvas.width / 2, bottom + 52, more, "tick", "middle")


def _bar(row: Bar, drawing: Bars, scale: Scale, y: float, height: float, canvas: Canvas) -> None:
    so_far = 0.0
    for part, word, tone in zip(row.parts, drawing.words, drawing.tones, strict=True):
        if part:
            x, until = scale(so_far), scale(so_far + part)
            value = f"${part:,.6g}" if drawing.dollars else f"{part:,.0f}"
            # A part that is there is seen, however small.
            canvas.box(x, y, max(until - x, 1.5), height, f"bar {tone}", title=f"{word}: {value}")
            so_far += part


def _legend(words: Sequence[str], tones: Sequence[str], canvas: Canvas) -> float:
    """What each colour means, above the bars; the height it takes."""
    x, y = 2.0, 4.0
    for word, tone in zip(words, tones, strict=True):
        needed = 18 + text_width(word) + 16
        if x + needed > canvas.width and x > 2:
            x, y = 2.0, y + 20
        canvas.box(x, y, 12, 12, f"bar {tone}")
        canvas.text(x + 18, y + 10.5, word, "tick")
        x += needed
    return y + 16
