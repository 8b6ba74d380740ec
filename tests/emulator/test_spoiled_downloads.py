"""Downloads that come with status 200 and are not what was asked for, in every dialect that has downloads."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from driving import chat_lines
from driving import submit as submit_openai
from google_driving import close_clients, gemini_client, gemini_lines
from google_driving import submit as submit_gemini
from messaging import connecting, requests

from emulator_process import EmulatorProcess

__all__ = ["close_clients"]

Fetch = Callable[[], tuple[http.client.HTTPResponse, bytes]]
DIALECTS = ("openai", "anthropic", "gemini", "storage")


@pytest.fixture
def fetch(emulator: EmulatorProcess, request: pytest.FixtureRequest) -> Iterator[Fetch]:
    """Gets the same answers again and again."""
    address = emulator.url.removeprefix("http://")
    path = _PATHS[request.param](emulator, request)
    connection = http.client.HTTPConnection(address)

    def get() -> tuple[http.client.HTTPResponse, bytes]:
        keys = {"Authorization": "Bearer sk-x", "x-goog-api-key": "x", "anthropic-version": "2026-10-21"}
        connection.request("GET", path, headers=keys)
        answer = connection.getresponse()
        return answer, answer.read()

    yield get
    connection.close()


def _openai(emulator: EmulatorProcess, request: pytest.FixtureRequest) -> str:
    client = request.getfixturevalue("connect")(emulator)
    batch = submit_openai(client, chat_lines(10))
    emulator.finish()
    return f"/openai/v1/files/{client.batches.retrieve(batch.id).output_file_id}/content"


def _anthropic(emulator: EmulatorProcess, _: pytest.FixtureRequest) -> str:
    for open_client in connecting():
        batch = open_client(emulator).messages.batches.create(requests=requests(10))
        emulator.finish()
    return f"/anthropic/v1/messages/batches/{batch.id}/results"


def _gemini(emulator: EmulatorProcess, _: pytest.FixtureRequest) -> str:
    client = gemini_client(emulator)
    job = submit_gemini(client, gemini_lines(10))
    emulator.finish()
    dest: Any = client.batches.get(name=job.name or "").dest
    return f"/gemini/v1beta/{dest.file_name}:download?alt=media"


def _storage(emulator: EmulatorProcess, _: pytest.FixtureRequest) -> str:
    connection = http.client.HTTPConnection(emulator.url.removeprefix("http://"))
    connection.request("POST", "/upload/storage/v1/b/papers/o?uploadType=media&name=x", body=b"a line\n" * 100)
    assert connection.getresponse().status == 200
    connection.close()
    return "/storage/v1/b/papers/o/x?alt=media"


_PATHS = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini, "storage": _storage}


@pytest.mark.parametrize("fetch", DIALECTS, indirect=True)
def test_a_web_page_comes_in_its_place(emulator: EmulatorProcess, fetch: Fetch) -> None:
    _, whole = fetch()
    emulator.arm([{"on": "content", "do": "web_page", "times": 1}])
    answer, page = fetch()
    assert (answer.status, answer.headers.get_content_type()) == (200, "text/html")
    assert page.startswith(b"<!DOCTYPE html>")
    assert fetch()[1] == whole


@pytest.mark.parametrize("fetch", DIALECTS, indirect=True)
def test_nothing_comes(emulator: EmulatorProcess, fetch: Fetch) -> None:
    emulator.arm([{"on": "content", "do": "empty", "times": 1}])
    answer, nothing = fetch()
    assert (answer.status, answer.headers["Content-Length"], nothing) == (200, "0", b"")
    assert fetch()[1] != b""


@pytest.mark.parametrize("fetch", DIALECTS, indirect=True)
def test_a_part_comes_with_its_own_length(emulator: EmulatorProcess, fetch: Fetch) -> None:
    _, whole = fetch()
    emulator.arm([{"on": "content", "do": "cut", "at": 0.6, "fitting": True, "times": 1}])
    answer, part = fetch()
    assert (answer.status, answer.headers["Content-Length"]) == (200, str(len(part)))
    assert part == whole[: int(len(whole) * 0.6)]


@pytest.mark.parametrize("fetch", ["openai"], indirect=True)
def test_a_fault_lasts_for_a_while_after_it_first_struck(emulator: EmulatorProcess, fetch: Fetch) -> None:
    _, whole = fetch()
    emulator.arm([{"on": "content", "do": "empty", "lasts": 1000}])
    emulator.advance(5000)
    assert fetch()[1] == b""
    emulator.advance(900)
    assert fetch()[1] == b""
    emulator.advance(200)
    assert fetch()[1] == whole
