"""`adopt`: batches that were made elsewhere become runs, with whatever they have answered."""

import asyncio
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from overnight.api.places import named_folder, short_id
from overnight.api.ready import arm_of, read_lines
from overnight.api.work import Run, Say, Tell, saved_work, silent, work_on
from overnight.core.arguments import checked
from overnight.core.ask import Arm, Item, Model
from overnight.core.attempt import Accepted, Creating, Ended, Fetched, Uploaded
from overnight.core.errors import Interrupted, ProviderError, StudyError, UnknownName
from overnight.core.names import run_name_of
from overnight.core.shard import token_of
from overnight.core.wording import number_of
from overnight.engine.intake import StageInput, StageSettings, take_stage
from overnight.engine.session import Connect, Session
from overnight.engine.work import Work
from overnight.ledger.folder import DurableFile
from overnight.ledger.identity import Account, account_id, arm_id, fingerprint, set_fact, stage_id
from overnight.ledger.questions import register_pending, settle_pending
from overnight.ledger.shards import adopted_attempt, attempts, record, take_queue
from overnight.providers import Batch, BatchProvider, Endpoint, Fence, ReadyLine, batches_of, vendor
from overnight.settings import Settings, settings
from overnight.tasks._ready import ARM, BODY, Ready, body_of

STAGE = "adopted"
# How much of a listing is read for a token: of a hundred batches each, more than a provider retains of most accounts.
_PAGES = 200


class _Tracked(msgspec.Struct):
    """One entry of a tracking file."""

    provider: str
    batch_id: str


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which batch: by the provider's name for it, or by ours."""

    batch_id: str | None = None
    token: str | None = None

    @property
    def name(self) -> str:
        return short_id(self.batch_id) if self.batch_id is not None else self.token or ""


class _Tracking(msgspec.Struct):
    batches: list[_Tracked]


@checked
def adopt(
    provider: str | None = None,
    batch_id: str | None = None,
    *,
    output_file: str | Path | None = None,
    tracking: str | Path | None = None,
    token: str | None = None,
    raw: str | Path | None = None,
    as_name: str | None = None,
    timeout: float = 86400.0,
    once: bool = False,
    emulate: bool | None = None,
    runs: str | Path | None = None,
    say: Say = silent,
    tell: Tell = silent,
) -> list[Run]:
    """A batch by its id or its token, an output file, or all batches of a tracking file; partial results are welcome.

    `token` is the name under which a run of ours sent it, as the run's file `sent` has it.
    """
    place = settings(runs=runs, emulate=emulate)
    work = Work(timeout=timeout, once=once)
    if tracking is not None:
        return _adopt_all(_tracked(Path(tracking)), place, work, say, tell)
    if provider is None:
        message = "adopt: name a provider and a batch id, or a tracking file with --from"
        raise StudyError(message)
    if output_file is not None:
        return [_adopt_file(provider, Path(output_file), place, as_name, say, tell)]
    if (batch_id is None) == (token is None):
        message = f"adopt {provider}: name the batch id, a token of ours with --token, or a file with --output-file"
        raise StudyError(message)
    wanted = _Wanted(batch_id=batch_id) if token is None else _Wanted(token=token)
    return [_adopt_batch(provider, wanted, place, work, as_name, raw, say, tell)]


def _adopt_all(entries: Sequence[_Tracked], place: Settings, work: Work, say: Say, tell: Tell) -> list[Run]:
    adopted: list[Run] = []
    for entry in entries:
        try:
            adopted.append(
                _adopt_batch(entry.provider, _Wanted(batch_id=entry.batch_id), place, work, None, None, say, tell)
            )
        except Interrupted as stop:
            stop.runs = [*adopted, *stop.runs]
            raise
    return adopted


