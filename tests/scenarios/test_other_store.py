"""Nothing but a run's folder knows where its files are: in a store of objects, a study gives the same bytes."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from scenarios.conftest import Scenario
from scenarios.matrix import kills
from store import buckets

ON_OBJECTS = "scenarios.objects:run_on_objects"
ON_A_BUCKET = "scenarios.objects:run_on_a_bucket"
FAULTS = (
    {"on": "create", "do": "drop_answer", "times": 1},
    {"on": "batch", "do": "expire", "share": 0.5, "times": 1},
    {"on": "content", "do": "cut", "at": 0.6, "times": 1},
)
TWO_TURNS = {"turns": ["Are you sure?"]}


@pytest.mark.parametrize(
    ("provider", "fields"),
    [("openai", {}), ("anthropic", {}), ("xai", {}), ("openai", {"mode": "live"}), ("openai", TWO_TURNS)],
    ids=["openai", "anthropic", "xai", "live", "two turns"],
)
def test_a_run_on_objects_gives_the_same_bytes(
    scenario: Callable[..., Scenario], provider: str, fields: dict[str, Any]
) -> None:
    digests = []
    for verb in ("run", ON_OBJECTS):
        one = scenario(faults=() if fields else FAULTS, provider=provider)
        ending = one.call(verb, one.study(**fields))
        assert ending.state == "done", ending
        one.assert_paid_once()
        digests.append(one.table_digest())
    assert digests[0] == digests[1]
    assert sorted(path.name for path in (one.folder / "runs" / "night").iterdir()) == ["ledger.db", "lock", "tables"]


@pytest.fixture
def bucket() -> Iterator[Callable[[Scenario], str]]:
    """A place in a bucket that answers 503 now and then, and loses answers; both are let go at the end."""
    server = buckets.server()
    numbers = itertools.count()

    def sometimes(at: buckets.BucketServer, environ: dict[str, Any], start: Any) -> Any:
        number = next(numbers)
        if number % 7 == 3:
            return buckets.answers(503, 1)(at, environ, start)
        if number % 11 == 5 and environ["REQUEST_METHOD"] == "PUT":
            return buckets.loses_answers(1, only="PUT")(at, environ, start)
        return None

    server.faults.append(sometimes)

    def place(night: Scenario) -> str:
        night.environ |= {**buckets.environment(server), "AWS_ENDPOINT_URL_S3": server.url}
        return buckets.fresh_url()

    yield place
    server.faults.clear()


@pytest.mark.parametrize("fields", [{}, {"mode": "live"}], ids=["batch", "live"])
def test_a_run_in_a_bucket_that_fails_now_and_then_gives_the_same_bytes(
    scenario: Callable[..., Scenario], bucket: Callable[[Scenario], str], fields: dict[str, Any], tmp_path: Path
) -> None:
    """And killed at some of its checkpoints, with parts put and not yet named, nothing is paid twice."""
    faults = () if fields else FAULTS
    first = scenario(faults=faults)
    assert first.run(first.study(**fields)).state == "done"
    expected = first.table_digest()
    log = tmp_path / "checkpoints"
    numbers: Sequence[int] = [0]
    while numbers:
        number, *numbers = numbers
        one = scenario(faults=faults)
        url, study = bucket(one), one.study(**fields)
        kill = {"OVERNIGHT_KILL_AT": str(number)} if number else {"OVERNIGHT_CHECKPOINTS": str(log)}
        ended = one.call(ON_A_BUCKET, study, url, environ=kill)
        if number == 0:
            numbers = kills(len(log.read_text().splitlines()), 0, 1, sample=3)
        else:
            assert ended.signal in (signal.SIGKILL, None), (number, ended)  # how many there are hangs on timing
            ended = one.call(ON_A_BUCKET, study, url)
        assert ended.state == "done", (number, ended)
        assert one.table_digest() == expected, number
        one.assert_paid_once(but_calls=bool(fields))
        one.close()
