"""`adopt`: batches that were made elsewhere become runs, with whatever they have answered."""

import asyncio
import hashlib
import shutil
from collections.abc import Awaitable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from overnight.api.elsewhere.adopted_files import BY_POSITION, Answering, lines_of, read_output
from overnight.api.elsewhere.adoption import STAGE, Adoption, Wanted, copied, registered, taken_in
from overnight.api.elsewhere.made_elsewhere import BODY
from overnight.api.elsewhere.ready import arm_of
from overnight.api.places import named_folder
from overnight.api.work import Run, Say, Tell, saved_work, silent, work_on
from overnight.core.arguments import checked
from overnight.core.ask import Arm, Item
from overnight.core.attempt import Accepted, Attempt, Creating, Ended, Fetched, Uploaded
from overnight.core.clock import Clock, duration_text, seconds_of
from overnight.core.errors import Interrupted, OvernightError, ProviderError, StudyError, Unavailable
from overnight.core.files import plain_file
from overnight.core.names import run_name_of
from overnight.core.shard import is_token, token_of
from overnight.core.wording import number_of, quoted
from overnight.engine.session import Connect, Session
from overnight.engine.waiting import Waiting
from overnight.engine.work import Work
from overnight.ledger.transaction import Transaction
from overnight.providers import answers_in_order, vendor, vendors
from overnight.settings import Settings, settings
from overnight.store.contract import Writer


class _Tracked(msgspec.Struct):
    """One entry of a tracking file."""

    provider: str
    batch_id: str


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
    by_position: bool = False,
    ask_again: bool = True,
    timeout: float | str = "24h",
    once: bool = False,
    emulate: bool | None = None,
    runs: str | Path | None = None,
    say: Say = silent,
    tell: Tell = silent,
) -> list[Run]:
    """A batch by its id or its token, an output file, or all batches of a tracking file; partial results are welcome.

    `token` is the name under which a run of ours sent it, as the run's file `sent` has it. `by_position` is for
    Gemini's answers without keys: their rows are named by their places, 000001 and on. With `ask_again=False`, what
    failed has failed for good; else `resume` asks it again where the questions are known.
    """
    place = settings(runs=runs, emulate=emulate)
    work = Work(timeout=seconds_of(timeout, "--timeout"), once=once, can_ask_again=ask_again)
    if tracking is not None:
        return _adopt_all(_tracked(Path(tracking)), place, work, say, tell)
    if provider is None:
        message = "adopt: name a provider and a batch id, or a tracking file with --from"
        raise StudyError(message)
    name = vendor(provider).name
    if by_position and not answers_in_order(vendor(name)):
        fitting = " and ".join(one for one, known in vendors().items() if answers_in_order(known))
        message = f"{BY_POSITION}: only answers of {fitting} come in the order of their requests, not those of {name}"
        raise StudyError(message)
    if output_file is not None:
        return [_adopt_file(name, Path(output_file), place, as_name, say, tell, by_position=by_position)]
    if (batch_id is None) == (token is None):
        message = f"adopt {provider}: name the batch id, a token of ours with --token, or a file with --output-file"
        raise StudyError(message)
    if token is not None and not is_token(token):
        message = (
            f"--token: {quoted(token)} is no token of ours; the file `sent` of a run has the tokens of its batches"
        )
        raise StudyError(message)
    wanted = Wanted(batch_id=batch_id) if token is None else Wanted(token=token)
    adopted = _adopt_batch(name, wanted, place, work, as_name, say, tell, by_position=by_position)
    if raw is not None:
        _copy_raw(adopted, Path(raw))
    return [adopted]


def _copy_raw(run: Run, target: Path) -> None:
    files = run.folder.files
    try:
        with target.open("wb") as whole:
            for name in reversed(files.names("raw")):
                if name.endswith(".jsonl"):
                    with files.stream(name) as source:
                        shutil.copyfileobj(source, whole)
    except OSError as error:
        raise StudyError(f"--raw {target}: cannot write: {error.strerror}; run '{run.name}' has it all") from error


def _adopt_all(entries: Sequence[_Tracked], place: Settings, work: Work, say: Say, tell: Tell) -> list[Run]:
    """One batch that cannot be had keeps no other from being adopted; it is told of at the end."""
    adopted: list[Run] = []
    troubles: list[OvernightError] = []
    for entry in entries:
        try:
            name = vendor(entry.provider).name
            adopted.append(_adopt_batch(name, Wanted(batch_id=entry.batch_id), place, work, None, say, tell))
        except Interrupted as stop:
            stop.runs = [*adopted, *stop.runs]
            raise
        except (StudyError, ProviderError) as error:
            troubles.append(error)
            say(f"{entry.provider} {entry.batch_id}: {error}")
    if troubles and len(entries) > 1:
        kind = type(troubles[0]) if isinstance(troubles[0], ProviderError) else StudyError
        left = f"{len(troubles)} of {len(entries)} batches could not be adopted"
        raise kind(f"{left}: {'; '.join(str(trouble) for trouble in troubles)}")
    if troubles:
        raise troubles[0]
    return adopted


