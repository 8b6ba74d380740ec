"""Each target is told once and at the same time; what fails is one line, without a word of the address."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import time

import pytest

from hooks import Hook
from overnight.core.errors import StudyError
from overnight.notifying import DESKTOP, Ending, Target, check_service, tell_all, telling

ENDING = Ending(
    run="fruit", state="done", message="all rows are settled", exit_code=0,
    rows={"total": 3, "answered": 2, "failed": 1}, cost=0.25, presumed=0.0,
)  # fmt: skip
SECRET = "T0SECRET0TOKEN"


def told(*texts: str, limit: float = 30.0, **environ: str) -> list[str]:
    return tell_all([Target(text, "study") for text in texts], ENDING, environ, limit)


@pytest.fixture
def closed() -> str:
    """An address on this machine at which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}/{SECRET}"


def test_what_a_webhook_gets() -> None:
    with Hook() as hook:
        assert told(hook.url) == []
    (got,) = hook.told
    assert got == {
        "run": "fruit",
        "state": "done",
        "message": "all rows are settled",
        "exit_code": 0,
        "rows": {"total": 3, "answered": 2, "failed": 1},
        "cost": 0.25,
        "presumed": 0.0,
        "text": "fruit: all rows are settled\n3 total, 2 answered, 1 failed, $0.25 spent",
    }


def test_a_webhook_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with Hook() as hook:
        assert told(hook.url, "$ELSEWHERE", ELSEWHERE=hook.url) == []
    assert len(hook.told) == 2
    for text in ("$MAIL", DESKTOP):
        with pytest.raises(StudyError) as caught:
            check_service(Target(text, "study"), {"MAIL": f"mailto://me:{SECRET}@example.com"})
        assert str(caught.value) == f"study: {text} needs apprise: pip install 'overnight[notify]'"


def test_other_services_go_through_the_library() -> None:
    with Hook() as hook:
        address = hook.url.replace("http://", "json://")
        assert told("$LAB", LAB=address) == []
    (got,) = hook.told
    assert (got["title"], got["message"]) == ("fruit: done", ENDING.text)


def test_an_address_that_the_library_knows_is_told_in_its_way() -> None:
    slack = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
    assert telling.service_of(slack, Target("$SLACK", "study")) is not None
    assert telling.service_of("https://hooks.example/done", Target("$SLACK", "study")) is None


def test_what_is_refused_is_said_without_its_address(closed: str) -> None:
    with Hook(500) as refusing, Hook(302, location=closed) as moved:
        lines = told(refusing.url, "$MOVED", "$CLOSED", MOVED=moved.url, CLOSED=closed)
    host = refusing.url.split("/")[2]
    assert lines == [
        f"{host} was not told: it answered with status 500",
        "$MOVED was not told: it answered with status 302",
        "$CLOSED was not told: it cannot be reached",
    ]
    lost = told("$LAB", LAB=closed.replace("http://", "json://"))
    assert lost == ["$LAB was not told: it could not be reached, or did not take it"]


def test_no_log_holds_an_address(closed: str, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever a program logs: services that cannot be reached, that are reached, and that there are none of."""
    caplog.set_level(logging.DEBUG)
    with Hook() as hook:
        there = hook.url.replace("http://", f"json://me:{SECRET}@")
        lost = closed.replace("http://", "json://")
        assert len(told("$LOST", "$THERE", LOST=lost, THERE=there)) == 1
        with pytest.raises(StudyError):
            check_service(Target("$LAB", "study"), {"LAB": f"nothing://{SECRET}"})
    assert SECRET not in caplog.text
    # What others log with the same library is theirs.
    logging.getLogger("apprise").error("somebody else")
    assert "somebody else" in caplog.text


def test_no_form_that_cannot_be_reached_holds_anybody_up(closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A webhook, e-mail, Slack and a desktop, of which none is there."""
    monkeypatch.setenv("HTTPS_PROXY", closed)
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    port = closed.split(":")[2].split("/", maxsplit=1)[0]
    began = time.monotonic()
    lines = told(
        closed, "$MAIL", "$SLACK", DESKTOP, limit=10.0,
        MAIL=f"mailto://me:{SECRET}@127.0.0.1:{port}?smtp=127.0.0.1&to=you@example.com",
        SLACK="https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
    )  # fmt: skip
    assert time.monotonic() - began < 20
    names = [line.partition(" was not told: ")[0] for line in lines]
    assert names[1:3] == ["$MAIL", "$SLACK"]
    assert not [line for line in lines if SECRET in line or "TIiajkdn" in line]


def test_silence_holds_nobody_up() -> None:
    with Hook(silent=True) as silent, Hook() as hook:
        began = time.monotonic()
        lines = told(silent.url, hook.url, "$ALSO", limit=2.0, ALSO=silent.url.replace("http://", "json://"))
        assert time.monotonic() - began < 20
    assert [line.partition(" was not told: ")[2] for line in lines] == ["no answer within 2 seconds"] * 2
    assert len(hook.told) == 1


@pytest.mark.parametrize("scheme", ["http", "json"])
def test_silence_does_not_hold_up_the_exit(scheme: str) -> None:
    """The library gives a service several seconds of its own; nobody waits for them."""
    ending = "Ending(run='r', state='done', message='m', exit_code=0, rows=None, cost=None, presumed=None)"
    with Hook(silent=True) as silent:
        told = f"tell_all([Target('$A', 'w')], {ending}, {{'A': {silent.url.replace('http', scheme, 1)!r}}}, 3.0)"
        code = f"import time\nfrom overnight.notifying import *\nprint({told})\nprint(time.time())"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        left = time.time()
    line, at = done.stdout.splitlines()
    assert line == "['$A was not told: no answer within 3 seconds']"
    assert left - float(at) < 3


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "$LAB is not set; wanted the address that the run's end is told to"),
        (SECRET, "$LAB holds no address, such as https://... or mailto://..."),
        (f"https:///{SECRET}", "$LAB holds no address, such as https://... or mailto://..."),
        (f"postgres://me:{SECRET}@example.com/db", "$LAB holds a postgres:// address that apprise cannot use"),
    ],
)
def test_a_variable_without_an_address(value: str, why: str) -> None:
    with pytest.raises(StudyError) as caught:
        check_service(Target("$LAB", "study"), {"LAB": value})
    assert str(caught.value) == f"study: {why}"
    assert told("$LAB", LAB=value) == [f"$LAB was not told: {why}"]


@pytest.mark.parametrize("text", [f"slack://{SECRET}/b/c", "https://", "http://[", "", "file:///etc/passwd"])
def test_a_run_of_a_strangers_making_tells_only_what_a_study_could(text: str) -> None:
    why = "wanted an address that begins with https://"
    assert told(text) == [f"somebody without an address was not told: {why}"]
