"""Faults of single calls do what they say, seen through the official SDK."""

from __future__ import annotations

import http.client
import time

import openai
import pytest
from driving import chat_body, chat_lines, create, ended, fired, line, rows, submit, upload
from openai import OpenAI


@pytest.fixture
def client(emulator, connect) -> OpenAI:
    return connect(emulator)


def batches_tagged(client: OpenAI, tag: str) -> list[str]:
    return [batch.id for batch in client.batches.list(limit=100) if (batch.metadata or {}).get("tag") == tag]


# upload


def test_an_upload_whose_answer_is_dropped_is_stored(emulator, client):
    emulator.arm([{"on": "upload", "do": "drop_answer", "times": 1}])
    with pytest.raises(openai.APIConnectionError):
        upload(client, chat_lines(1), "dropped.jsonl")
    assert "dropped.jsonl" in [file.filename for file in client.files.list()]
    assert fired(emulator) == [1]


def test_an_upload_that_is_lost_is_not_stored(emulator, client):
    emulator.arm([{"on": "upload", "do": "lose_request", "times": 1}])
    with pytest.raises(openai.APIConnectionError):
        upload(client, chat_lines(1), "lost.jsonl")
    assert "lost.jsonl" not in [file.filename for file in client.files.list()]


def test_an_upload_refused_with_a_status_is_not_stored(emulator, client):
    emulator.arm([{"on": "upload", "do": "status", "status": 503, "times": 1, "message": "Come back later"}])
    with pytest.raises(openai.InternalServerError, match="Come back later") as refused:
        upload(client, chat_lines(1), "refused.jsonl")
    assert refused.value.status_code == 503
    assert "refused.jsonl" not in [file.filename for file in client.files.list()]


# create


def test_a_create_whose_answer_is_dropped_is_made(emulator, client):
    emulator.arm([{"on": "create", "do": "drop_answer", "times": 1}])
    with pytest.raises(openai.APIConnectionError):
        submit(client, chat_lines(1), metadata={"tag": "dropped"})
    assert len(batches_tagged(client, "dropped")) == 1


def test_a_create_that_is_lost_is_not_made(emulator, client):
    emulator.arm([{"on": "create", "do": "lose_request", "times": 1}])
    with pytest.raises(openai.APIConnectionError):
        submit(client, chat_lines(1), metadata={"tag": "lost"})
    assert batches_tagged(client, "lost") == []


def test_a_delayed_create_appears_later(emulator, client):
    emulator.arm([{"on": "create", "do": "delay_create", "seconds": 5000, "times": 1}])
    with pytest.raises(openai.APIConnectionError):
        submit(client, chat_lines(2), metadata={"tag": "late"})
    asked_at = emulator.now()
    assert batches_tagged(client, "late") == []
    emulator.advance(6000)
    (late,) = batches_tagged(client, "late")
    batch = client.batches.retrieve(late)
    assert batch.created_at > asked_at + 4000
    emulator.finish()
    assert client.batches.retrieve(late).status == "completed"


def test_a_delayed_create_fails_when_its_input_is_deleted_first(emulator, client):
    emulator.arm([{"on": "create", "do": "delay_create", "seconds": 5000, "times": 1}])
    file = upload(client, chat_lines(2))
    with pytest.raises(openai.APIConnectionError):
        create(client, file.id, metadata={"tag": "too late"})
    client.files.delete(file.id)
    emulator.advance(7000)
    (late,) = batches_tagged(client, "too late")
    assert client.batches.retrieve(late).status == "failed"


@pytest.mark.parametrize("drop", [False, True])
def test_a_hidden_batch_is_missing_from_listings_for_a_while(emulator, client, drop):
    tag = f"hidden {drop}"
    emulator.arm([{"on": "create", "do": "hide", "seconds": 5000, "drop": drop, "times": 1}])
    if drop:
        with pytest.raises(openai.APIConnectionError):
            submit(client, chat_lines(1), metadata={"tag": tag})
    else:
        batch = submit(client, chat_lines(1), metadata={"tag": tag})
        assert client.batches.retrieve(batch.id).id == batch.id
    assert batches_tagged(client, tag) == []
    emulator.advance(5000)
    assert len(batches_tagged(client, tag)) == 1


def test_one_create_can_make_two_batches(emulator, client):
    emulator.arm([{"on": "create", "do": "twice", "times": 1}])
    with pytest.raises(openai.APIConnectionError):
        submit(client, chat_lines(1), metadata={"tag": "twins"})
    assert len(batches_tagged(client, "twins")) == 2


def test_a_create_is_refused_with_the_status_code_and_wait_that_were_asked_for(emulator, client):
    emulator.arm(
        [
            {
                "on": "create",
                "do": "status",
                "status": 429,
                "code": "rate_limit_exceeded",
                "type": "requests",
                "retry_after": 1.5,
                "times": 1,
            }
        ]
    )
    with pytest.raises(openai.RateLimitError) as refused:
        submit(client, chat_lines(1), metadata={"tag": "refused"})
    assert (refused.value.code, refused.value.type) == ("rate_limit_exceeded", "requests")
    headers = refused.value.response.headers
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("2", "1500")
    assert batches_tagged(client, "refused") == []


def test_a_create_can_be_refused_and_yet_done(emulator, client):
    emulator.arm([{"on": "create", "do": "status", "status": 500, "applied": True, "times": 1}])
    with pytest.raises(openai.InternalServerError):
        submit(client, chat_lines(1), metadata={"tag": "applied"})
    assert len(batches_tagged(client, "applied")) == 1


