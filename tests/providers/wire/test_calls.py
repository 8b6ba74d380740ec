"""Live calls on kept connections: whole answers in whatever form they come, one for each question, never another's."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.providers.contract import Reply
from overnight.providers.wire import connections as _connections
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.exchange import Answer, BrokeOff, Disconnected, Exchange
from providers.raw_server import Talk, Visitor, answer, talking
from providers.wiring import run

KEY = "sk-0123456789abcdefghijklmnop"
PROOF = {"Authorization": f"Bearer {KEY}"}
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FORMS = {
    "with its length": answer(b'{"a":1}'),
    "in chunks": CHUNKED + b'3\r\n{"a\r\n4;x=y\r\n":1}\r\n0\r\nTrailer: t\r\n\r\n',
    "after an interim answer": b"HTTP/1.1 100 Continue\r\nX: 1\r\n\r\n" + answer(b'{"a":1}'),
    "with bare line ends": answer(b'{"a":1}').replace(b"\r\n", b"\n"),
}


def called(talk: Talk, *bodies: bytes, read_seconds: float = 5.0) -> list[Reply]:
    """What becomes of some calls, one after another."""

    async def work() -> list[Reply]:
        async with talking(talk) as port:
            live = LiveWire(f"http://127.0.0.1:{port}/v1", PROOF, secret=KEY, read_seconds=read_seconds)
            replies = [await live.call("/chat", body) for body in bodies]
            await live.close()
            return replies

    done: list[Reply] = run(work)
    return done


def saying(*pieces: bytes, pause: float = 0.0, close: bool = False) -> Talk:
    async def talk(visitor: Visitor) -> None:
        while await visitor.question() is not None:
            await visitor.say(*pieces, pause=pause)
            if close:
                return

    return talk


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_an_answer_is_read_whole_in_whatever_pieces_it_comes(form: str, step: int) -> None:
    whole = FORMS[form]
    pieces = [whole[at : at + step] for at in range(0, len(whole), step)]
    first, second = called(saying(*pieces), b"{}", b"{}")
    assert (first.status, first.body, first.problem) == (200, b'{"a":1}', None)
    assert second == first


def test_a_question_is_sent_as_it_is_with_its_proof() -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def talk(visitor: Visitor) -> None:
        while (question := await visitor.question()) is not None:
            seen.append(question)
            await visitor.say(answer())

    large = b'"%b"' % (b"x" * 300_000)
    called(talk, b'{"n":1}', large)
    heads = [head.decode().split("\r\n") for head, _ in seen]
    assert [body for _, body in seen] == [b'{"n":1}', large]
    assert heads[0][0] == "POST /v1/chat HTTP/1.1"
    assert heads[0][1].startswith("Host: 127.0.0.1:")
    assert {f"Authorization: Bearer {KEY}", "Accept-Encoding: identity", "Content-Type: application/json"} <= {
        *heads[0]
    }
    assert "Content-Length: 7" in heads[0]


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    forms = (b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n")
    for form in forms:
        replies = called(saying(form + b'{"a":', b"1}", close=True), b"{}", b"{}")
        assert [(reply.status, reply.body) for reply in replies] == [(200, b'{"a":1}')] * 2


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        (b"", None, "broke (Server disconnected)"),
        (b"HTTP/1.1 200 OK\r\nContent-Len", None, "broke (Server disconnected)"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}", 200, "broke off"),
        (CHUNKED + b"2\r\n{}\r\n", 200, "broke off"),
        (b'HTTP/1.1 200 OK\r\n\r\n{"half', 200, "is not whole"),
        (CHUNKED + b"zz\r\n{}\r\n", 200, "broke off"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", None, "no HTTP"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", None, "broke"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", None, "no HTTP"),
    ],
)
def test_half_an_answer_is_none(said: bytes, status: int | None, words: str) -> None:
    """It was sent, for all we know: whoever reads this presumes that it was paid."""
    (reply,) = called(saying(said, close=True), b"{}")
    assert (reply.sent, reply.status, reply.body) == (True, status, b"")
    assert words in (reply.problem or "")
    assert KEY not in (reply.problem or "")


@pytest.mark.parametrize("surplus", [answer(b'{"mine":false}'), answer(b'{"mine":false}')[:-3], b"{}", b"\0"])
def test_what_nobody_asked_for_is_never_the_next_answer(surplus: bytes) -> None:
    async def talk(visitor: Visitor) -> None:
        while (question := await visitor.question()) is not None:
            await visitor.say(answer(b'{"q":%b}' % question[1]) + (surplus if question[1] == b"1" else b""))

    replies = called(talk, b"1", b"2", b"3")
    assert [reply.body for reply in replies] == [b'{"q":1}', b'{"q":2}', b'{"q":3}']


def test_a_connection_on_which_something_comes_unasked_is_left() -> None:
    left: list[bool] = []

    async def talk(visitor: Visitor) -> None:
        assert await visitor.question() is not None
        await visitor.say(answer())
        if visitor.number == 1:
            await visitor.say(answer(b'{"late":true}'))
            left.append(await visitor.gone())

    async def work() -> list[Reply]:
        async with talking(talk) as port:
            live = LiveWire(f"http://127.0.0.1:{port}", PROOF, secret=KEY)
            first = await live.call("/x", b"{}")
            await asyncio.sleep(0.1)
            second = await live.call("/x", b"{}")
            await live.close()
            return [first, second]

    assert [reply.body for reply in run(work)] == [b"{}", b"{}"]
    assert left == [True]


def test_many_at_once_each_get_their_own() -> None:
    """Answers come in an order of their own, in pieces, on connections that are used again."""

    async def talk(visitor: Visitor) -> None:
        while (question := await visitor.question()) is not None:
            number = int(question[1])
            whole = answer(b'{"q":%d,"pad":"%b"}' % (number, b"x" * (number * 37 % 5000)))
            await asyncio.sleep(number % 7 / 1000)
            await visitor.say(whole[:30], whole[30:], pause=number % 3 / 1000)

    async def work() -> None:
        async with talking(talk) as port:
            live = LiveWire(f"http://127.0.0.1:{port}", PROOF, secret=KEY)
            gate = asyncio.Semaphore(40)

            async def one(number: int) -> None:
                async with gate:
                    reply = await live.call("/x", b"%d" % number)
                assert json.loads(reply.body)["q"] == number

            await asyncio.gather(*(one(number) for number in range(600)))
            assert live._connections is not None
            assert live._connections.count <= 40
            await live.close()

    run(work)


def test_silence_and_trickles_have_an_end() -> None:
    began = time.monotonic()
    (silent,) = called(saying(), b"{}", read_seconds=0.2)
    assert (silent.sent, silent.status) == (True, None)
    assert "in time" in (silent.problem or "")
    (stalled,) = called(saying(CHUNKED), b"{}", read_seconds=0.2)
    assert (stalled.sent, stalled.status) == (True, 200)
    assert "in time" in (stalled.problem or "")
    assert time.monotonic() - began < 3


def test_a_byte_at_a_time_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overnight.providers.wire.calls.BODY_SECONDS", 0.1)
    began = time.monotonic()
    (reply,) = called(saying(CHUNKED, *[b"1\r\n \r\n"] * 200, pause=0.02), b"{}", read_seconds=0.3)
    assert (reply.sent, reply.status) == (True, 200)
    assert "in time" in (reply.problem or "")
    assert time.monotonic() - began < 2


def test_headers_have_a_size() -> None:
    (reply,) = called(saying(b"HTTP/1.1 200 OK\r\n", *[b"X: %b\r\n" % (b"y" * 60_000)] * 9, close=True), b"{}")
    assert reply.sent
    assert "headers of more than 64 kB" in (reply.problem or "")


def test_an_answer_in_many_small_pieces_takes_no_more_room_than_it_has() -> None:
    pieces = b"2\r\n  \r\n" * 10_000

    async def work() -> int:
        async with talking(saying(CHUNKED, *[pieces] * 30, b"2\r\n{}\r\n0\r\n\r\n")) as port:
            live = LiveWire(f"http://127.0.0.1:{port}", PROOF, secret=KEY)
            assert (await live.call("/x", b"{}")).status == 200
            tracemalloc.start()
            reply = await live.call("/x", b"{}")
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            await live.close()
            assert len(reply.body) == 600_002
            return peak

    assert run(work) < 8 << 20


def packed(body: bytes, wbits: int) -> bytes:
    packing = zlib.compressobj(9, zlib.DEFLATED, wbits)
    return packing.compress(body) + packing.flush()


@pytest.mark.parametrize(("encoding", "wbits"), [("gzip", 31), ("x-gzip", 31), ("deflate", 15), ("GZIP", 31)])
def test_a_packed_answer_is_unpacked_with_care(encoding: str, wbits: int) -> None:
    small = answer(packed(b'{"a":1}', wbits), f"Content-Encoding: {encoding}")
    bomb = answer(packed(b'{"a":"%b"}' % (b" " * (80 << 20)), wbits), f"Content-Encoding: {encoding}")
    assert called(saying(small), b"{}")[0].body == b'{"a":1}'
    (reply,) = called(saying(bomb), b"{}")
    assert (reply.sent, reply.status, reply.body) == (True, 200, b"")
    assert "more than 64 MB" in (reply.problem or "")


@pytest.mark.parametrize(("encoding", "words"), [("br", "packed as 'br'"), ("gzip", "cannot be unpacked")])
def test_a_strange_packing_is_not_read(encoding: str, words: str) -> None:
    (reply,) = called(saying(answer(b"{}", f"Content-Encoding: {encoding}")), b"{}")
    assert (reply.sent, reply.status) == (True, 200)
    assert words in (reply.problem or "")


def test_a_redirect_is_an_answer_and_the_key_stays_here() -> None:
    visits: list[int] = []

    async def talk(visitor: Visitor) -> None:
        visits.append(visitor.number)
        await visitor.question()
        await visitor.say(
            b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/x\r\nContent-Length: 0\r\n\r\n"
        )

    (reply,) = called(talk, b"{}")
    assert (reply.sent, reply.status, visits) == (True, 307, [1])


def test_a_call_that_is_given_up_leaves_its_connection() -> None:
    left: list[bool] = []

    async def talk(visitor: Visitor) -> None:
        await visitor.question()
        left.append(await visitor.gone())

    async def work() -> int:
        async with talking(talk) as port:
            live = LiveWire(f"http://127.0.0.1:{port}", PROOF, secret=KEY)
            task = asyncio.create_task(live.call("/x", b"{}"))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0.1)
            assert live._connections is not None
            count = live._connections.count
            await live.close()
            return count

    assert run(work) == 0
    assert left == [True]


def test_all_connections_are_closed_in_the_end_whoever_opened_them_first() -> None:
    left: list[bool] = []

    async def talk(visitor: Visitor) -> None:
        await visitor.question()
        await visitor.say(answer())
        left.append(await visitor.gone())

    async def work() -> None:
        async with talking(talk) as port:
            live = LiveWire(f"http://127.0.0.1:{port}", PROOF, secret=KEY)
            await asyncio.gather(*(live.call("/x", b"{}") for _ in range(20)))
            assert live._connections is not None
            assert live._connections.count == 20
            await live.close()
            await asyncio.sleep(0.2)

    run(work)
    assert left == [True] * 20


def test_an_early_no_ends_the_sending() -> None:
    """An answer before the question was taken whole: the connection is of no further use."""

    async def talk(visitor: Visitor) -> None:
        await visitor.say(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}")
        await asyncio.sleep(0.2)

    async def work() -> tuple[Reply, int]:
        async with talking(talk) as port:
            live = LiveWire(f"http://127.0.0.1:{port}", PROOF, secret=KEY)
            reply = await live.call("/x", b"x" * (30 << 20))
            assert live._connections is not None
            count = live._connections.count
            await live.close()
            return reply, count

    reply, count = run(work)
    assert count == 0
    assert reply.sent
    assert reply.status in (413, None)


def test_a_connection_that_rested_for_long_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_connections, "_KEPT_SECONDS", 0.05)
    visits: list[int] = []

    async def talk(visitor: Visitor) -> None:
        visits.append(visitor.number)
        while await visitor.question() is not None:
            await visitor.say(answer())

    async def work() -> None:
        async with talking(talk) as port:
            live = LiveWire(f"http://127.0.0.1:{port}", PROOF, secret=KEY)
            for _ in range(2):
                assert (await live.call("/x", b"{}")).status == 200
            await asyncio.sleep(0.2)
            assert (await live.call("/x", b"{}")).status == 200
            await live.close()

    run(work)
    assert visits == [1, 2]


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "a\nb", "a\0b"])
def test_a_header_cannot_bring_others(value: str) -> None:
    async def work() -> Reply:
        async with talking(saying(answer())) as port:
            live = LiveWire(f"http://127.0.0.1:{port}", {"Authorization": value}, secret=value)
            reply = await live.call("/x", b"{}")
            await live.close()
            return reply

    reply: Reply = run(work)
    assert not reply.sent
    assert "line break" in (reply.problem or "")


class _Socket(asyncio.Transport):
    """What an exchange needs of a transport: a place to write to, and an end."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None: ...
    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0


