"""Values of every kind that somebody may hand over by mistake, each with a name to replay it by."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl


class Odd:
    """An object of nobody's making, whose own words are no help."""

    def __repr__(self) -> str:
        return "line one\nline two"


def _endless() -> Iterator[int]:
    yield from range(3)


def _inside_itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def wrong_kinds() -> dict[str, Any]:
    """A fresh set each time: nothing that one case did to a value reaches the next."""
    return {
        "None": None,
        "True": True,
        "zero": 0,
        "minus one": -1,
        "three": 3,
        "huge": 10**30,
        "five thousand digits": 10**5000,
        "half": 0.5,
        "minus a half": -0.5,
        "nan": math.nan,
        "infinity": math.inf,
        "empty text": "",
        "text": "something",
        "long text": "x" * 100_000,
        "control characters": "a\x00b\x1b[31m\n",
        "half a character": "\ud800",
        "bytes": b"abc",
        "empty list": [],
        "list of None": [None],
        "list of numbers": [1, 2, 3],
        "list of texts": ["a", "b"],
        "mixed list": [1, "a", None, [2], {"b": 3}],
        "list inside itself": _inside_itself(),
        "ragged": [[1], [2, 3]],
        "tuple": (1, 2),
        "set": {1, 2},
        "empty mapping": {},
        "mapping": {"a": 1},
        "mapping of lists": {"a": [1, 2], "b": ["x", None]},
        "mapping by numbers": {1: 2},
        "date": dt.date(2020, 1, 1),
        "moment": dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        "decimal": Decimal("1.5"),
        "fraction": Fraction(1, 3),
        "complex": 1j,
        "path": Path("nowhere"),
        "function": len,
        "class": int,
        "object": Odd(),
        "generator": _endless(),
        "numpy number": np.float32(0.5),
        "numpy array": np.array([1.0, np.nan]),
        "numpy objects": np.array([None, "a", object()], dtype=object),
        "matrix": np.zeros((2, 2)),
        "series": pl.Series("a", [1, 2]),
        "series of lists": pl.Series("a", [[1], [2]]),
        "empty frame": pl.DataFrame(),
        "frame": pl.DataFrame({"a": [1, 2]}),
        "lazy frame": pl.LazyFrame({"a": [1, 2]}),
        "expression": pl.col("a"),
    }
