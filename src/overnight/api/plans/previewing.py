"""`plan`: what a study would send and cost; after a few rows that are asked first, if that is wanted."""

from pathlib import Path

import msgspec

from overnight.api.elsewhere.ready import is_ready_file, provider_of, refuse_provider
from overnight.api.places import named_folder
from overnight.api.plans.planned import Pilot, Plan, cost_text
from overnight.api.plans.planning import check_limit, check_rounds, plan_file, plan_resolved
from overnight.api.running import run
from overnight.api.status import unfinished
from overnight.api.work import Say, Tell, silent
from overnight.core.arguments import checked
from overnight.core.errors import StudyError
from overnight.engine.flow.phases import SAMPLE
from overnight.ledger.ledger import look_at
from overnight.settings import settings
from overnight.store.run_folder import RunFolder
from overnight.study import Study, resolve


@checked
def plan(
    study: Study | str | Path,
    *,
    provider: str | None = None,
    show: int = 0,
    write: str | Path | None = None,
    limit: int | None = None,
    pilot: int | None = None,
    as_name: str | None = None,
    emulate: bool | None = None,
    truth: str | Path | None = None,
    runs: str | Path | None = None,
    say: Say = silent,
    tell: Tell = silent,
) -> Plan:
    """Count, cut and show a study's requests; `write` puts the provider's files into a folder.

    `pilot` asks so many rows first, as `run` with a `limit` does, and pays for them: they are kept, and the plan of
    the rest goes by them. Otherwise nothing is sent. A ready-made provider file (`.jsonl`) is counted as it stands,
    with its `provider`.
    """
    check_limit(limit)
    check_limit(pilot, "--pilot")
    place = settings(runs=runs, emulate=emulate, truth=truth)
    if pilot is not None and (limit is not None or write is not None):
        raise StudyError("--pilot asks a sample and then plans everything: leave --limit and --write out")
    if is_ready_file(study):
        if write is not None or limit is not None or pilot is not None:
            raise StudyError(
                f"{study}: --write, --limit and --pilot are for a study; a ready-made file is sent as it stands"
            )
        return plan_file(Path(study), provider_of(study, provider), place, as_name, show)
    refuse_provider(provider)
    written = study if isinstance(study, Study) else Study.load(Path(study))
    resolved = resolve(written)
    check_rounds(resolved, limit, write, pilot)
    folder = named_folder(place, as_name, resolved.name)
    if pilot is None:
        return plan_resolved(resolved, place, folder, show, _target(write), limit)
    _check_at_rest(folder)
    say(f"pilot: {cost_text(plan_resolved(resolved, place, folder, limit=pilot))}")
    asked = run(written, limit=pilot, as_name=as_name, emulate=emulate, truth=truth, runs=runs, say=say, tell=tell)
    told = Pilot(
        run=asked.name,
        rows=asked.snapshot.settled,
        spent=asked.snapshot.spent,
        state=asked.state,
        message=asked.message,
        exit_code=asked.exit_code,
    )
    return msgspec.structs.replace(plan_resolved(resolved, place, folder, show), pilot=told)


def _check_at_rest(folder: RunFolder) -> None:
    """A run that was begun with everything goes on with everything: no pilot may do that."""
    if not folder.exists() or not unfinished(folder):
        return
    with look_at(folder) as view:
        sampled = bool(view.facts.get(SAMPLE))
    if not sampled:
        message = (
            f"--pilot: run '{folder.name}' is under way with all of its rows; `overnight resume {folder.name}` goes on"
        )
        raise StudyError(message)


def _target(write: str | Path | None) -> Path | None:
    if write is None:
        return None
    target = Path(write)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        message = f"--write {target}: wanted an empty or new folder"
        raise StudyError(message)
    target.mkdir(parents=True, exist_ok=True)
    return target
