"""OpenAI alone: what its compiler writes, an independent server takes."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator_process import EmulatorProcess
from overnight.core.ask import Model
from overnight.providers import BatchConnection
from providers.emulated import TRUTH, EmulatedVendor, causes, end_of, rows_of, submit


@pytest.mark.parametrize(
    "options",
    [
        {"name": "gpt-5", "options": {"max_tokens": 4000}},
        {"name": "gpt-5", "options": {"thinking": "low", "max_tokens": 4000}},
        {"name": "gpt-5.1", "options": {"thinking": "off"}},
        {"name": "o3", "options": {"thinking": "high", "api": "chat"}},
        {"name": "o3-pro", "options": {}},
        {
            "name": "gpt-4.1",
            "options": {"temperature": 0.0, "top_p": 0.5, "seed": 3, "stop": ["@@"], "max_tokens": 500},
        },
        {"name": "gpt-4.1", "options": {"api": "responses", "temperature": 0.0, "max_tokens": 500}},
    ],
    ids=lambda one: f"{one['name']}-{'-'.join(one['options'])}",
)
def test_openai_takes_what_is_compiled(emulator: EmulatorProcess, tmp_path: Path, options: dict[str, Any]) -> None:
    emulated = EmulatedVendor("openai", emulator, tmp_path)
    model = msgspec.convert({"provider": "openai", **options}, Model)

    async def work(provider: BatchConnection) -> None:
        assert emulated.format.problems(model) == []
        ended = await end_of(provider, await submit(provider, emulated.intent(emulated.asks(3, model))))
        rows = await rows_of(emulated, provider, ended)
        assert list(rows) == ["output"], rows
        for line in rows["output"]:
            assert line.result is not None
            assert (line.result.outcome, bool(line.result.answer)) == ("answered", True)
            thinks = model.options.thinking not in (None, "off") and model.options.api != "chat"
            assert bool(line.result.thoughts) == thinks

    emulated.run(work)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_openai_keeps_an_answer_to_its_schema(emulator: EmulatorProcess, tmp_path: Path, api: str) -> None:
    emulated = EmulatedVendor("openai", emulator, tmp_path)
    schema = {
        "type": "object",
        "properties": {"better": {"type": "string", "enum": ["first", "second"]}},
        "required": ["better"],
        "additionalProperties": False,
    }
    model = msgspec.convert(
        {"provider": "openai", "name": "gpt-4.1", "options": {"json_schema": schema, "api": api}}, Model
    )

    async def work(provider: BatchConnection) -> None:
        assert emulated.format.problems(model) == []
        ended = await end_of(provider, await submit(provider, emulated.intent(emulated.asks(2, model))))
        for line in (await rows_of(emulated, provider, ended))["output"]:
            assert line.result is not None
            assert msgspec.json.decode(line.result.answer or "")["better"] in ("first", "second")

    emulated.run(work)


@pytest.mark.parametrize(
    "broken",
    [
        {"name": "gpt-5", "options": {"temperature": 0.0}},
        {"name": "o3", "options": {"stop": ["x"]}},
        {"name": "o3-pro", "options": {"api": "chat"}},
    ],
    ids=lambda one: one["name"],
)
def test_what_openai_calls_a_problem_the_emulator_refuses(
    emulator: EmulatorProcess, tmp_path: Path, broken: dict[str, Any]
) -> None:
    emulated = EmulatedVendor("openai", emulator, tmp_path)
    model = msgspec.convert({"provider": "openai", **broken}, Model)

    async def work(provider: BatchConnection) -> None:
        assert emulated.format.problems(model)
        ended = await end_of(provider, await submit(provider, emulated.intent(emulated.asks(1, model))))
        assert causes((await rows_of(emulated, provider, ended))["error"]) == {"invalid_request"}

    emulated.run(work)


def test_the_queue_limit_is_learned_from_the_refusal(tmp_path: Path) -> None:
    truth = TRUTH | {"limits": {"enqueued_tokens": {"*": 40}}}
    with EmulatorProcess(truth) as strict:
        emulated = EmulatedVendor("openai", strict, tmp_path)

        async def work(provider: BatchConnection) -> None:
            ended = await end_of(provider, await submit(provider, emulated.intent(emulated.asks(50))))
            assert ended.refusal is not None
            assert (ended.phase, ended.refusal.kind, ended.refusal.token_limit) == ("failed", "token_limit", 40)

        emulated.run(work)
