"""A run's report: figures with their numbers, sentences computed from them, and one HTML file that holds all of it.

A task draws with the plain data that is named here; how it looks is decided in one place.
"""

from overnight.reporting.parts import (
    Bar,
    Bars,
    Conversation,
    Figure,
    Interval,
    Intervals,
    Line,
    Lines,
    Matrix,
    Part,
    Point,
    Reading,
    Section,
    Sentence,
    Source,
    Span,
    Table,
    Talks,
    Timeline,
    Turn,
)

__all__ = [
    "Bar",
    "Bars",
    "Conversation",
    "Figure",
    "Interval",
    "Intervals",
    "Line",
    "Lines",
    "Matrix",
    "Part",
    "Point",
    "Reading",
    "Section",
    "Sentence",
    "Source",
    "Span",
    "Table",
    "Talks",
    "Timeline",
    "Turn",
]
