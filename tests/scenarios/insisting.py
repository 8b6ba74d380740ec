"""A toy that does not take no for an answer: it asks again after a refusal, and after a question that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from overnight.api.foreground import run_engine
from overnight.api.on_record import stages_on_record
from overnight.api.places import folder_of
from overnight.api.tabling import keep_tables
from overnight.api.work import connector
from overnight.core.ask import Arm, Ask, Item, Message, Model
from overnight.core.clock import WallClock
from overnight.core.stage import Stage
from overnight.core.task import Thread
from overnight.engine.flow.intake import take_stage
from overnight.engine.session import opened
from overnight.engine.work import Work
from overnight.providers import vendor
from overnight.settings import settings
from overnight.store.run_folder import RunFolder

ARM = Arm(stage="insist", name="arm", template="t", model=Model(provider="openai", name="gpt-4.1-mini"))


class Insisting:
    name = "insisting"
    version = "1"
    columns: Mapping[str, Any] = {"before": "text"}
    reads_items = True
    most_turns = 3

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:
        for item in items:
            yield Ask(arm=ARM, item=item.id, messages=(Message("user", f"Please {item.fields['wish']}"),))

    def follow_up(self, thread: Thread) -> Sequence[Ask]:
        """After every turn but an answer, and with what came of the one before."""
        number, last = len(thread.turns), thread.turns[-1].outcome
        if last == "answered" or number >= self.most_turns:
            return ()
        text = f"Please {thread.item.fields['wish']}, though turn {number - 1} was {last}"
        return (Ask(arm=ARM, item=thread.item.id, messages=(Message("user", text),), turn=number),)

    def read(self, thread: Thread) -> Iterator[dict[str, Any]]:
        for number in range(len(thread.turns)):
            yield {"before": thread.turns[number - 1].outcome if number else None}

    def spec(self) -> dict[str, Any]:
        return {}


def insist(*, say: Callable[[str], None]) -> Any:
    """One pass: what `run` would do for a study with such a task."""
    items = [Item(name, {"wish": wish}) for name, wish in (("a", "sing"), ("b", "dance"), ("c", "whistle"))]
    stage = Stage(name="insist", task=Insisting(), arms=(ARM,), items=lambda: items)
    place = settings(runs="runs")
    connect = connector(place, None)
    with opened(folder_of("night", place), RunFolder(place.root), WallClock(place.time_scale)) as session:
        encode = vendor(ARM.model.provider).format.encode
        session.ledger.write("intake", lambda tx: take_stage(tx, session.folder.files, stage, encode)).result()
        tasks = {"insist": stage.task}
        stages = stages_on_record(session.ledger.view(), tasks)
        work = Work(timeout=10**9)
        ended = run_engine(lambda: session.work(work, connect, say, lambda _: None, stages), session.stop, say)
        keep_tables(session.ledger, session.folder, tasks)
    return SimpleNamespace(state="done" if ended.value.snapshot.pending == 0 else "running", message="")
