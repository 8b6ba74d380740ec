"""Mode, pace and deadline: the command line goes before the study; a deadline counts from when it was first said."""

from collections.abc import Mapping
from typing import Any

import msgspec

from overnight.engine.decisions import Mode
from overnight.engine.live.pace import Pacing
from overnight.engine.work import Work
from overnight.ledger.transaction import Transaction
from overnight.study import LiveSettings, Resolved, Study
from overnight.study.origin import Origin
from overnight.study.pace import check_live
from overnight.study.shape import plain_settings, shaped


def read_live(live: LiveSettings | Mapping[str, Any] | None) -> LiveSettings:
    """The limits of live calls as a program gives them, checked as a study's are."""
    if isinstance(live, LiveSettings):
        return live
    read = shaped(plain_settings(live or {}, Origin("live"), ()), LiveSettings, Origin("live"))
    check_live(read, Origin("live"))
    return read


def paced_study(study: Study, mode: Mode | None, live: LiveSettings | Mapping[str, Any] | None) -> Study:
    """The study as if it had been written so: it is checked by the same rules."""
    given = {field: value for field, value in msgspec.structs.asdict(read_live(live)).items() if value is not None}
    if mode is None and not given:
        return study
    written = msgspec.to_builtins(study.live) if study.live is not None else {}
    return study.replace(mode=mode or study.mode, live={**written, **given} or None)


def paced_work(work: Work, mode: Mode | None, pacing: Pacing) -> Work:
    """A run that is resumed keeps its own pace where nothing else is said."""
    given = {field: value for field, value in msgspec.structs.asdict(pacing).items() if value is not None}
    return msgspec.structs.replace(work, mode=mode or work.mode, pacing=msgspec.structs.replace(work.pacing, **given))


class _Kept(msgspec.Struct):
    """A deadline as it was written, and the moment that it came to then."""

    written: str
    at: float


def kept_deadline(tx: Transaction, resolved: Resolved, now: float) -> float | None:
    """When the run must be done. Running the same study again does not push it back while rows are open."""
    if resolved.deadline is None:
        return None
    text = tx.facts.get("deadline")
    known = None if text is None else msgspec.json.decode(text, type=_Kept)
    is_open = any(outcome == "pending" for _, outcome, _ in tx.counts.outcomes())
    if known is not None and known.written == resolved.deadline and is_open:
        return known.at
    at = resolved.deadline_after(now)
    assert at is not None
    tx.facts.keep("deadline", msgspec.json.encode(_Kept(resolved.deadline, at)).decode())
    return at
