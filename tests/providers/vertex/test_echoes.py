"""A gateway before Google that repeats the access token: it is unreadable on every path, whether it was given or made."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from emulator_process import EmulatorProcess
from overnight.core.errors import ProviderError
from overnight.providers import Fence
from overnight.providers.reading.secrets import taken_echoes
from overnight.providers.vertex import provider
from overnight.providers.vertex.connection import VertexConnection
from providers.emulated import TRUTH, EmulatedVendor, end_of, submit
from providers.scripted_server import serving
from providers.vertex.test_connection import service_account

TOKEN = "ya29.a0-echoed/0123456789+abcdefghij"
REFUSED = {"do": "status", "status": 400, "message": "no luck with {key} today"}


@pytest.fixture(scope="module")
def emulator() -> Iterator[EmulatorProcess]:
    with EmulatorProcess(TRUTH) as running:
        yield running


class Told:
    """All that a vendor's connection hands on: what it returns, streams and raises."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    async def of(self, call: Awaitable[Any]) -> Any:
        try:
            found = await call
        except ProviderError as error:
            found = str(error)
        self.parts.append(found if isinstance(found, bytes) else msgspec.json.encode(found, enc_hook=repr))
        return found

    def check(self) -> None:
        told = b"".join(self.parts)
        for form in (TOKEN.encode(), TOKEN.replace("/", "%2F").encode(), TOKEN[5:].encode()):
            assert form not in told


async def _given(one: EmulatedVendor, _: Path) -> VertexConnection:
    return VertexConnection(msgspec.structs.replace(one.provider().endpoint, key=TOKEN))


async def _made(one: EmulatedVendor, folder: Path) -> VertexConnection:
    """With a token that the credentials make, which no part of the connection was told of beforehand."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response({"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"})

    async with serving(answer) as server:
        file = service_account(folder, f"{server.url}/token")
        vertex = VertexConnection(msgspec.structs.replace(one.provider().endpoint, key="", credentials=file))
        await vertex._tokens.headers()
    return vertex


@pytest.mark.skipif(importlib.util.find_spec("google.auth") is None, reason="an extra")
@pytest.mark.parametrize("connected", [_given, _made])
def test_no_path_hands_the_token_on(
    emulator: EmulatorProcess, tmp_path: Path, connected: Callable[[EmulatedVendor, Path], Awaitable[VertexConnection]]
) -> None:
    emulator.arm([])
    one = EmulatedVendor("vertex", emulator, tmp_path)
    asks = one.asks(3)
    sent = one.intent(asks)
    told = Told()

    async def work() -> None:
        vertex = await connected(one, tmp_path)
        body = provider.format.encode(asks[0])
        try:
            ended = await end_of(vertex, await submit(vertex, sent))
            folder = ended.parts[0][1]
            every = ("upload", "create", "list", "retrieve", "content", "cancel", "live", "delete")
            emulator.arm([{"on": on, **REFUSED} for on in every])
            taken_echoes()
            for call in (
                vertex.upload(one.intent(asks)),
                vertex.create(sent, "gs://rehearsal/in/x.jsonl"),
                vertex.newest(),
                vertex.recent(Fence(None), 2),
                vertex.retrieve(ended.id),
                vertex.fetch(folder, told.parts.append),
                vertex.cancel(ended.id),
                vertex.remove_file("gs://rehearsal/in/x.jsonl"),
                vertex.check_key(),
                vertex.call(one.model, body),
            ):
                await told.of(call)
            assert sum(taken_echoes().values()) >= 8
            emulator.arm([{"on": "content", "do": "echo_key"}, {"on": "live", "do": "echo_key"}])
            await told.of(vertex.fetch(folder, told.parts.append))
            reply = await told.of(vertex.call(one.model, body))
            told.parts.append(provider.format.live_line("o1-0", reply))
            assert sum(taken_echoes().values()) == 2
        finally:
            await vertex.close()

    asyncio.run(work())
    assert b"*" * len(TOKEN) in b"".join(told.parts)
    told.check()
