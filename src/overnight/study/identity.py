"""What defines a study's questions, and in which way two versions of a study differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from overnight.study.arms import Branch
from overnight.study.prompts import Prompts
from overnight.tasks.generate import vote_starts

Definition = dict[str, Any]

_SHOWN = 60
# Fields of the definition that may not change at all; what they are called in the study.
_FIXED = ("task", "messages", "system", "id", "seed", "dedupe")


class Asking(Protocol):
    """The part of a stage that defines its questions."""

    @property
    def name(self) -> str: ...
    @property
    def replicates(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def dedupe(self) -> bool: ...


def define(stage: Asking, prompts: Prompts, branches: Sequence[Branch], id_column: str) -> Definition:
    """Canonical plain values: texts rather than the files they came from, and nothing about pace or pay."""
    votes = vote_starts(prompts.templates)
    return {
        "task": stage.name,
        "templates": {
            name: {"text": template.text, "votes_from": votes[name]} for name, template in prompts.templates.items()
        },
        "messages": prompts.messages,
        "system": prompts.system.text if prompts.system else None,
        "arms": {branch.arm.name: branch.definition for branch in branches},
        "id": id_column,
        "replicates": stage.replicates,
        "seed": stage.seed,
        "dedupe": stage.dedupe,
    }


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """A sentence for each change that is more than an addition; empty when the run can go on or grow."""
    return list(_differences(old, new))


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for field in _FIXED:
        if old.get(field) != new.get(field):
            yield _changed(field, old.get(field), new.get(field))
    if new["replicates"] < old["replicates"]:
        yield f"replicates: was {old['replicates']}, is now {new['replicates']}; there may only be more"
    yield from _template_differences(old["templates"], new["templates"])
    for name, arm in old["arms"].items():
        if name in new["arms"]:
            yield from _arm_differences(name, arm, new["arms"][name])
        elif arm["template"] in new["templates"] or not old["templates"]:
            yield f"models: the arm {name} is gone"


def _template_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name, template in old.items():
        if name not in new:
            yield f"templates: '{name}' is gone"
        elif template["text"] != new[name]["text"]:
            yield f"templates: the text of '{name}' changed"
        elif template["votes_from"] != new[name]["votes_from"]:
            yield f"templates: another one with the text of '{name}' is now listed before it; list it after"


def _arm_differences(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, now = {**old, **old["options"]}, {**new, **new["options"]}
    for field in sorted((before.keys() | now.keys()) - {"options"}):
        if before.get(field) != now.get(field):
            yield f"models: in the arm {name}, {_changed(field, before.get(field), now.get(field))}"


def _changed(field: str, old: Any, new: Any) -> str:
    return f"{field}: was {_shown(old)}, is now {_shown(new)}"


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
