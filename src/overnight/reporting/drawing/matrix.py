"""Shares of rows by columns, as a field of cells."""

from collections.abc import Sequence

from overnight.reporting.drawing.canvas import Canvas, fitted, text_width
from overnight.reporting.parts import Matrix
from overnight.reporting.wording import number_text

# How far a colour covers the page at most: numbers on it stay readable, in the dark too.
_DEEPEST = 0.6
_LARGEST_CELL, _WIDEST_LABEL = 54.0, 230.0
_WIDEST_NAMED_CELL = 150.0
# Rows beyond these are in the table.
_MOST = 60


def draw_matrix(drawing: Matrix, canvas: Canvas) -> None:
    """Rows that stand against each other go by number as columns: names above them would run out of a phone's page."""
    among_themselves = drawing.columns is None
    columns = list(drawing.labels if drawing.columns is None else drawing.columns)
    names = [f"{number}. {label}" for number, label in enumerate(drawing.labels, 1)]
    names = (names if among_themselves else list(drawing.labels))[:_MOST]
    wanted = max(map(text_width, names), default=0.0) + 10
    left = min(wanted, canvas.width * (0.34 if among_themselves else 0.44) if canvas.narrow else _WIDEST_LABEL)
    room = (canvas.width - left - 2) / max(len(columns), 1)
    named = not among_themselves and max(map(text_width, columns), default=0.0) + 8 <= min(room, _WIDEST_NAMED_CELL)
    cell = min(room, _WIDEST_NAMED_CELL if named else _LARGEST_CELL)
    height = min(cell, 30.0) if not canvas.narrow else max(min(cell, 26.0), 15.0)
    top = 0.0 if named or among_themselves else _numbered(columns, canvas)
    for number, column in enumerate(columns):
        canvas.text(left + cell * (number + 0.5), top + 14, column if named else str(number + 1), "tick", "middle")
    for row, (label, shares) in enumerate(zip(names, drawing.shares, strict=False)):
        y = top + 20 + row * height
        canvas.text(left - 8, y + height / 2 + 4, fitted(label, left - 8), "label", "end", full=label)
        for place, share in enumerate(shares):
            between = "against" if among_themselves else "by"
            words = f"{drawing.labels[row]} {between} {columns[place]}"
            text = (
                ""
                if share is None
                else number_text(100 * share, 0)
                if drawing.texts is None
                else drawing.texts[row][place]
            )
            _cell(left + place * cell, y, cell, height, share, text, words, canvas)
    bottom = top + 20 + len(names) * height
    canvas.reach(bottom)
    if len(drawing.labels) > _MOST:
        canvas.text(
            canvas.width / 2, bottom + 18, f"{len(drawing.labels) - _MOST:,} more are in the table", "tick", "middle"
        )


def _cell(
    x: float, y: float, width: float, height: float, share: float | None, text: str, words: str, canvas: Canvas
) -> None:
    if share is None:
        canvas.box(x, y, width - 1, height - 1, "empty")
        return
    kind = "up" if share >= 0.5 else "down"
    canvas.box(x, y, width - 1, height - 1, kind, _DEEPEST * abs(2 * share - 1), f"{words}: {text}")
    if width >= 19:
        canvas.text(x + (width - 1) / 2, y + height / 2 + 3.5, text, "cell", "middle")


def _numbered(columns: Sequence[str], canvas: Canvas) -> float:
    """Which column each number stands for, above them; the height it takes."""
    x, y = 2.0, 0.0
    for number, column in enumerate(columns, 1):
        label = fitted(f"{number}. {column}", canvas.width - 8)
        needed = text_width(label) + 18
        if x + needed > canvas.width and x > 2:
            x, y = 2.0, y + 18
        canvas.text(x, y + 12, label, "tick", full=f"{number}. {column}")
        x += needed
    return y + 22
