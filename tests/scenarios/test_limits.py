"""Within every limit: bytes, counts, queued tokens, creation rate; what is refused as too large is cut."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import polars as pl

from overnight.ledger.account_book import AccountBook
from scenarios.conftest import Scenario


def test_the_enqueued_token_limit_is_learned_and_kept(scenario: Callable[..., Scenario]) -> None:
    # Ten shards of ten rows; the queue has room for two of them at a time.
    probe = scenario()
    study = probe.study(100, batch={"max_requests": 10})
    probe.run(study)
    tokens = int(probe.table()["input_tokens"].sum())
    limit = int(tokens / 10 * 2.5)
    pace = {"time_scale": 1000, "latency": {"batch": [600, 1200], "live": [0, 0]}}
    one = scenario({**pace, "limits": {"enqueued_tokens": {"gpt-4.1-mini": limit}}})
    assert one.run(one.study(100, batch={"max_requests": 10})).state == "done"
    assert one.statuses() == {"answered": 100}
    log = one.log()
    assert 0 < log["enqueued_peak"]["gpt-4.1-mini"] <= limit
    one.assert_paid_once()
    refused = [batch for batch in log["batches"] if batch["status"] == "failed"]
    assert 1 <= len(refused) <= 9
    with closing(AccountBook(one.folder / "runs" / "accounts.db")) as book:
        assert 0 < book.limits(f"openai|{one.emulator.openai_url}||")["gpt-4.1-mini"] <= limit
    # The next run knows it from the start.
    before = len(one.batches())
    assert one.run(one.study(100, name="next", prompt="Praise {text}.", batch={"max_requests": 10})).state == "done"
    later = [batch for batch in one.batches()[before:] if batch["status"] == "failed"]
    assert len(later) <= 1


def test_a_shard_over_the_whole_queue_is_cut(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"limits": {"enqueued_tokens": {"gpt-4.1-mini": 120}}})
    ending = one.run(one.study(40, batch={"max_requests": 40}))
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 40}
    assert any("cut into smaller ones" in text for text in ending.said)
    one.assert_paid_once()


def test_a_file_called_too_large_is_cut(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"limits": {"bytes": 2000}})
    ending = one.run(one.study(40, batch={"max_requests": 40}))
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 40}
    assert one.attempts()["shard"].n_unique() > 4
    one.assert_paid_once()


def test_segments_are_even_with_the_remainder_first(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    one.run(one.study(13, batch={"segments": 5}))
    sizes = one.attempts().group_by("shard", maintain_order=True).len()["len"].to_list()
    assert sizes == [3, 3, 3, 2, 2]


def test_one_bad_line_does_not_take_the_others_along(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "batch", "do": "fail", "code": "model_not_found", "times": 1}])
    ending = one.run(one.study(6))
    failed = one.table().filter(pl.col("status") == "failed")
    assert ending.state == "rows failed"
    assert 0 < failed.height < 6
    assert set(failed["cause"]) == {"unknown_model"}


def test_an_unknown_model_fails_its_rows_and_says_so(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"models": {"unknown": ["gpt-4.1-typo"]}})
    ending = one.run(one.study(4, models=["openai/gpt-4.1-typo", "openai/gpt-4.1-mini"]))
    table = one.table()
    assert table.filter(pl.col("model") == "gpt-4.1-mini")["status"].unique().to_list() == ["answered"]
    wrong = table.filter(pl.col("model") == "gpt-4.1-typo")
    assert set(wrong["status"]) <= {"failed", "pending"}
    assert "failed" in set(wrong["status"])
    assert ending.state in ("rows failed", "held up")
