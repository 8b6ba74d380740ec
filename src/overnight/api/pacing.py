"""What the command line says about mode and pace goes before what the study, or the run, says."""

import msgspec

from overnight.engine.decisions import Mode
from overnight.engine.pace import Pacing
from overnight.engine.work import Work
from overnight.study import LiveSettings, Study


def paced_study(study: Study, mode: Mode | None, live: LiveSettings) -> Study:
    """The study as if it had been written so: it is checked by the same rules."""
    given = {field: value for field, value in msgspec.structs.asdict(live).items() if value is not None}
    if mode is None and not given:
        return study
    written = msgspec.to_builtins(study.live) if study.live is not None else {}
    return msgspec.structs.replace(study, mode=mode or study.mode, live={**written, **given} or None)


def paced_work(work: Work, mode: Mode | None, pacing: Pacing) -> Work:
    """A run that is resumed keeps its own pace where nothing else is said."""
    given = {field: value for field, value in msgspec.structs.asdict(pacing).items() if value is not None}
    return msgspec.structs.replace(work, mode=mode or work.mode, pacing=msgspec.structs.replace(work.pacing, **given))
