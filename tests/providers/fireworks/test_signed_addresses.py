"""Results of Fireworks come from addresses that are signed for all to use: the key stays at home, wherever they are."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from overnight.providers import Endpoint
from overnight.providers.fireworks.connection import FireworksConnection
from providers.asking import KEY
from providers.scripted_server import ScriptedServer, serving

ROWS = {"BIJOutputSet.jsonl": b'{"custom_id":"a"}\n', "error-data": b'{"custom_id":"b"}'}


@pytest.mark.parametrize("elsewhere", [False, True], ids=["at home", "elsewhere"])
def test_the_key_goes_to_no_signed_address(elsewhere: bool) -> None:
    async def files(request: web.Request) -> web.StreamResponse:
        return web.Response(body=ROWS[request.path.rsplit("/", 1)[-1]])

    async def outer() -> tuple[bytes, ScriptedServer, ScriptedServer]:
        async with serving(files) as storage:

            async def answer(request: web.Request) -> web.StreamResponse:
                if "getDownloadEndpoint" not in request.path:
                    return await files(request)
                place = storage.url if elsewhere else home.url
                return web.json_response({"filenameToSignedUrls": {name: f"{place}/x/{name}?sig=1" for name in ROWS}})

            async with serving(answer) as home:
                one = FireworksConnection(Endpoint(base_url=home.url, key=KEY, project="lab"))
                got = bytearray()
                assert await one.fetch("otok-out", got.extend) == len(got)
                await one.close()
                return bytes(got), home, storage

    got, home, storage = asyncio.run(outer())
    assert got == b'{"custom_id":"a"}\n{"custom_id":"b"}\n'
    assert home.seen[0].headers["Authorization"] == f"Bearer {KEY}"
    fetched = storage.seen if elsewhere else home.seen[1:]
    assert len(fetched) == 2
    assert all(KEY not in str(dict(request.headers)) + str(request.url) for request in fetched)
