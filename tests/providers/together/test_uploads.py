"""Together's upload: asked for, sent elsewhere without the key, told to be whole; and what is there already."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from overnight.core.ask import Model
from overnight.core.errors import Unavailable
from overnight.providers import Endpoint, Intent, connected, vendor
from overnight.providers.provider import batches_of
from providers.asking import KEY, stored
from providers.scripted_server import ScriptedServer, serving

CONTENT = b'{"custom_id":"a"}\n'


def intent(folder: Path) -> Intent:
    (folder / "rows").write_bytes(CONTENT)
    model = Model(provider="together", name="m")
    return Intent(token="tok", run="r", model=model, rows=1, bytes=len(CONTENT), file=stored(folder / "rows"))


def uploading(folder: Path, answer: Callable[[web.Request], Any], work: Callable[..., Any]) -> Any:
    async def outer() -> Any:
        async def reply(request: web.Request) -> web.StreamResponse:
            found: web.StreamResponse = answer(request)
            return found

        async with serving(reply) as server:
            batches = batches_of(connected(vendor("together"), Endpoint(base_url=server.url, key=KEY)))
            try:
                return await work(server, batches.upload(intent(folder)))
            finally:
                await batches.close()

    return asyncio.run(outer())


def test_the_file_goes_where_together_says_and_the_key_does_not(tmp_path: Path) -> None:
    def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/v1/files":
            return web.Response(
                status=302, headers={"Location": f"{request.url.origin()}/bucket?sig=1", "X-Together-File-Id": "file-1"}
            )
        return web.json_response({"id": "file-1", "bytes": len(CONTENT)} if request.method == "POST" else {})

    async def work(server: ScriptedServer, upload: Any) -> None:
        assert await upload == "file-1"
        asked, put, whole = server.seen
        assert sha256(CONTENT).hexdigest().encode() in server.bodies[0]
        assert asked.content_type == "multipart/form-data"
        assert (put.method, str(put.rel_url), server.bodies[1]) == ("PUT", "/bucket?sig=1", CONTENT)
        assert KEY not in str(put.raw_headers)
        assert whole.path == "/v1/files/file-1/preprocess"

    uploading(tmp_path, answer, work)


@pytest.mark.parametrize("size", [len(CONTENT), 3])
def test_content_that_is_there_is_its_own_file_if_it_is_whole(tmp_path: Path, size: int) -> None:
    def answer(request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            return web.json_response({"file_id": "file-9"}, status=409)
        return web.json_response({"id": "file-9", "bytes": size})

    async def work(server: ScriptedServer, upload: Any) -> None:
        if size == len(CONTENT):
            assert await upload == "file-9"
            return
        with pytest.raises(Unavailable, match="3 of 18 bytes of the upload arrived"):
            await upload
        assert [one.method for one in server.seen] == ["POST", "GET", "DELETE"]

    uploading(tmp_path, answer, work)


def test_an_answer_without_an_address_is_of_no_use(tmp_path: Path) -> None:
    async def work(_: ScriptedServer, upload: Any) -> None:
        with pytest.raises(Unavailable, match="names no address"):
            await upload

    uploading(tmp_path, lambda _: web.json_response({}), work)
