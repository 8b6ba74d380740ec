"""A batch of somebody else's making, put on record: its rows from its input, or else from what it answered."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple, TypeVar

import msgspec

from overnight.api.elsewhere.adopted_files import (
    BY_POSITION,
    Answering,
    is_keyless,
    no_keys_text,
    numbered,
    position_name,
    positioned,
)
from overnight.api.elsewhere.made_elsewhere import ARM, BODY, Ready, body_of
from overnight.api.elsewhere.ready import arm_of, read_lines
from overnight.api.places import short_id
from overnight.api.plans.pricing import keep_prices, prices_for
from overnight.api.work import Say
from overnight.core.ask import Arm, Item, Model
from overnight.core.attempt import Accepted, AttemptEvent, Creating, Ended, Fetched, Uploaded
from overnight.core.clock import duration_text
from overnight.core.errors import Gone, Rejected, StudyError, Unavailable, UnknownName
from overnight.core.names import check_item_id
from overnight.core.shard import token_of
from overnight.core.stage import Stage
from overnight.core.wording import number_of
from overnight.engine.account_check import account_identity
from overnight.engine.batch.line_splitting import is_json
from overnight.engine.flow.intake import take_stage
from overnight.engine.session import Connect, Session
from overnight.engine.work import Work
from overnight.ledger.transaction import Transaction
from overnight.providers import (
    Batch,
    BatchConnection,
    Fence,
    Provider,
    ReadyLine,
    answers_in_order,
    batch_format,
    batches_of,
    vendor,
)
from overnight.store.contract import StoredFile, Writer

STAGE = "adopted"
# Names for rows that a batch counts and that it gives no line for, where the questions cannot be had.
UNNAMED = "unnamed-"
# How much of a listing is read for a token: of a hundred batches each, more than a provider retains of most accounts.
_PAGES = 200
# Seconds between downloads of a file that does not hold what the batch says it has answered: an hour in all, as the
# engine waits for such rows; a pass that is not to wait has the first few.
_LOOK_AGAIN = (5.0, 30.0, 120.0, 600.0, 1200.0, 1800.0)
_IN_ONE_PASS = 3

_Found = TypeVar("_Found")


class NothingToAdopt(StudyError):
    """The batch is there, but no row of it can be had: not yet, or, where it has ended, never."""

    def __init__(self, batch: Batch) -> None:
        yet = " yet" if batch.phase == "running" else ""
        super().__init__(f"{batch.id} ({batch.status}) has nothing to adopt{yet}")
        self.batch = batch


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which batch: by the provider's name for it, or by ours."""

    batch_id: str | None = None
    token: str | None = None

    @property
    def name(self) -> str:
        return short_id(self.batch_id) if self.batch_id is not None else self.token or ""


def told_of(batch: Batch) -> int:
    """How many rows a batch says that it has settled, where it names a place for them."""
    return batch.counts.completed + batch.counts.failed if batch.parts else 0


class Rows(NamedTuple):
    """What a batch holds: whom it asked, its rows, and whether their questions came along."""

    model: Model
    items: list[Item]
    known: bool


