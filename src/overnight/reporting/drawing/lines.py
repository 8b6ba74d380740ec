"""Values that hold until the next one, as steps with bands around them; or measured points, joined."""

from collections.abc import Sequence

from overnight.reporting.drawing.axis import Scale, bottom_axis, scale_of, tick_text, ticks, time_axis
from overnight.reporting.drawing.canvas import Canvas, fitted, text_width
from overnight.reporting.parts import Line, Lines, Point

_HEIGHT = 240.0
# As many kinds of line as can be told apart by colour and dash.
KINDS = 8
# With more lines than these, bands that lie on each other are drawn faintly.
_FEW = 2


def draw_lines(drawing: Lines, canvas: Canvas) -> None:
    points = [point for line in drawing.lines for point in line.points]
    top = (_legend(drawing.lines, canvas) if len(drawing.lines) > 1 else 0.0) + 26
    bottom = top + (_HEIGHT if not canvas.narrow else 180.0)
    highest = max((point.y if point.high is None else point.high for point in points), default=1.0)
    up = Scale(0.0, 1.0 if drawing.percent else (highest or 1.0) * 1.05, bottom, top)
    marks = ticks(up, 40)
    step = marks[1] - marks[0] if len(marks) > 1 else 1.0
    texts = [tick_text(mark, step, percent=drawing.percent) for mark in marks]
    left = max(map(text_width, texts), default=0.0) + 10
    whole = all(float(point.x).is_integer() for point in points) and not (drawing.dollars or drawing.times)
    # What holds after the last whole step needs room to be seen.
    room = (max(point.x for point in points) + 0.5,) if points and whole and not drawing.joined else ()
    keep = (0.0,) if drawing.joined else room
    across = scale_of((point.x for point in points), left, canvas.width - 10, keep)
    for mark, text in zip(marks, texts, strict=True):
        canvas.line(left, up(mark), canvas.width - 10, up(mark), "grid")
        canvas.text(left - 6, up(mark) + 4, text, "tick", "end")
    canvas.text(0, top - 12, drawing.y_axis, "tick")
    if drawing.times:
        time_axis(canvas, across, top, bottom)
    else:
        bottom_axis(canvas, across, top, bottom, drawing.x_axis, dollars=drawing.dollars, whole=whole)
    faint = " faint" if len(drawing.lines) > _FEW else ""
    for number, line in enumerate(drawing.lines):
        kind = f"kind{number % KINDS}"
        if drawing.joined:
            _joined(line, kind, across, up, canvas)
        else:
            _steps(line, kind, faint, across, up, canvas)


def _joined(line: Line, kind: str, across: Scale, up: Scale, canvas: Canvas) -> None:
    if not line.points:
        return
    canvas.path([(across(point.x), up(point.y)) for point in line.points], f"steps {kind}")
    for point in line.points:
        canvas.dot(across(point.x), up(point.y))


def _steps(line: Line, kind: str, faint: str, across: Scale, up: Scale, canvas: Canvas) -> None:
    if not line.points:
        return
    # The last value holds to the end of the scale: else nobody would see it.
    points = [*line.points, _held(line.points[-1], across.high)]
    xs = [across(point.x) for point in points]
    banded = [(across(p.x), p.low, p.high) for p in points if p.low is not None and p.high is not None]
    if banded:
        at = [x for x, _, _ in banded]
        lower = _stairs(at, [up(low) for _, low, _ in banded])
        upper = _stairs(at, [up(high) for _, _, high in banded])
        canvas.path([*lower, *reversed(upper)], f"band {kind}{faint}", closed=True)
    canvas.path(_stairs(xs, [up(point.y) for point in points]), f"steps {kind}")


def _held(last: Point, until: float) -> Point:
    return Point(max(until, last.x), last.y, last.low, last.high)


def _stairs(xs: list[float], ys: list[float]) -> list[tuple[float, float]]:
    found = [(xs[0], ys[0])]
    for x, before, y in zip(xs[1:], ys, ys[1:], strict=False):
        found += [(x, before), (x, y)]
    return found


def _legend(lines: Sequence[Line], canvas: Canvas) -> float:
    x, y = 2.0, 4.0
    for number, line in enumerate(lines):
        label = fitted(line.label, canvas.width - 40)
        needed = 26 + text_width(label) + 16
        if x + needed > canvas.width and x > 2:
            x, y = 2.0, y + 20
        canvas.line(x, y + 6, x + 20, y + 6, f"steps kind{number % KINDS}")
        canvas.text(x + 26, y + 10.5, label, "tick", full=line.label)
        x += needed
    return y + 16
