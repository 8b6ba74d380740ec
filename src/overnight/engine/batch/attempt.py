"""Carries one attempt from its intent to its end, one durable step after another.

Each step reads the attempt's state and writes the next fact, so a process that dies anywhere is followed by one that
goes on from the same place. The order is the point: files before rows that mention them, rows before calls.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import cast

from overnight.core.attempt import (
    Accepted,
    Attempt,
    AttemptEvent,
    Believed,
    Closed,
    Denied,
    Ended,
    Examined,
    Refused,
    Seen,
    Stuck,
    Unknown,
    Unsent,
    Uploaded,
    Vanished,
    Withdrawn,
)
from overnight.core.errors import OutOfCredit, Rejected, Throttled, Unauthorized, Unavailable
from overnight.engine.batch.doubts import only_create
from overnight.engine.batch.evidence import FIRST_PAUSE, PATIENT, ended_event, was_not_run
from overnight.engine.batch.ingest import Ingest, record_end
from overnight.engine.batch.outbox import SENT, input_file, write_input
from overnight.engine.batch.owner import carries
from overnight.engine.batch.rejections import Rejections
from overnight.engine.batch.search import as_listed, found_before, listed_as_ours, look, own_answer
from overnight.engine.context import RunContext
from overnight.engine.decisions import (
    BREAKING_REFUSALS,
    TRANSIENT_REFUSALS,
    UPLOAD_DOUBTED,
    adjudicate,
    after_denials,
    backoff,
    create_outcome,
    fence_of,
)
from overnight.engine.live.spill import grace
from overnight.engine.pools import PASSED_ON, goes_on, passes_on
from overnight.engine.provider_account import ProviderAccount
from overnight.providers.contract import Batch, CreateAnswer, Intent, Refusal, RefusalKind

# After Ctrl-C or the end of the time, a create has so many real seconds to be answered; then it is in doubt.
_LAST_WORD = 30.0


class BatchAttempt:
    def __init__(
        self, context: RunContext, attempt: Attempt, wants_calls: Callable[[], bool], *, until_sent: bool
    ) -> None:
        self._context, self._attempt, self._wants_calls = context, attempt, wants_calls
        self._until_sent = until_sent
        self._cancelled_at: float | None = None

    @property
    def _account(self) -> ProviderAccount:
        """Found at another account of its pool, it goes on there."""
        return self._context.account_for(self._attempt)

    async def carry(self) -> Attempt:
        """Until the attempt is closed, stuck, or (for `submit`) safely at the provider."""
        steps: dict[str, Callable[[], Awaitable[None]]] = {
            "intended": self._upload,
            "uploaded": self._create,
            "creating": self._find_out,
            "unsure": self._adjudicate,
            "running": self._watch,
            "ended": self._collect,
            "fetched": self._collect,
        }
        while self._attempt.state not in ("closed", "stuck"):
            if self._attempt.state in ("intended", "uploaded") and await self._taken_back():
                break
            if self._until_sent and (self._attempt.state in ("running", "fetched") or self._attempt.possible):
                break
            if self._account.halted is not None and not goes_on(self._context, self._attempt):
                raise self._account.halted
            if self._attempt.in_doubt:
                self._context.share_doubt(self._account)  # every time: who is not heard of is not waited for
            await steps[self._attempt.state]()
        return self._attempt

    async def _record(self, event: AttemptEvent) -> None:
        self._attempt = await self._context.record(self._attempt, event)
        if isinstance(event, Accepted):
            await self._clean_outbox()

    async def _intent(self) -> Intent:
        attempt = self._attempt
        file = input_file(self._context.files, attempt.token)
        size = await asyncio.to_thread(lambda: file.size if file.exists() else attempt.bytes)
        model, description = self._context.arms[attempt.arm].model, self._context.description
        return Intent(
            token=attempt.token, run=self._context.name, model=model, rows=attempt.rows, bytes=size, file=file,
            description=description,
        )  # fmt: skip

    # --- sending

    async def _upload(self) -> None:
        if await self._made_before():
            return
        await self._ensure_input()
        intent = await self._intent()
        async with self._account.uploading:
            try:
                file_id = await self._account.patiently(lambda: self._account.batches.upload(intent))
            except Rejected as refused:
                kind = cast("RefusalKind", refused.kind)
                await self._refused_for_good(Refusal(kind=kind, message=str(refused)))
                return
        await self._record(Uploaded(file_id))

    async def _ensure_input(self) -> None:
        """The file is there unless somebody tidied the outbox; its bytes are the same whenever it is made."""
        context, attempt = self._context, self._attempt
        if not await asyncio.to_thread(input_file(context.files, attempt.token).exists):
            model = context.arms[attempt.arm].model
            batch_format = self._account.batch_format
            files, shard = context.files, attempt.shard
            await asyncio.to_thread(write_input, files, context.ledger, shard, attempt.token, batch_format, model)

    async def _create(self) -> None:
        await self._context.waiting.until(self._attempt.retry_at)
        if await self._upload_vanished():
            return
        await self._ensure_input()  # some providers get it with the create itself
        async with only_create(self._context, self._attempt, until_sent=self._until_sent):
            if await self._made_before():
                return
            seen = await self._account.patiently(self._account.batches.newest)
            intent = await self._intent()  # before anything is announced: a create follows its announcement at once
            if await self._claimed(listed_as_ours(self._account, intent, self._attempt, seen.batches)):
                return
            await self._record(fence_of(seen, tags=self._account.batch_format.tags))
            self._account.created()
            create = self._account.batches.create(intent, self._attempt.file_id or "")
            answer = await self._context.waiting.to_its_end(create, _LAST_WORD)
            answer = answer or CreateAnswer(sent=True, problem="stopped before the provider had answered")
            await self._conclude(await own_answer(self._context, self._account, self._attempt, intent, answer))

    async def _made_before(self) -> bool:
        """Whether the provider has this attempt's batch already, though the ledger does not know: it was restored."""
        found = await found_before(self._context, self._account, self._attempt)
        if isinstance(found, Attempt):
            self._attempt = found
            await self._clean_outbox()
            return True
        return found is not None and await self._claimed(found.batches, found.account)

    async def _claimed(self, batches: tuple[str, ...], account: int | None = None) -> bool:
        if len(batches) > 1:
            await self._record(Stuck(batches))
        elif batches:
            await self._record(Accepted(batches[0], "listing", account))
            self._context.say(f"shard {self._attempt.shard}: found its batch {batches[0]}, made before")
        return bool(batches)

    async def _upload_vanished(self) -> bool:
        """A create refused for want of its input, again: does the provider still have what was uploaded?"""
        attempt, file_id = self._attempt, self._attempt.file_id
        if not file_id or attempt.refusals < UPLOAD_DOUBTED or attempt.last_refusal != "file_not_ready":
            return False
        if attempt.refusals % (2 * UPLOAD_DOUBTED) and await self._account.patiently(
            lambda: self._account.batches.knows_file(file_id)
        ):
            return False
        self._context.say(f"shard {attempt.shard}: the provider does not find the uploaded input; uploading it again")
        await self._record(Vanished(file_id))
        return True

    async def _conclude(self, answer: CreateAnswer) -> None:
        outcome = create_outcome(answer)
        now = self._context.now()
        if outcome == "accepted" and answer.batch is not None:
            await self._record(Accepted(answer.batch.id))
        elif outcome == "refused" and answer.refusal is not None:
            await self._refused(answer.refusal)
        elif outcome == "unsent":
            await self._record(Unsent(answer.problem or "not sent", now + backoff(self._attempt.refusals)))
            await self._give_up_if_unreachable(answer.problem)
        else:
            problem = answer.problem or f"the provider answered {answer.status} to the create"
            self._context.say(f"shard {self._attempt.shard}: {problem}; looking whether the batch was made")
            await self._record(Unknown(problem))

    async def _give_up_if_unreachable(self, problem: str | None) -> None:
        """A create that cannot even be sent is as harmless as any call: the patient listing finds out."""
        await self._account.patiently(self._account.batches.newest)
        self._context.say(f"shard {self._attempt.shard}: {problem or 'not sent'}; sending it again")

    async def _refused(self, refusal: Refusal) -> None:
        """A no is believed when the listing shows no batch: some servers say it after they have made one."""
        wait = backoff(self._attempt.refusals, refusal.retry_after)
        queued = Rejections(self._context).tokens_in_queue(self._attempt)
        kind, message, retry_at = refusal.kind, refusal.message, self._context.now() + wait
        await self._record(Refused(kind, message, retry_at, refusal.token_limit, refusal.line, queued))
        if refusal.kind not in TRANSIENT_REFUSALS:
            self._context.say(f"shard {self._attempt.shard}: {refusal.message}")
        if refusal.kind in BREAKING_REFUSALS:
            error = OutOfCredit if refusal.kind == "no_credit" else Unauthorized
            raise error(refusal.message)

    async def _believe(self) -> None:
        """No batch was made. The same is sent again, or the shard is given up."""
        refused = self._attempt.refused
        if refused is None or refused.reason in TRANSIENT_REFUSALS | BREAKING_REFUSALS:
            await self._record(Believed())
            return
        kind = cast("RefusalKind", refused.reason)
        refusal = Refusal(kind=kind, message=refused.message, token_limit=refused.token_limit, line=refused.line)
        await self._refused_for_good(refusal)

    async def _refused_for_good(self, refusal: Refusal) -> None:
        self._attempt = await Rejections(self._context).refuse(self._attempt, refusal, "refused")
        await self._clean_outbox()

    # --- finding out

    async def _find_out(self) -> None:
        """`creating` at start: the process died between announcing the create and hearing of it."""
        await self._record(Unknown("the process ended while the batch was being created"))

    async def _adjudicate(self) -> None:
        decision = adjudicate(self._attempt, self._context.now())
        match decision.verdict:
            case "adopt":
                await self._record(Accepted(decision.batch_id or "", "listing"))
                self._context.say(f"shard {self._attempt.shard}: found its batch {decision.batch_id}")
            case "stuck":
                await self._record(Stuck(self._attempt.candidates))
            case "wait":
                await self._context.waiting.until(decision.at)
            case "look":
                await self._look()
            case "examine":
                await self._examine()
            case "withdraw":
                file_id = self._attempt.file_id
                if file_id is not None:
                    await self._account.patiently(lambda: self._account.batches.remove_file(file_id))
                await self._record(Withdrawn())
            case "absent":
                await self._record(Closed("absent", "no batch was made"))
                self._context.say(f"shard {self._attempt.shard}: the batch was not made; sending it again")
                await self._clean_outbox()
            case "believe":
                await self._believe()

    async def _look(self) -> None:
        looked = await look(self._context, self._account, self._attempt, await self._intent())
        await self._record(looked)
        if self._attempt.possible and not looked.candidates:
            names = ", ".join(self._attempt.possible)
            self._context.say(f"shard {self._attempt.shard}: {names} may be its batch; its rows tell when it has ended")
        elif not looked.complete and not looked.endless and not looked.candidates:
            await self._context.waiting.pause(30.0)

    async def _examine(self) -> None:
        """A batch without a tag is known by the custom ids of its rows, and those show when it has ended."""
        for batch_id in self._attempt.possible:
            batch = await self._seen(batch_id)
            if batch is not None and batch.phase == "running":
                continue
            if batch is None and not after_denials(self._attempt.denials).gone:
                continue
            # A batch that somebody has deleted can no longer be collected, whoever made it.
            ours = batch is not None and await carries(self._account, batch, self._attempt.token)
            if ours is None and await self._looked_again_later(batch_id):
                return
            await self._record(Stuck((batch_id,)) if ours is None else Examined(batch_id, ours))
            return

    async def _looked_again_later(self, batch_id: str) -> bool:
        """A batch that shows no row proves nothing at first; False when it has not shown any for long enough."""
        if self._attempt.unclear_since is None:
            await self._record(Examined(batch_id, None))
        waited = self._context.now() - (self._attempt.unclear_since or 0.0)
        if waited >= PATIENT:
            return False
        await self._context.waiting.pause(max(FIRST_PAUSE, waited))
        return True

    # --- waiting and collecting

    async def _taken_back(self) -> bool:
        """It never got to the provider, and now its rows are asked live, of another account, or not at all."""
        context, attempt, at = self._context, self._attempt, self._context.now()
        passed_on = passes_on(context, attempt)
        if not self._wants_calls() and not context.cancelled() and not passed_on:
            return False
        why = PASSED_ON if passed_on else "the deadline is near" if context.spilled else "called off"
        self._attempt = await context.ledger.commit("taken back", lambda tx: tx.attempts.abandon(attempt, at, why))
        context.keep(self._attempt)
        await self._clean_outbox()
        return True

    async def _make_way(self) -> None:
        """The deadline is near: cancel the batch; if that takes too long, ask its rows live in the meantime."""
        context, attempt, now = self._context, self._attempt, self._context.now()
        if self._cancelled_at is None:
            self._cancelled_at = now
            with suppress(Unavailable, Throttled):  # asked for in vain, it is overtaken like one that is slow
                await self._account.patiently(lambda: self._account.batches.cancel(attempt.batch_id or ""), tries=2)
            context.say(f"shard {attempt.shard}: asked the provider to cancel {attempt.batch_id}")
        elif not attempt.overtaken and now >= self._cancelled_at + grace(context.deadline, self._cancelled_at):
            self._attempt = await context.ledger.commit("overtaken", lambda tx: tx.attempts.overtake(attempt, now))
            context.keep(self._attempt)
            context.say(f"shard {attempt.shard}: {attempt.batch_id} takes long to end; its rows are asked live")
            context.stirred.set()

    async def _watch(self) -> None:
        if self._context.spilled:
            await self._make_way()
        batch_id = self._attempt.batch_id or ""
        batch = await self._seen(batch_id)
        if batch is None:
            if after_denials(self._attempt.denials).gone:
                message = f"the provider no longer knows batch {batch_id}"
                self._context.say(f"shard {self._attempt.shard}: {message}")
                await self._record(Ended("gone", "gone", message=message))
        elif batch.phase == "running":
            await self._still_running(batch)
            self._context.tally.looked(self._attempt.id)
        else:
            await self._ended(batch)

    async def _seen(self, batch_id: str) -> Batch | None:
        """The batch as it stands; None, and on record, when the provider denies it by name and in its listing."""
        await self._context.waiting.until(after_denials(self._attempt.denials).at)
        fence = self._attempt.fence
        since = fence.at if fence is not None and fence.at is not None else 0.0
        batch = await self._account.poller.look(batch_id, since)
        if batch is None:
            batch = await as_listed(self._account, self._attempt, await self._intent(), batch_id)
            if batch is not None and batch.id != batch_id:
                await self._claimed((batch.id,))
        if batch is None:
            if not self._attempt.denials:
                self._context.say(f"shard {self._attempt.shard}: the provider does not know {batch_id}; asking again")
            await self._record(Denied(batch_id))
        return batch

    async def _still_running(self, batch: Batch) -> None:
        known = self._attempt
        news = (batch.status, batch.counts.completed, batch.counts.failed)
        if known.denials or news != (known.status, known.completed, known.failed):
            if not batch.known_status and batch.status != known.status:
                self._context.say(f"shard {known.shard}: unknown status '{batch.status}', taken as running")
            counts = batch.counts
            await self._record(Seen(batch.status, counts.total, counts.completed, counts.failed))

    async def _ended(self, batch: Batch) -> None:
        self._attempt = await record_end(self._context, self._attempt, ended_event(batch))

    async def _collect(self) -> None:
        ended = self._attempt.ended
        if ended is not None and was_not_run(ended, self._attempt.seen_completed):
            refusal = Refusal(
                kind=cast("RefusalKind", ended.reason or "invalid"),
                message=ended.message or "the batch failed",
                token_limit=ended.token_limit,
                line=ended.line,
            )
            self._attempt = await Rejections(self._context).refuse(self._attempt, refusal, "rejected")
        else:
            self._attempt = await Ingest(self._context, self._account, self._attempt).bring_in()
        await self._clean_outbox()

    async def _clean_outbox(self) -> None:
        """The bodies stay on record; the envelope file was only for the way out, and is as large as all of them."""
        if self._attempt.state in SENT:
            await asyncio.to_thread(input_file(self._context.files, self._attempt.token).remove)
