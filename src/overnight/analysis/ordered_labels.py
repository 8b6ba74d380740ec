"""Labels in their order: from the least to the most, as the user says, or as numbers and Enums have it.

Texts have none. To sort them by letters would put 10 before 2, and excellent before fair.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
import polars as pl

from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats, Ints

_SHOWN = 6
# Two labels are the same distance apart in either order.
_NEEDS_ORDER = 3


def categories_of(column: Any) -> list[Any] | None:
    """The order that a column carries itself: a polars Enum, or a pandas Categorical that says it is ordered."""
    if isinstance(column, pl.Series):
        return column.dtype.categories.to_list() if isinstance(column.dtype, pl.Enum) else None
    categories = getattr(getattr(column, "cat", None), "categories", None)
    return list(categories) if categories is not None and column.cat.ordered else None


def coded(values: Sequence[Any], order: Sequence[Any] | None, *, ordered: bool) -> tuple[Ints, list[Any]]:
    """Where each value stands among the labels, and the labels that occur."""
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    order = order if order is not None else _members(plain)
    try:
        found = list(set(plain)) if order is not None else sorted(set(plain))
    except TypeError as error:
        # By their words: what made this fail may be a label that cannot be a key.
        found = list({repr(label): label for label in plain}.values())
        raise WrongArgument(f"labels must be of one kind, all texts or all numbers; found {_shown(found)}") from error
    labels = _in_order(found, order, ordered=ordered)
    place = {label: at for at, label in enumerate(labels)}
    return np.array([place[value] for value in plain], dtype=np.int64), labels


def _members(labels: Sequence[Any]) -> list[Any] | None:
    """Those of a Python Enum, as it lists them."""
    kinds = {type(label) for label in labels}
    members: list[Any] = [member for kind in kinds if issubclass(kind, Enum) for member in kind]
    return members if members and len(kinds) == 1 else None


def _in_order(found: list[Any], order: Sequence[Any] | None, *, ordered: bool) -> list[Any]:
    if order is not None:
        listed = list(order)
        unknown = [label for label in found if label not in listed]
        if unknown:
            raise WrongArgument(f"order has no place for {_shown(unknown)}; it lists {_shown(listed)}")
        if len(set(listed)) < len(listed):
            raise WrongArgument(f"order lists a label twice: {_shown(listed)}")
        return [label for label in listed if label in found]
    if not ordered or len(found) < _NEEDS_ORDER or not isinstance(found[0], str):
        return found
    try:
        return sorted(found, key=float)
    except ValueError:
        way_out = "give it from the least to the most, such as order=['poor', 'fair', 'good']"
        raise WrongArgument(f"the labels {_shown(found)} are texts without a known order; {way_out}") from None


def numeric(labels: Sequence[Any], asked_by: str) -> Floats:
    """The labels as numbers."""
    try:
        return np.array([float(label) for label in labels])
    except (TypeError, ValueError):
        wrong = [label for label in labels if not _is_number(label)]
        raise WrongArgument(f"{asked_by} needs numbers as labels; found {_shown(wrong)}") from None


def _is_number(label: Any) -> bool:
    try:
        float(label)
    except (TypeError, ValueError):
        return False
    return True


def _shown(labels: Sequence[Any]) -> str:
    text = ", ".join(repr(label) for label in labels[:_SHOWN])
    return f"{text}, ..." if len(labels) > _SHOWN else text


__all__ = ["categories_of", "coded", "numeric"]
