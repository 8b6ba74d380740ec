"""What comes back, however it comes back: each row ends in the right state with the right cause."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from overnight import api
from overnight.core.ask import key_text
from scenarios.conftest import Scenario


def causes(one: Scenario) -> dict[str | None, int]:
    tries = one.attempts().group_by("cause").len()
    return dict(zip(tries["cause"], tries["len"], strict=True))


def test_an_expired_batch_gives_up_what_it_finished(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "batch", "do": "expire", "share": 0.4, "times": 1}])
    assert one.run(one.study(10, batch={"max_requests": 10})).state == "done"
    assert one.statuses() == {"answered": 10}
    assert causes(one) == {None: 10, "expired": 6}
    one.assert_paid_once()


def test_rows_that_expired_into_neither_file_are_asked_again(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "batch", "do": "expire", "share": 0.4, "silent": True, "times": 1}])
    assert one.run(one.study(10, batch={"max_requests": 10})).state == "done"
    assert causes(one) == {None: 10, "expired": 6}
    one.assert_paid_once()


@pytest.mark.parametrize("empty", [None, ""])
def test_completed_without_an_output_file(scenario: Callable[..., Scenario], empty: str | None) -> None:
    """The provider counts its rows as answered: they were paid for, and only the user can say to pay again."""
    one = scenario({"time_scale": 2_000_000}, faults=[{"on": "batch", "do": "empty_output", "as": empty, "times": 1}])
    ending = one.run(one.study(4))
    assert ending.state == "rows failed"
    assert causes(one) == {"gone": 4}
    assert one.run(one.study(4), reask="failed").state == "done"
    assert one.statuses() == {"answered": 4}


def test_rows_in_the_error_file(scenario: Callable[..., Scenario]) -> None:
    one = scenario(
        faults=[
            {"on": "row", "do": "error", "status": 400, "code": "invalid_prompt", "where": "number 3 "},
            {"on": "row", "do": "error", "status": 500, "where": "number 5 ", "times": 1},
            {"on": "row", "do": "error", "status": 429, "where": "number 6 ", "times": 2},
        ]
    )
    ending = one.run(one.study())
    assert ending.state == "rows failed"
    table = one.table()
    failed = table.filter(pl.col("status") == "failed")
    assert failed["item_id"].to_list() == ["item 00003"]
    assert failed["cause"].to_list() == ["invalid_request"]
    assert table.filter(pl.col("status") == "answered").height == 11
    assert causes(one) == {None: 11, "invalid_request": 1, "server_error": 1, "rate_limited": 2}
    one.assert_paid_once()


def test_a_batch_of_errors_only_has_its_rows_and_their_reasons(scenario: Callable[..., Scenario]) -> None:
    """A line of OpenAI's says why at `response.body.error`; there is no output file beside the error file."""
    one = scenario(faults=[{"on": "row", "do": "error", "status": 400, "code": "invalid_prompt", "where": "number "}])
    assert one.run(one.study(3)).state == "rows failed"
    assert one.table()["cause"].to_list() == ["invalid_request"] * 3
    details = one.attempts()["detail"].to_list()
    assert len(details) == 3
    assert all(detail.startswith("HTTP 400, invalid_prompt: ") and len(detail) > 30 for detail in details), details
    one.assert_paid_once()


def test_trouble_that_does_not_pass_fails_the_row_in_the_end(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "error", "status": 503, "where": "number 1 "}])
    assert one.run(one.study(3)).state == "rows failed"
    failed = one.table().filter(pl.col("status") == "failed")
    assert failed["cause"].to_list() == ["server_error"]
    assert one.attempts().filter(pl.col("cause") == "server_error").height == 4


def test_a_row_in_neither_file_is_missing_and_only_it_is_asked_again(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "omit", "where": "number 2 ", "times": 1}])
    assert one.run(one.study(5)).state == "done"
    assert causes(one) == {None: 5, "missing": 1}
    again = one.attempts().filter(pl.col("shard") == 2)
    assert again.height == 1
    # Two whole downloads agreed before the row was called missing; the second held nothing new, and is not kept.
    looks = api.audit_log("night", runs=one.folder / "runs").filter(
        (pl.col("kind") == "fetched") & (pl.col("shard") == 1)
    )
    assert looks.height == 2
    assert len([name for name in one.raw() if "-output" in name]) == 2


