"""The way of a live call: whoever answers proves who they are, and a proxy sees what it must and no more."""

from __future__ import annotations

import asyncio
import base64
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from certificates import Authority
from overnight.core.errors import Unavailable
from overnight.providers.contract import Reply
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.http import Wire
from providers.raw_server import Talk, Visitor, answer, talking
from providers.scripted_server import closed_port
from providers.wiring import run

KEY = "sk-0123456789abcdefghijklmnop"
PROOF = {"Authorization": f"Bearer {KEY}"}
PASSWORD = "p%40ss:w"
SHOWN = "Basic " + base64.b64encode(b"lab:p@ss:w").decode()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def believed(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


async def echo(visitor: Visitor) -> None:
    while (question := await visitor.question()) is not None:
        await visitor.say(answer(b'{"q":%b}' % question[1]))


async def asked(address: str, *bodies: bytes) -> list[Reply]:
    live = LiveWire(address, PROOF, secret=KEY)
    replies = [await live.call("/v1/chat", body) for body in bodies]
    await live.close()
    return replies


class Proxy:
    """Tells what it was asked; a tunnel leads to the test's own server, whatever its name."""

    def __init__(self, to: int = 0, status: int = 200) -> None:
        self._to = to
        self._status = status
        self.heads: list[str] = []
        self.passed: list[bytes] = []

    async def talk(self, visitor: Visitor) -> None:
        question = await visitor.question()
        assert question is not None
        self.heads.append(question[0].decode())
        if not self.heads[-1].startswith("CONNECT"):
            await visitor.say(answer(b'{"by":"proxy"}'))
            return
        await visitor.say(b"HTTP/1.1 %d Said\r\n\r\n" % self._status)
        if self._status == 200:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._to)
            try:
                await asyncio.gather(_pour(reader, visitor.writer, None), _pour(visitor._reader, writer, self.passed))
            finally:
                writer.close()
                await asyncio.gather(writer.wait_closed(), return_exceptions=True)


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: list[bytes] | None) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            if seen is not None:
                seen.append(data)
            writer.write(data)
            await writer.drain()
    writer.close()


def test_an_authority_of_ones_own_is_believed_by_name(believed: Authority) -> None:
    async def work() -> list[Reply]:
        async with talking(echo, believed.server()) as port:
            return await asked(f"https://127.0.0.1:{port}", b"1", b"2")

    assert [(reply.status, reply.body) for reply in run(work)] == [(200, b'{"q":1}'), (200, b'{"q":2}')]


@pytest.mark.skipif(
    shutil.which("openssl") is None, reason="only openssl names certificates as a folder of them wants it"
)
def test_a_folder_of_authorities_is_believed(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["openssl", "x509", "-noout", "-hash", "-in", str(authority.file)]
    name = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    folder = authority.file.parent / "authorities"
    folder.mkdir()
    (folder / f"{name}.0").write_bytes(authority.file.read_bytes())
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(folder))

    async def work() -> list[Reply]:
        async with talking(echo, authority.server()) as port:
            return await asked(f"https://127.0.0.1:{port}", b"1")

    assert [reply.status for reply in run(work)] == [200]


def test_who_has_proved_itself_need_not_do_all_of_it_again(believed: Authority) -> None:
    again: list[bool] = []

    async def once(visitor: Visitor) -> None:
        again.append(bool(visitor.writer.get_extra_info("ssl_object").session_reused))
        await visitor.question()
        await visitor.say(answer(b"{}", "Connection: close"))

    async def work() -> list[Reply]:
        async with talking(once, believed.server()) as port:
            return await asked(f"https://127.0.0.1:{port}", b"1", b"2", b"3")

    assert [reply.status for reply in run(work)] == [200] * 3
    assert again == [False, True, True]


def test_a_ticket_does_not_serve_a_stranger(believed: Authority, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other").server()

    async def work() -> list[Reply]:
        live: LiveWire | None = None
        port, replies = 0, []
        for shown in (believed.server(), stranger):
            async with talking(echo, shown, port) as port:
                live = live or LiveWire(f"https://127.0.0.1:{port}", PROOF, secret=KEY)
                replies.append(await live.call("/x", b"1"))
        assert live is not None
        await live.close()
        return replies

    first, second = run(work)
    assert first.status == 200
    assert (second.sent, second.status) == (False, None)
    assert "certificate verify failed" in (second.problem or "")


def test_large_ones_go_both_ways(believed: Authority) -> None:
    """Many records of TLS, more than is read at once, on connections side by side."""

    async def work() -> None:
        async with talking(echo, believed.server()) as port:
            live = LiveWire(f"https://127.0.0.1:{port}", PROOF, secret=KEY)

            async def one(number: int) -> None:
                body = b'"%b"' % (b"%d-" % number * 200_000)
                for _ in range(2):
                    reply = await live.call("/x", body)
                    assert (reply.status, reply.body) == (200, b'{"q":%b}' % body)

            await asyncio.gather(*(one(number) for number in range(12)))
            await live.close()

    run(work)


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        (b"", None, "broke"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}", 200, "broke off"),
        (b"HTTP/1.1 200 OK\r\n\r\n{}", 200, None),
    ],
)
def test_an_end_inside_tls_is_an_end(believed: Authority, said: bytes, status: int | None, words: str | None) -> None:
    async def talk(visitor: Visitor) -> None:
        await visitor.question()
        await visitor.say(said)

    async def work() -> Reply:
        async with talking(talk, believed.server()) as port:
            return (await asked(f"https://127.0.0.1:{port}", b"1"))[0]

    reply: Reply = run(work)
    assert (reply.sent, reply.status) == (True, status)
    assert (words is None and reply.body == b"{}") or (words or "-") in (reply.problem or "")


