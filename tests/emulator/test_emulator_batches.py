"""Batches from create to the last row, driven by the official SDK."""

from __future__ import annotations

import json

import openai
import pytest
from driving import CHAT, chat_body, chat_lines, create, finish, jsonl, line, rows, submit, upload, wait

from overnight_emulator.simulate import expected_answer


def test_a_batch_runs_from_validation_to_its_answers(emulate, connect):
    emulator = emulate({"time_scale": 1, "latency": {"batch": [1000, 1000]}})
    client = connect(emulator)
    batch = submit(client, chat_lines(20), metadata={"tag": "first"})
    seen = [batch.status]
    for seconds in (5, 500, 480, 20):
        emulator.advance(seconds)
        batch = client.batches.retrieve(batch.id)
        seen.append(batch.status)
        if batch.status == "in_progress":
            counts = batch.request_counts
            assert (counts.total, counts.failed) == (20, 0)
            assert 5 < counts.completed < 15

    assert seen == ["validating", "validating", "in_progress", "finalizing", "completed"]
    assert batch.metadata == {"tag": "first"}
    assert batch.model == "gpt-4.1"
    assert batch.expires_at == batch.created_at + 86_400
    assert batch.created_at < batch.in_progress_at < batch.finalizing_at < batch.completed_at
    assert batch.completed_at - batch.created_at in {999, 1000, 1001}
    assert (batch.failed_at, batch.expired_at, batch.cancelling_at, batch.cancelled_at) == (None,) * 4
    assert batch.request_counts.model_dump() == {"total": 20, "completed": 20, "failed": 0}
    assert batch.error_file_id is None


def test_every_row_is_answered_with_the_answer_of_its_question(emulate, connect):
    emulator = emulate({"seed": 11})
    client = connect(emulator)
    lines = chat_lines(50)
    batch = finish(emulator, client, submit(client, lines))
    answers = rows(client, batch.output_file_id)

    assert {row["custom_id"] for row in answers} == {f"r{i}" for i in range(50)}
    assert [row["custom_id"] for row in answers] != [f"r{i}" for i in range(50)], "the order is not the input's"
    bodies = {line["custom_id"]: line["body"] for line in lines}
    for row in answers:
        assert row["error"] is None
        assert row["id"].startswith("batch_req_")
        assert row["response"]["status_code"] == 200
        said = row["response"]["body"]["choices"][0]["message"]["content"]
        assert said == expected_answer(11, bodies[row["custom_id"]])
    usages = [row["response"]["body"]["usage"] for row in answers]
    assert batch.usage.input_tokens == sum(usage["prompt_tokens"] for usage in usages)
    assert batch.usage.output_tokens == sum(usage["completion_tokens"] for usage in usages)
    assert client.files.retrieve(batch.output_file_id).purpose == "batch_output"


def test_rows_that_fail_are_in_the_error_file_only(emulate, connect):
    emulator = emulate()
    client = connect(emulator)
    bad = line("bad", {"model": "gpt-5", "messages": [{"role": "user", "content": "x"}], "max_tokens": 5})
    good = line("good", {"model": "gpt-5", "messages": [{"role": "user", "content": "x"}]})
    batch = finish(emulator, client, submit(client, [bad, good]))

    assert batch.request_counts.model_dump() == {"total": 2, "completed": 1, "failed": 1}
    assert [row["custom_id"] for row in rows(client, batch.output_file_id)] == ["good"]
    (error,) = rows(client, batch.error_file_id)
    assert (error["custom_id"], error["error"], error["response"]["status_code"]) == ("bad", None, 400)
    assert error["response"]["body"]["error"]["code"] == "unsupported_parameter"


def test_without_a_single_success_there_is_no_output_file(emulate, connect):
    emulator = emulate()
    client = connect(emulator)
    batch = finish(emulator, client, submit(client, [line("bad", {"model": "o3", "messages": []})]))

    assert batch.status == "completed"
    assert batch.output_file_id is None
    assert len(rows(client, batch.error_file_id)) == 1


GOOD = line("a", chat_body("x"))


