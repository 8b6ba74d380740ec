"""What defines a study's questions, and in which way two versions of a study differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from overnight.core.errors import LedgerError
from overnight.study.handing_on import taken_by, when_of
from overnight.study.items import ItemSource
from overnight.study.phases import after_definition
from overnight.study.priority import priority_definition
from overnight.study.task_kind import Draft
from overnight.study.task_registry import task_kind, task_names

Definition = dict[str, Any]

_SHOWN = 60
# Fields of every task's definition that may not change at all; what they are called in the study.
_FIXED = ("task", "of", "when", "take", "group", "system", "id", "seed", "dedupe", "after", "priority")


def define(draft: Draft, sources: Mapping[str, ItemSource]) -> Definition:
    """Canonical plain values: texts rather than the files they came from, and nothing about pace or pay."""
    stage = draft.stage
    later = stage.of is not None
    return {
        "task": stage.task,
        "of": stage.of,
        "when": when_of(stage) if later else None,
        "take": list(taken_by(stage)) if later else None,
        **({"group": stage.group} if stage.group else {}),
        **after_definition(stage.after),
        **priority_definition(stage.priority),
        "system": stage.system,
        "arms": {branch.arm.name: branch.definition for branch in draft.branches},
        "id": None if later else sources[stage.name].id_column,
        "replicates": stage.replicates,
        "seed": stage.seed,
        "dedupe": stage.dedupe,
        **draft.definition,
    }


class _StageOnRecord(msgspec.Struct):
    """What every stage of a definition has, whatever its task."""

    task: str
    arms: dict[str, dict[str, Any]]
    replicates: int


def definition_on_record(written: str) -> Definition:
    """As a ledger has it. It may be a stranger's: LedgerError where it is none of ours."""
    try:
        whole = msgspec.json.decode(written, type=dict[str, Any])
        msgspec.convert(whole.get("stages") or {"": whole}, dict[str, _StageOnRecord])
    except msgspec.MsgspecError as error:
        raise _not_ours(error) from error
    return whole


def _not_ours(error: Exception) -> LedgerError:
    return LedgerError(
        f"the ledger's own words on the study cannot be read ({error}); bring ledger.db back from a copy"
    )


def differences_from(written: str, new: Mapping[str, Any]) -> list[str]:
    """Those from what a ledger has."""
    old = definition_on_record(written)
    try:
        return differences(old, new)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise _not_ours(error) from error


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """A sentence for each change that is more than an addition; empty when the run can go on or grow."""
    before, now = _stages(old), _stages(new)
    if len(before) == len(now) == 1:
        return list(_single_differences(before, now))
    sentences = list(_order_differences(list(before), list(now)))
    for name in filter(now.__contains__, before):
        sentences += [f"stage '{name}': {sentence}" for sentence in _stage_differences(before[name], now[name])]
    return sentences


def _stages(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """By name. Runs of the first version remember their only stage without a list around it."""
    stages: Mapping[str, Any] = definition.get("stages") or {definition["task"]: definition}
    return stages


def _single_differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """A stage that is alone goes by its task, and needs no name in the sentences."""
    ((name, old),), ((other, new),) = before.items(), now.items()
    if name != other and old["task"] == new["task"]:
        yield f"stages: '{name}' is gone"
    yield from _stage_differences(old, new)


def _order_differences(before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """New stages come at the end: results are in the order of stages."""
    for name in before:
        if name not in now:
            yield f"stages: '{name}' is gone"
    kept = [name for name in before if name in now]
    for name, other in zip(kept, now, strict=False):
        if name != other:
            yield f"stages: '{other}' is now listed before '{name}'; list it after"
            return


def _stage_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    kinds = [task_kind(name) for name in dict.fromkeys((old["task"], new["task"])) if name in task_names()]
    for field in dict.fromkeys((*_FIXED, *(field for kind in kinds for field in kind.fixed))):
        if old.get(field) != new.get(field):
            yield changed(field, old.get(field), new.get(field))
    if new["replicates"] < old["replicates"]:
        yield f"replicates: was {old['replicates']}, is now {new['replicates']}; there may only be more"
    for kind in kinds:
        yield from kind.differences(old, new)
    before, now = old.get("templates") or {}, new.get("templates") or {}
    yield from _template_differences(before, now)
    for name, arm in old["arms"].items():
        if name in new["arms"]:
            yield from _arm_differences(name, arm, new["arms"][name])
        elif arm["template"] in now or not before:
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
            yield f"models: in the arm {name}, {changed(field, before.get(field), now.get(field))}"


def changed(field: str, old: Any, new: Any) -> str:
    """The sentence about a field that is not what it was."""
    return f"{field}: was {_shown(old)}, is now {_shown(new)}"


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
