"""Live calls on a real Ray (`make ray`): its actors and its head killed, the same bytes, and no key anywhere."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import own_database
from overnight.api import verify
from scenarios import left_behind
from scenarios.conftest import KEY, Scenario
from scenarios.test_live import lost, twice
from scenarios.test_shared_places import ECHOES
from store import buckets

pytest.importorskip("ray", reason="`make ray` installs it")
ROWS = 600
STUDY: dict[str, Any] = {"mode": "live", "models": ["openai/gpt-4.1-mini", "anthropic/claude-haiku-4-5"]}
# Ray takes the machine's own address for 127.0.0.1 otherwise.
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
# Answers take their time, so that there is something to kill.
SLOW = {"latency": {"batch": [60, 600], "live": [4000, 8000]}}


@pytest.fixture
def kept() -> Iterator[Path]:
    """Ray's own folder, logs included; short, because sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:
        yield Path(folder)


def surroundings(one: Scenario, kept: Path) -> dict[str, str]:
    return {**os.environ, **one.addresses, **one.environ, **LOOPBACK, "RAY_TMPDIR": str(kept)}


class Command:
    """`overnight run` by itself, so that Ray and what it starts can be looked at and killed."""

    def __init__(self, one: Scenario, study: str, kept: Path, **environ: str) -> None:
        text = (
            "import sys; sys.path.insert(0, sys.argv[1]); from own_time import use_own_time; use_own_time();"
            "from overnight.cli import main; sys.argv = ['overnight', *sys.argv[2:]]; sys.exit(main())"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", text, str(Path(__file__).parents[1]), "run", study, "--on", "ray:2"],
            cwd=one.folder,
            env={**surroundings(one, kept), **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def ended(self) -> tuple[int, str]:
        """Its exit code and what it said; one that does not end is ended."""
        try:
            said, _ = self.process.communicate(timeout=150)
        except subprocess.TimeoutExpired:
            self.process.kill()
            said, _ = self.process.communicate()
        return self.process.returncode, said


def processes(word: str, kept: Path) -> list[int]:
    """Those of the Ray that keeps its files there."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            title, whole = (path / "cmdline").read_bytes(), (path / "environ").read_bytes()
        except OSError:
            continue
        if word.encode() in title and str(kept).encode() in whole:
            found.append(int(path.name))
    return found


def wait_for_answers(one: Scenario, number: int) -> None:
    until = time.monotonic() + 60
    while one.log()["rows_run"] < number:
        assert time.monotonic() < until
        time.sleep(0.1)


@contextmanager
def head(kept: Path) -> Iterator[str]:
    """A Ray of its own, as somebody else has started it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ray = Path(sys.executable).with_name("ray")
    process = subprocess.Popen(
        [ray, "start", "--head", "--block", f"--port={port}", "--num-cpus=4", "--object-store-memory=100000000",
         "--include-dashboard=false", "--node-ip-address=127.0.0.1", f"--temp-dir={kept}"],
        env={**os.environ, **LOOPBACK, **TOKEN, "RAY_TMPDIR": str(kept)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + 60
        while not processes("raylet", kept):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.2)
        time.sleep(2)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def expected(scenario: Callable[..., Scenario]) -> str:
    one = scenario()
    assert one.run(one.study(ROWS, **STUDY)).state == "done"
    return one.table_digest()


def test_the_same_bytes_and_no_key_anywhere(scenario: Callable[..., Scenario], expected: str, kept: Path) -> None:
    one = scenario(truth=SLOW)
    command = Command(one, one.study(ROWS, **STUDY), kept)
    seen: list[tuple[int, bytes]] = []

    def look() -> None:
        while command.process.poll() is None:
            for pid in processes("ray", kept):
                if pid != command.process.pid:
                    try:
                        seen.append((pid, Path(f"/proc/{pid}/environ").read_bytes()))
                    except OSError:
                        continue
            time.sleep(0.5)

    looking = threading.Thread(target=look)
    looking.start()
    code, said = command.ended()
    looking.join()
    assert code == 0, said
    assert one.table_digest() == expected
    assert (one.log()["rows_run"], twice(one)) == (2 * ROWS, 0)
    assert len({pid for pid, _ in seen}) > 3
    assert not [pid for pid, environ in seen if KEY.encode() in environ]
    files = [path for folder in (kept, one.folder) for path in folder.rglob("*") if path.is_file()]
    assert any("raylet" in path.name for path in files)
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in said


def test_a_key_that_the_provider_repeats_is_left_nowhere(
    scenario: Callable[..., Scenario], monkeypatch: pytest.MonkeyPatch, kept: Path
) -> None:
    """The ledger in PostgreSQL, files in a bucket, calls by Ray: every file, table, object and log is searched."""
    one = scenario(faults=ECHOES)
    keys = buckets.environment(buckets.server())
    keys["AWS_ENDPOINT_URL_S3"] = keys["AWS_ENDPOINT_URL"]
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    one.environ |= keys
    runs, bucket = own_database.address_of(one.folder / "runs"), buckets.fresh_url()
    runs = runs.replace(runs.partition("&files=")[2].partition("&")[0], quote(bucket, safe=":/"), 1)
    for mode in ("live", "batch"):
        study = one.study(60, name=mode, mode=mode, models=STUDY["models"])
        code, said = Command(one, study, kept, OVERNIGHT_RUNS=runs).ended()
        assert code in (0, 3), said
        assert "repeated the key" in said
        assert KEY not in said
    database = runs.partition("?")[0].rpartition("/")[2]
    secrets = (KEY, buckets.SECRET)
    assert any("raylet" in path.name for path in kept.rglob("*"))
    assert left_behind.in_files(secrets, [one.folder, kept]) == []
    assert left_behind.in_database(secrets, database, fewest_tables=40) == []
    assert left_behind.in_bucket(secrets, bucket) == []


def test_an_actor_killed_same_bytes(scenario: Callable[..., Scenario], expected: str, kept: Path) -> None:
    one = scenario(truth=SLOW)
    command = Command(one, one.study(ROWS, **STUDY), kept)
    wait_for_answers(one, 100)
    killed = processes("ray::RayActor", kept)
    assert len(killed) == 2
    os.kill(killed[0], signal.SIGKILL)
    code, said = command.ended()
    assert code == 0, said
    assert "an actor was lost" in said
    assert one.table_digest() == expected
    assert lost(one) > 0
    assert twice(one) <= lost(one)
    assert list(verify("night", runs=one.folder / "runs")) == []


def test_a_cluster_that_would_not_have_us_is_told(scenario: Callable[..., Scenario], kept: Path) -> None:
    one = scenario()
    command = Command(one, one.study(10, **STUDY), kept, RAY_ADDRESS="127.0.0.1:9", RAY_AUTH_MODE="disabled")
    code, said = command.ended()
    assert code == 4, said
    assert "(RAY_ADDRESS is 127.0.0.1:9)" in said
    assert one.log()["rows_run"] == 0


def test_the_head_killed_same_bytes(scenario: Callable[..., Scenario], expected: str, kept: Path) -> None:
    one = scenario(truth=SLOW)
    study = one.study(ROWS, **STUDY)
    with head(kept) as address:
        command = Command(one, study, kept, RAY_ADDRESS=address, **TOKEN)
        wait_for_answers(one, 100)
        for pid in [*processes("gcs_server", kept), *processes("raylet/raylet", kept)]:
            os.kill(pid, signal.SIGKILL)
        code, said = command.ended()
    assert code == 4, said
    assert one.run(study).state == "done"
    assert one.table_digest() == expected
    assert twice(one) <= lost(one)
    assert list(verify("night", runs=one.folder / "runs")) == []