@pytest.mark.parametrize(
    ("content", "code", "param", "number"),
    [
        (jsonl([GOOD]) + b"{broken\n", "invalid_json_line", None, 2),
        (b"\xef\xbb\xbf" + jsonl([GOOD]), "invalid_json_line", None, 1),
        (jsonl([GOOD]) + b"\n" + jsonl([line("b", chat_body("y"))]), "invalid_json_line", None, 2),
        (jsonl([GOOD, line("b", chat_body("y")), GOOD]), "duplicate_custom_id", "custom_id", 3),
        (jsonl([{**GOOD, "custom_id": None}]), "missing_required_parameter", "custom_id", 1),
        (jsonl([{key: GOOD[key] for key in ("custom_id", "method", "url")}]), "missing_required_parameter", "body", 1),
        (jsonl([{**GOOD, "method": "GET"}]), "invalid_method", "method", 1),
        (jsonl([GOOD, line("b", chat_body("y", model="gpt-4o"))]), "mismatched_model", "body.model", 2),
        (jsonl([line("a", chat_body("x"), "/v1/responses")]), "invalid_url", "url", 1),
        (jsonl([line("a", chat_body("x", model="gpt-4-typo"))]), "model_not_found", "body.model", 1),
        (jsonl([line("a", {"messages": []})]), "invalid_request", "body.model", 1),
        (jsonl([line("a", chat_body("x", stream=True))]), "streaming_unsupported", "body.stream", 1),
        (b"\n", "empty_file", None, None),
    ],
)
def test_a_flawed_input_fails_the_whole_batch_at_its_first_bad_line(shared, client, content, code, param, number):
    batch = wait(client, submit(client, content))

    assert batch.status == "failed"
    assert batch.errors is not None
    (flaw,) = batch.errors.data
    assert (flaw.code, flaw.param, flaw.line) == (code, param, number)
    assert flaw.message
    assert batch.failed_at is not None
    assert batch.request_counts.model_dump() == {"total": 0, "completed": 0, "failed": 0}
    assert (batch.output_file_id, batch.error_file_id) == (None, None)


def test_a_missing_or_foreign_input_is_found_at_validation(client):
    notes = client.files.create(file=("notes.txt", b"notes"), purpose="user_data")
    for file_id in ("file-nowhere", notes.id):
        batch = wait(client, create(client, file_id))
        assert batch.status == "failed"
        assert (batch.errors.data[0].code, batch.errors.data[0].param) == ("invalid_request", "file_id")


def test_too_many_requests_fail_the_batch(emulate, connect):
    client = connect(emulate({"limits": {"requests": 3}}))

    assert wait(client, submit(client, chat_lines(3))).status == "completed"
    batch = wait(client, submit(client, chat_lines(4)))
    assert (batch.status, batch.errors.data[0].code) == ("failed", "too_many_tasks")


def test_enqueued_tokens_count_until_a_batch_has_ended(emulate, connect):
    text = "x" * 400  # 100 tokens
    truth = {"time_scale": 1, "latency": {"batch": [1000, 1000]}, "limits": {"enqueued_tokens": {"gpt-4.1": 250}}}
    emulator = emulate(truth)
    client = connect(emulator)
    lines = [line("a", chat_body(text)), line("b", chat_body(text))]
    first = submit(client, lines)
    emulator.advance(100)
    second = submit(client, [line("a", chat_body(text[1:]))])
    emulator.advance(100)
    batch = client.batches.retrieve(second.id)

    assert batch.status == "failed"
    (flaw,) = batch.errors.data
    assert (flaw.code, flaw.param, flaw.line) == ("token_limit_exceeded", None, None)
    assert flaw.message == (
        "Enqueued token limit reached for gpt-4.1 in organization org-emulator. Limit: 250 enqueued tokens."
        " Please try again once some in_progress batches have been completed."
    )
    assert emulator.log()["enqueued_now"] == {"gpt-4.1": 200}
    emulator.finish()
    assert client.batches.retrieve(first.id).status == "completed"
    third = submit(client, [line("a", chat_body(text[1:]))])
    emulator.advance(1000)
    assert client.batches.retrieve(third.id).status == "completed"
    assert emulator.log()["enqueued_peak"] == {"gpt-4.1": 200}
    assert emulator.log()["enqueued_now"] == {}


