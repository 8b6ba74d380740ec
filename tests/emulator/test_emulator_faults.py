"""Every fault does what it says, seen through the official SDK."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator

import openai
import pytest
from driving import chat_body, chat_lines, create, line, rows, submit, upload
from openai import OpenAI

from emulator_process import EmulatorProcess


@pytest.fixture(scope="module")
def emulator() -> Iterator[EmulatorProcess]:
    truth = {"time_scale": 1, "latency": {"batch": [1000, 1000], "live": [0, 0]}}
    with EmulatorProcess(truth) as process:
        yield process
        assert process.complaints() == ""


@pytest.fixture
def client(emulator, connect) -> Iterator[OpenAI]:
    yield connect(emulator)
    emulator.arm([])


def fired(emulator: EmulatorProcess) -> list[int]:
    return list(emulator.log(calls=False)["faults_fired"].values())


def batches_tagged(client: OpenAI, tag: str) -> list[str]:
    return [batch.id for batch in client.batches.list(limit=100) if (batch.metadata or {}).get("tag") == tag]


def ended(emulator: EmulatorProcess, client: OpenAI, lines=None, **more):
    batch = submit(client, chat_lines(10) if lines is None else lines, **more)
    emulator.finish()
    return client.batches.retrieve(batch.id)


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


# batch


def test_a_batch_fails_as_told(emulator, client):
    emulator.arm([{"on": "batch", "do": "fail", "code": "internal_error", "message": "Something broke."}])
    batch = ended(emulator, client)
    assert batch.status == "failed"
    assert (batch.errors.data[0].code, batch.errors.data[0].message) == ("internal_error", "Something broke.")
    assert (batch.output_file_id, batch.error_file_id) == (None, None)


@pytest.mark.parametrize("silent", [False, True])
def test_a_batch_expires_with_a_share_of_its_rows(emulator, client, silent):
    emulator.arm([{"on": "batch", "do": "expire", "share": 0.3, "silent": silent}])
    batch = ended(emulator, client)
    assert batch.status == "expired"
    assert batch.expired_at is not None
    assert len(rows(client, batch.output_file_id)) == 3
    left = rows(client, batch.error_file_id)
    assert [row["error"]["code"] for row in left] == ([] if silent else ["batch_expired"] * 7)
    assert batch.request_counts.model_dump() == {"total": 10, "completed": 3, "failed": 7}


def test_a_batch_can_expire_at_its_window(emulator, client):
    emulator.arm([{"on": "batch", "do": "expire", "share": 0.0, "seconds": 86_400}])
    batch = submit(client, chat_lines(2))
    emulator.advance(86_000)
    assert client.batches.retrieve(batch.id).status == "in_progress"
    emulator.advance(500)
    batch = client.batches.retrieve(batch.id)
    assert (batch.status, batch.expired_at, batch.output_file_id) == ("expired", batch.expires_at, None)


@pytest.mark.parametrize("word", ["validating", "in_progress", "finalizing"])
def test_a_batch_is_stuck_for_ever_unless_it_is_cancelled(emulator, client, word):
    emulator.arm([{"on": "batch", "do": "stuck", "status": word}])
    batch = submit(client, chat_lines(4))
    emulator.advance(3 * 86_400)
    assert client.batches.retrieve(batch.id).status == word
    client.batches.cancel(batch.id)
    emulator.advance(600)
    batch = client.batches.retrieve(batch.id)
    assert batch.status == "cancelled"
    assert len(rows(client, batch.output_file_id)) == (4 if word == "finalizing" else 0)


def test_a_batch_takes_longer(emulator, client):
    emulator.arm([{"on": "batch", "do": "slow", "seconds": 50_000}])
    batch = submit(client, chat_lines(1))
    emulator.advance(49_000)
    assert client.batches.retrieve(batch.id).status == "in_progress"
    emulator.advance(3000)
    assert client.batches.retrieve(batch.id).status == "completed"


@pytest.mark.parametrize("shown", [None, ""])
def test_a_completed_batch_has_no_output(emulator, client, shown):
    emulator.arm([{"on": "batch", "do": "empty_output", "as": shown}])
    before = emulator.log()["rows_run"]
    batch = ended(emulator, client)
    assert (batch.status, batch.output_file_id, batch.error_file_id) == ("completed", shown, None)
    assert batch.request_counts.model_dump() == {"total": 10, "completed": 10, "failed": 0}
    assert emulator.log()["rows_run"] == before


def test_a_status_word_nobody_knows_passes(emulator, client):
    emulator.arm([{"on": "batch", "do": "status_word", "word": "pondering"}])
    batch = submit(client, chat_lines(1))
    emulator.advance(500)
    assert client.batches.retrieve(batch.id).status == "pondering"
    emulator.advance(700)
    assert client.batches.retrieve(batch.id).status == "completed"


def test_the_provider_cancels_a_batch(emulator, client):
    emulator.arm([{"on": "batch", "do": "cancel"}])
    batch = submit(client, chat_lines(10))
    emulator.advance(2000)
    batch = client.batches.retrieve(batch.id)
    assert batch.status == "cancelled"
    assert 3 <= len(rows(client, batch.output_file_id)) <= 7
    hurried = ended(emulator, client)
    assert hurried.status == "cancelled", "hurrying does not change where it leads to"
    assert len(rows(client, hurried.output_file_id)) + len(rows(client, hurried.error_file_id)) == 10


# row


def struck(emulator: EmulatorProcess, client: OpenAI, text: str, do: str, **more):
    """A batch of ten of which one row is struck: its output and error rows, raw."""
    emulator.arm([{"on": "row", "do": do, "where": f"Struck by {text}", "times": 1, **more}])
    lines = [*chat_lines(9), line("struck", chat_body(f"Struck by {text}"))]
    return ended(emulator, client, lines)


def test_a_row_fails_and_can_be_asked_again(emulator, client):
    batch = struck(emulator, client, "error", "error", status=503, code="overloaded", message="Too busy")
    (row,) = rows(client, batch.error_file_id)
    assert (row["custom_id"], row["response"]["status_code"]) == ("struck", 503)
    error = row["response"]["body"]["error"]
    assert (error["code"], error["message"], error["type"]) == ("overloaded", "Too busy", "server_error")
    again = ended(emulator, client, [line("again", chat_body("Struck by error"))])
    assert [row["custom_id"] for row in rows(client, again.output_file_id)] == ["again"]


def test_a_row_fault_is_not_used_up_by_work_that_was_lost(emulate, connect):
    """Its count is saved with the rows: after a crash in the middle it strikes again."""
    row_fault = {"on": "row", "do": "error", "where": "number 7?", "times": 1}
    call_fault = {"on": "retrieve", "do": "slow", "seconds": 0}
    emulator = emulate({"time_scale": 1_000_000, "faults": [row_fault, call_fault]})
    client = connect(emulator)
    batch = submit(client, chat_lines(3000))
    for _ in range(3):
        client.batches.retrieve(batch.id)
        client = connect(emulator.restart())
    emulator.finish()
    batch = client.batches.retrieve(batch.id)
    assert [row["custom_id"] for row in rows(client, batch.error_file_id)] == ["r7"]
    assert emulator.log()["faults_fired"]["0"] == 1


def test_a_row_is_in_neither_file(emulator, client):
    batch = struck(emulator, client, "omit", "omit")
    assert "struck" not in {row["custom_id"] for row in rows(client, batch.output_file_id)}
    assert batch.error_file_id is None
    assert batch.request_counts.completed == 10


def test_a_row_comes_twice(emulator, client):
    batch = struck(emulator, client, "duplicate", "duplicate")
    ids = [row["custom_id"] for row in rows(client, batch.output_file_id)]
    assert (len(ids), ids.count("struck")) == (11, 2)


def test_a_row_is_broken(emulator, client):
    batch = struck(emulator, client, "malformed", "malformed")
    text = client.files.content(batch.output_file_id).text.splitlines()
    assert len(text) == 10
    assert sum(not row.endswith('"error":null}') for row in text) == 1


def test_a_row_brings_a_stranger(emulator, client):
    batch = struck(emulator, client, "unknown", "unknown_id")
    ids = {row["custom_id"] for row in rows(client, batch.output_file_id)}
    (stranger,) = ids - {f"r{i}" for i in range(9)} - {"struck"}
    assert stranger.startswith("stranger-")
    assert "struck" in ids


def test_a_row_has_an_empty_body(emulator, client):
    batch = struck(emulator, client, "empty", "empty_body")
    (row,) = [row for row in rows(client, batch.output_file_id) if row["custom_id"] == "struck"]
    assert row["response"]["status_code"] == 200
    assert row["response"]["body"] == {}


def test_a_row_does_not_say_what_it_cost(emulator, client):
    batch = struck(emulator, client, "usage", "no_usage")
    for row in rows(client, batch.output_file_id):
        assert ("usage" in row["response"]["body"]) == (row["custom_id"] != "struck")


def test_rows_that_gave_no_answer_are_not_counted_as_run(emulator, client):
    before = emulator.log()["rows_run"]
    emulator.arm([{"on": "row", "do": do, "where": f"uncounted {do}"} for do in ("omit", "malformed", "empty_body")])
    lines = [line(do, chat_body(f"uncounted {do}")) for do in ("omit", "malformed", "empty_body", "none")]
    batch = ended(emulator, client, lines)
    assert emulator.log()["rows_run"] == before + 1
    assert emulator.log()["batches"][-1]["executed"] == 1
    assert batch.usage.input_tokens > 0


# who is struck


def test_odds_strike_their_share_and_another_attempt_draws_anew(emulator, client):
    lines = [line(f"r{i}", chat_body(f"odds {i}")) for i in range(400)]
    emulator.arm([{"on": "row", "do": "error", "status": 500, "odds": 0.3}])
    failed = []
    for _ in range(2):
        batch = ended(emulator, client, lines)
        failed.append({row["custom_id"] for row in rows(client, batch.error_file_id)})
        assert 80 < len(failed[-1]) < 160
    assert 10 < len(failed[0] & failed[1]) < 70


def test_the_first_matching_fault_wins_and_skip_lets_events_pass(emulator, client):
    emulator.arm(
        [
            {"on": "live", "do": "status", "status": 500, "where": "alpha", "skip": 1, "times": 1},
            {"on": "live", "do": "status", "status": 503, "model": "gpt-4*"},
        ]
    )

    def outcome(text: str, model: str) -> int:
        try:
            client.chat.completions.create(**chat_body(text, model=model))
        except openai.APIStatusError as error:
            return error.status_code
        return 200

    assert [outcome("alpha", "gpt-5")] + [outcome("alpha", "gpt-4o") for _ in range(2)] == [200, 500, 503]
    assert outcome("beta", "gpt-5") == 200
    assert fired(emulator) == [1, 1]


def test_a_list_of_faults_that_makes_no_sense_is_refused(emulator):
    connection = http.client.HTTPConnection(emulator.url.removeprefix("http://"))
    connection.request("POST", "/_emulator/faults", b'[{"on": "uplaod", "do": "status"}]')
    answer = connection.getresponse()
    assert answer.status == 400
    assert "did you mean upload?" in answer.read().decode()
    connection.close()
