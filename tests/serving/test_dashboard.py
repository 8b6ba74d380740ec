"""A dashboard over runs that change: they grow, are gone on with, are called off, are damaged; and how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import overnight
from cli.shell import clean_environment
from overnight.core.errors import StudyError
from overnight.serving.dashboard import Dashboard
from overnight.settings import settings
from reporting.pages import Page
from serving.runs_to_show import Looker

ITEMS = [{"id": str(at), "text": f"fruit {at}"} for at in range(4)]
FIELDS = {"task": "generate", "items": ITEMS, "models": ["openai/gpt-4.1-mini"], "prompt": "{text}"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder in which time passes quickly, but batches take longer than anybody waits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OVERNIGHT_TIME_SCALE", "6000")
    truth = tmp_path / "truth.yaml"
    truth.write_text(json.dumps({"latency": {"batch": [60, 600], "live": [0, 0]}}))
    monkeypatch.setenv("OVERNIGHT_TRUTH", str(truth))
    return tmp_path


@pytest.fixture
def served(place: Path) -> Iterator[Looker]:
    with Dashboard(settings(emulate=True), port=0) as dashboard:
        yield Looker(dashboard.address)


def until(test: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end
        time.sleep(0.2)


def key_in(page: str) -> str:
    found = re.search(r'name="key" value="([^"]+)"', page)
    assert found is not None, page
    return found[1]


def test_a_run_that_grows_while_it_is_looked_at(served: Looker) -> None:
    assert "There are no runs" in served.get("/").text
    study = overnight.Study(name="grows", **FIELDS)
    overnight.run(study, emulate=True, limit=2)
    assert "100% of 2 rows: 2 answered" in served.get("/").text
    assert served.get("/run/grows/rows").text.count('class="row"') == 2
    with socket.create_connection(tuple(served.host.split(":"))) as stream:
        stream.settimeout(30)
        asked = f"GET /changes?run=grows HTTP/1.1\r\nHost: {served.host}\r\nCookie: {served.cookie}\r\n\r\n"
        stream.sendall(asked.encode())
        told = b""
        while b"data: 1\n\n" not in told:
            told += stream.recv(4096)
        overnight.run(study, emulate=True)
        while b"data: 2\n\n" not in told:
            told += stream.recv(4096)
        assert b"text/event-stream" in told
    assert "100% of 4 rows: 4 answered" in served.get("/").text
    assert "All 4 rows were answered." in served.get("/run/grows").text
    assert served.get("/run/grows/rows").text.count('class="row"') == 4


def test_readers_that_do_not_read_hold_up_nobody(place: Path) -> None:
    with Dashboard(settings(emulate=True), port=0) as dashboard:
        looker = Looker(dashboard.address)
        sleeping = [socket.create_connection(tuple(looker.host.split(":"))) for _ in range(66)]
        for one in sleeping:
            one.sendall(f"GET /changes HTTP/1.1\r\nHost: {looker.host}\r\nCookie: {looker.cookie}\r\n\r\n".encode())
        until(lambda: looker.get("/changes").status == 503, 20)
        assert looker.get("/").status == 200
        began = time.monotonic()
        dashboard.stop()
        assert time.monotonic() - began < 20
        for one in sleeping:
            one.close()


def test_pages_that_were_left_take_no_place(place: Path) -> None:
    """Somebody turns a hundred pages quickly: the next one is followed as the first was."""
    with Dashboard(settings(runs=place / "runs", emulate=True), port=0) as dashboard:
        looker = Looker(dashboard.address)
        host, _, port = looker.host.rpartition(":")
        asked = f"GET /changes HTTP/1.1\r\nHost: {looker.host}\r\nCookie: {looker.cookie}\r\n\r\n".encode()

        def status() -> bytes:
            """Looked at until the page was told for the first time, and left."""
            with socket.create_connection((host, int(port)), timeout=30) as page:
                page.sendall(asked)
                said = b""
                while b"data: 1" not in said and b"too many" not in said:
                    said += page.recv(400)
                return said.split()[1]

        began = time.monotonic()
        for _ in range(70):
            status()
        while (found := status()) != b"200" and time.monotonic() - began < 12:
            time.sleep(0.2)
        # Signs of life find them too, after fifteen seconds.
        assert found == b"200"


def test_it_goes_on_with_a_run_and_calls_it_off(place: Path, served: Looker) -> None:
    (place / "truth.yaml").write_text(json.dumps({"latency": {"batch": [10**7, 10**7], "live": [0, 0]}}))
    overnight.submit(overnight.Study(name="open", **FIELDS), emulate=True)
    page = served.get("/run/open").text
    assert "Waits: 1 batch goes on at the provider." in page
    assert "nobody works on it" in page
    first, second, calls_off = (key_in(served.get(f"/run/open/{verb}").text) for verb in ("resume", "resume", "cancel"))
    assert served.post("/run/open/resume", key=calls_off).status == 403
    begun = served.post("/run/open/resume", key=first)
    assert (begun.status, begun.headers["Location"]) == (303, "/run/open")
    assert served.post("/run/open/resume", key=first).status == 403
    busy = served.post("/run/open/resume", key=second)
    assert busy.status == 409
    assert "&#x27;open&#x27; is being worked on already" in busy.text
    until(lambda: "at work</span>" in served.get("/run/open").text)
    assert "is being worked on already" in served.get("/run/open/resume").text
    until(lambda: served.get("/run/open/rows").text.count('class="row"') == 4)
    assert "pending" in Page(served.get("/run/open/rows").text).text
    assert served.post("/run/open/cancel", key=key_in(served.get("/run/open/cancel").text)).status == 303
    until(lambda: "The run is called off" in served.get("/run/open").text)
    until(lambda: "cancel, begun here" in served.get("/run/open").text and "exit code" in served.get("/run/open").text)
    assert "is called off already" in served.get("/run/open/cancel").text


def test_a_finished_run_is_not_called_off(looker: Looker) -> None:
    assert "&#x27;answers&#x27; is finished: there is nothing to call off." in looker.get("/run/answers/cancel").text
    assert "is finished: there is nothing to go on with." in looker.get("/run/answers/resume").text


def test_a_damaged_or_foreign_folder_keeps_nobody_from_the_others(place: Path, served: Looker) -> None:
    overnight.run(overnight.Study(name="well", **FIELDS), emulate=True)
    root = place / "runs" / ".rehearsal"
    (root / "garbage").mkdir()
    (root / "garbage" / "ledger.db").write_text("this is no ledger")
    (root / "folder" / "ledger.db").mkdir(parents=True)
    (root / "linked").mkdir()
    (root / "linked" / "ledger.db").symlink_to(root / "well" / "ledger.db")
    (root / "emptied").mkdir()
    (root / "emptied" / "ledger.db").touch()  # as one that is only just being begun
    (root / "foreign").mkdir()
    (root / "foreign" / "notes.txt").write_text("mine")
    (root / "looped").symlink_to(root / "looped")
    (root / "<b>bold").mkdir()
    (root / "<b>bold" / "ledger.db").write_text("this is none")
    page = Page(served.get("/").text).text
    assert "100% of 4 rows: 4 answered" in page
    for name in ("garbage", "folder", "linked", "emptied", "<b>bold"):
        assert name in page
    assert page.count("cannot be read") == 4
    assert "foreign" not in page
    assert {served.get(f"/run/emptied{part}").status for part in ("", "/rows", "/arms", "/cancel")} == {200}
    for name in ("garbage", "folder", "linked", "%3Cb%3Ebold"):
        assert "This run cannot be read." in served.get(f"/run/{name}").text
        assert served.get(f"/run/{name}/rows").status == 409
        assert served.get(f"/run/{name}/item?id=1").status == 409
        assert "cannot be read" in served.get(f"/run/{name}/cancel").text
    assert served.get("/accounts").status == 200


def test_a_port_that_is_taken_is_said(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StudyError, match=rf"--port {port}: cannot listen there: .*; --port 0 picks a free one"):
            Dashboard(settings(emulate=True), port=port).start()
    for wrong in (-1, 70_000):
        with pytest.raises(StudyError, match=r"--port .* cannot listen there"):
            Dashboard(settings(emulate=True), port=wrong).start()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_its_address_and_ends_cleanly(tmp_path: Path, how: signal.Signals) -> None:
    command = [sys.executable, "-m", "overnight", "serve", "--port", "0", "--no-open"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=clean_environment(), **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"runs: (http://127\.0\.0\.1:\d+/\?token=[\w-]{32})\n", line)
        assert found is not None, line
        assert "There are no runs" in Looker(found[1]).get("/").text
        process.send_signal(how)
        assert process.wait(30) == 0
        assert process.stderr.read() == ""
    assert list(tmp_path.iterdir()) == []  # looking makes nothing
