"""A first look at a study: the same few items in every arm, chosen by hash, so that they stay chosen."""

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable

from overnight.core.ask import Ask
from overnight.core.pack import even

Address = tuple[str, str, int, int]


def address(ask: Ask) -> Address:
    return (ask.arm.name, ask.item, ask.replicate, ask.turn)


def stratified(asks: Iterable[Ask], limit: int, seed: int) -> frozenset[Address]:
    """About `limit` addresses, evenly over the arms; one pass, memory for the chosen only."""
    best: dict[str, list[tuple[int, Address]]] = {}
    sizes: Counter[str] = Counter()
    for ask in asks:
        arm = ask.arm.name
        sizes[arm] += 1
        chosen = best.setdefault(arm, [])
        entry = (-_rank(ask, seed), address(ask))
        if len(chosen) < limit:
            heapq.heappush(chosen, entry)
        else:
            heapq.heappushpop(chosen, entry)
    arms = sorted(best)
    if not arms or limit < 1:
        return frozenset()
    quotas = [*even(limit, len(arms)), *([0] * len(arms))][: len(arms)]
    kept: list[Address] = []
    for arm, quota in zip(arms, quotas, strict=True):
        ranked = sorted(best[arm], reverse=True)
        kept.extend(place for _, place in ranked[:quota])
    return frozenset(kept)


def _rank(ask: Ask, seed: int) -> int:
    text = f"{seed}\x1f{ask.item}\x1f{ask.replicate}\x1f{ask.turn}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())
