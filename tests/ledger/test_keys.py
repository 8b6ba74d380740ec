"""Questions that were asked before are told from new ones, however many come at once and however many are in order."""

from __future__ import annotations

import random

import pytest

from ledger.stores import ARM, Run
from overnight.core.ask import Ask, Item, KeyMaker, Message
from overnight.ledger import keys
from overnight.ledger.transaction import Transaction

_MAKER = KeyMaker(ARM)


def _ask(item: str, words: str) -> Ask:
    return Ask(arm=ARM, item=item, turn=0, messages=(Message("user", words),))


def _take_in(run: Run, asked: list[Ask]) -> int:
    """How many of them share a question."""

    def fact(tx: Transaction) -> int:
        intake = tx.intake(run.folder.files, ("s", "t", "1"), (ARM,))
        for _ in intake.items(Item(ask.item, {}) for ask in asked):
            pass
        return intake.asks(asked, lambda ask: ask.messages[0].content.encode(), shared=True).shared

    return int(run.ledger.write("intake", fact).result())


def _questions(run: Run, words: list[str]) -> dict[str, int]:
    key_of = {word: _MAKER.key(_ask("any", word)) for word in words}
    return {word: run.verbs.answers.asks_by_key([key])[0] for word, key in key_of.items()}


# At first all are many; then some are few, and are put in order when they have come to enough.
@pytest.mark.parametrize("seed", range(4))
def test_each_question_is_asked_once(run: Run, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(keys, "_FEWEST", 12)
    draw = random.Random(seed)
    known: set[str] = set()
    for step, count in enumerate([30, 1, 5, 5, 5, 0, 40, 3, 3, 3, 3, 3, 12, 2]):
        words = [f"words {draw.randrange(150)}" for _ in range(count)]
        shared = _take_in(run, [_ask(f"item {step} {n}", word) for n, word in enumerate(words)])
        assert shared == count - len(set(words) - known)
        known |= set(words)
        assert len(set(_questions(run, sorted(known)).values())) == len(known)
        assert list(run.verbs.checks.damages()) == []


def test_the_first_that_asked_keeps_the_question(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_FEWEST", 4)
    for step in ("abcd", "e", "f", "g", "h", "i", "ijkl"):
        before = _questions(run, sorted("abcdefghi"[: "abcdefghi".index(step[0])]))
        _take_in(run, [_ask(f"{step} {word} {n}", word) for word in (*step, *before) for n in range(2)])
        assert before == {
            word: ask for word, ask in _questions(run, sorted({*before, *step})).items() if word in before
        }


def test_the_last_questions_may_have_been_asked_before(run: Run) -> None:
    """Their numbers are given again."""
    _take_in(run, [_ask("one", "a"), _ask("two", "b"), _ask("three", "a"), _ask("four", "a")])
    assert _take_in(run, [_ask("five", "c"), _ask("six", "a"), _ask("seven", "d")]) == 1
    assert _take_in(run, [_ask("eight", "d"), _ask("nine", "c"), _ask("ten", "e")]) == 2
    assert len(set(_questions(run, list("abcde")).values())) == 5
    assert list(run.verbs.checks.damages()) == []
