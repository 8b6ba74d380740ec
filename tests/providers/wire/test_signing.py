"""A signature is of one request: whoever signs sees its method, address, headers and body, as the server gets them."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path

from aiohttp import web

from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.http import Wire
from overnight.providers.wire.signing import Request
from overnight.store.contract import StoredFile
from providers.asking import stored
from providers.scripted_server import ScriptedServer, serving
from providers.wiring import run

SECRET = b"a secret that never travels"


def signature(method: str, address: str, content_type: str, body: bytes) -> str:
    digest = hashlib.sha256(body).hexdigest()
    return hmac.new(SECRET, f"{method}\n{address}\n{content_type}\n{digest}".encode(), "sha256").hexdigest()


async def sign(request: Request) -> Mapping[str, str]:
    body = request.body
    if isinstance(body, StoredFile):
        with body.open() as content:
            body = content.read()
    assert body is not None
    address = request.url.split("/", 3)[3]
    return {"Authorization": f"Toy {signature(request.method, address, request.headers.get('Content-Type', ''), body)}"}


async def answer(_: web.Request) -> web.StreamResponse:
    return web.json_response({"id": "x"})


def assert_signed(server: ScriptedServer) -> None:
    for seen, body in zip(server.seen, server.bodies, strict=True):
        content_type = seen.headers.get("Content-Type", "") if body else ""
        expected = signature(seen.method, seen.path_qs.removeprefix("/"), content_type, body)
        assert seen.headers["Authorization"] == f"Toy {expected}", (seen.method, seen.path_qs)


def test_every_kind_of_request_is_signed_as_it_is_sent(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b'{"recordId":"1"}\n')

    async def work() -> None:
        async with serving(answer) as server:
            wire, live = Wire("toy", server.url, sign, secret=""), LiveWire(server.url, sign, secret="")
            await wire.ask("list", "GET", "/jobs", query={"nameContains": "tok", "maxResults": "100"})
            await wire.ask("cancel", "POST", "/jobs/1/stop", body=b"{}")
            headers = {"Content-Type": "application/x-ndjson"}
            await wire.send_file("/bucket/rows", stored(tmp_path / "rows"), headers=headers, method="PUT")
            assert (await wire.send_once("create", "/jobs", json.dumps({"jobName": "tok"}).encode())).sent
            await wire.download("/bucket/rows.out", lambda _: None)
            for text in (b'{"n":1}', b'{"n":2}'):
                assert (await live.call("/model/m/invoke", text)).status == 200
            await wire.close()
            await live.close()
            assert [seen.method for seen in server.seen] == ["GET", "POST", "PUT", "POST", "GET", "POST", "POST"]
            assert len({seen.headers["Authorization"] for seen in server.seen}) == 7
            assert_signed(server)

    run(work)
