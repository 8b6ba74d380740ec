"""Folders that pairwiseLLM made, with rows that came to nothing: each pair is a winner or a failure, and at once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from overnight.core.errors import StudyError, UnknownName
from overnight.pairwise._foreign import StrayRowsWarning
from overnight.pairwise.multi_batch import Collected
from pairwise.conftest import Notebook
from pairwise.r_folder import name_of, pairs_of_samples, sent_by_r, truth, write_folder

PAIRS = pairs_of_samples(12)  # 66 of them
SEVERAL = "quality 03"  # a text of eleven pairs
VENDORS = ["openai", "anthropic"]

Begin = Callable[..., Notebook]


def keys_of(frame: pl.DataFrame | None) -> set[str]:
    return set() if frame is None else set(frame["ordered_key"])


def held_together(got: Collected, pairs: pl.DataFrame = PAIRS) -> tuple[int, int]:
    """(winners, failures): every pair is in exactly one of the tables, and every winner is the right one."""
    won, lost = keys_of(got.combined), keys_of(got.failed_attempts)
    height = 0 if got.combined is None else got.combined.height
    assert len(won) == height
    assert len(lost) == got.failed_attempts.height
    assert not won & lost
    assert won | lost == {f"{first}:{second}" for first, second in pairs.select("ID1", "ID2").iter_rows()}
    if got.combined is not None:
        assert got.combined["better_id"].to_list() == got.combined["ID2"].to_list()
    assert got.failed_attempts["error_code"].is_not_null().all()
    assert got.failed_attempts["error_detail"].is_not_null().all()
    return len(won), len(lost)


def resumed(one: Notebook, **options: Any) -> Collected:
    """Within a few seconds: nobody waits for what cannot come."""
    begun = time.monotonic()
    got = one.resume(**options)
    assert time.monotonic() - begun < 20
    return got


@pytest.mark.parametrize("provider", VENDORS)
@pytest.mark.parametrize(
    ("fault", "code", "lost"),
    [
        ({"do": "error", "status": 500, "times": 10}, "http_error", 10),
        ({"do": "error", "status": 400, "message": "no", "where": SEVERAL}, "http_error", 11),
        ({"do": "omit", "times": 7}, "backend_missing_fields", 7),
        ({"do": "omit"}, "backend_missing_fields", 66),
        ({"do": "empty_body", "times": 5}, "backend_missing_fields", 5),
    ],
)
def test_rows_that_failed_are_failures_at_once(
    notebook: Begin, provider: str, fault: dict[str, Any], code: str, lost: int
) -> None:
    one = notebook(faults=[{"on": "row", **fault}], **truth(12))
    parts = [PAIRS[:40], PAIRS[40:]]
    write_folder(one.folder, provider, [sent_by_r(one, provider, part) for part in parts], parts)
    got = resumed(one, write_registry=True, write_results_csv=True, write_combined_csv=True)
    assert held_together(got) == (66 - lost, lost)
    assert set(got.failed_attempts["error_code"]) == {code}
    assert got.batch_failures.height == 0
    assert all(job.done for job in got.jobs)
    written = pl.concat(
        [pl.read_csv(one.folder / f"batch_{n:02d}_results.csv") for n in (1, 2)], how="vertical_relaxed"
    )
    assert written.height == 66 - lost
    assert pl.read_csv(one.folder / "failed_attempts.csv").height == lost
    # Nothing was asked again, now or by another call.
    assert held_together(resumed(one)) == (66 - lost, lost)
    assert one.batches() == 2


def test_answers_that_a_batch_counts_and_does_not_give_are_failures_today(notebook: Begin) -> None:
    """They may come within a month, and nobody waits for that here: another call finds them, if they do."""
    one = notebook(faults=[{"on": "row", "do": "lose", "times": 3}], **truth(12))
    write_folder(one.folder, "openai", [sent_by_r(one, "openai", PAIRS)], [PAIRS])
    got = resumed(one)
    assert held_together(got) == (63, 3)
    assert set(got.failed_attempts["error_code"]) == {"backend_missing_fields"}
    assert [job.done for job in got.jobs] == [False]


@pytest.mark.parametrize("provider", VENDORS)
@pytest.mark.parametrize("silent", [False, True])
def test_an_expired_batch_keeps_what_it_had(notebook: Begin, provider: str, silent: bool) -> None:
    one = notebook(faults=[{"on": "batch", "do": "expire", "share": 0.5, "silent": silent, "times": 1}], **truth(12))
    write_folder(one.folder, provider, [sent_by_r(one, provider, PAIRS)], [PAIRS])
    got = resumed(one)
    assert held_together(got) == (33, 33)
    if provider == "openai":  # Anthropic's batches end, and their rows say that they expired
        assert got.batch_failures.select("segment_index", "status").rows() == [(1, "expired")]


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_a_batch_that_fails_as_a_whole_is_told_as_one(notebook: Begin, provider: str) -> None:
    fault = {"on": "batch", "do": "fail", "code": "token_limit_exceeded", "message": "Enqueued token limit reached"}
    one = notebook(faults=[fault], **truth(12))
    write_folder(one.folder, provider, [sent_by_r(one, provider, PAIRS)], [PAIRS])
    got = resumed(one, join_by_position=provider == "gemini")
    assert held_together(got) == (0, 66)
    assert got.batch_failures.height == 1
    assert got.batch_failures["error_detail"].is_not_null().all()


@pytest.mark.parametrize("provider", [*VENDORS, "gemini"])
def test_a_cancelled_batch_is_told_as_one(notebook: Begin, provider: str) -> None:
    one = notebook(faults=[{"on": "batch", "do": "cancel"}], **truth(12))
    write_folder(one.folder, provider, [sent_by_r(one, provider, PAIRS)], [PAIRS])
    got = resumed(one, join_by_position=provider == "gemini")
    won, lost = held_together(got)
    assert lost > 0
    assert won + lost == 66
    if provider != "anthropic":
        assert got.batch_failures.height == 1


def test_answers_without_a_winner_are_failures(notebook: Begin) -> None:
    one = notebook(answer_with={SEVERAL: "I cannot say."}, **truth(12))
    write_folder(one.folder, "openai", [sent_by_r(one, "openai", PAIRS)], [PAIRS])
    got = resumed(one)
    assert held_together(got) == (55, 11)
    assert set(got.failed_attempts["error_code"]) == {"parse_error"}


def test_a_row_under_a_strange_name_is_joined_to_nothing(notebook: Begin) -> None:
    one = notebook(faults=[{"on": "row", "do": "unknown_id", "times": 4}], **truth(12))
    write_folder(one.folder, "openai", [sent_by_r(one, "openai", PAIRS)], [PAIRS])
    assert held_together(resumed(one)) == (66, 0)


def test_a_row_that_comes_twice_counts_once(notebook: Begin) -> None:
    one = notebook(faults=[{"on": "row", "do": "duplicate", "times": 4}], **truth(12))
    write_folder(one.folder, "openai", [sent_by_r(one, "openai", PAIRS)], [PAIRS])
    assert held_together(resumed(one)) == (66, 0)


def test_lines_that_are_damaged_take_no_other_along(notebook: Begin) -> None:
    one = notebook(faults=[{"on": "row", "do": "malformed", "times": 3}], **truth(12))
    write_folder(one.folder, "openai", [sent_by_r(one, "openai", PAIRS)], [PAIRS])
    assert held_together(resumed(one)) == (63, 3)


def test_a_batch_that_nobody_knows_is_one_failure_among_others(notebook: Begin) -> None:
    one = notebook(**truth(12))
    parts = [PAIRS[:40], PAIRS[40:50], PAIRS[50:]]
    write_folder(one.folder, "openai", [sent_by_r(one, "openai", parts[0]), "batch_nobody", None], parts)
    got = resumed(one, write_registry=True)
    assert held_together(got) == (40, 26)
    assert got.batch_failures.select("segment_index", "status").rows() == [(2, "not found"), (3, "not found")]
    # Another key may find it: the registry does not call it done.
    assert pl.read_csv(one.folder / "jobs_registry.csv")["done"].to_list() == [True, False, False]


def test_a_folder_whose_batches_are_all_unknown_is_another_account_s(notebook: Begin) -> None:
    one = notebook()
    write_folder(one.folder, "openai", ["batch_nobody", "batch_noone"], [PAIRS[:40], PAIRS[40:]])
    with pytest.raises(UnknownName, match="openai has no batch 'batch_nobody' in this account"):
        one.resume()


def test_pairs_that_are_given_count_once_over_all_segments(notebook: Begin) -> None:
    one = notebook(faults=[{"on": "row", "do": "omit", "times": 6}], **truth(12))
    parts = [PAIRS[:40], PAIRS[40:]]
    write_folder(one.folder, "anthropic", [sent_by_r(one, "anthropic", part) for part in parts], parts, rds=False)
    assert held_together(resumed(one, pairs=PAIRS)) == (60, 6)


def test_a_running_batch_is_waited_for(notebook: Begin) -> None:
    # It runs until the test says that it has ended: however slow this machine is, the first look comes before that.
    one = notebook(latency={"batch": [80_000, 80_000], "live": [0, 0]}, time_scale=1_000, **truth(12))
    write_folder(one.folder, "anthropic", [sent_by_r(one, "anthropic", PAIRS)], [PAIRS])
    early = one.resume(timeout=60, interval_seconds=60)
    assert early.combined is None
    assert early.failed_attempts.height == 0
    assert [job.done for job in early.jobs] == [False]
    one.emulator.finish()
    assert held_together(resumed(one, interval_seconds=600)) == (66, 0)


def answer(name: str, text: str) -> dict[str, Any]:
    body = {"model": "gpt-4.1-mini", "choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    return {"id": "r", "custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}


WON = "<BETTER_SAMPLE>SAMPLE_2</BETTER_SAMPLE>"


def test_a_downloaded_file_is_read_without_the_provider_and_its_gaps_are_failures(notebook: Begin) -> None:
    one = notebook()
    write_folder(one.folder, "openai", ["batch_gone"], [PAIRS], done=[1])
    rows = [answer(name_of(row, "openai"), WON) for row in PAIRS[:60].iter_rows(named=True)]
    (one.folder / "batch_01_output.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert held_together(resumed(one)) == (60, 6)


def test_rows_about_none_of_the_pairs_are_told(notebook: Begin) -> None:
    one = notebook()
    write_folder(one.folder, "openai", ["batch_gone"], [PAIRS[:3]], done=[1])
    rows = [answer(name_of(row, "openai"), WON) for row in PAIRS[:4].iter_rows(named=True)]
    (one.folder / "batch_01_output.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.warns(StrayRowsWarning, match="1 row about none of the pairs"):
        got = one.resume()
    assert held_together(got, PAIRS[:3]) == (3, 0)


def test_other_people_s_pairs_are_refused(notebook: Begin) -> None:
    one = notebook()
    write_folder(one.folder, "openai", ["batch_gone"], [PAIRS[:3]], done=[1])
    (one.folder / "batch_01_output.jsonl").write_text(json.dumps(answer("EXP_x_vs_y", WON)) + "\n")
    with pytest.raises(StudyError, match="none of its 1 rows is about one of the pairs; one is called 'EXP_x_vs_y'"):
        one.resume()


def test_two_answers_that_disagree_are_nobody_s_win(notebook: Begin) -> None:
    """Whichever is right, it cannot be told: a file with both is left alone, and so is a batch's row."""
    from overnight.pairwise._foreign import _contradicted
    from overnight.pairwise.registry import read_registry

    one = notebook()
    write_folder(one.folder, "openai", ["batch_1"], [PAIRS[:3]])
    raw = one.folder / "segment-01" / "raw"
    raw.mkdir(parents=True)
    lines = [
        answer("a", WON),
        answer("a", "<BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE>"),
        answer("b", WON),
        answer("b", WON),
    ]
    (raw / "x-output.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert _contradicted(one.folder / "segment-01", read_registry(one.folder)[0]) == ["a"]
