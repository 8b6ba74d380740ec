"""A toy that asks in rounds: it finds a number below 1024 by halving, one question for each of two players a round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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

HIGH = 1024
SECRETS = {"ann": 617, "bob": 42}


def middles(secret: int) -> list[tuple[int, bool]]:
    """The questions a search for `secret` must ask, and their answers."""
    low, high, path = 0, HIGH, []
    while high - low > 1:
        middle = (low + high) // 2
        path.append((middle, secret >= middle))
        low, high = (middle, high) if secret >= middle else (low, middle)
    return path


def truth() -> dict[str, Any]:
    """Answers to every question that a right search asks; any other gets prose, which no search can read."""
    answers = {
        f"{name}'s number at least {middle}\\?": "yes" if right else "no"
        for name, secret in SECRETS.items()
        for middle, right in middles(secret)
    }
    return {"answer_with": answers}


class Bisection:
    name = "bisection"
    version = "1"
    columns: Mapping[str, Any] = {"asked": "integer", "at_least": "boolean"}
    reads_items = False
    most_turns = 1

    def __init__(self, arm: Arm, rounds: int = 10) -> None:
        self._arm = arm
        self._rounds = self.about_rounds = rounds

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:
        return iter(())

    def next_round(self, n: int, items: Iterable[Item], rows: Iterable[dict[str, Any]], seed: int) -> Iterator[Ask]:
        if n >= self._rounds:
            return
        found = dict.fromkeys(SECRETS, (0, HIGH))
        for row in rows:
            name, middle = row["item_id"].split(":")[0], row["asked"]
            low, high = found[name]
            found[name] = (middle, high) if row["at_least"] else (low, middle)
        for name, (low, high) in found.items():
            middle = (low + high) // 2
            question = f"Is {name}'s number at least {middle}? Seed {seed}."
            yield Ask(arm=self._arm, item=f"{name}:{middle}", messages=(Message("user", question),))

    def read(self, thread: Thread) -> Iterator[dict[str, Any]]:
        for turn in thread.turns:
            said = {"yes": True, "no": False}.get(turn.answer or "")
            yield {"asked": int(thread.item.id.split(":")[1]), "at_least": said}

    def spec(self) -> dict[str, Any]:
        return {"rounds": self._rounds}


def search(rounds: int = 10, deadline: float | None = None, *, say: Callable[[str], None]) -> Any:
    """One pass of the search: what `run` would do for a study with such a task."""
    arm = Arm(stage="search", name="arm", template="t", model=Model(provider="openai", name="gpt-4.1-mini"))
    task = Bisection(arm, rounds)
    place = settings(runs="runs")
    connect = connector(place, None)
    stage = Stage(name="search", task=task, arms=(arm,), seed=5, round_deadline=deadline)
    with opened(folder_of("night", place), RunFolder(place.root), WallClock(place.time_scale)) as session:
        encode = vendor(arm.model.provider).format.encode
        session.ledger.write("intake", lambda tx: take_stage(tx, session.folder.files, stage, encode)).result()
        tasks = {"search": task}
        stages = stages_on_record(session.ledger.view(), tasks)
        ended = run_engine(
            lambda: session.work(Work(timeout=10**9), connect, say, lambda _: None, stages), session.stop, say
        )
        keep_tables(session.ledger, session.folder, tasks)
    worked = ended.value
    state = "done" if worked.snapshot.pending == 0 and not worked.timed_out else "running"
    return SimpleNamespace(state=state, message="")
