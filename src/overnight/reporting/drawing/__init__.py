"""Figures as SVG: written by us, in two widths, with classes that the page's style sheet colours.

The same figure in a file of its own carries its colours with it.
"""

from overnight.reporting.drawing.bars import draw_bars
from overnight.reporting.drawing.canvas import Canvas
from overnight.reporting.drawing.intervals import draw_intervals
from overnight.reporting.drawing.lines import draw_lines
from overnight.reporting.drawing.matrix import draw_matrix
from overnight.reporting.drawing.timeline import draw_timeline
from overnight.reporting.parts import Bars, Drawing, Intervals, Lines, Matrix

# Text in a drawing shrinks with it, so that a phone gets one of its own.
WIDE, NARROW = 860, 340


def draw(drawing: Drawing, width: int, title: str) -> str:
    """One figure at one width."""
    canvas = Canvas(width, narrow=width < (WIDE + NARROW) / 2)
    match drawing:
        case Intervals():
            draw_intervals(drawing, canvas)
        case Matrix():
            draw_matrix(drawing, canvas)
        case Bars():
            draw_bars(drawing, canvas)
        case Lines():
            draw_lines(drawing, canvas)
        case _:
            draw_timeline(drawing, canvas)
    return canvas.svg(title)


__all__ = ["NARROW", "WIDE", "draw"]
