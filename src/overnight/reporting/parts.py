"""What a report is made of: plain data. Whoever fills it in need know nothing of pages and drawings."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import polars as pl

from overnight.core.stage import Stage

# How a number of a table is written: so many decimals, as a share of a hundred, or in dollars.
Form = int | Literal["percent", "dollars"]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What a task draws from: the run's tables, its stages of this kind, and its items as they were taken in."""

    tables: Path
    stages: Sequence[Stage]
    # The fields of an item, by the stage's name and the item's id; nothing for an address that is no item.
    item: Callable[[str, str], Mapping[str, Any]]


class Sentence(msgspec.Struct, frozen=True):
    """Some words, computed from the numbers beside them. A finding stands on top of the page as well."""

    text: str
    kind: Literal["plain", "finding", "note"] = "plain"


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Columns by their names, all of one length. What is missing is None."""

    columns: Mapping[str, Sequence[Any]]
    forms: Mapping[str, Form] = {}
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


class Interval(msgspec.Struct, frozen=True):
    """A dot with its interval; ends that are not known are None."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    # Written at the end of its line.
    note: str = ""


class Intervals(msgspec.Struct, frozen=True, kw_only=True):
    """Dots with intervals on one scale. `reference` is always on the axis, however far off."""

    rows: Sequence[Interval]
    axis: str
    reference: float | None = None
    percent: bool = False


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of rows by columns, dark where they are far from one half on either side.

    Without `columns` the rows are set against each other. `texts` is what is written in the cells, where that is not
    the share of a hundred.
    """

    labels: Sequence[str]
    shares: Sequence[Sequence[float | None]]
    columns: Sequence[str] | None = None
    texts: Sequence[Sequence[str]] | None = None


class Bar(msgspec.Struct, frozen=True):
    """One bar of parts that add up."""

    label: str
    parts: Sequence[float | None]
    note: str = ""


class Bars(msgspec.Struct, frozen=True, kw_only=True):
    """Bars of parts, each part with its word and its tone: good, middling, bad, none."""

    rows: Sequence[Bar]
    words: Sequence[str]
    tones: Sequence[str]
    axis: str
    dollars: bool = False


class Point(msgspec.Struct, frozen=True):
    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Line(msgspec.Struct, frozen=True):
    label: str
    points: Sequence[Point]


class Lines(msgspec.Struct, frozen=True, kw_only=True):
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


class Span(msgspec.Struct, frozen=True):
    label: str
    begin: float
    end: float
    tone: str = "good"
    note: str = ""


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What lasted from when to when, in seconds since 1970; shown in UTC."""

    spans: Sequence[Span]


Drawing = Intervals | Matrix | Bars | Lines | Timeline


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is that of its files; the title is a question, the caption says how to read it."""

    name: str
    title: str
    caption: str
    drawing: Drawing
    numbers: Table


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """Texts to read beside each other, each under its label. They may hold anything: they are shown, never followed."""

    title: str
    texts: Sequence[tuple[str, str]]
    notes: Sequence[str] = ()


class Turn(msgspec.Struct, frozen=True):
    """What somebody said in a conversation, and what was said of it."""

    speaker: str
    text: str
    # Whether the model that is looked at said it; the others are set apart.
    own: bool = False
    notes: Sequence[str] = ()
    # Whether the notes are about what the reader looks for, and stand out.
    marked: bool = False


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """Turns in their order, under what they are of."""

    label: str
    turns: Sequence[Turn]


class Talks(msgspec.Struct, frozen=True, kw_only=True):
    """Conversations to read beside each other. Their texts may hold anything: they are shown, never followed."""

    title: str
    talks: Sequence[Conversation]
    notes: Sequence[str] = ()


Part = Sentence | Figure | Table | Reading | Talks


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A heading and what stands under it. Sections of one stage follow each other."""

    title: str
    parts: Sequence[Part]
