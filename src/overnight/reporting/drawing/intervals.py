"""Dots with their intervals, one to a line."""

import math

from overnight.reporting.drawing.axis import Scale, bottom_axis, scale_of, within_shares
from overnight.reporting.drawing.canvas import Canvas, fitted, text_width
from overnight.reporting.parts import Interval, Intervals

_WIDEST_LABEL = 380
_ROOM = 14
# More than these are not drawn: the first and the last are, and the table has all.
_MOST, _FIRST, _LAST = 60, 40, 15


def draw_intervals(drawing: Intervals, canvas: Canvas) -> None:
    rows = list(drawing.rows)
    left_out = len(rows) - _FIRST - _LAST if len(rows) > _MOST else 0
    shown: list[Interval | None] = [*rows[:_FIRST], None, *rows[-_LAST:]] if left_out else [*rows]
    note_room = max((text_width(row.note) for row in rows), default=0.0)
    note_room += 12 if note_room else 0
    label_room = min(_WIDEST_LABEL, max((text_width(row.label) for row in rows), default=0)) + _ROOM
    begin, end = (_ROOM, canvas.width - _ROOM) if canvas.narrow else (label_room, canvas.width - _ROOM - note_room)
    values = [value for row in rows for value in (row.value, row.low, row.high)]
    scale = scale_of(values, begin, end, () if drawing.reference is None else (drawing.reference,))
    scale = within_shares(scale, values) if drawing.percent else scale
    step = 38.0 if canvas.narrow else 26.0
    bottom = 6 + step * len(shown)
    bottom_axis(canvas, scale, 6, bottom, drawing.axis, percent=drawing.percent)
    if drawing.reference is not None:
        canvas.line(scale(drawing.reference), 2, scale(drawing.reference), bottom, "reference")
    for place, row in enumerate(shown):
        top = 6 + step * place
        if row is None:
            canvas.text(canvas.width / 2, top + step / 2 + 4, f"{left_out:,} more are in the table", "tick", "middle")
        elif canvas.narrow:
            canvas.text(begin, top + 14, fitted(row.label, end - begin - note_room), full=row.label)
            canvas.text(end, top + 14, row.note, "tick", "end")
            _interval(row, scale, top + 26, canvas)
        else:
            label = fitted(row.label, label_room - _ROOM)
            canvas.text(begin - _ROOM, top + step / 2 + 4, label, "label", "end", full=row.label)
            canvas.text(canvas.width - 2, top + step / 2 + 4, row.note, "tick", "end")
            _interval(row, scale, top + step / 2, canvas)


def _interval(row: Interval, scale: Scale, y: float, canvas: Canvas) -> None:
    """Nothing is drawn of what is not known; an interval without an end runs to the edge."""
    if row.value is None or math.isnan(row.value):
        canvas.text((scale.begin + scale.end) / 2, y + 4, "not known", "tick", "middle")
        return
    if row.low is not None and row.high is not None and not (math.isnan(row.low) or math.isnan(row.high)):
        canvas.line(scale(row.low), y, scale(row.high), y, "whisker")
    canvas.dot(scale(row.value), y)
