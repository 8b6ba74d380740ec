"""The ledger as a state machine: whatever happens in whatever order, every question is in exactly one place."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from ledger.stores import STORES, Verbs, open_new
from overnight.core.ask import Arm, Ask, Item, Message, Model
from overnight.core.attempt import Accepted, Closed, Creating, Ended, Fetched, Uploaded
from overnight.core.money import Balance, Budget, Purse
from overnight.core.pack import Room
from overnight.core.result import Result, failed
from overnight.engine.decisions import row_fate
from overnight.ledger.landed import Landed
from overnight.ledger.open_shard import ArmPacking
from overnight.ledger.spending import Charge
from overnight.ledger.threads import Follower
from overnight.ledger.transaction import Transaction

MODEL = Model(provider="openai", name="gpt-4.1-mini")
ARMS = tuple(Arm(stage="s", name=name, template="t", model=MODEL) for name in ("one", "two"))
# A stage that takes the rows of the first.
LATER = 2
# What a row may cost, and what the whole may: some rows never fit.
CEILING = 100
BUDGET = Budget(total=1500, stages={"s": 1200})
RESULTS = [
    Result(outcome="answered", answer="yes"),
    Result(outcome="refused"),
    failed("server_error"),
    failed("invalid_request"),
    failed("cancelled"),
]


class Rows(RuleBasedStateMachine):
    sent = Bundle("sent")
    store = "sqlite"

    @initialize()
    def begin(self) -> None:
        # In memory where there is such a place: every step is a commit, and a disk takes its time over each.
        memory = Path("/dev/shm")
        self.path = Path(tempfile.mkdtemp(prefix="ledger-test-", dir=memory if memory.is_dir() else None))
        self.opened = ExitStack()
        self.ledger, self.folder = self.opened.enter_context(open_new(self.store, self.path))
        self.tx = Verbs(self.ledger)
        self.tx.threads.set_followers([Follower(1, LATER, every_turn=True)])
        # Addresses that the later stage has looked at and not taken.
        self.left: set[tuple[int, str]] = set()
        self.passed: set[tuple[int, str]] = set()
        self.items = 0
        self.at = 0.0

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.opened.close()
            shutil.rmtree(self.path)

    def now(self) -> float:
        self.at += 1.0
        return self.at

    @rule(more=st.integers(0, 7), twins=st.booleans())
    def take_items(self, more: int, twins: bool) -> None:
        """The study has grown, or is just run again."""
        self.items += more
        known = set(self.tx.questions.known_addresses("s", map(str, range(self.items))))

        def fact(tx: Transaction) -> None:
            intake = tx.intake(self.folder.files, ("s", "t", "1"), ARMS)
            items = [Item(str(n), {"n": n}) for n in range(self.items)]
            asks = (
                Ask(
                    arm=arm,
                    item=item.id,
                    messages=(Message("user", "same" if twins and n >= self.items - more else item.id),),
                )
                for n, item in enumerate(intake.items(items))
                for arm in ARMS
            )
            fresh = (ask for ask in asks if (ask.arm.name, ask.item, 0, 0) not in known)
            intake.asks(fresh, lambda ask: ask.messages[0].content.encode(), shared=True)

        self.ledger.write("intake", fact).result()

    @rule(room=st.integers(1, 6), segments=st.none() | st.integers(1, 4))
    def pack(self, room: int, segments: int | None) -> None:
        packing = ArmPacking(
            stage="s",
            room=Room(requests=room, bytes=10_000),
            overhead=10,
            segments=segments,
            ceiling=lambda _: CEILING,
        )
        self.tx.shards.pack({1: packing, 2: packing}, self.now(), {1, 2}, Purse(BUDGET, self.tx.spending.by_stage()))

    @rule(target=sent)
    def send(self) -> Any:
        carried = {attempt.shard for attempt in self.tx.attempts.everything() if attempt.state != "closed"}
        waiting = self.tx.shards.waiting(carried)
        if not waiting:
            return None
        shard = waiting[0]
        n, token = self.tx.attempts.next_token("run", shard.id)
        attempt = self.tx.attempts.intend(shard, n, token, 1, estimate=1, sha256="", at=self.now())
        for event in (Uploaded("f"), Creating(None, 0.0), Accepted("b")):
            attempt = self.tx.attempts.record(attempt, event, self.now())
        return attempt

    @rule(attempt=consumes(sent), how=st.sampled_from(["absent", "rejected"]), requeue=st.booleans())
    def turned_away(self, attempt: Any, how: Any, requeue: bool) -> None:
        if attempt is None:
            return
        attempt = self.tx.attempts.record(attempt, Ended("failed", "failed"), self.now())
        self.tx.attempts.record(attempt, Closed(how), self.now())
        if requeue:
            self.tx.shards.requeue(attempt.shard, self.now())

    @rule(attempt=consumes(sent), data=st.data())
    def lands(self, attempt: Any, data: st.DataObject) -> None:
        """Lines in any order, some twice, in chunks that may be read again after a crash."""
        if attempt is None:
            return
        rows = self.tx.shards.rows(attempt.shard)
        lines = data.draw(st.permutations(range(len(rows))))
        doubled = [*lines, *data.draw(st.lists(st.sampled_from(lines), max_size=3))]
        answers = {line: data.draw(st.sampled_from(RESULTS)) for line in lines}
        costs = {line: data.draw(st.none() | st.integers(0, CEILING)) for line in lines}
        fates = {line: row_fate(answers[line], rows[line].tries) for line in lines}
        tries = {line: None if fate.final else fate.tries for line, fate in fates.items()}
        cut = data.draw(st.integers(0, len(doubled)))
        for chunk in (doubled[:cut], doubled[:cut], doubled[cut:]):
            results = [answers[line] for line in chunk]
            landed = Landed.of(
                chunk, results, costs=[costs[line] for line in chunk], tries=[tries[line] for line in chunk]
            )
            fresh = self.tx.answers.take_in(attempt.id, rows, landed, self.now())
            spent = sum(filter(None, fresh.cost))
            self.tx.spending.book(attempt.shard, attempt.arm, attempt.id, Charge(spent, CEILING * len(fresh)))
        attempt = self.tx.attempts.record(attempt, Ended("completed", "completed"), self.now())
        attempt = self.tx.attempts.record(attempt, Fetched(()), self.now())
        self.tx.attempts.record(attempt, Closed("ingested"), self.now())
        self.tx.shards.finish(attempt.shard, self.now())

    @rule(outcome=st.sampled_from(["failed", "refused"]))
    def ask_again(self, outcome: str) -> None:
        if outcome == "refused" and {place for place, how in self.settled().items() if how == "refused"} & self.passed:
            return  # what was handed on is not asked again
        self.tx.answers.unsettle((outcome,))
        self.left &= set(self.settled())

    @rule(limit=st.integers(1, 9), take=st.sampled_from([("answered",), ("answered", "refused")]))
    def hand_over(self, limit: int, take: tuple[str, ...]) -> None:
        landed = self.tx.threads.landed(1, LATER, limit)
        assert [one.slot for one in landed] == sorted(one.slot for one in landed)
        taken = [one for one in landed if one.turns[-1].outcome in take]
        self.passed |= {(one.arm, one.item) for one in taken}
        self.left |= {(one.arm, one.item) for one in landed} - {(one.arm, one.item) for one in taken}
        self.tx.threads.pass_on(LATER, [(one.slot, 1) for one in taken])
        if landed:
            self.tx.threads.looked_at(LATER, landed[-1].slot)

    def settled(self) -> dict[tuple[int, str], str]:
        """Outcomes by address."""
        chunks = self.tx.rows.addresses(1000)
        places = ((one.arm, *place) for one in chunks for place in zip(one.item, one.outcome, strict=True))
        return {(arm, item): outcome for arm, item, outcome in places if outcome is not None}

    @invariant()
    def every_settled_address_is_handed_on_left_or_still_to_be_looked_at(self) -> None:
        landed = [(one.arm, one.item) for one in self.tx.threads.landed(1, LATER, 10_000)]
        assert sorted([*landed, *self.passed, *self.left]) == sorted(self.settled())

    @invariant()
    def every_question_is_in_exactly_one_place(self) -> None:
        assert self.tx.checks.misplaced() == {}
        assert self.tx.checks.wrongly_settled().keys() <= {"an answer without its bytes"}

    @invariant()
    def what_is_kept_is_what_is_counted(self) -> None:
        assert self.tx.counts.kept() == self.tx.counts.counted()
        assert self.tx.checks.wrong_counts() == []

    @invariant()
    def the_budget_is_kept_to_the_nano_dollar(self) -> None:
        known = self.tx.spending.by_stage().get("s", Balance())
        assert known.committed <= 1200
        assert self.tx.spending.wrong_sums() == []
        assert known.reserved == sum(shard.rows for shard in self.tx.shards.waiting(())) * CEILING

    @invariant()
    def every_address_is_counted_once(self) -> None:
        assert sum(self.tx.questions.rows_by_arm("s").values()) == self.items * len(ARMS)
        assert sum(self.tx.counts.outcomes().values()) == self.items * len(ARMS)


def machine(store: str) -> Any:
    case = type(f"Rows_{store}", (Rows,), {"store": store}).TestCase
    # Each example has a schema of its own there, which takes its time to make.
    examples = 60 if store == "sqlite" else 6
    case.settings = settings(max_examples=examples, stateful_step_count=25, deadline=None)
    return case


globals().update({f"TestRows_{store}": machine(store) for store in STORES})
