"""Batches and files that were made elsewhere: sent, adopted, and asked again where that is possible."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable

import polars as pl
import pytest
from openai import OpenAI

from overnight import api
from scenarios.conftest import KEY, Scenario


def lines(count: int, model: str = "gpt-4.1-mini") -> bytes:
    """A provider file as users of the vendor's own SDK write them, with ids of their own making."""
    rows = (
        {
            "custom_id": f"stu_{n:02d}_vs_{n + 1}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": model, "messages": [{"role": "user", "content": f"Say {n}."}]},
        }
        for n in range(count)
    )
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def made_elsewhere(one: Scenario, count: int = 6) -> str:
    """A batch that another tool made in the same account."""
    with OpenAI(api_key=KEY, base_url=one.emulator.openai_url) as client:
        file = client.files.create(file=("theirs.jsonl", io.BytesIO(lines(count))), purpose="batch")
        return client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h").id


def test_a_ready_made_file_is_sent_and_joined_by_its_own_ids(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "error", "status": 500, "times": 1}])
    (one.folder / "theirs.jsonl").write_bytes(lines(8))
    ending = one.call("submit", "theirs.jsonl", provider="openai", description="from elsewhere")
    assert ending.state == "submitted", ending
    assert one.batches()[0]["metadata"]["description"] == "from elsewhere"
    assert one.call("resume", "theirs").state == "done"
    table = one.table("theirs")
    assert table["item_id"].to_list() == sorted(f"stu_{n:02d}_vs_{n + 1}" for n in range(8))
    assert table["status"].unique().to_list() == ["answered"]
    one.assert_paid_once()


def test_a_ready_made_file_with_two_models_becomes_two_batches(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    (one.folder / "two.jsonl").write_bytes(lines(2) + lines(2, "gpt-4.1").replace(b"stu_", b"other_"))
    one.call("submit", "two.jsonl", provider="openai")
    assert {batch["model"] for batch in one.batches()} == {"gpt-4.1-mini", "gpt-4.1"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no requests in it"),
        (b"not json\n", "theirs.jsonl:1:"),
        (lines(1) + lines(1), "theirs.jsonl:2: custom_id 'stu_00_vs_1' is already on line 1"),
    ],
)
def test_a_bad_file_is_refused_by_line(scenario: Callable[..., Scenario], text: bytes, words: str) -> None:
    one = scenario()
    (one.folder / "theirs.jsonl").write_bytes(text)
    ending = one.call("submit", "theirs.jsonl", provider="openai")
    assert ending.error == "StudyError"
    assert words in ending.message
    assert not (one.folder / "runs" / "theirs").exists()


def test_a_batch_of_another_tool_is_adopted(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "error", "status": 500, "where": "Say 3.", "times": 1}])
    batch = made_elsewhere(one)
    ending = one.call("adopt", "openai", batch, raw="kept.jsonl")
    name = f"adopted-{batch}"
    assert ending.state == "running", ending
    table = one.table(name)
    assert table.height == 6
    assert one.statuses(name) == {"answered": 5, "pending": 1}
    assert (one.folder / "kept.jsonl").read_bytes().count(b"custom_id") == 6
    # The questions came along: the row that failed can be asked again, in a batch of our own.
    assert one.call("resume", name).state == "done"
    assert one.statuses(name) == {"answered": 6}
    assert len(one.batches()) == 2
    one.assert_paid_once()


def test_a_batch_whose_questions_are_gone_gives_up_its_answers(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    batch = made_elsewhere(one)
    one.emulator.finish()
    with OpenAI(api_key=KEY, base_url=one.emulator.openai_url) as client:
        client.files.delete(client.batches.retrieve(batch).input_file_id)
    ending = one.call("adopt", "openai", batch)
    assert ending.state == "done", ending
    assert one.statuses(f"adopted-{batch}") == {"answered": 6}


@pytest.mark.parametrize("questions", [True, False])
def test_a_batch_with_a_zero_byte_in_an_id_is_refused(scenario: Callable[..., Scenario], questions: bool) -> None:
    one = scenario()
    with OpenAI(api_key=KEY, base_url=one.emulator.openai_url) as client:
        content = io.BytesIO(lines(6).replace(b"stu_03", b"stu\\u000003"))
        file = client.files.create(file=("theirs.jsonl", content), purpose="batch")
        batch = client.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        ).id
        one.emulator.finish()
        if not questions:
            client.files.delete(file.id)
    ending = one.call("adopt", "openai", batch)
    assert (ending.error, ending.message) == (
        "StudyError",
        f"{batch}: the id 'stu\\x0003_vs_4' has a zero byte (U+0000) in it; take it out",
    )
    assert one.left() == []


