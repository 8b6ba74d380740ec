"""What a study may cost: US dollars as they were written, counted in whole nano-dollars."""

import math
from collections.abc import Collection, Mapping
from decimal import Decimal, Inexact, localcontext
from typing import Any

from overnight.core.errors import UnknownName, nearest
from overnight.core.money import Budget
from overnight.core.wording import found_text
from overnight.study.origin import Origin, Route

NANO = 9
# Dollars; what is more has no place in a ledger's 64 bits.
_MOST = 9_000_000_000
# Digits enough for the largest amount and its smallest part: what needs more is finer than that.
_DIGITS = 28


def read_budget(written: Any, stages: Collection[str], origin: Origin) -> Budget | None:
    """A number is the total; a mapping says more. Stages are those that the study has."""
    if written is None:
        return None
    if not isinstance(written, Mapping):
        return Budget(total=_nano_dollars(written, origin, ("budget",), "a number of US dollars or a mapping"))
    for key in written:
        if key not in Budget.__struct_fields__:
            raise origin.unknown_key(("budget",), str(key), Budget.__struct_fields__)
    given = {key: value for key, value in written.items() if value is not None}
    if not given:
        raise origin.error(("budget",), "it names none of total, stages and output_tokens")
    total = _nano_dollars(given["total"], origin, ("budget", "total")) if "total" in given else None
    return Budget(
        total=total,
        stages=_stage_caps(given.get("stages", {}), stages, origin),
        output_tokens=_tokens(given.get("output_tokens"), origin),
    )


def _stage_caps(written: Any, stages: Collection[str], origin: Origin) -> dict[str, int]:
    route: Route = ("budget", "stages")
    if not isinstance(written, Mapping):
        raise origin.error(route, f"wanted a mapping, found {found_text(written)}")
    for name in written:
        if name not in stages:
            known = f"{nearest(str(name), stages)} (there are: {', '.join(stages)})"
            raise origin.error(route, f"there is no stage '{name}'{known}", UnknownName)
    return {name: _nano_dollars(amount, origin, (*route, name)) for name, amount in written.items()}


def _tokens(written: Any, origin: Origin) -> int | None:
    route: Route = ("budget", "output_tokens")
    if written is None:
        return None
    if isinstance(written, bool) or not isinstance(written, int):
        raise origin.error(route, f"wanted a whole number, found {found_text(written)}")
    if written < 1:
        raise origin.error(route, f"{written} is less than 1")
    return written


def _nano_dollars(written: Any, origin: Origin, route: Route, wanted: str = "a number of US dollars") -> int:
    if isinstance(written, bool) or not isinstance(written, int | float | Decimal):
        raise origin.error(route, f"wanted {wanted}, found {found_text(written)}")
    amount = _exact(written, origin, route)
    if not amount.is_finite():
        raise origin.error(route, f"wanted {wanted}, found the number {written}")
    if amount <= 0:
        raise origin.error(route, f"{amount} is not more than 0 dollars")
    if amount > _MOST:
        raise origin.error(route, f"this is more than {_MOST:,} dollars")
    with localcontext(prec=_DIGITS) as context:
        context.traps[Inexact] = True
        try:
            return int(amount.scaleb(NANO).to_integral_exact())
        except Inexact:
            raise origin.error(route, f"{amount} has a part finer than a nano-dollar (0.000000001)") from None


def _exact(written: float | Decimal, origin: Origin, route: Route) -> Decimal:
    """By the file's digits where these are what the number was read from, else by the shortest that mean it."""
    if not isinstance(written, float):
        return Decimal(written)
    text = origin.number_text(route) if 0 < abs(written) < math.inf else None
    if text is not None and float(text) == written:
        return Decimal(text)
    return Decimal(repr(float(written)))