def _tracked(path: Path) -> list[_Tracked]:
    """`{"batches": [{"provider": ..., "batch_id": ...}]}`; other fields are passed over."""
    plain_file(path, "--from")
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Tracking).batches
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        wanted = '{"batches": [{"provider": "openai", "batch_id": "..."}]}'
        message = f"--from {path}: {error}; wanted {wanted}"
        raise StudyError(message) from error


def _adopt_batch(
    provider: str,
    wanted: Wanted,
    place: Settings,
    work: Work,
    as_name: str | None,
    say: Say,
    tell: Tell,
    *,
    by_position: bool = False,
) -> Run:
    folder = named_folder(place, as_name, run_name_of(f"adopted-{wanted.name}"))

    def prepare(session: Session, connect: Connect) -> Work:
        if session.ledger.view().attempts.everything():
            known = saved_work(folder).can_ask_again
            if known and work.can_ask_again:
                session.go_on()
        else:
            adoption = Adoption(session, connect, provider, wanted, say, once=work.once)
            taking = adoption.take(work.can_ask_again, by_position=by_position)
            known = asyncio.run(_in_time(taking, session.clock, work.timeout, f"{provider} {wanted.name}"))
        return msgspec.structs.replace(work, can_ask_again=known, send=False)

    return work_on(folder, place, work, prepare=prepare, say=say, tell=tell)


async def _in_time(taking: Awaitable[bool], clock: Clock, seconds: float, what: str) -> bool:
    """The batch is put on record in one step at the end: nothing is left of one that was given up."""
    taken = await Waiting(clock, once=False).before(clock.now() + seconds, taking)
    if taken is None:
        raise Unavailable(f"{what}: not had whole within {duration_text(seconds)}; adopt it again, with more --timeout")
    return taken.result()


def _adopt_file(
    provider: str, file: Path, place: Settings, as_name: str | None, say: Say, tell: Tell, *, by_position: bool
) -> Run:
    """An output file that is already here: no provider is asked anything."""
    items = [Item(name, {BODY: ""}) for name in read_output(file, provider, by_position=by_position)]
    answering = Answering(provider)
    for _, line in lines_of(file, by_position=by_position):
        answering.see(line)
    folder = named_folder(place, as_name, run_name_of(f"adopted-{file.stem}"))
    arm = arm_of(answering.model, STAGE)
    work = Work(send=False, can_ask_again=False, once=True)

    def prepare(session: Session, _connect: Connect) -> None:
        lines = (line for _, line in lines_of(file, by_position=by_position))
        if known := session.ledger.view().attempts.everything():
            _check_same(session, known, lines)
            return
        copy, _count = copied(session, lines)
        session.ledger.write("adopted", partial(_record_file, session, arm, items, copy, work)).result()
        say(f"adopted {file.name}: {number_of(len(items), 'row')}")

    return work_on(folder, place, work, prepare=prepare, say=say, tell=tell, offline=True)


def _check_same(session: Session, known: Sequence[Attempt], lines: Iterator[bytes]) -> None:
    """Whoever was stopped before the end types the same again; another file is another run."""
    kept = [file.sha256 for attempt in known for file in session.ledger.view().files.on_record(attempt.files)]
    whole = hashlib.sha256()
    for line in lines:
        whole.update(line + b"\n")
    if kept != [whole.hexdigest()]:
        message = f"run '{session.folder.name}' is there already; choose another name with --as"
        raise StudyError(message)


def _record_file(session: Session, arm: Arm, items: Sequence[Item], copy: Writer, work: Work, tx: Transaction) -> None:
    at = session.clock.now()
    number = taken_in(session, arm, items, work, tx)
    file = registered(copy, tx)
    token = token_of(session.run_id, STAGE, arm.name, 1, 1)
    attempt = tx.attempts.adopt(number, tx.shards.take_queue(), token, at)
    for event in (
        Uploaded(""),
        Creating(None),
        Accepted("file", "user"),
        Ended("completed", "file"),
        Fetched((file,), 2),
    ):
        attempt = tx.attempts.record(attempt, event, at)