def _tracked(path: Path) -> list[_Tracked]:
    """`{"batches": [{"provider": ..., "batch_id": ...}]}`; other fields are passed over."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Tracking).batches
    except OSError as error:
        message = f"--from {path}: cannot read: {error.strerror}"
        raise StudyError(message) from error
    except msgspec.MsgspecError as error:
        wanted = '{"batches": [{"provider": "openai", "batch_id": "..."}]}'
        message = f"--from {path}: {error}; wanted {wanted}"
        raise StudyError(message) from error


def _adopt_batch(
    provider: str,
    wanted: _Wanted,
    place: Settings,
    work: Work,
    as_name: str | None,
    raw: str | Path | None,
    say: Say,
    tell: Tell,
) -> Run:
    name = vendor(provider).name
    folder = named_folder(place, as_name, run_name_of(f"adopted-{wanted.name}"))

    def prepare(session: Session, connect: Connect) -> Work:
        if attempts(session.db.reader()):
            known = saved_work(folder).can_ask_again
        else:
            known = asyncio.run(_Adoption(session, connect, name, wanted, say).take())
        return msgspec.structs.replace(work, can_ask_again=known, send=False)

    run = work_on(folder, place, work, prepare=prepare, say=say, tell=tell)
    if raw is not None:
        with Path(raw).open("wb") as target:
            for part in sorted((folder.path / "raw").glob("*.jsonl"), reverse=True):
                with part.open("rb") as source:
                    shutil.copyfileobj(source, target)
    return run


class _Adoption:
    """Puts a foreign batch on record: its rows from its input file, or else from what it answered."""

    def __init__(self, session: Session, connect: Connect, provider: str, wanted: _Wanted, say: Say) -> None:
        self._session = session
        self._connect = connect
        self._provider = provider
        self._wanted = wanted
        self._say = say

    async def take(self) -> bool:
        """Whether the questions are known, so that what is missing can be asked again."""
        provider = batches_of(self._connect(Model(provider=self._provider, name="unknown")))
        try:
            batch = await self._batch(provider)
            rows = await self._rows(provider, batch)
        finally:
            await provider.close()
        self._put_on_record(provider, batch, *rows)
        return rows[2]

    async def _batch(self, provider: BatchProvider) -> Batch:
        batch_id = self._wanted.batch_id or await self._sent_as(provider, self._wanted.token or "")
        batch = await provider.retrieve(batch_id)
        if batch is None:
            message = f"{self._provider} has no batch '{batch_id}' in this account"
            raise UnknownName(message)
        return batch

    async def _sent_as(self, provider: BatchProvider, token: str) -> str:
        """The batch that bears our token, from the provider's whole listing."""
        if not provider.tags:
            message = f"--token: {self._provider} keeps no token with a batch; adopt it by its id instead"
            raise StudyError(message)
        seen = await provider.recent(Fence(None, 0.0), _PAGES)
        found = sorted({batch.id for batch in seen.batches if batch.tag == token})
        if len(found) > 1:
            message = f"--token {token}: {self._provider} lists several: adopt one of {', '.join(found)} by its id"
            raise StudyError(message)
        if not found:
            whole = "" if seen.complete else ", as far back as its listing goes"
            message = f"--token {token}: {self._provider} lists no batch with that token in this account{whole}"
            raise UnknownName(message)
        return found[0]

    async def _rows(self, provider: BatchProvider, batch: Batch) -> tuple[Model, list[Item], bool]:
        """(model, items, known): with their questions where the provider still has them."""
        scratch = self._session.folder.file("outbox/adopted-input.jsonl")
        if batch.input_ref and await self._fetched(provider, batch.input_ref, scratch):
            lines = self._questions(scratch, provider)
            if lines:
                model = lines[0].model
                return model, [Item(line.custom_id, {BODY: line.body.decode()}) for line in lines], True
        self._say("the questions cannot be had from the provider; only what was answered can be adopted")
        ids: dict[str, None] = {}
        for _, ref in batch.parts:
            if await self._fetched(provider, ref, scratch):
                ids.update(dict.fromkeys(_custom_ids(provider, scratch)))
                scratch.unlink()
        if not ids:
            message = f"{batch.id} ({batch.status}) has nothing to adopt yet"
            raise StudyError(message)
        return Model(provider=self._provider, name="unknown"), [Item(i, {BODY: ""}) for i in ids], False

    def _questions(self, scratch: Path, provider: BatchProvider) -> list[ReadyLine]:
        """None where a line does not say all that would be asked, as where only the batch names the model."""
        try:
            return [line for _, line in read_lines(scratch, provider)]
        except StudyError:
            return []
        finally:
            scratch.unlink()

    async def _fetched(self, provider: BatchProvider, ref: str, path: Path) -> bool:
        file = DurableFile(path)
        try:
            announced = await provider.fetch(ref, file.write)
        except ProviderError:
            file.drop()
            return False
        if announced not in (None, file.bytes):
            file.drop()
            return False
        file.keep()
        return True

    def _put_on_record(
        self, provider: BatchProvider, batch: Batch, model: Model, items: Sequence[Item], known: bool
    ) -> None:
        session, at = self._session, self._session.clock.now()
        arm = arm_of(model, STAGE)
        endpoint = provider.endpoint
        account = Account(
            provider=provider.name,
            place=endpoint.identity or endpoint.base_url,
            organization=endpoint.organization or "",
            project=endpoint.project or "",
            fingerprint=fingerprint(session.run_id, endpoint.key),
        )

        def fact(db: sqlite3.Connection) -> None:
            set_fact(db, "work", msgspec.json.encode(Work(can_ask_again=known)).decode())
            take_stage(db, session.folder, _stage(arm, items), body_of)
            number = arm_id(db, stage_id(db, STAGE, Ready.name, Ready.version), arm)
            token = token_of(session.run_id, STAGE, arm.name, 1, 1)
            adopted_attempt(db, number, take_queue(db), token, at, account_id(db, account))
            attempt = attempts(db, token)[0]
            for event in (
                Uploaded(batch.input_ref or ""),
                Creating(None, batch.created_at),
                Accepted(batch.id, "user"),
            ):
                attempt = record(db, attempt, event, at)

        session.db.write("adopted", fact).result()
        self._say(f"adopted {batch.id} ({batch.status}): {number_of(len(items), 'row')}")


