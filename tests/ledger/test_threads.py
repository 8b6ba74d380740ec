"""Answers that a stage has to look at: put there when they are settled, found in order, each looked at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from overnight.core.ask import Arm, Ask, Item, Message, Model
from overnight.core.result import Result, failed
from overnight.core.shard import token_of
from overnight.ledger.answers import Fate, Landed
from overnight.ledger.schema import migrate
from overnight.ledger.threads import Follower
from overnight.ledger.transaction import Transaction
from overnight.store.run_folder import RunFolder

ARM = Arm(stage="s", name="one", template="t", model=Model(provider="openai", name="gpt-4.1-mini"))
FIRST, LATER = 1, 2
TALKS = [Follower(FIRST, FIRST, every_turn=True), Follower(FIRST, LATER, every_turn=False)]


class Ledger:
    """Questions of one arm, settled as they are told to be."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        migrate(self.db, "memory")
        self.tx = Transaction(self.db)
        self._attempt = 0

    def ask(self, *items: str, turn: int = 0, text: str | None = None) -> None:
        intake = self.tx.intake(self.folder.files, ("s", "t", "1"), (ARM,))
        kept = list(intake.items([Item(name, {"n": name}) for name in items if turn == 0]))
        assert len(kept) == len(items) * (turn == 0)
        asks = (
            Ask(arm=ARM, item=name, turn=turn, messages=(Message("user", text or f"{name} {turn}"),)) for name in items
        )
        intake.asks(asks, lambda ask: ask.messages[0].content.encode(), shared=True)

    def settle(self, result: Result | None = None) -> None:
        """All that waits."""
        self._attempt += 1
        asks = self.tx.shards.take_queue()
        if not asks:
            return
        token = token_of("run", "s", "one", self._attempt, 1)
        attempt = self.tx.attempts.adopt(FIRST, asks, token, 1.0)
        rows = self.tx.shards.rows(attempt.shard)
        answer = result or Result(outcome="answered", answer="yes")
        landed = [(Landed(line=n, result=answer), Fate(final=True, tries=1)) for n in range(len(rows))]
        self.tx.answers.take_in(attempt.id, rows, landed, 1.0)
        self.tx.shards.finish(attempt.shard, 1.0)

    def landed(self, stage: int, limit: int = 100) -> list[tuple[str, int]]:
        return [(one.item, len(one.turns)) for one in self.tx.threads.landed(FIRST, stage, limit)]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    folder = RunFolder(tmp_path)
    folder.make()
    one = Ledger(folder)
    yield one
    one.db.close()


def test_what_is_settled_is_to_be_looked_at_a_few_at_a_time(ledger: Ledger) -> None:
    ledger.tx.threads.set_followers([Follower(FIRST, LATER, every_turn=True)])
    ledger.ask("b", "a", "c")
    assert ledger.landed(LATER) == []
    ledger.settle()
    assert ledger.landed(LATER, limit=2) == [("b", 1), ("a", 1)]
    ledger.tx.threads.looked_at(LATER, 2)
    assert ledger.landed(LATER, limit=2) == [("c", 1)]


def test_a_stage_that_is_new_looks_at_all_that_landed_before_and_was_not_passed_on(ledger: Ledger) -> None:
    ledger.ask("a", "b")
    ledger.settle()
    ledger.tx.threads.pass_on(LATER, [(1, 1)])
    ledger.tx.threads.set_followers([Follower(FIRST, LATER, every_turn=True)])
    assert ledger.landed(LATER) == [("b", 1)]
    ledger.tx.threads.looked_at(LATER, 2)
    ledger.tx.threads.set_followers([Follower(FIRST, LATER, every_turn=True)])
    assert ledger.landed(LATER) == []


def test_an_address_that_shares_a_settled_answer_lands_at_once(ledger: Ledger) -> None:
    ledger.tx.threads.set_followers([Follower(FIRST, LATER, every_turn=True)])
    ledger.ask("a", text="the same")
    ledger.settle()
    ledger.tx.threads.looked_at(LATER, 1)
    ledger.ask("b", text="the same")
    assert ledger.landed(LATER) == [("b", 1)]


def test_a_later_stage_looks_at_a_conversation_when_it_is_over(ledger: Ledger) -> None:
    ledger.tx.threads.set_followers(TALKS)
    ledger.ask("a", "b")
    ledger.settle()
    assert ledger.landed(FIRST) == [("a", 1), ("b", 1)]
    assert ledger.landed(LATER) == []
    ledger.tx.threads.pass_on(FIRST, [(1, 1), (2, 0)])
    ledger.tx.threads.looked_at(FIRST, 2)
    ledger.tx.threads.end(FIRST, [2])
    assert ledger.landed(LATER) == [("b", 1)]
    ledger.ask("a", turn=1)
    ledger.settle()
    assert ledger.landed(FIRST) == [("a", 2)]


def test_what_is_asked_again_is_looked_at_again(ledger: Ledger) -> None:
    ledger.tx.threads.set_followers(TALKS)
    ledger.ask("a")
    ledger.settle(failed("invalid_request"))
    ledger.tx.threads.pass_on(FIRST, [(1, 0)])
    ledger.tx.threads.looked_at(FIRST, 1)
    ledger.tx.threads.end(FIRST, [1])
    assert not ledger.tx.threads.anything_landed(LATER, ("answered",))
    assert ledger.tx.answers.unsettle(("failed",)) == 1
    assert ledger.landed(LATER) == []
    ledger.settle()
    assert ledger.landed(FIRST) == [("a", 1)]


def test_a_stage_is_quiet_when_all_its_addresses_are_settled(ledger: Ledger) -> None:
    ledger.ask("a")
    assert not ledger.tx.threads.stage_is_quiet(FIRST)
    assert not ledger.tx.rounds.is_settled(FIRST, 0)
    ledger.settle()
    assert ledger.tx.threads.stage_is_quiet(FIRST)
    assert ledger.tx.rounds.is_settled(FIRST, 0)


def test_segments_are_numbered_after_the_newest_of_their_kind(ledger: Ledger) -> None:
    for name in "abc":
        ledger.ask(name)
    paths = [path for (path,) in ledger.db.execute("SELECT path FROM file ORDER BY path")]
    assert paths == [f"{kind}/{n:05d}.jsonl" for kind in ("items", "requests") for n in (1, 2, 3)]