def test_rows_that_a_batch_counts_and_gives_no_line_for_have_failed(scenario: Callable[..., Scenario]) -> None:
    """Where the questions are gone, nobody knows which rows these are: they are counted all the same."""
    one = scenario(faults=[{"on": "row", "do": "omit", "times": 2}])
    batch = made_elsewhere(one)
    one.emulator.finish()
    with OpenAI(api_key=KEY, base_url=one.emulator.openai_url) as client:
        client.files.delete(client.batches.retrieve(batch).input_file_id)
    ending = one.call("adopt", "openai", batch)
    name = f"adopted-{batch}"
    for again in (ending, one.call("resume", name)):
        assert again.state == "rows failed", again
        assert one.statuses(name) == {"answered": 4, "failed": 2}
    failed = one.table(name).filter(pl.col("status") == "failed")
    assert failed.select("item_id", "cause").rows() == [("unnamed-1", "missing"), ("unnamed-2", "missing")]
    assert len(one.batches()) == 1


# A batch that counts nothing yet needs two downloads that agree, and one that counts its rows as many of them.
@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("at", [0.5, 0.4])
def test_questions_that_are_cut_are_not_the_whole_batch(
    scenario: Callable[..., Scenario], ended: bool, at: float
) -> None:
    """Half of the file, cleanly ended, looks like a batch of half as many rows."""
    one = scenario(faults=[{"on": "content", "do": "cut", "at": at, "quiet": True, "times": 1}])
    batch = made_elsewhere(one)
    if ended:
        one.emulator.finish()
    adopted = one.call("adopt", "openai", batch)
    assert not any("the questions cannot be had" in line for line in adopted.said), adopted.said
    name = f"adopted-{batch}"
    assert one.call("resume", name).state == "done"
    assert one.statuses(name) == {"answered": 6}


@pytest.mark.parametrize("once", [True, False])
def test_answers_that_are_cut_are_not_all_that_a_cancelled_batch_has(
    scenario: Callable[..., Scenario], once: bool
) -> None:
    """Some counts say nothing once a batch is called off: then one look does not prove what it has answered."""
    one = scenario(faults=[{"on": "batch", "do": "cancel", "times": 1}])
    batch = made_elsewhere(one, 30)
    one.emulator.finish()
    with OpenAI(api_key=KEY, base_url=one.emulator.openai_url) as client:
        made = client.batches.retrieve(batch)
        assert made.request_counts is not None
        assert made.request_counts.completed == 0
        output = client.files.content(made.output_file_id).text
        client.files.delete(made.input_file_id)
    ran = {json.loads(line)["custom_id"] for line in output.splitlines()}
    assert len(ran) > 3
    one.emulator.arm([{"on": "content", "do": "cut", "at": 0.5, "quiet": True, "times": 1}])
    one.call("adopt", "openai", batch, once=once)
    one.call("resume", f"adopted-{batch}")
    answered = one.table(f"adopted-{batch}").filter(pl.col("status") == "answered")
    assert set(answered["item_id"]) == ran


def test_a_batch_that_comes_a_byte_at_a_time_is_given_up_in_time(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"time_scale": 1})
    batch = made_elsewhere(one)
    one.emulator.arm([{"on": "retrieve", "do": "trickle"}])
    begun = time.monotonic()
    ending = one.call("adopt", "openai", batch, timeout="3s")
    assert time.monotonic() - begun < 30
    assert ending.error == "Unavailable"
    assert f"openai {batch}: not had whole within 3s" in ending.message
    assert not (one.folder / "runs" / f"adopted-{batch}").exists()