def test_a_cancelled_batch_keeps_what_had_finished(emulate, connect):
    emulator = emulate({"time_scale": 1, "latency": {"batch": [1000, 1000]}})
    client = connect(emulator)
    batch = submit(client, chat_lines(40))
    emulator.advance(500)
    batch = client.batches.cancel(batch.id)
    assert batch.status == "cancelling"
    assert client.batches.cancel(batch.id).status == "cancelling"
    emulator.advance(600)
    batch = client.batches.retrieve(batch.id)

    assert batch.status == "cancelled"
    assert batch.cancelling_at < batch.cancelled_at <= batch.cancelling_at + 600
    assert (batch.request_counts.total, batch.request_counts.completed) == (40, 0)
    done, left = rows(client, batch.output_file_id), rows(client, batch.error_file_id)
    assert 15 <= len(done) <= 25
    assert {row["custom_id"] for row in done} | {row["custom_id"] for row in left} == {f"r{i}" for i in range(40)}
    assert {row["error"]["code"] for row in left} == {"batch_cancelled"}
    assert all(row["response"] is None for row in left)
    with pytest.raises(openai.ConflictError, match="Cannot cancel a batch with status 'cancelled'"):
        client.batches.cancel(batch.id)


def test_a_batch_cancelled_at_once_has_no_answers(emulate, connect):
    emulator = emulate({"time_scale": 1})
    client = connect(emulator)
    batch = client.batches.cancel(submit(client, chat_lines(3)).id)
    emulator.advance(600)
    batch = client.batches.retrieve(batch.id)

    assert (batch.status, batch.output_file_id) == ("cancelled", None)
    assert len(rows(client, batch.error_file_id)) == 3


def test_a_batch_slower_than_its_window_expires_with_what_had_finished(emulate, connect):
    emulator = emulate({"time_scale": 1, "latency": {"batch": [2 * 86_400, 2 * 86_400]}})
    client = connect(emulator)
    batch = submit(client, chat_lines(40))
    emulator.advance(86_400)
    batch = client.batches.retrieve(batch.id)

    assert batch.status == "expired"
    assert batch.expired_at == batch.expires_at
    done, left = rows(client, batch.output_file_id), rows(client, batch.error_file_id)
    assert batch.request_counts.model_dump() == {"total": 40, "completed": len(done), "failed": len(left)}
    assert 15 <= len(done) <= 25
    assert {row["error"]["code"] for row in left} == {"batch_expired"}


def test_output_is_kept_for_as_long_as_was_asked(emulate, connect):
    emulator = emulate()
    client = connect(emulator)
    short = submit(client, chat_lines(1), output_expires_after={"anchor": "created_at", "seconds": 3600})
    month = submit(client, chat_lines(1))
    emulator.finish()
    short, month = client.batches.retrieve(short.id), client.batches.retrieve(month.id)
    emulator.advance(3700)
    with pytest.raises(openai.NotFoundError):
        client.files.content(short.output_file_id)
    assert len(rows(client, month.output_file_id)) == 1
    emulator.advance(30 * 86_400)
    with pytest.raises(openai.NotFoundError):
        client.files.content(month.output_file_id)
    assert client.batches.retrieve(month.id).output_file_id == month.output_file_id


def test_the_input_may_be_deleted_once_a_batch_is_running(emulate, connect):
    emulator = emulate({"time_scale": 1})
    client = connect(emulator)
    file = upload(client, chat_lines(3))
    batch = create(client, file.id)
    emulator.advance(60)
    client.files.delete(file.id)
    batch = finish(emulator, client, batch)

    assert len(rows(client, batch.output_file_id)) == 3


def test_listings_are_newest_first_and_paged(emulate, connect):
    client = connect(emulate())
    file = upload(client, chat_lines(1))
    made = [create(client, file.id, metadata={"n": str(i)}).id for i in range(25)][::-1]

    first = client.batches.list()
    assert [batch.id for batch in first.data] == made[:20]
    assert (first.first_id, first.last_id, first.has_more) == (made[0], made[19], True)
    assert [batch.id for batch in client.batches.list(limit=4)] == made
    assert [batch.id for batch in client.batches.list(limit=25).data] == made
    assert not client.batches.list(limit=25).has_more
    assert client.batches.list(after=made[-1]).data == []


