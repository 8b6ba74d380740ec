"""From the queue into shards: batches as large as they may be, or slices of live calls, within the budget."""

from collections.abc import Container

from overnight.core.ask import Arm
from overnight.core.money import Purse
from overnight.core.pack import Few, Room, few, most_requests
from overnight.core.shard import Shard
from overnight.core.stage import StagePace
from overnight.core.wording import number_of
from overnight.engine.batch.outbox import line_overhead
from overnight.engine.context import RunContext
from overnight.engine.decisions import first_processing
from overnight.engine.pools import slice_rows
from overnight.engine.work import Work
from overnight.ledger.open_shard import ArmPacking
from overnight.ledger.transaction import Transaction, View
from overnight.prices import Processing
from overnight.providers import vendor
from overnight.providers.provider import batch_floor, takes_batches, takes_calls

# Rows in a live slice: enough that its own commits do not matter, few enough that it is soon over.
_SLICE = 2_000
_SLICE_BYTES = 64 << 20


def too_few_text(arm: Arm, rows: int, least: int) -> str:
    """Why so few rows of an arm are not sent, and what can be done about it."""
    provider = arm.model.provider
    live = "write `mode: auto` to ask them live, or " if takes_calls(vendor(provider)) else ""
    wait = "waits" if rows == 1 else "wait"
    return (
        f"{arm.name}: {number_of(rows, 'row')} {wait}, and a batch of {provider} must hold at least {least:,}; "
        f"{live}add items"
    )


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

    def fits(self, shard: Shard) -> bool:
        """Whether a shard was cut for the way that its arm is asked now; a few rows may be asked live all the same."""
        too_few = shard.rows < self._least(shard.arm)
        if too_few and not self.live(shard.arm):
            return shard.live and self._may_call(shard.arm)
        return shard.live == self.live(shard.arm)

    def few(self, arm: int, rows: int, *, under_way: bool) -> Few:
        """Whether so many rows of an arm are enough for a batch, and what becomes of them if not."""
        if self.live(arm):
            return "enough"
        return few(rows, self._least(arm), under_way=under_way, may_call=self._may_call(arm))

    def few_text(self, arm: int, rows: int) -> str:
        """Why rows are not sent, and what can be done about it."""
        return too_few_text(self._context.arms[arm], rows, self._least(arm))

    def _may_call(self, arm: int) -> bool:
        return self._work.mode == "auto" and takes_calls(self._context.account_of(arm).provider)

    def _least(self, arm: int) -> int:
        usual = batch_floor(self._context.account_of(arm).provider, self._context.arms[arm].model)
        return self.stage(arm).least(usual)

    def stage(self, arm: int) -> StagePace:
        return self._work.stages.get(self._context.arms[arm].stage, StagePace())

    def cut(self, tx: Transaction, due: set[int], now: float, few_live: Container[int] = ()) -> Purse:
        """Inside a transaction: empty the queue of the arms that are due, as far as the money goes.

        `few_live`: arms whose rows are too few for a batch, and are asked live.
        """
        purse = Purse(self._work.budget, tx.spending.by_stage(), self._left_to_spill(tx), tx.team.left())
        queued = {arm: rows[0] for arm, rows in tx.shards.queued().items()} if self._pools else {}
        packing = {
            arm: self._slices(arm, queued.get(arm, 0)) if arm in few_live or self.live(arm) else self._batches(tx, arm)
            for arm in self._context.arms
        }
        tx.shards.pack(packing, now, due, purse)
        tx.team.note()
        return purse

    def _left_to_spill(self, view: View) -> int | None:
        most = self._work.spill.max_cost if self._context.spilled else None
        if most is None:
            return None
        return most - view.spending.live_commitment([arm for arm in self._context.arms if self._spills(arm)])

    def _spills(self, arm: int) -> bool:
        """Whether an arm is asked live only because its batches would have come too late."""
        return self._context.spilled and takes_batches(self._context.account_of(arm).provider)

    @property
    def _pools(self) -> bool:
        return any(len(pool) > 1 for pool in self._context.accounts.values())

    def _slices(self, number: int, queued: int) -> ArmPacking:
        arm = self._context.arms[number]
        rows = slice_rows(_SLICE, queued, len(self._context.accounts[number]))
        density = self._context.account_of(number).tokens_per_byte(arm.model.name)
        return ArmPacking(
            stage=arm.stage,
            room=Room(requests=rows, bytes=_SLICE_BYTES),
            overhead=0,
            tokens_per_byte=density,
            live=True,
            spills=self._spills(number),
            ceiling=self._context.pricing.ceilings(number, "live", density),
        )

    def _batches(self, view: View, number: int) -> ArmPacking:
        arm, account, stage = self._context.arms[number], self._context.account_of(number), self.stage(number)
        limits = account.batch_format.limits(arm.model)
        least = stage.least(limits.min_rows)
        bytes_cap, tokens_cap = (view.facts.get(f"cap_{unit}:{number}") for unit in ("bytes", "tokens"))
        density = account.tokens_per_byte(arm.model.name)
        return ArmPacking(
            stage=arm.stage,
            room=Room(
                requests=most_requests(limits.requests, stage.max_requests, least),
                bytes=min(limits.bytes, int(bytes_cap or limits.bytes)),
                line=limits.line_bytes,
                tokens=int(tokens_cap) if tokens_cap else None,
                least=least,
            ),
            overhead=line_overhead(account.batch_format, arm.model),
            tokens_per_byte=density,
            segments=stage.segments,
            ceiling=self._context.pricing.ceilings(number, "batch", density),
        )
