"""Columns at the edge: whatever holds one value for each row becomes a polars column, or one line that says why not."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, ParamSpec, TypeVar

import polars as pl

from overnight.core.arguments import checked
from overnight.core.errors import WrongArgument
from overnight.core.wording import found_text

# What polars says of data that is no table.
UNREADABLE: Final = (TypeError, ValueError, OverflowError, AttributeError, pl.exceptions.PolarsError)
_DEEPEST: Final = 20

P = ParamSpec("P")
R = TypeVar("R")


def readable(function: Callable[P, R]) -> Callable[P, R]:
    """As `checked`; and what polars says of a column that cannot be read as it must be becomes one line of ours."""
    fit = checked(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fit(*args, **kwargs)
        except pl.exceptions.PolarsError as error:
            reason = str(error).partition("\n")[0]
            raise WrongArgument(f"{function.__name__}: a column holds what cannot be used here: {reason}") from error

    return call


def column_of(values: Any, name: str) -> pl.Series:
    """A polars column of whatever holds one value for each row."""
    if isinstance(values, pl.Series):
        return values
    try:
        return pl.Series(name, shallow(values_of(values, name)), strict=False)
    except UNREADABLE as error:
        reason = str(error).partition("\n")[0]
        raise WrongArgument(f"{name} cannot be read as a column: {reason}") from error


def values_of(values: Any, name: str) -> list[Any]:
    """The values one by one: of a list, a polars or pandas column, or a numpy array."""
    if hasattr(values, "tolist") and getattr(values, "ndim", 1) == 1:
        values = values.tolist()
    if isinstance(values, str | bytes | Mapping | pl.DataFrame) or not isinstance(values, Iterable):
        raise WrongArgument(
            f"{name}: wanted a list or a column with one value for each row, found {found_text(values)}"
        )
    return list(values)


def as_text(frame: pl.DataFrame, columns: Sequence[str], what: str) -> pl.DataFrame:
    """The frame with these columns as text; what cannot be text is refused."""
    try:
        return frame.with_columns(pl.col(*columns).cast(pl.String))
    except pl.exceptions.PolarsError:
        kinds = ", ".join(f"{frame.schema[name]} in '{name}'" for name in columns)
        raise WrongArgument(f"{what}: wanted text, found {kinds}") from None


def shallow(data: Any, depth: int = 0) -> Any:
    """The same, if it is nested as tables are: polars ends the process over a list that holds itself."""
    if depth > _DEEPEST:
        raise WrongArgument("a table was expected, but the data is nested too deeply")
    for one in data.values() if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else ():
        if isinstance(one, list | tuple | Mapping):
            shallow(one, depth + 1)
    return data


__all__ = ["UNREADABLE", "as_text", "column_of", "readable", "shallow", "values_of"]