@settings(max_examples=300, deadline=None)
@given(
    form=st.sampled_from(sorted(FORMS)),
    cuts=st.lists(st.integers(0, 120), max_size=8),
    damage=st.none() | st.tuples(st.integers(0, 120), st.integers(0, 255)),
    ends=st.booleans(),
)
def test_whatever_comes_ends_in_an_answer_or_an_error(
    form: str, cuts: list[int], damage: tuple[int, int] | None, ends: bool
) -> None:
    """Any cut of the bytes gives the same answer; a damaged byte never raises past the exchange."""
    whole = bytearray(FORMS[form])
    if damage is not None and damage[0] < len(whole):
        whole[damage[0]] = damage[1]
    edges = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})

    async def work() -> Answer | Exception | None:
        buffer = memoryview(bytearray(1024))
        exchange = Exchange(asyncio.get_running_loop(), buffer)
        exchange.connection_made(_Socket())
        coming = exchange.ask(b"POST / HTTP/1.1\r\nContent-Length: ", b"{}")
        for begin, end in itertools.pairwise(edges):
            buffer[: end - begin] = whole[begin:end]
            exchange.buffer_updated(end - begin)
        if ends:
            exchange.connection_lost(None)
        if not coming.done():
            return None
        return coming.exception() or coming.result()  # type: ignore[return-value]

    came = asyncio.run(work())
    if damage is None:
        assert isinstance(came, Answer)
        assert (came.status, came.body) == (200, b'{"a":1}')
    elif ends:
        assert isinstance(came, Answer | BrokeOff | Disconnected)