def _stage(arm: Arm, items: Sequence[Item]) -> StageInput:
    named = [Item(item.id, {**item.fields, ARM: arm.name}) for item in items]
    return StageInput(
        name=STAGE, task=Ready((arm,)), arms=(arm,), items=lambda: iter(named), settings=StageSettings(dedupe=False)
    )


def _custom_ids(provider: BatchProvider, path: Path) -> Iterator[str]:
    with path.open("rb") as handle:
        for line in handle:
            custom_id = provider.decode(line.strip()).custom_id
            if custom_id is not None:
                yield custom_id


def _adopt_file(provider: str, file: Path, place: Settings, as_name: str | None, say: Say, tell: Tell) -> Run:
    """An output file that is already here: no provider is asked anything."""
    if not file.is_file():
        message = f"--output-file {file}: there is no such file"
        raise StudyError(message)
    reader = batches_of(vendor(provider).connect(Endpoint(base_url="http://unused.invalid/v1", key="unused")))
    ids = dict.fromkeys(_custom_ids(reader, file))
    if not ids:
        message = f"--output-file {file}: no line is a {provider} batch result"
        raise StudyError(message)
    folder = named_folder(place, as_name, run_name_of(f"adopted-{file.stem}"))
    arm = arm_of(Model(provider=vendor(provider).name, name="unknown"), STAGE)
    items = [Item(custom_id, {BODY: ""}) for custom_id in ids]
    work = Work(send=False, can_ask_again=False, once=True)

    def prepare(session: Session, _: Connect) -> None:
        if attempts(session.db.reader()):
            message = f"run '{folder.name}' is there already; choose another name with --as"
            raise StudyError(message)
        copy = DurableFile(session.folder.file("raw/adopted-output.jsonl"))
        with copy, file.open("rb") as source:
            while chunk := source.read(1 << 20):
                copy.write(chunk)
        session.db.write("adopted", partial(_record_file, session, arm, items, copy, work)).result()
        say(f"adopted {file.name}: {number_of(len(items), 'row')}")

    return work_on(folder, place, work, prepare=prepare, say=say, tell=tell, offline=True)


def _record_file(
    session: Session, arm: Arm, items: Sequence[Item], copy: DurableFile, work: Work, db: sqlite3.Connection
) -> None:
    at = session.clock.now()
    set_fact(db, "work", msgspec.json.encode(work).decode())
    take_stage(db, session.folder, _stage(arm, items), body_of)
    number = arm_id(db, stage_id(db, STAGE, Ready.name, Ready.version), arm)
    file = register_pending(db, copy, session.folder)
    settle_pending(db, file, copy)
    token = token_of(session.run_id, STAGE, arm.name, 1, 1)
    adopted_attempt(db, number, take_queue(db), token, at)
    attempt = attempts(db, token)[0]
    for event in (
        Uploaded(""),
        Creating(None),
        Accepted("file", "user"),
        Ended("completed", "file"),
        Fetched((file,), 2),
    ):
        attempt = record(db, attempt, event, at)
