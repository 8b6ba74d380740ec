"""What a program keeps of a batch, as JSON: where its run lies and how it stands. Never a key, never an answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_type_hints

import msgspec

from overnight.api import Run, RunStatus
from overnight.core.arguments import misfit
from overnight.core.errors import StudyError, WrongArgument
from overnight.settings import Settings

Standing = Literal["processing", "completed", "failed", "unknown"]
# How a pass may leave a run where it does not simply go on, in SpecEval's words.
_STANDINGS: dict[str, Standing] = {"cancelled": "failed", "blocked": "unknown", "undecided": "unknown"}
_STANDINGS |= {"held up": "unknown", "over budget": "unknown", "stopped": "unknown"}


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the metadata that another process needs. More may stand beside it: it is the program's own."""

    model: str
    run: str
    runs: str
    emulated: bool
    prompts: int


def kept_in(metadata: Mapping[str, Any], model: str) -> Kept:
    """What `generate_batch` returned, in this process or read again from JSON."""
    for name, kind in get_type_hints(Kept).items():
        if name not in metadata:
            raise WrongArgument(f"metadata: '{name}' is missing; wanted what generate_batch returned")
        if problem := misfit(metadata[name], kind):
            raise WrongArgument(f"metadata: {name}: {problem}")
    kept = Kept(**{name: metadata[name] for name in Kept.__struct_fields__})
    if kept.model != model:
        raise StudyError(f"metadata: it is of a batch of {kept.model}, and this is {model}")
    if "\0" in kept.run + kept.runs or Path(kept.run).name != kept.run or kept.prompts < 1:
        raise WrongArgument("metadata: it names no run; wanted what generate_batch returned")
    return kept


def kept_of(run: str, place: Settings, model: str, prompts: int) -> Kept:
    return Kept(model=model, run=run, runs=place.typed_runs, emulated=place.emulate, prompts=prompts)


def told(status: RunStatus, run: Run | None = None, message: str | None = None) -> dict[str, Any]:
    """How a batch stands. `run` is how our own look at it ended; there is none while somebody else works on it."""
    rows, pending, answered = (status.total(name) for name in ("rows", "pending", "answered"))
    ids = [line.batch_id for line in status.batches if line.batch_id is not None and not line.live]
    standing: Standing = "processing"
    if message is None and run is not None:
        message = run.snapshot.trouble
    if rows and not pending:
        standing = "completed" if answered else "failed"
    elif message:
        standing = "unknown"
    elif status.cancelled and all(line.state == "closed" for line in status.batches):
        standing = "failed"
    elif run is not None:
        standing = _STANDINGS.get(run.state, "processing")
    why = message or (None if run is None else run.message)
    return {
        "batch_id": ids[0] if ids else None,
        "batch_ids": ids,
        "status": standing,
        "request_counts": {"total": rows, "completed": answered, "failed": rows - pending - answered},
        "message": None if standing in ("processing", "completed") else why,
    }
