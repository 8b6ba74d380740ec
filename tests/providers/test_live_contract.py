"""Every vendor that takes live calls, against the emulator: what the engine relies on when it calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from emulator_process import EmulatorProcess
from overnight.core.ask import Model
from overnight.core.result import Result, was_run_unpriced
from overnight.engine.live.replies import fared
from overnight.providers import (
    Endpoint,
    LiveConnection,
    Reply,
    calls_of,
    connected,
    emulated_endpoint,
    live_format,
    takes_calls,
    vendor,
    vendors,
)
from providers.asking import KEY, ask

DEAD = "sk-dead-0000000000"
# More brackets, one in the other, than any reader follows.
DEEP = b'{"metadata":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
TRUTH = {
    "seed": 7,
    "time_scale": 20_000,
    "latency": {"live": [0, 0]},
    "keys": {"refuse": [DEAD]},
    "models": {"unknown": ["*-typo"]},
}
MODELS = {
    "anthropic": "claude-haiku-4-5",
    "compatible": "any-model",
    "azure": "gpt-4.1-mini",
    "bedrock": "us.amazon.nova-lite-v1:0",
    "deepseek": "deepseek-chat",
    "openrouter": "qwen/qwen3-32b",
    "fireworks": "accounts/fireworks/models/gpt-oss-20b",
    "gemini": "gemini-2.5-flash",
    "mistral": "mistral-small-latest",
    "groq": "llama-3.3-70b-versatile",
    "ollama": "llama3.2",
    "openai": "gpt-4.1",
    "together": "Qwen/Qwen3-235B-A22B",
    "vertex": "gemini-2.5-flash",
    "xai": "grok-4.3",
}
# A local server asks nobody for a key; a limit by the minute it does not have either.
LOCAL = {"ollama"}
# Where headers tell of limits.
TELLING = {
    "anthropic",
    "azure",
    "compatible",
    "deepseek",
    "openrouter",
    "fireworks",
    "groq",
    "mistral",
    "openai",
    "together",
    "xai",
}


@pytest.fixture(scope="module")
def emulator() -> Iterator[EmulatorProcess]:
    with EmulatorProcess(TRUTH) as one:
        yield one


@pytest.fixture(params=sorted(MODELS))
def name(request: pytest.FixtureRequest, emulator: EmulatorProcess) -> str:
    emulator.arm([])
    return str(request.param)


def call(
    name: str, emulator: EmulatorProcess, model_name: str | None = None, key: str = KEY, text: str = "Name a lake."
) -> tuple[Reply, Result | None]:
    model = Model(provider=name, name=model_name or MODELS[name])

    async def work(provider: LiveConnection) -> tuple[Reply, Result | None]:
        reply = await provider.call(model, vendor(name).format.encode(ask(model, text)))
        decoded = live_format(vendor(name)).decode(live_format(vendor(name)).live_line("o1-2", reply))
        assert decoded.custom_id == "o1-2"
        return reply, decoded.result

    return run(emulated_endpoint(vendor(name), emulator.url, key, model), name, work)


def run(endpoint: Endpoint, name: str, work: Callable[[LiveConnection], Coroutine[Any, Any, Any]]) -> Any:
    async def all_of_it() -> Any:
        provider = calls_of(connected(vendor(name), endpoint))
        try:
            return await work(provider)
        finally:
            await provider.close()

    return asyncio.run(all_of_it())


def test_every_vendor_that_takes_calls_is_here() -> None:
    assert set(MODELS) == {name for name, one in vendors().items() if takes_calls(one)}


def test_a_call_is_answered_and_kept_as_a_line(name: str, emulator: EmulatorProcess) -> None:
    reply, result = call(name, emulator)
    assert result is not None
    assert (reply.sent, reply.status, reply.problem) == (True, 200, None)
    assert (result.outcome, fared(reply, result)) == ("answered", "landed")
    assert "lake" in (result.answer or "")
    assert result.usage.input
    assert result.usage.output
    assert (reply.rates.requests_limit is not None) == (name in TELLING)


def test_an_unknown_model_is_the_rows_own_fault(name: str, emulator: EmulatorProcess) -> None:
    reply, result = call(name, emulator, "nothing-typo")
    assert result is not None
    assert (result.outcome, result.cause) == ("failed", "unknown_model")
    assert fared(reply, result) == "landed"


def test_a_dead_key_is_told_apart(name: str, emulator: EmulatorProcess) -> None:
    if name in LOCAL:
        pytest.skip("no key is asked for")
    reply, result = call(name, emulator, key=DEAD)
    assert fared(reply, result) == "dead"


@pytest.mark.parametrize(("status", "expected"), [(429, "limited"), (503, "busy"), (529, "busy"), (500, "landed")])
def test_refusals_come_with_their_advice(name: str, emulator: EmulatorProcess, status: int, expected: str) -> None:
    emulator.arm([{"on": "live", "do": "status", "status": status, "retry_after": 3, "times": 1}])
    reply, result = call(name, emulator, text=f"Refuse me with {status}.")
    assert fared(reply, result) == expected
    assert result is not None
    assert result.outcome == "failed"
    if name not in LOCAL:
        assert reply.retry_after == 3


@pytest.mark.parametrize(
    "fault",
    [
        {"do": "drop_answer"},
        {"do": "lose_request"},
        {"do": "cut", "at": 0.5},
        {"do": "cut", "at": 0.5, "quiet": True},
    ],
)
def test_a_broken_connection_loses_the_answer(name: str, emulator: EmulatorProcess, fault: dict[str, Any]) -> None:
    emulator.arm([{"on": "live", "times": 1, **fault}])
    reply, _ = call(name, emulator, text=f"Lose me by {fault['do']}.")
    assert (reply.sent, fared(reply, None)) == (True, "lost")


def test_nobody_there_means_nothing_was_sent(name: str, emulator: EmulatorProcess) -> None:
    model = Model(provider=name, name=MODELS[name])
    endpoint = emulated_endpoint(vendor(name), "http://127.0.0.1:9", KEY, model)

    async def work(provider: LiveConnection) -> Reply:
        return await provider.call(model, vendor(name).format.encode(ask(model, "Hello?")))

    reply = run(endpoint, name, work)
    assert (reply.sent, fared(reply, None)) == (False, "unreachable")
    assert KEY not in (reply.problem or "")


def test_connections_are_kept(name: str, emulator: EmulatorProcess) -> None:
    model = Model(provider=name, name=MODELS[name])

    async def work(provider: LiveConnection) -> int:
        body = vendor(name).format.encode(ask(model, "Again."))
        for _ in range(3):
            await provider.call(model, body)
        return sum(wire._connections.count for wire in _wires(provider) if wire._connections is not None)

    assert run(emulated_endpoint(vendor(name), emulator.url, KEY, model), name, work) == 1


def _wires(provider: Any) -> list[Any]:
    return list(provider._lives.values()) if hasattr(provider, "_lives") else [provider._live]


@pytest.mark.parametrize(
    "body", [b"", b"<html>Bad gateway</html>", b'"text"', b"[1, 2]", b"\xff\xfe", b'{"error": "no"}', DEEP]
)
@pytest.mark.parametrize("status", [200, 302, 400, 404, 418, 502])
def test_whatever_comes_is_kept_and_read(name: str, status: int, body: bytes) -> None:
    pure = live_format(vendor(name))
    line = pure.live_line("o1-2", Reply(sent=True, status=status, body=body))
    assert b"\n" not in line
    decoded = pure.decode(line)
    assert decoded.custom_id == "o1-2"
    assert decoded.result is not None
    assert decoded.result.outcome == "failed"
    if status == 200 and body != b'{"error": "no"}':
        # It was run, for all we know: what it cost is presumed.
        assert was_run_unpriced(decoded.result.outcome, decoded.result.cause)
