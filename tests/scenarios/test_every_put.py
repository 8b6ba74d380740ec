"""A bucket that fails at any one put of a run, or a run that is killed at it: the same bytes, and paid once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from scenarios.conftest import Scenario
from scenarios.matrix import kills, parts
from scenarios.test_other_store import FAULTS, ON_A_BUCKET
from store import buckets
from store.buckets import BucketServer, Environ, Start

PARTS = parts(4, sampled=1)
SAMPLE = 1
Fault = Callable[[BucketServer, Environ, Start], Iterable[bytes] | None]


@pytest.fixture
def server() -> Iterator[BucketServer]:
    yield buckets.server()
    buckets.server().faults.clear()


def refused(path: str) -> Fault:
    """Three times, and then it is done."""
    return buckets.answers(503, 3, only=f"PUT {path}")


def unanswered(path: str) -> Fault:
    """Done, and nobody hears of it."""
    return buckets.loses_answers(1, only=f"PUT {path}")


def overtaken(path: str) -> Fault:
    """Not done and not answered, until it comes in behind the next put of the same object."""
    late: list[Environ] = []

    def fault(at: BucketServer, environ: Environ, start: Start) -> Iterable[bytes] | None:
        if environ["REQUEST_METHOD"] != "PUT" or environ["PATH_INFO"] != path or len(late) > 1:
            return None
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        mine = {**environ, "wsgi.input": BytesIO(body)}
        late.append(mine)
        if len(late) == 2:
            answer = list(at.serve(mine, start))
            list(at.serve(late[0], lambda *_: lambda _: None))
            return answer
        with suppress(OSError):
            environ["werkzeug.socket"].shutdown(2)
        raise ConnectionResetError("it is late")

    return fault


def at_put(number: int, how: Callable[[str], Fault], struck: list[str]) -> Fault:
    """What happens to the put of that number, and to others of the same object after it."""
    puts, going_on = 0, None

    def fault(at: BucketServer, environ: Environ, start: Start) -> Iterable[bytes] | None:
        nonlocal puts, going_on
        if going_on is None and environ["REQUEST_METHOD"] == "PUT":
            puts += 1
            if puts == number:
                struck.append(environ["PATH_INFO"])
                going_on = how(environ["PATH_INFO"])
        return None if going_on is None else going_on(at, environ, start)

    return fault


def placed(one: Scenario, server: BucketServer) -> str:
    one.environ |= {**buckets.environment(server), "AWS_ENDPOINT_URL_S3": server.url}
    return buckets.fresh_url()


def calm_run(
    scenario: Callable[..., Scenario], server: BucketServer, fields: dict[str, Any], log: Path
) -> tuple[str, list[str], list[str]]:
    """The table's digest, the objects that were put, one for each put, and the checkpoints."""
    one = scenario(faults=() if fields else FAULTS)
    url, before = placed(one, server), len(server.requests)
    ending = one.call(ON_A_BUCKET, one.study(**fields), url, environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    assert ending.state == "done", ending
    home = "PUT " + url.replace("s3://", "/") + "/"
    puts = [asked.partition("?")[0].removeprefix(home) for asked in server.requests[before:] if asked.startswith(home)]
    one.close()
    return one.table_digest(), puts, log.read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("how", [refused, unanswered, overtaken])
@pytest.mark.parametrize("fields", [{}, {"mode": "live"}], ids=["batch", "live"])
def test_a_bucket_that_fails_at_any_put_gives_the_same_bytes(
    scenario: Callable[..., Scenario],
    server: BucketServer,
    fields: dict[str, Any],
    how: Callable[[str], Fault],
    part: int,
    tmp_path: Path,
) -> None:
    expected, puts, _ = calm_run(scenario, server, fields, tmp_path / "checkpoints")
    kinds = {"items", "requests", "raw", "marks", "parts" if fields else "outbox"}
    assert {put.partition("/")[0] for put in puts} >= kinds, puts
    for number in kills(len(puts), part, len(PARTS), SAMPLE):
        one = scenario(faults=() if fields else FAULTS)
        url, struck = placed(one, server), list[str]()
        server.faults.append(at_put(number, how, struck))
        ending = one.call(ON_A_BUCKET, one.study(**fields), url)
        server.faults.clear()
        where = f"put {number} of {len(puts)} ({struck}) was {how.__name__}"
        assert ending.state == "done", (where, ending)
        # How many there are hangs on timing, but for a few at the end.
        assert struck or number > len(puts) * 0.8, where
        assert one.table_digest() == expected, where
        one.assert_paid_once()
        one.close()


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("fields", [{}, {"mode": "live"}], ids=["batch", "live"])
def test_killed_at_any_put_gives_the_same_bytes(
    scenario: Callable[..., Scenario], server: BucketServer, fields: dict[str, Any], part: int, tmp_path: Path
) -> None:
    """Right before each of them and right after it."""
    expected, _, names = calm_run(scenario, server, fields, tmp_path / "checkpoints")
    around = [n for n, name in enumerate(names, start=1) if name.split()[0] in ("fsync", "kept", "part")]
    for number in (around[n - 1] for n in kills(len(around), part, len(PARTS), SAMPLE)):
        one = scenario(faults=() if fields else FAULTS)
        url, study = placed(one, server), one.study(**fields)
        killed = one.call(ON_A_BUCKET, study, url, environ={"OVERNIGHT_KILL_AT": str(number)})
        where = f"killed at checkpoint {number} ({names[number - 1]})"
        assert killed.signal in (signal.SIGKILL, None), (where, killed)
        ending = one.call(ON_A_BUCKET, study, url)
        assert ending.state == "done", (where, ending)
        assert one.table_digest() == expected, where
        one.assert_paid_once(but_calls=bool(fields))
        one.close()
