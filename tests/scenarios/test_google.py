"""Gemini and Vertex, in the places where others have lost answers, mixed them up, or waited for ever."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from google import genai
from google.genai import types

from overnight import api
from scenarios.conftest import KEY, Scenario

GOOGLE = ("gemini", "vertex")


def causes(one: Scenario) -> dict[str | None, int]:
    tries = one.attempts().group_by("cause").len()
    return dict(zip(tries["cause"], tries["len"], strict=True))


def assert_each_has_its_own_answer(one: Scenario, name: str = "night") -> None:
    """The simulated models repeat the last words of the question."""
    table = one.table(name)
    for item, answer in zip(table["item_id"], table["answer"], strict=True):
        assert f"thing number {int(item.split()[1])} in a sentence" in answer, (item, answer)


def items(one: Scenario, texts: dict[str, str], **fields: Any) -> str:
    study = {
        "name": "night",
        "task": "generate",
        "items": [{"id": name, "text": text} for name, text in texts.items()],
        "prompt": "Repeat: {text}",
        "models": [one.model],
    }
    return one.write({**study, **fields})


@pytest.mark.parametrize("provider", GOOGLE)
def test_shuffled_answers_find_their_questions(scenario: Callable[..., Scenario], provider: str) -> None:
    # Gemini promises to keep the order of the requests; nothing here relies on it.
    one = scenario(faults=[{"on": "batch", "do": "shuffle"}], provider=provider)
    assert one.run(one.study(30, batch={"max_requests": 30})).state == "done"
    assert one.statuses() == {"answered": 30}
    assert_each_has_its_own_answer(one)
    one.assert_paid_once()


@pytest.mark.parametrize("provider", GOOGLE)
def test_a_line_without_a_key_is_loud_and_was_paid_for(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(faults=[{"on": "row", "do": "nameless", "times": 1}], provider=provider)
    ending = one.run(one.study(10, batch={"max_requests": 10}))
    assert ending.state == "rows failed"
    assert any("unreadable lines" in text and "joined to nothing" in text for text in ending.said)
    assert one.statuses() == {"answered": 9, "failed": 1}
    assert causes(one) == {None: 9, "unreadable": 1}


@pytest.mark.parametrize("provider", GOOGLE)
def test_a_row_that_was_left_out_is_asked_again(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(faults=[{"on": "row", "do": "omit", "times": 2}], provider=provider)
    assert one.run(one.study(10, batch={"max_requests": 10})).state == "done"
    assert causes(one) == {None: 10, "missing": 2}
    assert_each_has_its_own_answer(one)
    one.assert_paid_once()


@pytest.mark.parametrize("provider", GOOGLE)
def test_prompts_that_are_nearly_alike_are_not_mistaken_for_each_other(
    scenario: Callable[..., Scenario], provider: str
) -> None:
    texts = {
        "a": "the quick brown fox jumps over the lazy dog 1",
        "b": "the quick brown fox jumps over the lazy dog 2",
        "c": "the quick brown fox jumps over the lazy dog  2",
        "d": r"the quick brown fox jumps over\s+the lazy dog 2",
        "e": "the quick brown fox\n\tjumps over the lazy dog 2",
    }
    one = scenario({"answer_with": {r"(?s)Repeat: (.*)": "<\\1>"}}, provider=provider)
    assert one.run(items(one, texts)).state == "done"
    table = one.table()
    assert dict(zip(table["item_id"], table["answer"], strict=True)) == {
        name: f"<{text}>" for name, text in texts.items()
    }


def test_ids_that_look_like_numbers_survive_vertex(scenario: Callable[..., Scenario]) -> None:
    names = ["000123", "123", "1e3", "1000", "-0", "0.50", "0x1f"]
    one = scenario({"answer_with": {r"(?s)Repeat: (.*)": "<\\1>"}}, provider="vertex")
    assert one.run(items(one, {name: f"item {name}" for name in names})).state == "done"
    table = one.table()
    assert dict(zip(table["item_id"], table["answer"], strict=True)) == {name: f"<item {name}>" for name in names}


def test_an_expired_gemini_batch_ends_and_all_its_rows_are_asked_again(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "batch", "do": "expire", "share": 0.4, "times": 1}], provider="gemini")
    assert one.run(one.study(10, batch={"max_requests": 10})).state == "done"
    assert one.statuses() == {"answered": 10}
    assert causes(one) == {None: 10, "expired": 10}
    one.assert_paid_once()


def test_an_expired_vertex_job_gives_up_what_it_finished(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "batch", "do": "expire", "share": 0.4, "times": 1}], provider="vertex")
    assert one.run(one.study(10, batch={"max_requests": 10})).state == "done"
    assert causes(one) == {None: 10, "expired": 6}
    one.assert_paid_once()


@pytest.mark.parametrize("provider", GOOGLE)
def test_rows_that_fail_do_so_with_their_cause(scenario: Callable[..., Scenario], provider: str) -> None:
    faults = [
        {"on": "row", "do": "error", "status": 400, "message": "No.", "where": "number 3 "},
        {"on": "row", "do": "error", "status": 503, "where": "number 5 ", "times": 1},
        {"on": "row", "do": "error", "status": 429, "where": "number 6 ", "times": 2},
    ]
    one = scenario(faults=faults, provider=provider)
    assert one.run(one.study()).state == "rows failed"
    failed = one.table().filter(pl.col("status") == "failed")
    assert failed.select("item_id", "cause").rows() == [("item 00003", "invalid_request")]
    assert causes(one) == {None: 11, "invalid_request": 1, "server_error": 1, "rate_limited": 2}
    one.assert_paid_once()


@pytest.mark.parametrize("provider", GOOGLE)
def test_refusals_are_told_apart_from_errors(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario({"answers": {"refused": 0.3, "filtered": 0.3, "truncated": 0.0}}, provider=provider)
    assert one.run(one.study(20)).state == "done"
    statuses = one.statuses()
    assert set(statuses) == {"answered", "refused"}
    assert set(one.table().filter(pl.col("status") == "refused")["cause"]) == {"content_filter"}


@pytest.mark.parametrize("provider", GOOGLE)
@pytest.mark.parametrize("misdeed", ["drop_answer", "lose_request"])
def test_a_lost_create_is_never_doubled(scenario: Callable[..., Scenario], provider: str, misdeed: str) -> None:
    one = scenario(faults=[{"on": "create", "do": misdeed, "times": 1}], provider=provider)
    ending = one.run(one.study())
    assert ending.state == "done"
    assert len(one.batches()) == 3
    assert_each_has_its_own_answer(one)
    one.assert_paid_once()


@pytest.mark.parametrize("provider", GOOGLE)
def test_a_create_that_comes_after_all_looks_cannot_run(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(faults=[{"on": "create", "do": "delay_create", "seconds": 600_000, "times": 1}], provider=provider)
    assert one.run(one.study(5)).state == "done"
    one.emulator.advance(700_000)
    assert [batch["executed"] for batch in one.batches() if batch["status"] == "failed"] == [0]
    assert one.statuses() == {"answered": 5}
    one.assert_paid_once()


def test_a_batch_that_fails_on_the_providers_side_is_asked_again(scenario: Callable[..., Scenario]) -> None:
    one = scenario(
        faults=[{"on": "batch", "do": "fail", "code": "13", "message": "Export failed.", "times": 1}], provider="vertex"
    )
    assert one.run(one.study(5)).state == "done"
    assert causes(one) == {None: 5, "server_error": 5}


def test_a_bucket_that_vertex_may_not_use_stops_the_run_and_loses_nothing(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"buckets": {"refuse_service": ["sealed"]}}, provider="vertex")
    study = one.study(5, buckets={"input": "gs://sealed/in", "output": "gs://sealed/out"})
    ending = one.run(study)
    assert ending.state != "done"
    words = f"{ending.message} {' '.join(ending.said)}"
    assert "roles/storage.objectAdmin) on gs://sealed" in words
    assert one.run(one.study(5, buckets={"input": "gs://open/in", "output": "gs://open/out"})).state == "done"
    assert one.statuses() == {"answered": 5}
    one.assert_paid_once()


def test_without_buckets_nothing_is_sent(scenario: Callable[..., Scenario]) -> None:
    one = scenario(provider="vertex")
    no_buckets = {"VERTEX_INPUT_BUCKET": "", "VERTEX_OUTPUT_BUCKET": ""}
    ending = one.call("run", one.study(), environ=no_buckets)
    assert (ending.error, "write `buckets: {input: gs://..., output: gs://...}`" in ending.message) == (
        "StudyError",
        True,
    )
    assert not (one.folder / "runs" / "night").exists()


def test_two_runs_share_their_buckets_and_nothing_else(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"limits": {"shard_rows": 2}}, provider="vertex")
    for name in ("first", "second"):
        assert (
            one.call("submit", one.study(5, name=name, prompt=f"{name}: {{text}} in a sentence.")).state == "submitted"
        )
    for name in ("second", "first"):
        assert one.call("resume", name).state == "done"
        assert one.statuses(name) == {"answered": 5}
        assert_each_has_its_own_answer(one, name)
    one.assert_paid_once()


@pytest.mark.parametrize("provider", GOOGLE)
def test_a_cancelled_run_collects_what_there_is(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario({"time_scale": 2000, "latency": {"batch": [50_000, 50_000], "live": [0, 0]}}, provider=provider)
    assert one.call("submit", one.study(4)).state == "submitted"
    one.emulator.advance(25_000)
    one.call("cancel", "night")
    statuses = one.statuses()
    assert set(statuses) <= {"answered", "pending"}
    assert ("answered" in statuses) == (provider == "vertex")
    assert one.log()["rows_run_twice"] == []


def test_later_stages_judge_what_gemini_answered(scenario: Callable[..., Scenario]) -> None:
    one = scenario(provider="gemini")
    stages = [
        {
            "name": "answers",
            "task": "generate",
            "items": [{"id": "a", "text": "b"}],
            "prompt": "{text}?",
            "models": [one.model],
        },
        {
            "name": "judging",
            "task": "generate",
            "of": "answers",
            "prompt": "Sure? {answer}",
            "models": ["vertex/gemini-2.5-pro"],
        },
    ]
    assert one.run(one.write({"name": "night", "stages": stages})).state == "done"
    assert one.statuses() == {"answered": 2}


def made_elsewhere(one: Scenario) -> str:
    """A batch that another tool made in the same account, with its requests in place."""
    address = types.HttpOptions(base_url=f"{one.emulator.url}/gemini")
    client = genai.Client(api_key=KEY, http_options=address)
    requests = [types.InlinedRequest(contents=f"Say {n}.", metadata={"key": f"theirs/{n}"}) for n in range(6)]
    made = client.batches.create(model="gemini-2.5-flash", src=requests, config={"display_name": "theirs"})
    client.close()
    return made.name or ""


def test_a_batch_whose_id_is_a_path_is_adopted_and_found(scenario: Callable[..., Scenario]) -> None:
    one = scenario(provider="gemini")
    batch_id = made_elsewhere(one)
    assert batch_id.startswith("batches/")
    one.emulator.finish()
    ending = one.call("adopt", "gemini", batch_id)
    assert ending.state == "done", ending
    name = f"adopted-{batch_id.removeprefix('batches/')}"
    table = one.table(name)
    assert table["item_id"].to_list() == [f"theirs/{n}" for n in range(6)]
    assert table["status"].unique().to_list() == ["answered"]
    (status,) = api.status(batch_id, runs=one.folder / "runs")
    assert status.run == name


@pytest.mark.parametrize(
    ("model", "more"),
    [
        ("gemini/gemini-2.5-flash", {}),
        ("vertex/gemini-2.5-flash", {"buckets": {"input": "gs://mine/in", "output": "gs://mine/out"}}),
        ("vertex/gemini-2.5-flash", {}),
        ("google/gemini-2.5-flash", {}),
    ],
)
def test_a_study_moves_by_one_word_and_rehearses(
    scenario: Callable[..., Scenario], model: str, more: dict[str, Any]
) -> None:
    one = scenario()
    study = one.study(3, models=[model], **more)
    ending = one.call("run", study, emulate=True, environ={"OVERNIGHT_TIME_SCALE": "20000", "GOOGLE_CLOUD_PROJECT": ""})
    assert ending.state == "done", ending
    rehearsed = one.folder / "runs" / ".rehearsal" / "night" / "tables" / "results.parquet"
    assert pl.read_parquet(rehearsed)["status"].to_list() == ["answered"] * 3
    assert json.loads((one.folder / "night.yaml").read_text())["models"] == [model]


def at(one: Scenario, path: str, body: bytes | None = None) -> Any:
    request = urllib.request.Request(f"{one.emulator.url}{path}", body, {"Authorization": "Bearer theirs"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_a_vertex_job_made_elsewhere_is_adopted_by_its_full_name(scenario: Callable[..., Scenario]) -> None:
    """Its ids have become numbers where they looked like some; its input does not say which model was asked."""
    one = scenario(provider="vertex")
    asked = [{"custom_id": name, "request": {"contents": [{"parts": [{"text": name}]}]}} for name in ("a-1", "0017")]
    lines = "".join(json.dumps(line) + "\n" for line in asked).encode()
    at(one, "/upload/storage/v1/b/theirs/o?uploadType=media&name=in.jsonl", lines)
    job = {
        "displayName": "theirs",
        "model": "publishers/google/models/gemini-2.5-flash",
        "inputConfig": {"instancesFormat": "jsonl", "gcsSource": {"uris": ["gs://theirs/in.jsonl"]}},
        "outputConfig": {"predictionsFormat": "jsonl", "gcsDestination": {"outputUriPrefix": "gs://theirs/out"}},
    }
    made = at(one, "/vertex/v1/projects/lab/locations/us-central1/batchPredictionJobs", json.dumps(job).encode())
    one.emulator.finish()
    no_buckets = {"VERTEX_INPUT_BUCKET": "", "VERTEX_OUTPUT_BUCKET": ""}
    ending = one.call("adopt", "vertex", made["name"], environ=no_buckets)
    assert ending.state == "done", ending
    table = one.table(f"adopted-{made['name'].rsplit('/', 1)[-1]}")
    assert table.select("item_id", "status").rows() == [("17", "answered"), ("a-1", "answered")]


@pytest.mark.parametrize("provider", GOOGLE)
def test_a_ready_made_file_is_sent_and_joined_by_its_own_ids(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(provider=provider)
    name = {"gemini": "key", "vertex": "custom_id"}[provider]
    request = {"model": "models/gemini-2.5-flash", "contents": [{"parts": [{"text": "Say so."}]}]}
    lines = [{name: f"000{n}", "request": {**request, "generationConfig": {"seed": n}}} for n in range(4)]
    (one.folder / "theirs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert one.call("submit", "theirs.jsonl", provider=provider).state == "submitted"
    assert one.call("resume", "theirs").state == "done"
    assert one.table("theirs")["item_id"].to_list() == ["0000", "0001", "0002", "0003"]
    assert one.statuses("theirs") == {"answered": 4}
    one.assert_paid_once()


@pytest.mark.parametrize("provider", GOOGLE)
def test_live_answers_are_those_of_a_batch(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(
        faults=[{"on": "live", "do": "status", "status": 429, "retry_after": 0, "times": 2}], provider=provider
    )
    no_buckets = {"VERTEX_INPUT_BUCKET": "", "VERTEX_OUTPUT_BUCKET": ""}
    assert one.run(one.study(12, mode="live"), environ=no_buckets).state == "done"
    assert one.batches() == []
    assert_each_has_its_own_answer(one)
    live = one.table()
    assert one.run(one.study(12, name="batched")).state == "done"
    assert one.table("batched")["answer"].to_list() == live["answer"].to_list()