class Adoption:
    """Puts a foreign batch on record: its rows from its input file, or else from what it answered."""

    def __init__(
        self, session: Session, connect: Connect, provider: str, wanted: Wanted, say: Say, *, once: bool
    ) -> None:
        """`once`: rows that the batch counts and does not give are not looked for at length."""
        self._once = once
        self._session = session
        self._connect = connect
        self._provider = provider
        self._format = batch_format(vendor(provider))
        self._answering = Answering(provider)
        self._wanted = wanted
        self._say = say

    async def take(self, ask_again: bool, *, by_position: bool) -> bool:
        """Whether what is missing can and may be asked again: only where the questions are known."""
        provider = self._connect(Model(provider=self._provider, name="unknown"))
        batches = batches_of(provider)
        try:
            batch = await self._batch(batches)
            if by_position:
                rows, copy = await self._in_order(batches, batch)
                self._put_on_record(provider, batch, rows, ask_again=False, copy=copy)
                return False
            found = await self._rows(batches, batch)
        finally:
            await batches.close()
        known = ask_again and found.known
        self._put_on_record(provider, batch, found, ask_again=known)
        return known

    async def _batch(self, batches: BatchConnection) -> Batch:
        batch_id = self._wanted.batch_id or await self._sent_as(batches, self._wanted.token or "")
        batch = await batches.retrieve(batch_id)
        if batch is None:
            message = f"{self._provider} has no batch '{batch_id}' in this account"
            raise UnknownName(message)
        return batch

    async def _sent_as(self, batches: BatchConnection, token: str) -> str:
        """The batch that bears our token, from the provider's whole listing."""
        if not self._format.tags:
            message = f"--token: {self._provider} keeps no token with a batch; adopt it by its id instead"
            raise StudyError(message)
        seen = await batches.recent(Fence(None, 0.0), _PAGES)
        found = sorted({batch.id for batch in seen.batches if batch.tag == token})
        if len(found) > 1:
            message = f"--token {token}: {self._provider} lists several: adopt one of {', '.join(found)} by its id"
            raise StudyError(message)
        if not found:
            whole = "" if seen.complete else ", as far back as its listing goes"
            message = f"--token {token}: {self._provider} lists no batch with that token in this account{whole}"
            raise UnknownName(message)
        return found[0]

    async def _rows(self, batches: BatchConnection, batch: Batch) -> "Rows":
        """With their questions where the provider still has them."""
        if lines := await self._asked(batches, batch):
            items = [Item(line.custom_id, {BODY: line.body.decode()}) for line in lines]
            return Rows(lines[0].model, items, known=True)
        self._say("the questions cannot be had from the provider; only what was answered can be adopted")
        if not batch.parts:
            raise NothingToAdopt(batch)
        scratch = self._scratch("adopted-output")
        ids, _ = await self._looked(batch, told_of(batch), lambda: self._answered(batches, batch, scratch))
        if not ids:
            raise NothingToAdopt(batch)
        names = [*ids, *self._unnamed(batch, ids)]
        return Rows(self._answering.model, [Item(name, {BODY: ""}) for name in names], known=False)

    async def _asked(self, batches: BatchConnection, batch: Batch) -> list[ReadyLine]:
        """The questions, where the provider gives them back and they are as many as the batch counts."""
        scratch, ref = self._scratch("adopted-input"), batch.input_ref
        if not ref:
            return []

        async def look() -> list[ReadyLine] | None:
            return self._questions(scratch) if await self._gives_back(batches, ref, scratch) else None

        lines, whole = await self._looked(batch, max(told_of(batch), batch.counts.total), look)
        return lines if whole else []

    async def _looked(
        self, batch: Batch, counted: int, look: Callable[[], Awaitable[list[_Found] | None]]
    ) -> tuple[list[_Found], bool]:
        """What is found in the end, and whether it is whole; nothing where there is nothing to be had at all.

        A file that is short of the batch's own counts proves nothing until it goes on being so. Where the batch counts
        nothing, two looks have to agree: a file that is cut looks like a smaller batch.
        """
        before, pauses = -1, iter(_LOOK_AGAIN[: _IN_ONE_PASS if self._once else None])
        while (found := await look()) is not None:
            if len(found) >= counted > 0 or (not counted and len(found) == before):
                return found, True
            pause = next(pauses, None)
            if pause is None:
                return found, False
            if counted:
                short = f"{batch.id} counts {number_of(counted, 'row')}, and its files hold {len(found):,}"
                self._say(f"{short}; looking again in {duration_text(pause)}")
            await self._session.clock.sleep(pause)
            before = len(found)
        return [], False

    def _unnamed(self, batch: Batch, ids: Sequence[str]) -> list[str]:
        """Rows that the batch counts and no file holds. Nobody knows their names, but they are not forgotten."""
        counted = max(told_of(batch), batch.counts.total) if batch.phase != "running" else 0
        lost = counted - len(ids)
        # More than a batch can hold is no count of its rows.
        if lost <= 0 or counted > self._format.limits(self._answering.model).requests:
            return []
        rows = number_of(lost, "row that it counts has", "rows that it counts have")
        self._say(
            f"{batch.id}: {rows} no line in its files; nobody knows the names, so failures stand as {UNNAMED}1 and on"
        )
        free = (f"{UNNAMED}{number}" for number in count(1))
        return list(islice((name for name in free if name not in ids), lost))

    async def _answered(self, batches: BatchConnection, batch: Batch, scratch: StoredFile) -> list[str]:
        ids: dict[str, None] = {}
        for _, ref in batch.parts:
            if await self._fetched(batches, ref, scratch):
                ids.update(dict.fromkeys(self._custom_ids(batch, scratch)))
        return list(ids)

    def _custom_ids(self, batch: Batch, file: StoredFile) -> Iterator[str]:
        try:
            with file.open() as content:
                for _, line in numbered(content):
                    custom_id = self._format.decode(self._answering.see(line)).custom_id
                    if custom_id is not None:
                        check_item_id(custom_id, batch.id)
                        yield custom_id
                    elif answers_in_order(vendor(self._provider)) and is_keyless(line):
                        raise StudyError(no_keys_text(batch.id))
        finally:
            file.remove()

    async def _in_order(self, batches: BatchConnection, batch: Batch) -> "tuple[Rows, Writer]":
        """Answers without keys, each named by its place; there must be as many of them as there were requests."""
        if batch.phase == "running" or not batch.parts:
            raise NothingToAdopt(batch)
        scratch = self._scratch("adopted-output")
        for _, ref in batch.parts:
            if not await self._fetched(batches, ref, scratch):
                raise Gone(f"{self._provider} no longer keeps the answers of {batch.id}")
        try:
            with scratch.open() as content:
                lines = positioned(content, scratch.where)
                copy, count = copied(self._session, (self._answering.see(line) for _, line in lines))
        finally:
            scratch.remove()
        if batch.counts.total and count != batch.counts.total:
            self._session.folder.files.remove(copy.name)
            came = f"{number_of(count, 'answer')} came for {number_of(batch.counts.total, 'request')}"
            raise StudyError(f"{batch.id}: {came}, so their places say nothing; {BY_POSITION} is refused")
        items = [Item(position_name(place), {BODY: ""}) for place in range(1, count + 1)]
        return Rows(self._answering.model, items, known=False), copy

    def _questions(self, scratch: StoredFile) -> list[ReadyLine] | None:
        """None where a line does not say all that would be asked, as where only the batch names the model."""
        try:
            with scratch.open() as content:
                return [line for _, line in read_lines(content, scratch.where, self._format)]
        except StudyError:
            with scratch.open() as content:
                # A line that is no JSON at all is where a download was cut, or a web page: none came, for now.
                return None if all(is_json(line) for _, line in numbered(content)) else []
        finally:
            scratch.remove()

    def _scratch(self, name: str) -> StoredFile:
        """For what is read once, and is not of the run."""
        return StoredFile(self._session.folder.files, f"outbox/{name}.jsonl")

    async def _gives_back(self, batches: BatchConnection, ref: str, target: StoredFile) -> bool:
        """Some providers, such as Gemini, give back only what they made themselves, and not what was uploaded."""
        try:
            return await self._fetched(batches, ref, target)
        except Rejected:
            return False

    async def _fetched(self, batches: BatchConnection, ref: str, target: StoredFile) -> bool:
        file = target.store.put(target.name)
        try:
            announced = await batches.fetch(ref, file.write)
        except Gone:
            file.drop()
            return False
        except BaseException:
            file.drop()
            raise
        if announced not in (None, file.size):
            file.drop()
            raise Unavailable(f"{ref}: {file.size:,} of {announced:,} bytes came; try again later")
        file.keep()
        return True

    def _put_on_record(
        self,
        provider: Provider,
        batch: Batch,
        rows: "Rows",
        *,
        ask_again: bool,
        copy: Writer | None = None,
    ) -> None:
        session, at = self._session, self._session.clock.now()
        arm = arm_of(rows.model, STAGE)
        account = account_identity(session.run_id, provider)
        events: list[AttemptEvent] = [
            Uploaded(batch.input_ref or ""),
            Creating(None, batch.created_at),
            Accepted(batch.id, "user"),
        ]

        def fact(tx: Transaction) -> None:
            number = taken_in(session, arm, rows.items, Work(can_ask_again=ask_again), tx)
            came: list[AttemptEvent] = [] if copy is None else [_ended(batch), Fetched((registered(copy, tx),), 2)]
            token = token_of(session.run_id, STAGE, arm.name, 1, 1)
            attempt = tx.attempts.adopt(number, tx.shards.take_queue(), token, at, tx.accounts.keep(account))
            for event in (*events, *came):
                attempt = tx.attempts.record(attempt, event, at)

        session.ledger.write("adopted", fact).result()
        self._say(f"adopted {batch.id} ({batch.status}): {number_of(len(rows.items), 'row')}")


