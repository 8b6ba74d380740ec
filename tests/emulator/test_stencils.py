"""Lines that are cut by stencil are, byte for byte, the lines that are written in the ordinary way."""

from __future__ import annotations

import json
import random
import threading

import msgspec
import pytest

from overnight_emulator.batches.batch import Batch, Check, timeline
from overnight_emulator.batches.execution import Execution
from overnight_emulator.chance import Chance
from overnight_emulator.clock import Clock
from overnight_emulator.dialects.all import DIALECTS
from overnight_emulator.faults.armed import ArmedFaults
from overnight_emulator.faults.kinds import Fault
from overnight_emulator.store import Store
from overnight_emulator.truth import Answers, Truth

# It strikes nobody, and makes the emulator look at every row by itself.
WATCHED = (Fault("row", "error", row="nobody"),)
SCHEMA = {
    "type": "object",
    "properties": {"better": {"type": "string", "enum": ["A", "B"]}, "why": {"type": "string"}},
    "required": ["better", "why"],
    "additionalProperties": False,
}
PARAMETERS = {"type": "object", "properties": {"country": {"type": "string"}}, "required": ["country"]}
LONG = "Be careful, and say why. " * 250
TRUTHS = {
    "plain": Truth(),
    "strict": Truth(strict=True, seed=5),
    "odd answers": Truth(answers=Answers(refused=0.2, truncated=0.2, filtered=0.1), seed=9),
    "scripted": Truth(answer_with={"Number (\\d+)": 'It is 100%, \\1 ü\n"quoted"'}),
    "narrow": msgspec.structs.replace(
        Truth(strict=True), models=msgspec.structs.replace(Truth().models, context_tokens={"*": 600})
    ),
}


def said(draw: random.Random, number: int) -> str:
    return draw.choice(
        [
            f"Number {number}?",
            f'Number {number}: find country, please. Öl 100% "quoted" \u2028',
            f"Compare {number}. Say <BETTER>A</BETTER> or <BETTER>B</BETTER>.",
            f"{LONG} Number {number}",
            f"Answer {number} in JSON.",
            "",
            " ",
        ]
    )


def chat(draw: random.Random, number: int, model: str) -> dict[str, object]:
    messages = [{"role": "user", "content": said(draw, number)}]
    if draw.random() < 0.4:
        messages.insert(0, {"role": "system", "content": draw.choice(["Short.", LONG])})
    if draw.random() < 0.2:
        messages += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": said(draw, number)}]
    if draw.random() < 0.1:
        messages[-1]["content"] = [{"type": "text", "text": f"Number {number}"}]
    if draw.random() < 0.1:
        messages[-1]["name"] = f"anna{number % 2}"
    form = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}
    tool = {"type": "function", "function": {"name": "find_country", "parameters": PARAMETERS}}
    options = [
        *({}, {}, {}, {"temperature": 0.5}, {"max_tokens": 12}, {"stop": ["the"]}, {"n": 2}, {"logprobs": True}),
        *({"response_format": form}, {"response_format": {"type": "json_object"}}, {"tools": [tool]}, {"strange": 1}),
        *({"reasoning_effort": "low"}, {"metadata": {"row": str(number)}}, {"max_tokens": 0}, {"service_tier": "flex"}),
    ]
    return {"model": model, "messages": messages, **draw.choice(options)}


