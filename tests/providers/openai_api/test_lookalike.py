"""A look-alike of OpenAI is data: what each field of an entry does, on lines, on batches and on the wire."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from overnight.core.ask import Model, Options
from overnight.core.errors import StudyError, Unavailable
from overnight.providers import Endpoint, Fence, Intent, Limits, batch_format, connected, takes_batches, takes_calls
from overnight.providers.openai_api.lookalike import Family, Lookalike, LookalikeBatches, LookalikeVendor
from overnight.providers.openai_api.windows import Windows
from overnight.providers.provider import batches_of
from overnight.providers.together import provider as together
from providers.asking import KEY, ask, stored
from providers.scripted_server import ScriptedServer, serving

LIMITS = Limits(requests=100, bytes=10_000, retention_days=7)
MODEL = Model(provider="echo", name="big")


def echo(batches: LookalikeBatches | None = None, **fields: Any) -> LookalikeVendor:
    entry = {
        "name": "echo",
        "title": "Echo",
        "key_variable": "ECHO_API_KEY",
        "base_url_variable": "ECHO_BASE_URL",
        "address": "http://host",
        "chat_path": "/openai/v1/chat/completions",
        "models_path": "/openai/v1/models",
        "thinking": lambda _: None,
        "emulator_path": "/openai/v1",
    }
    return LookalikeVendor(Lookalike(**{**entry, **fields}, batches=batches))


def test_without_batches_it_takes_calls_only() -> None:
    assert (takes_batches(echo()), takes_calls(echo())) == (False, True)
    with pytest.raises(StudyError, match="echo takes no batches"):
        batch_format(echo())
    whole = echo(LookalikeBatches(limits=LIMITS))
    assert (takes_batches(whole), takes_calls(whole)) == (True, True)
    assert "| requests in a batch | 100 |" in whole.guide()


@pytest.mark.parametrize("bare", [False, True])
def test_lines_are_written_and_read_back(bare: bool) -> None:
    pure = batch_format(echo(LookalikeBatches(limits=LIMITS, bare_lines=bare)))
    body = pure.encode(ask(MODEL, "Hello."))
    line = pure.line(MODEL, "o1-0", body)
    named = {} if bare else {"method": "POST", "url": "/v1/chat/completions"}
    assert json.loads(line) == {"custom_id": "o1-0", **named, "body": json.loads(body)}
    ready = pure.read_line(line)
    assert (ready.custom_id, ready.model.provider, ready.model.name, ready.body) == ("o1-0", "echo", "big", body)
    if not bare:
        with pytest.raises(StudyError, match="method: missing"):
            pure.read_line(b'{"custom_id":"a","body":{"model":"m"}}')


@pytest.mark.parametrize(
    ("content", "finish", "reasoning", "outcome", "answer", "thoughts"),
    [
        ("<think>\nHm. 6 by 7.\n</think>\n\n42", "stop", None, "answered", "42", "Hm. 6 by 7."),
        ("<think></think>42", "stop", None, "answered", "42", None),
        ("<think>a</think>b</think>c", "stop", None, "answered", "b</think>c", "a"),
        ("<think>a</think>b", "stop", "in the open", "answered", "b", "in the open"),
        # It never came to an answer: cut off while it thought.
        ("<think>Let me see", "length", None, "truncated", "", "Let me see"),
        # What ends by itself without closing its tag is an answer that begins oddly.
        ("<think> is a tag", "stop", None, "answered", "<think> is a tag", None),
        ("A <think>tag</think>", "stop", None, "answered", "A <think>tag</think>", None),
    ],
)
def test_thoughts_in_tags_are_no_part_of_the_answer(
    content: str, finish: str, reasoning: str | None, outcome: str, answer: str, thoughts: str | None
) -> None:
    choice = {"message": {"content": content, "reasoning": reasoning}, "finish_reason": finish}
    line = {"custom_id": "o1-0", "response": {"status_code": 200, "body": {"choices": [choice]}}, "error": None}
    for vendor in (echo(), together):
        found = vendor.format.decode(json.dumps(line).encode()).result
        assert found is not None
        assert (found.outcome, found.answer, found.thoughts) == (outcome, answer, thoughts)


def test_a_family_has_limits_and_refusals_of_its_own() -> None:
    tiny = Limits(requests=5, bytes=100, min_rows=3)
    families = (Family(patterns=("tiny-*",), refuses={"seed": "leave it out"}, limits=tiny), Family(patterns=("*",)))
    one = echo(LookalikeBatches(limits=LIMITS), families=families)
    small = Model(provider="echo", name="tiny-1", options=Options(seed=4))
    assert batch_format(one).limits(small) == tiny
    assert batch_format(one).limits(MODEL) == LIMITS
    assert one.format.problems(small) == ["seed: not taken by tiny-1; leave it out"]
    assert one.format.problems(Model(provider="echo", name="big", options=Options(seed=4))) == []


QUIRKS = LookalikeBatches(
    limits=LIMITS,
    files_path="/v1/files",
    upload_path="/v1/files/upload",
    batches_path="/v1/batches",
    upload_fields={"purpose": "batch-api"},
    create_fields={"priority": "1"},
    metadata=False,
    phases={"DONE": "completed", "IN_PROGRESS": "running"},
    created_in="job",
    bare_listing=True,
)
JOB = {"id": "j1", "status": "IN_PROGRESS", "input_file_id": "f1"}


async def quirky(request: web.Request) -> web.StreamResponse:
    told: Any = {
        ("POST", "/v1/files/upload"): {"id": "f1"},
        ("POST", "/v1/batches"): {"job": JOB},
        ("GET", "/v1/batches"): [JOB],
        ("GET", "/v1/batches/j1"): JOB | {"status": "DONE", "output_file_id": "f2"},
    }[request.method, request.path]
    return web.json_response(told)


def test_what_differs_on_the_wire_is_data(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b"{}\n")
    one = echo(QUIRKS)
    intent = Intent(token="tok", run="r", model=MODEL, rows=1, bytes=3, file=stored(tmp_path / "rows"))

    async def work(server: ScriptedServer) -> None:
        batches = batches_of(connected(one, Endpoint(base_url=server.url, key=KEY)))
        file_id = await batches.upload(intent)
        assert b"batch-api" in server.bodies[0]
        made = (await batches.create(intent, file_id)).batch
        assert made is not None
        assert (made.id, made.phase, made.known_status) == ("j1", "running", True)
        wanted = {"input_file_id": "f1", "endpoint": "/v1/chat/completions", "priority": "1"}
        assert json.loads(server.bodies[1]) == wanted
        seen = await batches.recent(Fence(None), 3)
        assert (seen.complete, [batch.id for batch in seen.batches]) == (True, ["j1"])
        assert batch_format(one).ours(seen.batches[0], intent, file_id) == "yes"
        ended = await batches.retrieve("j1")
        assert ended is not None
        assert (ended.phase, ended.parts) == ("completed", (("output", "f2"),))
        await batches.close()

    async def outer() -> None:
        async with serving(quirky) as server:
            await work(server)

    asyncio.run(outer())


def test_a_bare_list_proves_nothing_where_listings_have_pages() -> None:
    async def bare(_: web.Request) -> web.StreamResponse:
        return web.json_response([])

    async def outer() -> None:
        async with serving(bare) as server:
            batches = batches_of(
                connected(echo(LookalikeBatches(limits=LIMITS)), Endpoint(base_url=server.url, key=KEY))
            )
            with pytest.raises(Unavailable, match="echo: the listing is not in Echo's format"):
                await batches.newest()
            await batches.close()

    asyncio.run(outer())


def windowed(**extra: str) -> Model:
    return Model(provider="echo", name="big", options=Options(extra=extra))


def test_a_window_is_of_the_batch_and_in_no_request() -> None:
    one = echo(LookalikeBatches(limits=LIMITS, windows=Windows("24h", "24h", "7d")))
    pure = batch_format(one)
    week = windowed(completion_window="7d")
    assert [pure.limits(model).window_seconds for model in (MODEL, week)] == [86_400, 604_800]
    assert b"completion_window" not in pure.encode(ask(week, "Hello."))
    assert pure.problems(week) == []
    assert pure.problems(windowed(completion_window="9d")) == ["extra: `completion_window` is '9d'; wanted 24h to 7d"]


@pytest.mark.parametrize("address", ["http://host", "http://host/openai/v1", "http://host/openai/v1/"])
def test_the_path_of_the_api_may_be_in_the_address(address: str) -> None:
    environ = {"ECHO_API_KEY": KEY, "ECHO_BASE_URL": address}
    assert echo().endpoint(environ, None).base_url == "http://host"
