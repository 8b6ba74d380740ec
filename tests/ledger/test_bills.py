"""The bill by day: rows count on the day their answers came, however many days an attempt takes."""

from __future__ import annotations

from ledger.stores import Run, places
from overnight.core.result import Result, Usage, failed
from overnight.ledger.bills import Place, RowPrice, StepPrice
from overnight.ledger.landed import Landed

DAY = 86_400.0
ANSWER = Result(outcome="answered", answer="yes", usage=Usage(input=10, cached=4, output=3))
PRICE = RowPrice((StepPrice(0, 2_000_000, 1_000_000, 2_000_000, 8_000_000),), 0)


def take_in(run: Run, days: dict[float, list[int]], *, rows: int) -> None:
    """One attempt of so many rows; the lines that came at each moment."""
    run.ask(*(f"{n:03d}" for n in range(rows)))
    attempt = run.send()
    assert attempt is not None
    asked = run.verbs.shards.rows(attempt.shard)
    for at, lines in days.items():
        told = Landed.of(lines, [ANSWER] * len(lines), places(lines), [7] * len(lines))
        run.verbs.answers.take_in(attempt.id, asked, told, at)


def test_an_attempt_whose_answers_came_on_two_days_is_on_both(run: Run) -> None:
    take_in(run, {DAY - 1: [0, 1], DAY: [2], DAY + 5: [3, 4]}, rows=5)
    billed = dict(run.verbs.bills.billed())
    assert {place: (told.tries, told.input, told.cost) for place, told in billed.items()} == {
        Place(1, False, 0): (2, 20, 14),
        Place(1, False, 1): (3, 30, 21),
    }
    # 6 plain tokens at 2, 4 cached at 1, 3 out at 8.
    assert run.verbs.bills.at_prices({(1, False): PRICE}) == {Place(1, False, 0): 2 * 40, Place(1, False, 1): 3 * 40}


def test_attempts_of_one_day_are_added_up(run: Run) -> None:
    for item in ("first", "second"):
        run.ask(item)
        attempt = run.send()
        assert attempt is not None
        told = Landed.of([0], [ANSWER if item == "first" else failed("unknown_model")], places([0]))
        run.verbs.answers.take_in(attempt.id, run.verbs.shards.rows(attempt.shard), told, DAY / 2)
    ((place, billed),) = run.verbs.bills.billed()
    assert place == Place(1, False, 0)
    assert (billed.tries, billed.answers, billed.unpriced) == (2, 1, 2)
    assert run.verbs.bills.at_prices({(1, True): PRICE}) == {}
