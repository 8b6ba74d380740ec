"""When a plan would be finished: by the batches of each provider that came back before."""

from collections.abc import Collection, Sequence

import msgspec

from overnight.api.plans.counting import ArmPlan
from overnight.core.clock import duration_text
from overnight.core.turnaround import Leg, Work, over, took
from overnight.core.wording import number_of
from overnight.ledger.account_book import Lessons


class Finishing(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from sending to the last answer; None where a provider's batches have not been seen yet.

    Turns, rounds and later stages wait for the answers before them. Queues that are full are not reckoned with.
    """

    seconds: float | None = None
    low: float | None = None
    high: float | None = None
    # How many batches that rests on; and the providers of which none has been seen.
    seen: int = 0
    unknown: tuple[str, ...] = ()
    live: bool = False

    @property
    def text(self) -> str:
        beside = ", beside the live calls" if self.live else ""
        if self.seconds is None or self.low is None or self.high is None:
            return f"finished: unknown, because no batch of {', '.join(self.unknown)} has come back yet{beside}"
        spread = f"90%: {duration_text(self.low)} to {duration_text(self.high)}"
        batches = number_of(self.seen, "batch", "batches")
        return f"finished: about {duration_text(self.seconds)} after it is sent ({spread}), by {batches} seen{beside}"


def finishing(arms: Sequence[ArmPlan], lessons: Lessons, waiting: Collection[str] = ()) -> Finishing | None:
    """None where no batch is planned. `waiting`: stages that begin when the one before them is over."""
    if not any(arm.batches for arm in arms):
        return None
    used: dict[str, int] = {}
    unknown: dict[str, None] = {}
    legs: dict[str, list[list[Leg]]] = {arm.stage: [] for arm in arms}
    seen: dict[str, list[tuple[int, int, float, float]]] = {arm.provider: [] for arm in arms}
    for one in lessons.batches:
        seen.setdefault(one.provider, []).append(one[1:])
    for arm in arms:
        elsewhere = [batches for provider, batches in seen.items() if provider != arm.provider]
        own: list[Leg] = []
        for rows, batches in arm.rounds:
            if not batches:
                continue
            told = took(seen[arm.provider], -(-rows // batches), elsewhere)
            if told is None:
                unknown[arm.provider] = None
            else:
                used[arm.provider] = max(used.get(arm.provider, 0), told.batches)
                own.append(Leg(arm.provider, told, batches))
        legs[arm.stage].append(own)
    live = any(arm.processing == "live" and arm.requests for arm in arms)
    if unknown:
        return Finishing(unknown=tuple(unknown), live=live)
    sources = {arm.stage: arm.of for arm in arms}
    whole = over([Work(stage, own, sources[stage], stage in waiting) for stage, own in legs.items()])
    rests_on = sum(used.values())
    return Finishing(seconds=whole.middle, low=whole.low, high=whole.high, seen=rests_on, live=live)