def _ended(batch: Batch) -> Ended:
    return Ended(batch.phase, batch.status, batch.parts, batch.counts.completed, batch.counts.failed)  # type: ignore[arg-type]


def taken_in(session: Session, arm: Arm, items: Sequence[Item], work: Work, tx: Transaction) -> int:
    """The rows on record; the number of their arm."""
    tx.facts.keep("work", msgspec.json.encode(work).decode())
    stage = _stage(arm, items)
    take_stage(tx, session.folder.files, stage, body_of)
    keep_prices(tx, prices_for((arm,)), stage)
    return tx.stages.keep_arm(tx.stages.keep(STAGE, Ready.name, Ready.version), arm)


def registered(copy: Writer, tx: Transaction) -> int:
    return tx.files.keep(copy.name, copy.size, copy.sha256)


def copied(session: Session, lines: Iterable[bytes]) -> tuple[Writer, int]:
    """A raw file of our own, and how many lines it has."""
    copy, count = session.folder.files.put("raw/adopted-output.jsonl"), 0
    with copy:
        for line in lines:
            copy.write(line + b"\n")
            count += 1
    return copy, count


def _stage(arm: Arm, items: Sequence[Item]) -> Stage:
    named = [Item(item.id, {**item.fields, ARM: arm.name}) for item in items]
    return Stage(name=STAGE, task=Ready((arm,)), arms=(arm,), items=lambda: iter(named), dedupe=False)
