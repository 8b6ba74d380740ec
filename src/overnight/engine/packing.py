"""From the queue into shards: batches as large as they may be, or slices of live calls, within the budget."""

from overnight.core.money import Purse
from overnight.core.pack import Room
from overnight.core.stage import StagePace
from overnight.engine.context import RunContext
from overnight.engine.decisions import first_processing
from overnight.engine.outbox import line_overhead
from overnight.engine.work import Work
from overnight.ledger.shards import ArmPacking
from overnight.ledger.transaction import Transaction, View
from overnight.prices import Processing
from overnight.providers.contract import takes_batches, takes_calls

# Rows in a live slice: enough that its own commits do not matter, few enough that it is soon over.
_SLICE = 2_000
_SLICE_BYTES = 64 << 20


class Packing:
    """How each arm is asked now, and how its rows are cut."""

    def __init__(self, context: RunContext, work: Work) -> None:
        self._context = context
        self._work = work

    def processing(self, arm: int) -> Processing:
        """After the cut, whatever can be asked live is."""
        provider = self._context.account_of(arm).provider
        if self._context.spilled and takes_calls(provider):
            return "live"
        return first_processing(self._work.mode, provider)

    def live(self, arm: int) -> bool:
        return self.processing(arm) == "live"

    def stage(self, arm: int) -> StagePace:
        return self._work.stages.get(self._context.arms[arm].stage, StagePace())

    def cut(self, tx: Transaction, due: set[int], now: float) -> Purse:
        """Inside a transaction: empty the queue of the arms that are due, as far as the money goes."""
        purse = Purse(self._work.budget, tx.spending.by_stage(), self._left_to_spill(tx))
        tx.shards.pack({arm: self._arm(tx, arm) for arm in self._context.arms}, now, due, purse)
        return purse

    def _left_to_spill(self, view: View) -> int | None:
        most = self._work.spill.max_cost if self._context.spilled else None
        if most is None:
            return None
        return most - view.spending.live_commitment([arm for arm in self._context.arms if self._spills(arm)])

    def _spills(self, arm: int) -> bool:
        """Whether an arm is asked live only because its batches would have come too late."""
        return self._context.spilled and takes_batches(self._context.account_of(arm).provider)

    def _arm(self, view: View, number: int) -> ArmPacking:
        return self._slices(number) if self.live(number) else self._batches(view, number)

    def _slices(self, number: int) -> ArmPacking:
        arm = self._context.arms[number]
        density = self._context.account_of(number).tokens_per_byte(arm.model.name)
        return ArmPacking(
            stage=arm.stage,
            room=Room(requests=_SLICE, bytes=_SLICE_BYTES),
            overhead=0,
            tokens_per_byte=density,
            live=True,
            spills=self._spills(number),
            ceiling=self._context.pricing.ceilings(number, "live", density),
        )

    def _batches(self, view: View, number: int) -> ArmPacking:
        arm, account, stage = self._context.arms[number], self._context.account_of(number), self.stage(number)
        limits = account.batch_format.limits(arm.model)
        bytes_cap, tokens_cap = (view.facts.get(f"cap_{unit}:{number}") for unit in ("bytes", "tokens"))
        density = account.tokens_per_byte(arm.model.name)
        return ArmPacking(
            stage=arm.stage,
            room=Room(
                requests=min(limits.requests, stage.max_requests or limits.requests),
                bytes=min(limits.bytes, int(bytes_cap or limits.bytes)),
                tokens=int(tokens_cap) if tokens_cap else None,
            ),
            overhead=line_overhead(account.batch_format, arm.model),
            tokens_per_byte=density,
            segments=stage.segments,
            ceiling=self._context.pricing.ceilings(number, "batch", density),
        )
