"""Faults of batches and rows do what they say, and strike whom they should."""

from __future__ import annotations

import http.client

import openai
import pytest
from driving import chat_body, chat_lines, ended, fired, line, rows, submit
from openai import OpenAI

from emulator_process import EmulatorProcess


@pytest.fixture
def client(emulator, connect) -> OpenAI:
    return connect(emulator)


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
    assert emulator.log()["rows_run"] == before + 10, "run and paid for, though nobody gets the answers"


def test_a_completed_batch_shows_its_output_late(emulator, client):
    emulator.arm([{"on": "batch", "do": "empty_output", "seconds": 500}])
    batch = ended(emulator, client)
    assert (batch.status, batch.output_file_id) == ("completed", None)
    emulator.advance(501)
    assert len(rows(client, client.batches.retrieve(batch.id).output_file_id)) == 10


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
    assert batch.request_counts.model_dump() == {"total": 10, "completed": 9, "failed": 0}


def test_a_row_is_run_and_its_answer_lost(emulator, client):
    before = emulator.log()["rows_run"]
    batch = struck(emulator, client, "lose", "lose")
    assert "struck" not in {row["custom_id"] for row in rows(client, batch.output_file_id)}
    assert batch.request_counts.model_dump() == {"total": 10, "completed": 10, "failed": 0}
    assert emulator.log()["rows_run"] == before + 10


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


def test_rows_that_were_run_are_billed_whatever_became_of_their_answers(emulator, client):
    spoiled = ("omit", "lose", "malformed", "nameless", "empty_body", "no_usage")
    before = emulator.log()
    emulator.arm([{"on": "row", "do": do, "where": f"spoiled by {do}"} for do in spoiled])
    lines = [line(do, chat_body(f"spoiled by {do}")) for do in (*spoiled, "none")]
    batch = ended(emulator, client, lines)
    after = emulator.log()
    assert after["rows_run"] == before["rows_run"] + 6, "all but the omitted one"
    assert after["batches"][-1]["executed"] == 6
    model = after["batches"][-1]["model"]
    was = before["billed"]["batch"].get(model, dict.fromkeys(after["billed"]["batch"][model], 0))
    grown = {name: count - was[name] for name, count in after["billed"]["batch"][model].items()}
    assert grown["rows"] == 6
    assert grown["input_tokens"] == batch.usage.input_tokens
    assert grown["output_tokens"] == batch.usage.output_tokens


def test_live_calls_are_billed(emulator, client):
    before = emulator.log()["billed"]["live"].get("gpt-4.1", {"rows": 0, "output_tokens": 0})
    answer = client.chat.completions.create(**chat_body("A call with a bill"))
    after = emulator.log()["billed"]["live"]["gpt-4.1"]
    assert after["rows"] == before["rows"] + 1
    assert after["output_tokens"] == before["output_tokens"] + answer.usage.completion_tokens


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


@pytest.mark.parametrize(
    ("what", "body", "complaint"),
    [
        ("faults", b'[{"on": "uplaod", "do": "status"}]', "did you mean upload?"),
        ("faults", b"nonsense", ""),
        ("advance", b'{"seconds": -1}', "seconds: found -1, wanted a number from 0 to 31622400"),
        ("advance", b"[]", "wanted a JSON object"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(emulator, what, body, complaint):
    connection = http.client.HTTPConnection(emulator.url.removeprefix("http://"))
    connection.request("POST", f"/_emulator/{what}", body)
    answer = connection.getresponse()
    assert answer.status == 400
    assert complaint in answer.read().decode()
    connection.close()
