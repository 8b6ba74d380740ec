"""Answers that a stage has to look at: put there when they are settled, found in order, each looked at once."""

from __future__ import annotations

from ledger.stores import Run
from overnight.core.result import failed
from overnight.ledger.threads import Follower

FIRST, LATER = 1, 2
TALKS = [Follower(FIRST, FIRST, every_turn=True), Follower(FIRST, LATER, every_turn=False)]


def landed(run: Run, stage: int, limit: int = 100) -> list[tuple[str, int]]:
    return [(one.item, len(one.turns)) for one in run.verbs.threads.landed(FIRST, stage, limit)]


def test_what_is_settled_is_to_be_looked_at_a_few_at_a_time(run: Run) -> None:
    run.verbs.threads.set_followers([Follower(FIRST, LATER, every_turn=True)])
    run.ask("b", "a", "c")
    assert landed(run, LATER) == []
    run.settle()
    assert landed(run, LATER, limit=2) == [("b", 1), ("a", 1)]
    run.verbs.threads.looked_at(LATER, 2)
    assert landed(run, LATER, limit=2) == [("c", 1)]


def test_a_stage_that_is_new_looks_at_all_that_landed_before_and_was_not_passed_on(run: Run) -> None:
    run.ask("a", "b")
    run.settle()
    run.verbs.threads.pass_on(LATER, [(1, 1)])
    run.verbs.threads.set_followers([Follower(FIRST, LATER, every_turn=True)])
    assert landed(run, LATER) == [("b", 1)]
    run.verbs.threads.looked_at(LATER, 2)
    run.verbs.threads.set_followers([Follower(FIRST, LATER, every_turn=True)])
    assert landed(run, LATER) == []


def test_an_address_that_shares_a_settled_answer_lands_at_once(run: Run) -> None:
    run.verbs.threads.set_followers([Follower(FIRST, LATER, every_turn=True)])
    run.ask("a", text="the same")
    run.settle()
    run.verbs.threads.looked_at(LATER, 1)
    run.ask("b", text="the same")
    assert landed(run, LATER) == [("b", 1)]


def test_a_later_stage_looks_at_a_conversation_when_it_is_over(run: Run) -> None:
    run.verbs.threads.set_followers(TALKS)
    run.ask("a", "b")
    run.settle()
    assert landed(run, FIRST) == [("a", 1), ("b", 1)]
    assert landed(run, LATER) == []
    run.verbs.threads.pass_on(FIRST, [(1, 1), (2, 0)])
    run.verbs.threads.looked_at(FIRST, 2)
    run.verbs.threads.end(FIRST, [2])
    assert landed(run, LATER) == [("b", 1)]
    run.ask("a", turn=1)
    run.settle()
    assert landed(run, FIRST) == [("a", 2)]


def test_what_is_asked_again_is_looked_at_again(run: Run) -> None:
    run.verbs.threads.set_followers(TALKS)
    run.ask("a")
    run.settle(failed("invalid_request"))
    run.verbs.threads.pass_on(FIRST, [(1, 0)])
    run.verbs.threads.looked_at(FIRST, 1)
    run.verbs.threads.end(FIRST, [1])
    assert not run.verbs.threads.anything_landed(LATER, ("answered",))
    assert run.verbs.answers.unsettle(("failed",)) == 1
    assert landed(run, LATER) == []
    run.settle()
    assert landed(run, FIRST) == [("a", 1)]


def test_a_stage_is_quiet_when_all_its_addresses_are_settled(run: Run) -> None:
    run.ask("a")
    assert not run.verbs.threads.stage_is_quiet(FIRST)
    assert not run.verbs.rounds.is_settled(FIRST, 0)
    run.settle()
    assert run.verbs.threads.stage_is_quiet(FIRST)
    assert run.verbs.rounds.is_settled(FIRST, 0)


def test_segments_are_numbered_after_the_newest_of_their_kind(run: Run) -> None:
    for name in "abc":
        run.ask(name)
    paths = [file.path for file in run.verbs.files.everything()]
    assert paths == [f"{kind}/{n:05d}.jsonl" for kind in ("items", "requests") for n in (1, 2, 3)]