def test_whoever_speaks_no_tls_is_sent_nothing(believed: Authority) -> None:
    heard: list[bytes] = []

    async def listen(visitor: Visitor) -> None:
        heard.append(await visitor._reader.read(10_000))
        await visitor.say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}")

    async def work() -> Reply:
        async with talking(listen) as port:
            return (await asked(f"https://127.0.0.1:{port}", b'{"text":"secret"}'))[0]

    reply: Reply = run(work)
    assert (reply.sent, reply.status) == (False, None)
    assert "no connection to" in (reply.problem or "")
    assert KEY.encode() not in heard[0]


def test_batches_believe_the_same_authorities(believed: Authority) -> None:
    async def work() -> int:
        async with talking(echo, believed.server()) as port:
            wire = Wire("toy", f"https://127.0.0.1:{port}", PROOF, secret=KEY)
            try:
                return (await wire.ask("list", "POST", "/x", body=b"1")).status
            finally:
                await wire.close()

    assert run(work) == 200


def test_a_stranger_is_sent_nothing(authority: Authority) -> None:
    heard: list[object] = []

    async def listen(visitor: Visitor) -> None:
        heard.append(await visitor.question())

    async def work() -> Reply:
        async with talking(listen, authority.server()) as port:
            (reply,) = await asked(f"https://127.0.0.1:{port}", b"1")
            wire = Wire("toy", f"https://127.0.0.1:{port}", PROOF, secret=KEY)
            with pytest.raises(Unavailable, match="SSL_CERT_FILE"):
                await wire.ask("list", "GET", "/x")
            await wire.close()
            return reply

    reply: Reply = run(work)
    assert (reply.sent, reply.status) == (False, None)
    assert "certificate verify failed" in (reply.problem or "")
    assert "SSL_CERT_FILE" in (reply.problem or "")
    assert not any(heard)


def test_a_certificate_of_another_name_is_none(believed: Authority) -> None:
    async def work() -> Reply:
        async with talking(echo, believed.server("other.example")) as port:
            return (await asked(f"https://127.0.0.1:{port}", b"1"))[0]

    reply: Reply = run(work)
    assert not reply.sent
    assert "certificate verify failed" in (reply.problem or "")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_tunnel_hides_all_but_the_place(believed: Authority, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    proxy = Proxy()

    async def work() -> list[Reply]:
        async with talking(echo, believed.server("api.test")) as port:
            proxy._to = port
            shown = believed.server() if scheme == "https" else None
            async with talking(proxy.talk, shown) as at:
                monkeypatch.setenv("https_proxy", f"{scheme}://lab:{PASSWORD}@127.0.0.1:{at}")
                return await asked("https://api.test", b"1", b"2")

    replies: list[Reply] = run(work)
    assert [(reply.status, reply.body) for reply in replies] == [(200, b'{"q":1}'), (200, b'{"q":2}')]
    (head,) = proxy.heads
    assert head.startswith("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n")
    assert f"Proxy-Authorization: {SHOWN}\r\n" in head
    passed = b"".join(proxy.passed)
    assert passed
    assert KEY.encode() not in passed
    assert b"Proxy-Authorization" not in passed


def test_without_a_tunnel_the_whole_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Proxy()

    async def work() -> Reply:
        async with talking(proxy.talk) as at:
            monkeypatch.setenv("http_proxy", f"http://lab:{PASSWORD}@127.0.0.1:{at}")
            return (await asked("http://models.test:8080", b"1"))[0]

    assert run(work).body == b'{"by":"proxy"}'
    (head,) = proxy.heads
    assert head.startswith("POST http://models.test:8080/v1/chat HTTP/1.1\r\nHost: models.test:8080\r\n")
    assert f"Proxy-Authorization: {SHOWN}\r\n" in head


@pytest.mark.parametrize("status", [407, 502])
def test_a_proxy_that_says_no_means_nothing_was_sent(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    proxy = Proxy(status=status)

    async def work() -> Reply:
        async with talking(proxy.talk) as at:
            monkeypatch.setenv("https_proxy", f"http://lab:{PASSWORD}@127.0.0.1:{at}")
            return (await asked("https://api.test", b"1"))[0]

    reply: Reply = run(work)
    assert (reply.sent, reply.status) == (False, None)
    assert f"answered HTTP {status}" in (reply.problem or "")
    assert "p@ss" not in (reply.problem or "")
    assert PASSWORD not in (reply.problem or "")


def _hangs_up() -> Talk:
    async def talk(visitor: Visitor) -> None:
        await visitor.question()

    return talk


def test_a_proxy_that_hangs_up_or_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> list[Reply]:
        async with talking(_hangs_up()) as at, closed_port() as nobody:
            replies = []
            for port in (at, nobody):
                monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
                replies += await asked("https://api.test", b"1")
            return replies

    for reply in run(work):
        assert not reply.sent
        assert "no connection to api.test:443" in (reply.problem or "")


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:1080", "http://", "http://[::1"])
def test_a_proxy_of_no_use_is_told(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("https_proxy", address)

    async def work() -> Reply:
        return (await asked("https://api.test", b"1"))[0]

    reply: Reply = run(work)
    assert not reply.sent
    assert "the proxy that the environment names is of no use" in (reply.problem or "")


def test_a_name_that_nobody_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("https_proxy", raising=False)

    async def work() -> Reply:
        return (await asked("https://nobody.invalid", b"1"))[0]

    reply: Reply = run(work)
    assert not reply.sent
    assert "no connection to nobody.invalid:443" in (reply.problem or "")
