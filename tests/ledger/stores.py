"""The databases that can be put under the ledger. Tests of its verbs run on each, and know none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import postgres_server
from overnight.core.ask import Arm, Ask, Item, Message, Model
from overnight.core.attempt import Attempt
from overnight.core.result import Result
from overnight.core.shard import token_of
from overnight.ledger.landed import Landed, Places
from overnight.ledger.ledger import Ledger, open_ledger
from overnight.ledger.postgres.address import read_address
from overnight.ledger.shared_run import SharedRun
from overnight.store.run_folder import RunFolder


@contextmanager
def _sqlite(path: Path) -> Iterator[RunFolder]:
    folder = RunFolder(path)
    folder.make()
    yield folder


@contextmanager
def _postgres(path: Path) -> Iterator[RunFolder]:
    address = read_address(postgres_server.address(path / "files"))
    folder = SharedRun(address, f"{path.name}-{uuid4()}", path)
    with folder.locked():
        folder.make()
        try:
            yield folder
        finally:
            folder.clear(whole=True)


# Another database is one more entry.
STORES: dict[str, Callable[[Path], AbstractContextManager[RunFolder]]] = {"postgres": _postgres, "sqlite": _sqlite}

ARM = Arm(stage="s", name="one", template="t", model=Model(provider="openai", name="gpt-4.1-mini"))
ANSWERED = Result(outcome="answered", answer="yes")


@contextmanager
def open_new(store: str, path: Path) -> Iterator[tuple[Ledger, RunFolder]]:
    with STORES[store](path) as folder, open_ledger(folder) as ledger:
        yield ledger, folder


def places(lines: Iterable[int]) -> Places:
    """Of these lines, one byte for each in the first file."""
    found = Places.nowhere(0)
    for line in lines:
        found.add(1, line, 1, b"digest")
    return found


class Verbs:
    """A ledger's verbs, each in a transaction of its own: `verbs.attempts.record(...)`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __getattr__(self, concept: str) -> Any:
        return _Concept(self._ledger, concept)


class _Concept:
    def __init__(self, ledger: Ledger, name: str) -> None:
        self._ledger = ledger
        self._name = name

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def said(*values: object, **named: object) -> Any:
            def fact(tx: Any) -> Any:
                told = getattr(getattr(tx, self._name), verb)(*values, **named)
                return list(told) if isinstance(told, Iterator) else told

            return self._ledger.write(verb, fact).result()

        return said


class Run:
    """A run of one arm on record: questions are asked, and settled as they are told to be."""

    def __init__(self, ledger: Ledger, folder: RunFolder) -> None:
        self.ledger = ledger
        self.folder = folder
        self.verbs = Verbs(ledger)
        self._sent = 0

    def ask(self, *items: str, turn: int = 0, text: str | None = None, arms: tuple[Arm, ...] = (ARM,)) -> None:
        def fact(tx: Any) -> None:
            intake = tx.intake(self.folder.files, ("s", "t", "1"), arms)
            list(intake.items([Item(name, {"n": name}) for name in items if turn == 0]))
            asks = (
                Ask(arm=arm, item=name, turn=turn, messages=(Message("user", text or f"{name} {turn}"),))
                for name in items
                for arm in arms
            )
            intake.asks(asks, lambda ask: ask.messages[0].content.encode(), shared=True)

        self.ledger.write("intake", fact).result()

    def send(self, arm: int = 1) -> Attempt | None:
        """All that waits, which is of one arm, as one attempt."""
        asks = self.verbs.shards.take_queue()
        if not asks:
            return None
        self._sent += 1
        token = token_of("run", "s", "one", self._sent, 1)
        attempt: Attempt = self.verbs.attempts.adopt(arm, asks, token, 1.0)
        return attempt

    def settle(self, result: Result = ANSWERED, arm: int = 1) -> None:
        """All that waits, with this."""
        attempt = self.send(arm)
        if attempt is None:
            return
        rows = self.verbs.shards.rows(attempt.shard)
        self.verbs.answers.take_in(attempt.id, rows, Landed.of(range(len(rows)), [result] * len(rows)), 1.0)
        self.verbs.shards.finish(attempt.shard, 1.0)