def message(draw: random.Random, number: int, model: str) -> dict[str, object]:
    body = chat(draw, number, model)
    messages = [one for one in body["messages"] if one["role"] != "system"]
    tool = {"name": "find_country", "input_schema": PARAMETERS}
    options = [
        *({}, {}, {}, {"temperature": 0.5}, {"max_tokens": 9}, {"stop_sequences": ["the"]}, {"tools": [tool]}),
        *(
            {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
            {"cache_control": {"type": "ephemeral"}},
        ),
        *({"thinking": {"type": "enabled", "budget_tokens": 1024}}, {"strange": 1}, {"max_tokens": None}),
    ]
    system = draw.choice([{}, {"system": "Short."}, {"system": LONG}, {"system": ""}])
    return {"model": model, "max_tokens": 2000, "messages": messages, **system, **draw.choice(options)}


def contents(draw: random.Random, number: int) -> dict[str, object]:
    turns = [{"role": "user", "parts": [{"text": said(draw, number)}]}]
    if draw.random() < 0.2:
        turns += [{"role": "model", "parts": [{"text": "Yes."}]}, {"role": "user", "parts": [{"text": "And now?"}]}]
    options = [
        *({}, {}, {}, {"generationConfig": {"maxOutputTokens": 9}}, {"generationConfig": {"stopSequences": ["the"]}}),
        *({"generationConfig": {"candidateCount": 2}}, {"generation_config": {"temperature": 0.4}}),
        *({"systemInstruction": {"parts": [{"text": LONG}]}}, {"strange": 1}),
        {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
        {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}},
    ]
    return {"contents": turns, **draw.choice(options)}


def openai_line(draw: random.Random, number: int) -> dict[str, object]:
    body = chat(draw, number, "gpt-4.1" if draw.random() < 0.7 else "gpt-5")
    return {"custom_id": f'r"{number}', "method": "POST", "url": "/v1/chat/completions", "body": body}


def xai_line(draw: random.Random, number: int) -> dict[str, object]:
    return {"batch_request_id": f"r{number}", "batch_request": {"chat_get_completion": chat(draw, number, "grok-4")}}


LINES = {
    "openai": openai_line,
    "azure": openai_line,
    "groq": openai_line,
    "together": lambda draw, number: {"custom_id": f"r{number}", "body": chat(draw, number, "Qwen/Qwen3-235B-A22B")},
    "fireworks": lambda draw, number: {"custom_id": f"r{number}", "body": chat(draw, number, "accounts/x/models/y")},
    "mistral": lambda draw, number: {"custom_id": f"r{number}", "body": chat(draw, number, "mistral-small-latest")},
    "xai": xai_line,
    "anthropic": lambda draw, number: {"custom_id": f"r{number}", "params": message(draw, number, "claude-haiku-4-5")},
    "gemini": lambda draw, number: {"key": f"r{number}", "request": contents(draw, number)},
    "vertex": lambda draw, number: {"id": f"r{number}", "request": contents(draw, number)},
    "bedrock": lambda draw, number: {
        "recordId": f"r{number}",
        "modelInput": {"messages": [{"role": "user", "content": [{"text": said(draw, number) or "a"}]}]},
    },
}
DETAILS = {"model": "gemini-2.5-flash", "embeds": False, "version": "2023-06-01", "in_order": False}


def run(folder, dialect: str, truth: Truth, lines: list[bytes], faults=()):
    """The two files, the tally and what was recorded of each run; with a count of the lines that a stencil gave."""
    store = Store(folder)
    batch = Batch(
        "batch_1", dialect, "/v1/chat/completions", "file-1", 0.0, 0.0, details=DETAILS, check=Check(60.0, digest="d")
    )
    store.save_batch(batch, is_open=True)
    store.input_of(batch.id).write_bytes(b"".join(lines))
    rows = next(one for one in DIALECTS if one.name == dialect).rows(truth)
    chance = Chance(truth.seed)
    armed = ArmedFaults(faults, store, chance, Clock(1.0, 0.0))
    execution = Execution(batch, timeline(batch), rows, store, armed, chance, threading.Event())
    cut = []
    execution._stencils.written = _counting(execution._stencils.written, cut)
    tally = execution.run()
    kept = [path.read_bytes() for path in (execution.output, execution.errors) if path.exists()]
    runs = store.rows_run(), store.rows_run_twice()
    store.close()
    return (kept, tally, runs), sum(cut)


def _counting(written, cut):
    def counted(row, row_id):
        found = written(row, row_id)
        cut.append(found is not None)
        return found

    return counted


@pytest.mark.parametrize("dialect", sorted(LINES))
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_same_lines(tmp_path, dialect, truth):
    draw = random.Random(f"{dialect} {truth}")
    lines = [json.dumps(LINES[dialect](draw, number)).encode() + b"\n" for number in range(400)]
    quick, cut = run(tmp_path / "quick", dialect, TRUTHS[truth], lines)
    ordinary, none = run(tmp_path / "ordinary", dialect, TRUTHS[truth], lines, WATCHED)
    assert none == 0
    assert quick == ordinary
    if dialect not in {"vertex", "bedrock"}:  # whose lines repeat the request, and are all written in the ordinary way
        assert cut > 40, f"only {cut} of 400 lines were cut by stencil"
