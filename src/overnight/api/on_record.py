"""The stages of a run as its ledger has them: opened without their study."""

from collections.abc import Mapping, Sequence

import msgspec

from overnight.api.elsewhere.made_elsewhere import Ready
from overnight.core.ask import Arm
from overnight.core.stage import Stage, StageRules
from overnight.core.task import Rounds, Task
from overnight.ledger.identity import RecordedStage
from overnight.ledger.ledger import look_at
from overnight.ledger.transaction import View
from overnight.store.run_folder import RunFolder
from overnight.study.task_kind import TaskKind
from overnight.study.task_registry import task_kind, task_names


def stages_on_record(view: View, tasks: Mapping[str, Task | Rounds] | None = None) -> tuple[Stage, ...]:
    """In the study's order. Tasks are opened from what they gave as their `spec`, unless they are handed in."""
    known, given = list(view.stages.arms().values()), tasks or {}
    found = []
    for row in view.stages.everything():
        own = tuple(arm for arm in known if arm.stage == row.name)
        task = given.get(row.name) or _opened(row, own)
        rules = msgspec.json.decode(row.settings, type=StageRules)
        found.append(Stage(id=row.id, name=row.name, task=task, arms=own, **msgspec.structs.asdict(rules)))
    return tuple(found)


def _opened(row: RecordedStage, own: Sequence[Arm]) -> Task | Rounds:
    """Requests that were made elsewhere are no task of a study: nobody else can bring them."""
    return Ready(own) if row.task == Ready.name else task_kind(row.task).open(own, msgspec.json.decode(row.spec))


def kinds_on_record(folder: RunFolder) -> list[TaskKind]:
    """The kinds of task that a run has, in the order of its stages."""
    with look_at(folder) as view:
        names = dict.fromkeys(row.task for row in view.stages.everything())
    return [task_kind(name) for name in names if name in task_names()]
