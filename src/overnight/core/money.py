"""Money in integer nano-dollars, and the purse that says what may still be reserved."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

DOLLAR = 1_000_000_000


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Caps in nano-dollars: for the study, and for stages by name. None is no cap.

    `output_tokens` stands in for the longest answer where a model has no `max_tokens`.
    """

    total: int | None = None
    stages: dict[str, int] = {}
    output_tokens: int | None = None


class Balance(msgspec.Struct, frozen=True, kw_only=True):
    """What a stage has cost, may still cost, and has probably cost without our seeing the bill."""

    settled: int = 0
    reserved: int = 0
    presumed: int = 0

    @property
    def committed(self) -> int:
        return self.settled + self.reserved + self.presumed


class Wanted(NamedTuple):
    """What rows of a stage may cost, each by itself, and whether they are rows that a batch would answer too late."""

    stage: str
    amounts: Sequence[int | None]
    spills: bool = False


class Purse:
    """What is left of a budget. Taking from it never passes a cap."""

    def __init__(
        self,
        budget: Budget | None,
        balances: Mapping[str, Balance],
        left_to_spill: int | None = None,
        left_to_team: int | None = None,
    ) -> None:
        """`left_to_team` is what is left of a budget that this run shares with others."""
        budget = budget or Budget()
        used = sum(balance.committed for balance in balances.values())
        self._left = None if budget.total is None else budget.total - used
        self._stages = {name: cap - balances.get(name, Balance()).committed for name, cap in budget.stages.items()}
        self._left_to_spill = left_to_spill
        self._left_to_team = left_to_team
        # Whether it was the team's budget that kept rows back.
        self.held_by_team = False
        self.held_rows = 0
        self.held_amount = 0
        self.unpriced_rows = 0

    def take(self, stage: str, amount: int | None, *, spills: bool = False) -> bool:
        """Set `amount` aside; False when a cap would be passed (or, under a cap, when the price is unknown).

        `spills`: a row that a batch would have answered too late; there may be a cap on those of their own.
        """
        if self._left is None and not self._stages and not spills and self._left_to_team is None:
            return True
        to_spill = self._left_to_spill if spills else None
        own = (self._left, self._stages.get(stage), to_spill)
        caps = [cap for cap in (*own, self._left_to_team) if cap is not None]
        if not caps:
            return True
        if amount is None:
            self.unpriced_rows += 1
            return False
        if amount > min(caps):
            self.held_by_team = self.held_by_team or min(caps) == self._left_to_team
            self.held_rows += 1
            self.held_amount += amount
            return False
        if self._left is not None:
            self._left -= amount
        if stage in self._stages:
            self._stages[stage] -= amount
        if to_spill is not None:
            self._left_to_spill = to_spill - amount
        if self._left_to_team is not None:
            self._left_to_team -= amount
        return True

    def take_all(self, wanted: Sequence[Wanted]) -> bool:
        """Set all of it aside where no cap would be passed, as `take` would row by row; else nothing."""
        if self._left is None and not self._stages and self._left_to_spill is None and self._left_to_team is None:
            return True
        if any(None in rows.amounts for rows in wanted):
            return False
        stages, spilled = Counter[str](), 0
        for rows in wanted:
            amount = sum(one for one in rows.amounts if one is not None)
            stages[rows.stage] += amount
            spilled += amount if rows.spills else 0
        total = stages.total()
        caps = (
            (self._left, total),
            (self._left_to_team, total),
            (self._left_to_spill, spilled),
            *((self._stages.get(stage), amount) for stage, amount in stages.items()),
        )
        if any(cap is not None and amount > cap for cap, amount in caps):
            return False
        self._left = None if self._left is None else self._left - total
        self._left_to_team = None if self._left_to_team is None else self._left_to_team - total
        self._left_to_spill = None if self._left_to_spill is None else self._left_to_spill - spilled
        self._stages = {stage: cap - stages[stage] for stage, cap in self._stages.items()}
        return True
