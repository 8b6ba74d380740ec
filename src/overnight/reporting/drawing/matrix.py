"""Shares of rows against columns, as a square of cells."""

from overnight.reporting.drawing.canvas import Canvas, fitted, text_width
from overnight.reporting.parts import Matrix

# How far a colour covers the page at most: numbers on it stay readable, in the dark too.
_DEEPEST = 0.6
_LARGEST_CELL, _WIDEST_LABEL = 54.0, 230.0


def draw_matrix(drawing: Matrix, canvas: Canvas) -> None:
    """Columns go by the numbers of the rows: names above them would run out of a phone's page."""
    count = len(drawing.labels)
    names = [f"{number}. {label}" for number, label in enumerate(drawing.labels, 1)]
    wanted = max(map(text_width, names), default=0.0) + 10
    left = min(wanted, canvas.width * 0.34 if canvas.narrow else _WIDEST_LABEL)
    cell = min((canvas.width - left - 2) / count, _LARGEST_CELL)
    height = min(cell, 30.0) if not canvas.narrow else max(min(cell, 26.0), 15.0)
    for number in range(count):
        canvas.text(left + cell * (number + 0.5), 14, str(number + 1), "tick", "middle")
    for row, (label, shares) in enumerate(zip(names, drawing.shares, strict=True)):
        y = 20 + row * height
        canvas.text(left - 8, y + height / 2 + 4, fitted(label, left - 8), "label", "end", full=label)
        for column, share in enumerate(shares):
            x = left + column * cell
            if share is None:
                canvas.box(x, y, cell - 1, height - 1, "empty")
                continue
            kind = "up" if share >= 0.5 else "down"
            words = f"{drawing.labels[row]} against {drawing.labels[column]}: {100 * share:.0f}%"
            canvas.box(x, y, cell - 1, height - 1, kind, _DEEPEST * abs(2 * share - 1), words)
            if cell >= 19:
                canvas.text(x + (cell - 1) / 2, y + height / 2 + 3.5, f"{100 * share:.0f}", "cell", "middle")
    canvas.reach(20 + count * height)
