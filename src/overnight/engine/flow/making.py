"""What a stage writes for later ones: items that are handed on when it is over, in the place of its rows.

They become durable together with the questions about them. What was handed on stays, whatever is written or chosen
later: a run that goes on with more of them adds to it.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from overnight.core.ask import Item
from overnight.core.stage import Stage
from overnight.core.task import MakesItems, Row
from overnight.engine.flow.phases import is_over
from overnight.engine.flow.threads import Grown, ThreadReader
from overnight.ledger.transaction import Transaction, View

Take = Callable[[Transaction, Stage, Iterable[Item]], Grown]


class MakingFlow:
    """One stage that takes what another one writes."""

    def __init__(
        self,
        stage: Stage,
        stages: Mapping[str, Stage],
        reader: ThreadReader,
        rows: Callable[[Transaction], Iterator[Row]],
        take: Take,
    ) -> None:
        """`rows`: those of all closed rounds of the stage that writes."""
        self._stage = stage
        self._stages = stages
        self._reader = reader
        self._rows = rows
        self._take = take

    def advance(self, tx: Transaction, at: float) -> Grown | None:
        """Take what was written, if that stage is over and has said more than it had at the last time."""
        if not is_to_take(tx, self._stage, self._stages):
            return None
        stage, source = self._stage, _source(self._stage, self._stages)
        task = source.task
        assert isinstance(task, MakesItems)
        own, known = (self._reader.items(tx, one.id) for one in (source, stage))
        grown = self._take(tx, stage, task.made(own, self._rows(tx), known))
        tx.screening.open(stage.id, _extent(tx, source), at)
        data = {"stage": stage.name, "of": source.name, "rows": grown.addresses}
        tx.attempts.note(at, "made", msgspec.json.encode(data).decode())
        return grown


def takes_what_is_made(stage: Stage, stages: Mapping[str, Stage]) -> bool:
    """Whether a stage is given items that another one writes, and not the rows of that."""
    return stage.of is not None and isinstance(stages[stage.of].task, MakesItems)


def is_to_take(view: View, stage: Stage, stages: Mapping[str, Stage]) -> bool:
    """Whether the stage that writes is over, and there may be more of it than when this one was last given anything."""
    source = _source(stage, stages)
    return is_over(view, source, stages) and view.screening.opened(stage.id) != _extent(view, source)


def _extent(view: View, source: Stage) -> str:
    """What is handed on hangs on the answers, and on the task's own rules: how many of them are wanted, perhaps."""
    rules = hashlib.blake2b(msgspec.json.encode(source.task.spec(), order="deterministic"), digest_size=8)
    return f"{view.screening.answers(source.id)} by {rules.hexdigest()}"


def _source(stage: Stage, stages: Mapping[str, Stage]) -> Stage:
    assert stage.of is not None
    return stages[stage.of]