def test_the_sdk_that_retries_a_dropped_create_pays_twice(emulator, connect):
    """Why a create must not be retried blindly: the emulator shows it."""
    emulator.arm([{"on": "create", "do": "drop_answer", "times": 1}])
    retrying = connect(emulator, max_retries=1)
    submit(retrying, [line("a", chat_body("paid twice"))], metadata={"tag": "retried"})
    emulator.finish()
    assert len(batches_tagged(retrying, "retried")) == 2
    assert any(run["custom_ids"] == ["a", "a"] for run in emulator.log()["rows_run_twice"])


# list, retrieve, cancel, delete, live


def test_a_listing_breaks_from_the_second_page_on(emulator, client):
    for _ in range(3):
        submit(client, chat_lines(1))
    emulator.arm([{"on": "list", "do": "incomplete", "status": 502}])
    assert len(client.batches.list(limit=2).data) == 2
    with pytest.raises(openai.InternalServerError) as refused:
        list(client.batches.list(limit=2))
    assert refused.value.status_code == 502
    assert fired(emulator) == [1]


def call(client: OpenAI, on: str):
    batch = submit(client, chat_lines(1))
    match on:
        case "list":
            return client.batches.list
        case "retrieve":
            return lambda: client.batches.retrieve(batch.id)
        case "cancel":
            return lambda: client.batches.cancel(batch.id)
        case "delete":
            return lambda: client.files.delete(batch.input_file_id)
        case "content":
            return lambda: client.files.content(batch.input_file_id)
        case _:
            return lambda: client.chat.completions.create(**chat_body(f"live {time.monotonic()}"))


CALLS = ["list", "retrieve", "cancel", "delete", "content", "live"]


@pytest.mark.parametrize("on", CALLS)
def test_any_call_can_be_refused(emulator, client, on):
    act = call(client, on)
    emulator.arm([{"on": on, "do": "status", "status": 500, "times": 1}])
    with pytest.raises(openai.InternalServerError):
        act()
    act()


@pytest.mark.parametrize("on", CALLS)
def test_any_call_can_be_slow(emulator, client, on):
    act = call(client, on)
    emulator.arm([{"on": on, "do": "slow", "seconds": 0.3, "times": 1}])
    began = time.monotonic()
    act()
    assert time.monotonic() - began > 0.29


@pytest.mark.parametrize("on", CALLS)
def test_any_answer_can_be_dropped(emulator, client, on):
    act = call(client, on)
    emulator.arm([{"on": on, "do": "drop_answer", "times": 1}])
    with pytest.raises(openai.APIConnectionError):
        act()
    assert emulator.log()["calls"][-1]["status"] == 0
    if on == "delete":
        with pytest.raises(openai.NotFoundError):
            act()
    else:
        act()


def test_a_live_call_whose_answer_is_dropped_was_run_all_the_same(emulator, client):
    before = emulator.log()["rows_run"]
    emulator.arm([{"on": "live", "do": "drop_answer", "times": 1}])
    with pytest.raises(openai.APIConnectionError):
        client.chat.completions.create(**chat_body("dropped live"))
    assert emulator.log()["rows_run"] == before + 1


def test_a_storm_of_429_ends_after_its_times(emulator, connect):
    emulator.arm([{"on": "live", "do": "status", "status": 429, "retry_after": 0.01, "times": 2}])
    patient = connect(emulator, max_retries=2)
    assert patient.chat.completions.create(**chat_body("through the storm")).choices
    assert fired(emulator) == [2]


# content


def test_a_download_breaks_off(emulator, client):
    batch = ended(emulator, client)
    emulator.arm([{"on": "content", "do": "cut", "at": 0.5, "times": 1}])
    with pytest.raises(openai.APIConnectionError):
        client.files.content(batch.output_file_id)
    assert len(rows(client, batch.output_file_id)) == 10


def test_a_download_ends_early_and_quietly(emulator, client):
    batch = ended(emulator, client)
    whole = client.files.content(batch.output_file_id).content
    emulator.arm([{"on": "content", "do": "cut", "at": 0.5, "quiet": True, "times": 1}])
    answer = client.files.content(batch.output_file_id)
    assert answer.content == whole[: len(whole) // 2]
    assert "content-length" not in answer.response.headers


def test_a_download_ends_in_garbage(emulator, client):
    batch = ended(emulator, client)
    whole = client.files.content(batch.output_file_id).content
    emulator.arm([{"on": "content", "do": "garbage_tail", "times": 1}])
    spoiled = client.files.content(batch.output_file_id).content
    assert spoiled.startswith(whole)
    assert len(spoiled) > len(whole)


@pytest.mark.parametrize(
    ("to", "location"),
    [
        ("http://elsewhere.example/results", "http://elsewhere.example/results"),
        ("http://elsewhere.example", "http://elsewhere.example/openai/v1/files/{id}/content"),
    ],
)
def test_a_download_is_sent_to_another_origin(emulator, client, to, location):
    file = upload(client, chat_lines(1))
    emulator.arm([{"on": "content", "do": "redirect", "to": to, "times": 1}])
    connection = http.client.HTTPConnection(emulator.url.removeprefix("http://"))
    connection.request("GET", f"/openai/v1/files/{file.id}/content", headers={"Authorization": "Bearer sk-x"})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Location"]) == (302, location.format(id=file.id))
    connection.close()
