"""A ready-made provider file as a stage: one arm for each model and API (or version of it) in it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeGuard

import msgspec

from overnight.api.elsewhere.adopted_files import numbered
from overnight.api.elsewhere.made_elsewhere import ARM, BODY, Ready, body_of
from overnight.core.ask import Arm, Ask, Item, Model
from overnight.core.errors import StudyError
from overnight.core.names import check_item_id
from overnight.core.stage import Stage
from overnight.providers import BatchFormat, ReadyLine, batch_format, vendor

STAGE = "ready"


def is_ready_file(study: object) -> TypeGuard[str | Path]:
    return isinstance(study, str | Path) and Path(study).suffix == ".jsonl"


def provider_of(file: str | Path, named: str | None) -> str:
    """Nothing in a file says whose it is."""
    if named is None:
        raise StudyError(f"{file}: a ready-made file needs --provider, for instance --provider openai")
    return named


def refuse_provider(named: str | None) -> None:
    if named is not None:
        message = "--provider is for a ready-made .jsonl file; a study names its models' providers itself"
        raise StudyError(message)


class ReadyFile(NamedTuple):
    """The stage, how its questions are written (as they stand in the file), and how long answers may get.

    By the name of the arm: the longest that any line allows, None where one of them sets no limit.
    """

    stage: Stage
    encode: Callable[[Ask], bytes]
    longest: Mapping[str, int | None]


def ready_stages(file: Path, provider: str) -> ReadyFile:
    reader = batch_format(vendor(provider))
    found: dict[str, Arm] = {}
    longest: dict[str, int | None] = {}
    for _, line in _lines(file, reader):
        arm = arm_of(line.model, STAGE)
        found.setdefault(arm.name, arm)
        most = longest.setdefault(arm.name, line.max_tokens)
        longest[arm.name] = None if most is None or line.max_tokens is None else max(most, line.max_tokens)
    if not found:
        message = f"{file}: no requests in it"
        raise StudyError(message)

    def items() -> Iterator[Item]:
        seen: dict[str, int] = {}
        for number, line in _lines(file, reader):
            if line.custom_id in seen:
                message = f"{file}:{number}: custom_id '{line.custom_id}' is already on line {seen[line.custom_id]}"
                raise StudyError(message)
            seen[line.custom_id] = number
            yield Item(line.custom_id, {BODY: line.body.decode(), ARM: arm_of(line.model, STAGE).name})

    arms = tuple(found.values())
    stage = Stage(name=STAGE, task=Ready(arms), arms=arms, items=items, dedupe=False)
    return ReadyFile(stage, body_of, longest)


def arm_of(model: Model, stage: str) -> Arm:
    # Lines of one model that go to another API, or under another version of it, travel apart.
    apart = model.options.api or "-".join(str(value) for value in model.options.extra.values())
    words = "__".join((stage, model.provider, model.name, apart or "default", "forward"))
    name = "".join(c if c.isalnum() or c in "_.-" else "-" for c in words)
    return Arm(stage=stage, name=name, template=stage, model=model)


def _lines(file: Path, reader: BatchFormat) -> Iterator[tuple[int, ReadyLine]]:
    try:
        with file.open("rb") as content:
            yield from read_lines(content, str(file), reader)
    except OSError as error:
        raise StudyError(f"{file}: cannot read: {error.strerror}") from error


def read_lines(content: Iterable[bytes], where: str, reader: BatchFormat) -> Iterator[tuple[int, ReadyLine]]:
    """Each line with its number; StudyError names the file and the line."""
    for number, line in numbered(content):
        try:
            found = reader.read_line(line)
        except (StudyError, msgspec.MsgspecError) as error:
            raise StudyError(f"{where}:{number}: {error}") from error
        check_item_id(found.custom_id, f"{where}:{number}")
        yield number, found