def test_an_unknown_batch_leaves_nothing_behind(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    ending = one.call("adopt", "openai", "batch_nobody")
    assert ending.error == "UnknownName"
    assert not (one.folder / "runs" / "adopted-batch_nobody").exists()


def test_a_tracking_file_adopts_them_all(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    batches = [made_elsewhere(one, 2), made_elsewhere(one, 3)]
    tracked = {"batches": [{"provider": "openai", "batch_id": b, "status": "in_progress"} for b in batches]}
    (one.folder / "batch_tracking.json").write_text(json.dumps(tracked))
    assert one.call("adopt", tracking="batch_tracking.json").state == "done"
    assert [one.table(f"adopted-{b}").height for b in batches] == [2, 3]


def test_adopted_rows_can_be_exported(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    batch = made_elsewhere(one, 3)
    one.call("adopt", "openai", batch)
    target = one.folder / "rows.csv"
    api.results(f"adopted-{batch}", output=target, runs=one.folder / "runs")
    assert pl.read_csv(target).height == 3


def test_one_unknown_batch_of_a_tracking_file_keeps_no_other_out(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    batches = [made_elsewhere(one, 2), "batch_nobody", made_elsewhere(one, 3)]
    tracked = {"batches": [{"provider": "openai", "batch_id": b} for b in batches]}
    (one.folder / "batch_tracking.json").write_text(json.dumps(tracked))
    ending = one.call("adopt", tracking="batch_tracking.json")
    assert ending.error == "StudyError"
    assert "1 of 3 batches could not be adopted: openai has no batch 'batch_nobody' in this account" in ending.message
    assert [one.table(f"adopted-{b}").height for b in (batches[0], batches[2])] == [2, 3]


@pytest.mark.parametrize("code", ["token_limit_exceeded", "invalid_json_line"])
def test_a_batch_that_failed_has_failed_for_good_when_nothing_is_asked_again(
    scenario: Callable[..., Scenario], code: str
) -> None:
    one = scenario(faults=[{"on": "batch", "do": "fail", "code": code, "message": "no room"}])
    batch = made_elsewhere(one)
    assert one.call("adopt", "openai", batch, ask_again=False).state == "rows failed"
    assert one.statuses(f"adopted-{batch}") == {"failed": 6}


@pytest.mark.parametrize("ask_again", [True, False])
def test_a_batch_that_its_maker_cancelled_is_over(scenario: Callable[..., Scenario], ask_again: bool) -> None:
    """Nobody can say `run` of it: its rows have failed at once, and do not wait for that word."""
    one = scenario(faults=[{"on": "batch", "do": "cancel", "times": 1}])
    batch = made_elsewhere(one)
    ending = one.call("adopt", "openai", batch, ask_again=ask_again)
    name = f"adopted-{batch}"
    for again in (ending, one.call("resume", name)):
        assert again.state == "rows failed", again
        assert one.statuses(name).keys() <= {"answered", "failed"}
        assert set(one.table(name)["cause"].drop_nulls()) == {"cancelled"}
    assert len(one.batches()) == 1


def test_rows_of_an_adopted_batch_that_were_cancelled_go_on_when_it_is_adopted_again(
    scenario: Callable[..., Scenario],
) -> None:
    """There is no study that `run` could be said of: what began the run is `adopt`."""
    faults = [
        {"on": "row", "do": "error", "status": 500, "where": "Say 3.", "times": 1},
        {"on": "batch", "do": "cancel", "times": 1, "skip": 1},
    ]
    one = scenario(faults=faults)
    batch = made_elsewhere(one)
    name = f"adopted-{batch}"
    assert one.call("adopt", "openai", batch).state == "running"
    for _ in range(2):
        held = one.call("resume", name)
        assert held.state == "held up"
        assert "type again what began the run (overnight run, submit or adopt)" in held.message
    made = len(one.batches())
    assert one.call("adopt", "openai", batch).state == "running"
    assert one.call("resume", name).state == "done"
    assert one.statuses(name) == {"answered": 6}
    assert len(one.batches()) == made + 1
    one.assert_paid_once()
