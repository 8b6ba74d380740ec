"""A web page in a browser on this machine must not be able to drive the emulator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from emulator_process import EmulatorProcess
from hardening.odd_requests import OddRequest, faulty, furnish, odd_requests, routes, status_of, statuses
from overnight_emulator.dialects.all import DIALECTS
from overnight_emulator.guard import stranger


def ask(emulator: EmulatorProcess, *headers: str, method: str = "GET", path: str = "/_emulator/time") -> int:
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{line}\r\n" for line in (*headers, "Connection: close")) + "\r\n"
    return asyncio.run(status_of(emulator.url, OddRequest("", head.encode(), b"")))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (["Host: 127.0.0.1:8765"], 200),
        (["Host: localhost"], 200),
        (["Host: [::1]:8765"], 200),
        (["Host: emulator.localhost"], 200),
        (["Host: 127.0.0.1", "Origin: http://localhost:8888"], 200),
        (["Host: 127.0.0.1", "Origin: http://127.0.0.1:3000"], 200),
        (["Host: 127.0.0.1", "Sec-Fetch-Site: same-origin"], 200),
        (["Host: evil.example"], 403),
        (["Host: 127.0.0.1.evil.example:8765"], 403),
        (["Host: localhost.evil.example"], 403),
        (["Host: 10.0.0.1"], 403),
        (["Host: [::1"], 403),
        (["Host: 127.0.0.1", "Origin: https://evil.example"], 403),
        (["Host: 127.0.0.1", "Origin: null"], 403),
        (["Host: 127.0.0.1", "Origin: http://localhost.evil.example"], 403),
        (["Host: 127.0.0.1", "Sec-Fetch-Site: cross-site"], 403),
    ],
)
def test_only_this_machine_is_answered(shared: EmulatorProcess, headers: list[str], status: int) -> None:
    assert ask(shared, *headers) == status


def test_a_page_can_neither_jump_in_time_nor_send_a_batch(shared: EmulatorProcess) -> None:
    for path in ("/_emulator/advance", "/_emulator/faults", "/openai/v1/batches", "/anthropic/v1/messages/batches"):
        assert ask(shared, "Host: 127.0.0.1", "Origin: https://evil.example", method="POST", path=path) == 403
        assert ask(shared, "Host: evil.example", method="POST", path=path) == 403


def test_a_name_of_the_users_own_is_let_in(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({}, "--allow-host=emulator.test")
    assert ask(emulator, "Host: emulator.test:8765") == 200
    assert ask(emulator, "Host: evil.example") == 403


def test_who_listens_everywhere_is_called_by_any_number() -> None:
    assert stranger("10.0.0.7:8765", None, {"0.0.0.0"}) is None
    assert stranger("evil.example", None, {"0.0.0.0"}) is not None
    assert stranger("10.0.0.7", None, {"10.0.0.7"}) is None


def test_odd_requests_reach_every_route_there_is() -> None:
    """A route that is added is mounted with the others, and drawn like them."""
    prefixes = {dialect.prefix for dialect in DIALECTS} | {"/_emulator"}
    paths = [route.path for route in routes()]
    assert all(any(path.startswith(prefix) for path in paths) for prefix in prefixes)
    assert {request.route for request in odd_requests(0, 5_000)} == set(routes())


def test_odd_requests_are_refused_or_obeyed_and_never_break_the_server() -> None:
    """A sample; `make hardening` sends thousands. In every dialect some have to come through all checks."""
    with EmulatorProcess({"time_scale": 500, "latency": {"batch": [60, 600], "live": [0, 0]}}) as emulator:
        requests = list(odd_requests(0, 900, furnish(emulator.url)))
        answered = asyncio.run(statuses(emulator.url, requests))
    assert faulty(requests, answered) == []
    obeyed = {
        request.route.path.split("/")[1]
        for request, status in zip(requests, answered, strict=True)
        if request.route is not None and 200 <= status < 300
    }
    wanted = {dialect.prefix.split("/")[1] for dialect in DIALECTS} | {"_emulator"}
    assert wanted - obeyed <= {"signed"}  # whose addresses nobody can make up


# What the generator found at first, each by what it takes.
FOUND = [
    ("a key that is no text", "/openai/v1/models", ["x-goog-api-key: \xe9"], b""),
    ("an odd Expect", "/openai/v1/models", ["Expect: x"], b""),
    ("an odd Expect at Anthropic", "/anthropic/v1/models", ["Expect: x"], b""),
    ("a body that is not packed", "/openai/v1/responses", ["Content-Encoding: gzip"], b"{}"),
    ("a form without a boundary", "/openai/v1/files", ["Content-Type: multipart/form-data"], b"--b\r\n"),
    ("a part that is not packed", "/together/v1/files", ["Content-Type: multipart/form-data; boundary=b"], b'--b\r\nContent-Disposition: form-data; name="a"\r\nContent-Encoding: gzip\r\n\r\nx\r\n--b--\r\n'),
    ("a form that ends early", "/openai/v1/files", ["Content-Type: multipart/form-data; boundary=b"], b"--b\r\n\xff: x\r\n\r\n\r\n--b"),
    ("another boundary", "/openai/v1/files", ["Content-Type: multipart/form-data; boundary=c"], b"--b\r\n\r\n"),
    ("no model", "/together/v1/chat/completions", [], b'{"messages": []}'),
    ("a number of choices in words", "/together/v1/chat/completions", [], b'{"model": "a", "messages": [], "n": "two"}'),
    ("a list of texts for messages", "/anthropic/v1/messages", [], b'{"model": "claude-haiku-4-5", "max_tokens": 1, "messages": ["x"]}'),
    ("a number for a place", "/vertex/v1/projects/p/locations/l/batchPredictionJobs", [], b'{"model": "gemini-2.5-flash", "inputConfig": 3}'),
    ("a prompt without a model", "/ollama/api/generate", [], b'{"prompt": "x"}'),
    ("more likely tokens than there are", "/azure/openai/v1/chat/completions", [], b'{"model": "a", "messages": [{"role": "user", "content": "x"}], "logprobs": true, "top_logprobs": 9999999999}'),
    ("more choices than anybody reads", "/groq/openai/v1/chat/completions", [], b'{"model": "a", "messages": [{"role": "user", "content": "x"}], "n": 9999999999}'),
    ("more choices than anybody reads at Together", "/together/v1/chat/completions", [], b'{"model": "a", "messages": [{"role": "user", "content": "x"}], "n": 9999999999}'),
    ("more candidates than anybody reads", "/gemini/v1beta/models/gemini-2.5-flash:generateContent", ["x-goog-api-key: x"], b'{"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"candidateCount": 9999999999}}'),
    ("more batches of others than there is room for", "/_emulator/foreign", [], b'{"dialect": "openai", "count": 9999999999}'),
    ("a file that is no name", "/mistral/v1/batch/jobs", [], b'{"input_files": [{}], "endpoint": "/v1/chat/completions", "model": "a"}'),
    ("a dialect that is no name", "/_emulator/foreign", [], b'{"dialect": {}, "count": 1}'),
    ("a dataset beside the others", "/fireworks/v1/accounts/a/datasets", [], b'{"datasetId": "../x", "dataset": {"exampleCount": "1"}}'),
    ("a job beside the others", "/fireworks/v1/accounts/a/batchInferenceJobs?batchInferenceJobId=..%2Fx", [], b'{"model": "a", "inputDatasetId": "a"}'),
    ("a jump to the end of time", "/_emulator/advance", [], b'{"seconds": 1e300}'),
]  # fmt: skip


@pytest.mark.parametrize(("path", "headers", "body"), [case[1:] for case in FOUND], ids=[case[0] for case in FOUND])
def test_what_was_once_a_fault_is_refused(path: str, headers: list[str], body: bytes) -> None:
    lines = ["Host: 127.0.0.1", "Authorization: Bearer x", "x-api-key: x", "anthropic-version: 2023-06-01", *headers]
    head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{line}\r\n" for line in (*lines, f"Content-Length: {len(body)}"))
    request = OddRequest("", head.encode("latin-1") + b"Connection: close\r\n\r\n", body)
    with EmulatorProcess({}) as emulator:
        assert 400 <= asyncio.run(status_of(emulator.url, request)) < 500


def test_a_form_without_a_file_is_no_dataset() -> None:
    with EmulatorProcess({}) as emulator:
        furnish(emulator.url)
        form = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b--\r\n'
        head = "POST /fireworks/v1/accounts/emulator/datasets/a:upload HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        head += "Authorization: Bearer x\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        request = OddRequest("", f"{head}Content-Length: {len(form)}\r\n\r\n".encode(), form)
        assert asyncio.run(status_of(emulator.url, request)) == 400


def test_batches_of_others_have_no_results() -> None:
    with EmulatorProcess({}) as emulator:
        (*_, batch) = furnish(emulator.url)["anthropic"]
        head = (
            f"GET /anthropic/v1/messages/batches/{batch}/results HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        )
        request = OddRequest("", f"{head}x-api-key: x\r\nanthropic-version: 2023-06-01\r\n\r\n".encode(), b"")
        assert asyncio.run(status_of(emulator.url, request)) == 404
