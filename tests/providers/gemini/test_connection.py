"""The Gemini API: uploads that may be repeated, listings in any order, batches in every shape, and its variables."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from emulator_process import EmulatorProcess
from overnight.core.ask import Model
from overnight.core.errors import Gone, StudyError, Unauthorized, Unavailable
from overnight.providers import Batch, Endpoint, Intent
from overnight.providers.gemini import provider
from overnight.providers.gemini.batches import batch_of, inlined_lines, read_page
from overnight.providers.gemini.connection import GeminiConnection
from overnight.providers.reading.listing import newest_first
from providers.asking import KEY, stored
from providers.emulated import EmulatedVendor, end_of, rows_of, submit
from providers.scripted_server import replying, serving


def gemini(url: str) -> GeminiConnection:
    return GeminiConnection(Endpoint(base_url=url, key=KEY))


def intent(folder: Path, token: str = "abc") -> Intent:
    file = folder / f"{token}.jsonl"
    file.write_bytes(b'{"key":"k","request":{"contents":[{"parts":[{"text":"?"}]}]}}\n')
    model = Model(provider="gemini", name="gemini-2.5-flash")
    return Intent(token=token, run="r", model=model, rows=1, bytes=file.stat().st_size, file=stored(file))


def operation(state: str = "BATCH_STATE_RUNNING", **more: Any) -> dict[str, Any]:
    metadata = {"state": state, "displayName": "tok", "createTime": "2026-11-16T00:00:00.123456789Z", **more}
    return {"name": "batches/b1", "metadata": metadata}


def emulated(emulator: EmulatorProcess, folder: Path) -> EmulatedVendor:
    emulator.arm([])
    return EmulatedVendor("gemini", emulator, folder)


def test_an_upload_whose_answer_was_lost_is_found_by_its_id(emulator: EmulatorProcess, tmp_path: Path) -> None:
    one = emulated(emulator, tmp_path)
    sent = one.intent(one.asks(3))
    emulator.arm([{"on": "upload", "do": "drop_answer", "times": 1}])

    async def work(gem: GeminiConnection) -> None:
        with pytest.raises(Unavailable):
            await gem.upload(sent)
        first = await gem.upload(sent)
        assert first == await gem.upload(sent) == f"files/o{sent.token}"

    one.run(work)  # type: ignore[arg-type]
    calls = emulator.log()["calls"]
    assert (
        len([call for call in calls if call["method"] == "POST" and call["path"].endswith("/upload/v1beta/files")]) >= 4
    )


def test_half_an_upload_is_thrown_away(tmp_path: Path) -> None:
    deleted = []

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.method == "DELETE":
            deleted.append(request.path)
            return web.json_response({})
        if request.method == "POST":
            return web.json_response(
                {"error": {"code": 409, "message": "Exists", "status": "ALREADY_EXISTS"}}, status=409
            )
        return web.json_response({"name": "files/oabc", "sizeBytes": "7", "state": "ACTIVE"})

    async def work() -> None:
        async with serving(answer) as server:
            gem = gemini(server.url)
            with pytest.raises(Unavailable, match="7 of 62 bytes"):
                await gem.upload(intent(tmp_path))
            await gem.close()
        assert deleted == ["/v1beta/files/oabc"]

    asyncio.run(work())


def test_the_key_stays_at_home_while_a_file_goes_up(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(replying(body={"file": {"name": "files/oabc", "sizeBytes": "62"}})) as elsewhere:
            start = replying(X_Goog_Upload_URL=f"{elsewhere.url}/up?upload_id=1")
            async with serving(start) as server:
                gem = gemini(server.url)
                assert await gem.upload(intent(tmp_path)) == "files/oabc"
                await gem.close()
                assert server.seen[0].headers["x-goog-api-key"] == KEY
            assert KEY not in str(elsewhere.seen[0].raw_headers)
            assert elsewhere.seen[0].headers["X-Goog-Upload-Command"] == "upload, finalize"

    asyncio.run(work())


def test_an_answer_without_an_address_is_no_upload(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(replying()) as server:
            gem = gemini(server.url)
            with pytest.raises(Unavailable, match="names no address"):
                await gem.upload(intent(tmp_path))
            await gem.close()

    asyncio.run(work())


@pytest.mark.parametrize(
    ("state", "phase", "known"),
    [
        ("BATCH_STATE_PENDING", "running", True),
        ("JOB_STATE_RUNNING", "running", True),
        ("BATCH_STATE_SUCCEEDED", "completed", True),
        ("JOB_STATE_PARTIALLY_SUCCEEDED", "completed", True),
        ("BATCH_STATE_FAILED", "failed", True),
        ("BATCH_STATE_CANCELLED", "cancelled", True),
        ("JOB_STATE_EXPIRED", "expired", True),
        ("BATCH_STATE_DREAMING", "running", False),
        (None, "running", False),
    ],
)
def test_states_in_both_spellings(state: Any, phase: str, known: bool) -> None:
    found = batch_of(operation(state))
    assert (found.id, found.phase, found.known_status, found.tag) == ("b1", phase, known, "tok")
    assert found.created_at == pytest.approx(1_794_787_200.123456)
    assert found.expires_at == pytest.approx(found.created_at + 48 * 3600)


def test_counts_are_text_and_answers_lie_in_a_file_or_in_the_batch() -> None:
    stats = {"requestCount": "5", "successfulRequestCount": "4", "failedRequestCount": "1"}
    done = operation("BATCH_STATE_SUCCEEDED", batchStats=stats, output={"responsesFile": "files/batch-b1"})
    found = batch_of(done)
    assert (found.counts.total, found.counts.completed, found.counts.failed) == (5, 4, 1)
    assert found.parts == (("output", "files/batch-b1"),)
    inlined = {"inlinedResponses": {"inlinedResponses": [{"response": {}, "metadata": {"key": "k"}}]}}
    within = operation("BATCH_STATE_SUCCEEDED", output=inlined)
    assert batch_of(within).parts == (("output", "batches/b1"),)
    assert list(inlined_lines(msgspec.json.encode(within))) == [b'{"response":{},"metadata":{"key":"k"}}\n']
    assert batch_of(operation("BATCH_STATE_SUCCEEDED", output={"responsesFile": ""})).parts == ()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 3, "message": "Bad input."}, "invalid"),
        ({"code": 5, "message": "Gone."}, "file_not_ready"),
        ({"code": 7, "message": "No."}, "unauthorized"),
        ({"code": 9, "message": "User location is not supported for the API use."}, "unauthorized"),
        (
            {"code": 8, "message": "Quota exceeded for metric: x/batch_enqueued_tokens, limit: 300, model: m"},
            "token_limit",
        ),
        ({"code": 13, "message": "Oh."}, "trouble"),
        ({"code": 14, "message": "Oh."}, "trouble"),
        (None, "trouble"),
        ({"code": "odd"}, "invalid"),
    ],
)
def test_why_a_batch_failed(error: Any, kind: str) -> None:
    refusal = batch_of({**operation("BATCH_STATE_FAILED"), "error": error}).refusal
    assert refusal is not None
    assert refusal.kind == kind
    assert refusal.message
    assert refusal.token_limit == (300 if kind == "token_limit" else None)


def test_an_empty_listing_is_empty_and_a_strange_one_proves_nothing() -> None:
    assert read_page(b"{}", 1.0).batches == ()
    for strange in (b'{"message":"hello"}', b"[]", b"<html>", b'{"operations":7}'):
        with pytest.raises(Unavailable, match="is the base URL right"):
            read_page(strange, None)


def test_a_listing_that_is_not_newest_first_must_be_read_to_its_end() -> None:
    def batch(name: str, at: float) -> Batch:
        return Batch(id=name, phase="running", status="running", created_at=at)

    assert newest_first((batch("n", 10_001.0), batch("f", 10_000.0), batch("o", 9_000.0)))
    assert not newest_first((batch("o", 1_000.0), batch("p", 9_000.0), batch("f", 10_000.0)))


def test_answers_in_the_batch_itself_are_read_when_it_is_adopted(emulator: EmulatorProcess, tmp_path: Path) -> None:
    one = emulated(emulator, tmp_path)

    async def work(gem: GeminiConnection) -> None:
        requests = [
            {"request": {"contents": [{"parts": [{"text": f"{n}?"}]}]}, "metadata": {"key": f"k{n}"}} for n in range(3)
        ]
        body = {"batch": {"displayName": "theirs", "inputConfig": {"requests": {"requests": requests}}}}
        made = await gem._wire.ask(
            "create", "POST", "/v1beta/models/gemini-2.5-flash:batchGenerateContent", body=msgspec.json.encode(body)
        )
        batch = batch_of(msgspec.json.decode(made.body))
        for name in (batch.id, f"batches/{batch.id}"):
            assert (await gem.retrieve(name)) is not None
        rows = (await rows_of(one, gem, await end_of(gem, batch)))["output"]
        assert {line.custom_id for line in rows} == {"k0", "k1", "k2"}
        assert all(line.result and line.result.outcome == "answered" for line in rows)

    one.run(work)  # type: ignore[arg-type]


def test_an_input_cannot_be_read_back_and_a_foreign_file_is_gone(emulator: EmulatorProcess, tmp_path: Path) -> None:
    one = emulated(emulator, tmp_path)
    sent = one.intent(one.asks(1))

    async def work(gem: GeminiConnection) -> None:
        file_id = await gem.upload(sent)
        with pytest.raises(Exception, match="Only generated files"):
            await gem.fetch(file_id, lambda _: None)
        with pytest.raises(Gone):
            await gem.fetch("batches/of-nobody", lambda _: None)
        await gem.remove_file(file_id)
        await gem.remove_file(file_id)

    one.run(work)  # type: ignore[arg-type]


def test_a_live_call_gives_the_same_row(emulator: EmulatorProcess, tmp_path: Path) -> None:
    one = emulated(emulator, tmp_path)
    asks = one.asks(2)
    sent = one.intent(asks)

    async def work(gem: GeminiConnection) -> None:
        rows = (await rows_of(one, gem, await end_of(gem, await submit(gem, sent))))["output"]
        by_id = {line.custom_id: line.result for line in rows}
        for n, asked in enumerate(asks):
            reply = await gem.call(asked.arm.model, provider.format.encode(asked))
            custom_id = f"o{sent.token}-{n}"
            assert provider.format.decode(provider.format.live_line(custom_id, reply)).result == by_id[custom_id]
        emulator.arm([{"on": "live", "do": "status", "status": 429, "retry_after": 7}])
        busy = await gem.call(one.model, provider.format.encode(asks[0]))
        assert (busy.status, busy.retry_after) == (429, 7.0)

    one.run(work)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("environ", "key"),
    [
        ({"GEMINI_API_KEY": "AIza-1"}, "AIza-1"),
        ({"GEMINI_API_KEY": "AIza-1", "GOOGLE_API_KEY": "AIza-2"}, "AIza-2"),
        ({"GEMINI_API_KEY": "AIza-1", "GOOGLE_API_KEY": " "}, "AIza-1"),
    ],
)
def test_keys_from_googles_variables(environ: dict[str, str], key: str) -> None:
    endpoint = provider.endpoint(environ, None)
    assert (endpoint.key, endpoint.base_url) == (key, "https://generativelanguage.googleapis.com")


def test_a_second_account_and_another_address() -> None:
    mine = Model(provider="gemini", name="m", key="LAB_KEY", base_url="https://gateway.example/google/")
    endpoint = provider.endpoint({"LAB_KEY": "AIza-3", "GOOGLE_API_KEY": "AIza-2"}, mine)
    assert (endpoint.key, endpoint.base_url) == ("AIza-3", "https://gateway.example/google")


@pytest.mark.parametrize(
    ("environ", "family", "words"),
    [
        ({}, Unauthorized, "GEMINI_API_KEY is not set"),
        ({"GEMINI_API_KEY": "a b"}, Unauthorized, "characters that no key has"),
        (
            {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "https://x/v1beta"},
            StudyError,
            "must not include a version",
        ),
        ({"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "x"}, StudyError, "is not an address"),
    ],
)
def test_what_is_wrong_with_the_variables(environ: dict[str, str], family: type[Exception], words: str) -> None:
    with pytest.raises(family, match=words):
        provider.endpoint(environ, None)
