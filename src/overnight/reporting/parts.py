"""What a report is made of: plain data. Whoever fills it in need know nothing of pages and drawings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from overnight.core.stage import Stage

# How a number of a table is written: so many decimals, as a share of a hundred, or in dollars.
Form = int | Literal["percent", "dollars"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """What a task draws from: the run's tables, its stages of this kind, and its items as they were taken in."""

    tables: Path
    stages: Sequence[Stage]
    # The fields of an item, by the stage's name and the item's id; nothing for an address that is no item.
    item: Callable[[str, str], Mapping[str, Any]]


@dataclass(frozen=True)
class Sentence:
    """Some words, computed from the numbers beside them. A finding stands on top of the page as well."""

    text: str
    kind: Literal["plain", "finding", "note"] = "plain"


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns by their names, all of one length. What is missing is None."""

    columns: Mapping[str, Sequence[Any]]
    forms: Mapping[str, Form] = field(default_factory=dict)
    # What it is of, written above it; a figure's is the figure's title.
    title: str = ""
    # Shown when somebody asks for it.
    folded: bool = False

    @classmethod
    def of(cls, frame: pl.DataFrame, forms: Mapping[str, Form] | None = None, title: str = "") -> "Table":
        return cls(columns=frame.to_dict(as_series=False), forms=forms or {}, title=title)

    @property
    def height(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def rows(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.columns.values(), strict=True))


@dataclass(frozen=True)
class Interval:
    """A dot with its interval; ends that are not known are None."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    # Written at the end of its line.
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Dots with intervals on one scale. `reference` is always on the axis, however far off."""

    rows: Sequence[Interval]
    axis: str
    reference: float | None = None
    percent: bool = False


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Shares of rows by columns, dark where they are far from one half on either side.

    Without `columns` the rows are set against each other. `texts` is what is written in the cells, where that is not
    the share of a hundred.
    """

    labels: Sequence[str]
    shares: Sequence[Sequence[float | None]]
    columns: Sequence[str] | None = None
    texts: Sequence[Sequence[str]] | None = None


@dataclass(frozen=True)
class Bar:
    """One bar of parts that add up."""

    label: str
    parts: Sequence[float | None]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Bars of parts, each part with its word and its tone: good, middling, bad, none."""

    rows: Sequence[Bar]
    words: Sequence[str]
    tones: Sequence[str]
    axis: str
    dollars: bool = False


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    label: str
    points: Sequence[Point]


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Values that hold until the next one, with bands; `times` has seconds since 1970 on the axis.

    `joined` are values that were measured at these points only: a dot for each, joined by straight lines.
    """

    lines: Sequence[Line]
    x_axis: str
    y_axis: str
    percent: bool = False
    times: bool = False
    joined: bool = False
    dollars: bool = False


@dataclass(frozen=True)
class Span:
    label: str
    begin: float
    end: float
    tone: str = "good"
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """What lasted from when to when, in seconds since 1970; shown in UTC."""

    spans: Sequence[Span]


Drawing = Intervals | Matrix | Bars | Lines | Timeline


@dataclass(frozen=True, kw_only=True)
class Figure:
    """`name` is that of its files; the title is a question, the caption says how to read it."""

    name: str
    title: str
    caption: str
    drawing: Drawing
    numbers: Table


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Texts to read beside each other, each under its label. They may hold anything: they are shown, never followed."""

    title: str
    texts: Sequence[tuple[str, str]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Turn:
    """What somebody said in a conversation, and what was said of it."""

    speaker: str
    text: str
    # Whether the model that is looked at said it; the others are set apart.
    own: bool = False
    notes: Sequence[str] = ()
    # Whether the notes are about what the reader looks for, and stand out.
    marked: bool = False


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """Turns in their order, under what they are of."""

    label: str
    turns: Sequence[Turn]


@dataclass(frozen=True, kw_only=True)
class Talks:
    """Conversations to read beside each other. Their texts may hold anything: they are shown, never followed."""

    title: str
    talks: Sequence[Conversation]
    notes: Sequence[str] = ()


Part = Sentence | Figure | Table | Reading | Talks


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading and what stands under it. Sections of one stage follow each other."""

    title: str
    parts: Sequence[Part]
