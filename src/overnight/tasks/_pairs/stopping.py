"""When pairs that are chosen in rounds are enough: the rules that a study may give, and why one of them holds."""

from collections.abc import Iterator
from math import isfinite
from typing import NamedTuple

import msgspec

from overnight.core.wording import number_of
from overnight.study.origin import Origin


class Until(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """Rounds end when one of these holds, and the two halves of the verdicts agree."""

    # The share of the spread among abilities that is real.
    reliability: float | None = None
    # The mean width of the 95% intervals of the abilities, in log-odds.
    width: float | None = None
    # How probable it is that the first so many are the best so many.
    top: int | None = None
    certainty: float = 0.95
    # What two halves of the verdicts, ranked each by itself, must agree on: their correlation, stepped up to the whole.
    split_half: float = 0.7


class Known(NamedTuple):
    """How sure the order is by all verdicts so far. None: there is no telling."""

    mean_se: float | None = None
    reliability: float | None = None
    width: float | None = None
    top_certainty: float | None = None
    split_half: float | None = None


def check_until(until: Until | None, origin: Origin, *, adaptive: bool) -> None:
    if until is None:
        return
    if not adaptive:
        raise origin.error(("pairs", "until"), "this is for `select: adaptive`")
    given = [name for name in ("reliability", "width", "top") if getattr(until, name) is not None]
    if not given:
        raise origin.error(("pairs", "until"), "wanted `reliability`, `width` or `top`")
    for name in ("reliability", "certainty", "split_half"):
        value = getattr(until, name)
        if value is not None and not 0 <= value < 1:
            raise origin.error(("pairs", "until", name), f"{value:g} is not at least 0 and less than 1")
    if until.width is not None and until.width <= 0:
        raise origin.error(("pairs", "until", "width"), f"{until.width:g} is not more than 0")
    if until.top is not None and until.top < 1:
        raise origin.error(("pairs", "until", "top"), f"{until.top} is less than 1")


def why_enough(known: Known, until: Until) -> str | None:
    """The rules that hold, in words; None while none does, or while the halves do not agree."""
    held = list(_held(known, until))
    if not held:
        return None
    if until.split_half > 0:
        if known.split_half is None or known.split_half < until.split_half:
            return None
        held.append(f"two halves of the verdicts agree ({known.split_half:.2f}, wanted {until.split_half:g})")
    return ", ".join(held)


def _held(known: Known, until: Until) -> Iterator[str]:
    if until.reliability is not None and _is_least(known.reliability, until.reliability):
        yield f"reliability is {known.reliability:.2f} (wanted {until.reliability:g})"
    if until.width is not None and known.width is not None and known.width <= until.width:
        yield f"intervals are {known.width:.2f} wide on average (wanted {until.width:g})"
    if until.top is not None and _is_least(known.top_certainty, until.certainty):
        best = number_of(until.top, "sample")
        yield f"the best {best} are known with probability {known.top_certainty:.3f} (wanted {until.certainty:g})"


def _is_least(found: float | None, wanted: float) -> bool:
    return found is not None and isfinite(found) and found >= wanted


def until_text(until: Until) -> str:
    """For the plan, before anything is known."""
    rules = [
        ("reliability", until.reliability and f"reliability reaches {until.reliability:g}"),
        ("width", until.width and f"intervals are {until.width:g} wide on average"),
        ("top", until.top and f"the best {until.top} are known with probability {until.certainty:g}"),
    ]
    return " or ".join(text for _, text in rules if text)
