"""Google's own SDK against the Gemini dialect: files, batches and their answers."""

from __future__ import annotations

import io
import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from google.genai import errors, types
from google_driving import (
    MODEL,
    answers,
    close_clients,  # noqa: F401 - a fixture
    gemini_client,
    gemini_lines,
    jsonl,
    request,
    state,
    submit,
    upload,
    wait,
)

from emulator_process import EmulatorProcess
from overnight_emulator.simulate import expected_answer


def raw(emulator: EmulatorProcess, path: str, **headers: str) -> Any:
    asked = urllib.request.Request(f"{emulator.url}/gemini{path}", headers={"x-goog-api-key": "k", **headers})
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)


def test_a_batch_from_a_file(shared: EmulatorProcess) -> None:
    client = gemini_client(shared)
    lines = gemini_lines(20, maxOutputTokens=4000)
    job = submit(client, lines, "first")
    assert (job.display_name, job.model) == ("first", f"models/{MODEL}")
    done = wait(client, job)
    assert state(done) == "SUCCEEDED"
    rows = answers(client, done)
    assert list(rows) == [line["key"] for line in lines], "in the documented order"
    for line in lines:
        response = types.GenerateContentResponse.model_validate(rows[line["key"]]["response"])
        assert response.text == expected_answer(0, line["request"], model=MODEL, dialect="gemini")
        usage = response.usage_metadata
        assert usage is not None
        total = (
            (usage.prompt_token_count or 0) + (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        )
        assert usage.total_token_count == total
    operation = raw(shared, f"/v1beta/{done.name}")
    assert operation["metadata"]["batchStats"] == {"requestCount": "20", "successfulRequestCount": "20"}
    assert done.dest is not None
    assert operation["response"]["responsesFile"] == operation["metadata"]["output"]["responsesFile"]
    assert operation["response"]["responsesFile"] == done.dest.file_name


def test_a_large_file_goes_up_in_pieces_and_can_be_asked_after(shared: EmulatorProcess) -> None:
    client = gemini_client(shared)
    data = jsonl([{"key": "k", "request": request("x" * (9 << 20))}])
    file = upload(client, data, name="files/of-my-own", display_name="mine")
    assert (file.name, file.size_bytes, file.state) == ("files/of-my-own", len(data), types.FileState.ACTIVE)
    assert file.display_name == "mine"
    assert file.uri is not None
    assert file.uri.startswith(shared.url)
    with pytest.raises(errors.ClientError) as taken:
        upload(client, data, name="files/of-my-own")
    assert taken.value.code == 409
    assert [one.name for one in client.files.list(config={"page_size": 2})].count("files/of-my-own") == 1
    client.files.delete(name="files/of-my-own")
    with pytest.raises(errors.ClientError) as gone:
        client.files.get(name="files/of-my-own")
    assert gone.value.code == 403
    with pytest.raises(errors.ClientError) as twice:
        client.files.delete(name="files/of-my-own")
    assert twice.value.code == 403


def call(url: str, data: bytes, **headers: str) -> Any:
    named = {f"X-Goog-Upload-{name}": value for name, value in headers.items()}
    asked = urllib.request.Request(url, data, {"x-goog-api-key": "k", **named})
    with urllib.request.urlopen(asked) as answer:
        return answer.headers, answer.read()


def test_uploads_and_batches_outlive_a_kill(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({"time_scale": 1})
    client = gemini_client(emulator)
    job = submit(client, gemini_lines(3))
    start, _ = call(f"{emulator.url}/gemini/upload/v1/files", b'{"file": {}}', Command="start")
    path = start["X-Goog-Upload-URL"].removeprefix(emulator.url)
    call(emulator.url + path, b"half a ", Command="upload", Offset="0")
    emulator.restart()
    assert call(emulator.url + path, b"", Command="query")[0]["X-Goog-Upload-Size-Received"] == "7"
    emulator.finish()
    again = gemini_client(emulator)
    assert len(answers(again, again.batches.get(name=job.name or ""))) == 3
    assert emulator.log()["rows_run"] == 3


def test_an_upload_can_be_queried_and_taken_up_again(shared: EmulatorProcess) -> None:
    start, _ = call(f"{shared.url}/gemini/upload/v1beta/files", b'{"file": {}}', Protocol="resumable", Command="start")
    url = start["X-Goog-Upload-URL"]
    assert url.startswith(f"{shared.url}/gemini/upload/v1beta/files?upload_id=")
    first, _ = call(url, b"half a ", Command="upload", Offset="0")
    assert first["X-Goog-Upload-Status"] == "active"
    asked, _ = call(url, b"", Command="query")
    assert (asked["X-Goog-Upload-Status"], asked["X-Goog-Upload-Size-Received"]) == ("active", "7")
    last, body = call(url, b"loaf", Command="upload, finalize", Offset="7")
    assert last["X-Goog-Upload-Status"] == "final"
    assert json.loads(body)["file"]["sizeBytes"] == "11"


def test_requests_in_place(shared: EmulatorProcess) -> None:
    client = gemini_client(shared)
    requests = [
        types.InlinedRequest(
            contents=f"Question {n}?",
            metadata={"key": f"k{n}"},
            config={"thinking_config": {"thinking_budget": 0}, "system_instruction": "Be brief."},
        )
        for n in range(8)
    ]
    done = wait(client, client.batches.create(model=MODEL, src=requests, config={"display_name": "in place"}))
    assert done.dest is not None
    inlined = done.dest.inlined_responses or []
    texts = {(one.metadata or {})["key"]: one.response.text for one in inlined if one.response is not None}
    assert set(texts) == {f"k{n}" for n in range(8)}
    assert all(text and "[trace gemini-2.5-flash" in text for text in texts.values())
    usages = [one.response.usage_metadata for one in inlined if one.response is not None]
    assert [usage.thoughts_token_count for usage in usages if usage is not None] == [None] * 8


@pytest.mark.parametrize("shuffled", [False, True])
def test_answers_keep_their_order_unless_told_otherwise(shuffled: bool) -> None:
    faults = [{"on": "batch", "do": "shuffle"}] if shuffled else []
    emulator = EmulatorProcess({"time_scale": 100_000.0, "faults": faults}).start()
    try:
        client = gemini_client(emulator)
        requests = [types.InlinedRequest(contents=f"Say {n}.", metadata={"key": f"k{n}"}) for n in range(20)]
        done = wait(client, client.batches.create(model=MODEL, src=requests))
        assert done.dest is not None
        keys = [(one.metadata or {})["key"] for one in done.dest.inlined_responses or []]
        filed = list(answers(client, wait(client, submit(client, gemini_lines(20)))))
        assert (filed == [f"k{n}" for n in range(20)]) is not shuffled
        assert (keys == [f"k{n}" for n in range(20)]) is not shuffled
        assert sorted(keys) == sorted(f"k{n}" for n in range(20))
    finally:
        emulator.close()


def test_all_versions_and_both_download_paths(shared: EmulatorProcess) -> None:
    client = gemini_client(shared, api_version="v1beta")
    done = wait(client, submit(client, gemini_lines(2)))
    assert done.dest is not None
    for version in ("v1", "v1beta", "v1alpha"):
        assert raw(shared, f"/{version}/{done.name}")["name"] == done.name
    for path in ("/v1", "/download/v1beta"):
        asked = f"{shared.url}/gemini{path}/{done.dest.file_name}:download?alt=media&key=k"
        with urllib.request.urlopen(asked) as answer:
            assert len(answer.read().splitlines()) == 2


def test_lists_have_no_empty_page_after_a_token(shared: EmulatorProcess) -> None:
    client = gemini_client(shared)
    file = upload(client, gemini_lines(1))
    made = [client.batches.create(model=MODEL, src=file.name, config={"display_name": f"n{n}"}).name for n in range(4)]
    listed = [job.name for job in client.batches.list(config={"page_size": 2})]
    assert [name for name in listed if name in made] == made[::-1]
    newest = raw(shared, "/v1/batches?pageSize=1")
    assert newest["operations"][0]["name"] == made[-1]
    total = len(listed)
    assert "nextPageToken" not in raw(shared, f"/v1/batches?pageSize={total}")


def test_cancelled_deleted_and_expired_give_nothing(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({"time_scale": 1, "latency": {"batch": [200_000, 200_000], "live": [0, 0]}})
    client = gemini_client(emulator)
    cancelled, expiring, deleted = (submit(client, gemini_lines(3), name) for name in ("a", "b", "c"))
    emulator.advance(100_000)
    client.batches.cancel(name=cancelled.name or "")
    client.batches.delete(name=deleted.name or "")
    emulator.advance(1_000)
    assert state(client.batches.get(name=cancelled.name or "")) == "CANCELLED"
    with pytest.raises(errors.ClientError) as gone:
        client.batches.get(name=deleted.name or "")
    assert gone.value.code == 404
    assert deleted.name not in [job.name for job in client.batches.list()]
    emulator.advance(80_000)
    expired = client.batches.get(name=expiring.name or "")
    assert state(expired) == "EXPIRED"
    assert expired.dest is None or expired.dest.file_name is None
    operation = raw(emulator, f"/v1/{expired.name}")
    assert operation["done"] is True
    assert "response" not in operation
    assert emulator.log()["rows_run"] == 0


@pytest.mark.parametrize(
    ("lines", "model", "code", "words"),
    [
        (b"not json\n", MODEL, 400, "line 1"),
        (jsonl([{"key": "k"}]), MODEL, 400, "no request"),
        (b"\n", MODEL, 400, "no requests"),
        (jsonl(gemini_lines(1)), "gemini-typo", 404, "not found"),
    ],
)
def test_a_create_that_cannot_work_makes_no_batch(
    shared: EmulatorProcess, lines: bytes, model: str, code: int, words: str
) -> None:
    client = gemini_client(shared)
    file = upload(client, lines)
    with pytest.raises(errors.ClientError) as refused:
        client.batches.create(model=model, src=file.name, config={"display_name": "never"})
    assert (refused.value.code, words in (refused.value.message or "")) == (code, True)
    assert "never" not in [job.display_name for job in client.batches.list()]


def test_rows_that_fail_are_among_the_others(emulator: EmulatorProcess) -> None:
    emulator.arm([{"on": "row", "do": "error", "status": 429, "message": "Slow down.", "where": '"k1"'}])
    client = gemini_client(emulator)
    job = submit(client, [*gemini_lines(3), {"key": "bad", "request": request("?", temperature=7)}])
    emulator.finish()
    rows = answers(client, client.batches.get(name=job.name or ""))
    assert rows["k1"] == {"key": "k1", "error": {"code": 8, "message": "Slow down."}}
    assert rows["bad"]["error"]["code"] == 3
    assert "response" in rows["k0"]


def test_keys_and_queues_are_refused_as_google_does(emulate: Callable[..., EmulatorProcess]) -> None:
    truth = {
        "keys": {"refuse": ["AIza-dead"], "no_credit": ["AIza-poor"]},
        "limits": {"enqueued_tokens": {"gemini-2.5-flash": 10}},
    }
    emulator = emulate(truth)
    stranger = gemini_client(emulator, "AIza-dead")  # a client that nobody holds closes itself before it sends
    with pytest.raises(errors.ClientError) as dead:
        stranger.batches.list()
    assert (dead.value.code, dead.value.status) == (400, "INVALID_ARGUMENT")
    assert dead.value.details["error"]["details"][0]["reason"] == "API_KEY_INVALID"
    poor = gemini_client(emulator, "AIza-poor")
    with pytest.raises(errors.ClientError) as unpaid:
        poor.batches.create(model=MODEL, src=upload(poor, gemini_lines(1)).name)
    assert (unpaid.value.code, unpaid.value.status) == (429, "RESOURCE_EXHAUSTED")
    client = gemini_client(emulator)
    with pytest.raises(errors.ClientError) as full:
        client.batches.create(model=MODEL, src=upload(client, gemini_lines(40)).name)
    assert full.value.code == 429
    assert "enqueued_tokens, limit: 10" in (full.value.message or "")


def test_uploaded_files_cannot_be_downloaded(shared: EmulatorProcess) -> None:
    client = gemini_client(shared)
    file = client.files.upload(file=io.BytesIO(b"{}\n"), config={"mime_type": "application/jsonl"})
    with pytest.raises(errors.ClientError) as refused:
        client.files.download(file=file.name or "")
    assert refused.value.code == 400