def test_malformed_lines_join_to_nothing(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "malformed", "where": "number 4 ", "times": 1}])
    ending = one.run(one.study(5))
    assert ending.state == "rows failed"
    assert any("1 unreadable lines" in text or "unreadable" in text for text in ending.said)
    assert causes(one) == {None: 4, "unreadable": 1}


def test_duplicate_lines_count_once_and_foreign_ids_not_at_all(scenario: Callable[..., Scenario]) -> None:
    one = scenario(
        faults=[
            {"on": "row", "do": "duplicate", "where": "number 1 "},
            {"on": "row", "do": "unknown_id", "where": "number 2 "},
        ]
    )
    ending = one.run(one.study(5))
    assert ending.state == "done"
    assert one.table().height == 5
    assert one.statuses() == {"answered": 5}
    assert any("foreign custom id" in text for text in ending.said)


def test_an_unreadable_body_is_not_an_answer(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "empty_body", "where": "number 1 ", "times": 1}])
    assert one.run(one.study(3)).state == "rows failed"
    assert causes(one) == {None: 2, "unreadable": 1}
    one.assert_paid_once()
    assert one.run(one.study(3), reask="failed").state == "done"


@pytest.mark.parametrize("quiet", [False, True])
def test_a_download_cut_at_sixty_percent_is_taken_again(scenario: Callable[..., Scenario], quiet: bool) -> None:
    one = scenario(faults=[{"on": "content", "do": "cut", "at": 0.6, "quiet": quiet, "times": 2}])
    assert one.run(one.study()).state == "done"
    assert one.statuses() == {"answered": 12}
    assert causes(one) == {None: 12}
    assert not list((one.folder / "runs/night/raw").glob("*.part"))


def test_refusals_and_cuts_are_outcomes_not_errors(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"answers": {"refused": 0.3, "truncated": 0.3}})
    assert one.run(one.study(30, batch={"max_requests": 30})).state == "done"
    counts = one.statuses()
    assert set(counts) == {"answered", "refused", "truncated"}
    assert sum(counts.values()) == 30
    assert one.table().filter(pl.col("status") == "truncated")["cause"].unique().to_list() == ["max_tokens"]


def test_no_answer_is_joined_to_another_row(scenario: Callable[..., Scenario]) -> None:
    rules = {r"thing number (\d+) ": r"this is about \1"}
    one = scenario({"answer_with": rules}, faults=[{"on": "row", "do": "error", "status": 500, "odds": 0.2}])
    one.run(one.study(200, batch={"max_requests": 60}))
    table = one.table().filter(pl.col("status") == "answered")
    assert table.height > 190
    for item, answer in zip(table["item_id"], table["answer"], strict=True):
        assert answer == f"this is about {int(item.split()[1])}"


def test_results_past_retention_are_gone_and_stay_so(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "content", "do": "status", "status": 404}])
    assert one.run(one.study(3)).state == "rows failed"
    assert one.table()["cause"].unique().to_list() == ["gone"]
    one.emulator.arm([])
    again = one.run(one.study(3), reask="failed")
    assert again.state == "done"
    assert one.statuses() == {"answered": 3}


def test_tables_are_rebuilt_offline_to_the_same_bytes(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "error", "status": 500, "odds": 0.3}])
    one.run(one.study())
    before = one.table_digest()
    (one.folder / "runs/night/tables/results.parquet").unlink()
    one.close()
    assert api.rebuild("night", runs=one.folder / "runs") == 12
    assert one.table_digest() == before


def test_the_order_is_the_studys_not_the_arrivals(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    one.run(one.study(40, replicates=2, models=["openai/gpt-4.1-mini", "openai/gpt-4.1"]))
    table = one.table().select("arm", "item_id", "replicate")
    assert table.equals(table.sort("arm", "item_id", "replicate"))
    assert table.height == 160
    assert one.table()["request_key"].str.starts_with(key_text(b"")).all()