@pytest.mark.parametrize("limit", [0, 101])
def test_a_page_has_its_limits(client, limit):
    with pytest.raises(openai.BadRequestError) as refused:
        client.batches.list(limit=limit)
    assert refused.value.param == "limit"


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"endpoint": "/v1/nonsense"}, "endpoint"),
        ({"endpoint": "/v1/videos"}, "endpoint"),
        ({"completion_window": "48h"}, "completion_window"),
        ({"input_file_id": None}, "input_file_id"),
        ({"metadata": {str(i): "x" for i in range(17)}}, "metadata"),
        ({"metadata": {"k" * 65: "x"}}, "metadata." + "k" * 64),
        ({"metadata": {"k": "x" * 513}}, "metadata.k"),
        ({"metadata": {"k": 5}}, "metadata"),
        ({"output_expires_after": {"anchor": "created_at", "seconds": 60}}, "output_expires_after.seconds"),
    ],
)
def test_a_create_that_cannot_be_right_is_refused(client, change, param):
    good = {"input_file_id": "file-x", "endpoint": CHAT, "completion_window": "24h"}
    with pytest.raises(openai.BadRequestError) as refused:
        client.batches.create(**{**good, **change})
    assert (refused.value.param, refused.value.type) == (param, "invalid_request_error")


def test_an_unknown_batch_is_not_found(client):
    for call in (client.batches.retrieve, client.batches.cancel):
        with pytest.raises(openai.NotFoundError, match="No batch found with id 'batch_nowhere'") as refused:
            call("batch_nowhere")
        assert (refused.value.code, refused.value.type) == (None, "invalid_request_error")


def test_creation_has_an_hourly_limit(emulate, connect):
    emulator = emulate({"time_scale": 1, "limits": {"creates_per_hour": 2}})
    client = connect(emulator)
    file = upload(client, chat_lines(1))
    create(client, file.id)
    create(client, file.id)
    with pytest.raises(openai.RateLimitError) as refused:
        create(client, file.id)
    assert refused.value.code == "rate_limit_exceeded"
    assert 3000 < int(refused.value.response.headers["retry-after"]) <= 3600
    emulator.advance(3601)
    create(client, file.id)


def test_the_same_body_run_twice_is_told_in_the_log(emulate, connect):
    emulator = emulate()
    client = connect(emulator)
    submit(client, [line("a", chat_body("once")), line("b", chat_body("twice"))])
    submit(client, [line("c", chat_body("twice"))])
    emulator.finish()
    log = emulator.log()

    assert log["rows_run"] == 3
    (twice,) = log["rows_run_twice"]
    assert (twice["times"], sorted(twice["custom_ids"])) == (2, ["b", "c"])
    assert len(twice["body"]) == 64
    assert [(batch["rows"], batch["executed"], batch["status"]) for batch in log["batches"]] == [
        (2, 2, "completed"),
        (1, 1, "completed"),
    ]
    client.chat.completions.create(**chat_body("twice"))
    assert emulator.log()["rows_run_twice"][0]["times"] == 3


def test_the_log_tells_every_call(emulate, connect):
    emulator = emulate()
    client = connect(emulator, api_key="sk-secret-1234")
    batch = submit(client, chat_lines(1))
    client.batches.retrieve(batch.id)
    log = emulator.log()

    assert log["call_counts"] == {"GET /batches/{id}": 1, "POST /batches": 1, "POST /files": 1}
    assert [(call["method"], call["path"], call["status"], call["key"]) for call in log["calls"]] == [
        ("POST", "/openai/v1/files", 200, "1234"),
        ("POST", "/openai/v1/batches", 200, "1234"),
        ("GET", f"/openai/v1/batches/{batch.id}", 200, "1234"),
    ]
    assert "calls" not in emulator.log(calls=False)
    assert "sk-secret" not in json.dumps(log)
