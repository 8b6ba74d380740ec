"""What a study may say of the trait and of the pairs, and what is wrong with what it may not."""

from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from overnight.core.errors import UnknownName, nearest
from overnight.study.origin import Origin
from overnight.tasks._pairs.pairing import Order, Select
from overnight.tasks._pairs.stopping import Until, check_until
from overnight.tasks._pairs.traits import known_trait

SELECTS: tuple[str, ...] = get_args(Select)
ORDERS: tuple[str, ...] = get_args(Order)


class TraitEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A trait of one's own: its name and what it means, as the prompt says them."""

    name: str
    description: str


class PairsEntry(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """Which pairs are compared. `list` is a table with the columns ID1 and ID2, instead of all pairs there are."""

    select: str | None = None
    n: int | None = None
    share: float | None = None
    order: str | None = None
    reverse: float = 0.0
    seed: int | None = None
    rounds: int | None = None
    until: Until | None = None
    list: Any = None


def check_trait(trait: str | TraitEntry | None, origin: Origin) -> None:
    if isinstance(trait, TraitEntry):
        for field in TraitEntry.__struct_fields__:
            if not getattr(trait, field).strip():
                raise origin.error(("trait", field), "the text is empty")
    elif trait is not None:
        try:
            known_trait(trait)
        except UnknownName as error:
            way_out = "write one of your own as {name: ..., description: ...}"
            raise origin.error(("trait",), f"{error}; {way_out}", UnknownName) from None


def check_pairs(pairs: PairsEntry, origin: Origin) -> None:
    _check_word("select", pairs.select, SELECTS, origin)
    _check_word("order", pairs.order, ORDERS, origin)
    if not 0 <= pairs.reverse <= 1:
        raise origin.error(("pairs", "reverse"), f"{pairs.reverse:g} is not between 0 and 1")
    if pairs.seed is not None and pairs.seed < 0:
        raise origin.error(("pairs", "seed"), f"{pairs.seed} is less than 0")
    given = [field for field in ("n", "share") if getattr(pairs, field) is not None]
    if len(given) == 2:
        raise origin.error(("pairs",), "`n` and `share` exclude each other; keep one of them")
    if pairs.select in ("sample", "adaptive") and not given:
        raise origin.error(("pairs",), f"`{pairs.select}` needs `n`, a number of pairs, or `share`, a part of them")
    if given and pairs.select not in ("sample", "adaptive"):
        raise origin.error(("pairs", given[0]), "this is for `select: sample` or `adaptive`")
    _check_rounds(pairs, origin)
    check_until(pairs.until, origin, adaptive=pairs.select == "adaptive")
    if pairs.n is not None and pairs.n < 1:
        raise origin.error(("pairs", "n"), f"{pairs.n} is less than 1")
    if pairs.share is not None and not 0 < pairs.share <= 1:
        raise origin.error(("pairs", "share"), f"{pairs.share:g} is not more than 0 and at most 1")


def _check_rounds(pairs: PairsEntry, origin: Origin) -> None:
    if pairs.rounds is not None and pairs.select != "adaptive":
        raise origin.error(("pairs", "rounds"), "this is for `select: adaptive`")
    if pairs.rounds is not None and pairs.rounds < 2:
        raise origin.error(("pairs", "rounds"), f"{pairs.rounds} is less than 2: the later rounds learn from the first")
    if pairs.select == "adaptive" and pairs.list is not None:
        raise origin.error(("pairs", "list"), "adaptive chooses among all pairs; leave the list out, or `select`")


def _check_word(field: str, word: str | None, words: Sequence[str], origin: Origin) -> None:
    if word is not None and word not in words:
        wanted = f"wanted {', '.join(words[:-1])} or {words[-1]}"
        raise origin.error(("pairs", field), f"{wanted}, found '{word}'{nearest(word, words)}")
