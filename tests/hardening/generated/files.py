"""The other files that people bring: prices, truths, `.env`, lists of batches, requests and answers of providers; rules, inputs, answers and prompts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hardening.conftest import STUDY
from hardening.generated.cases import Case
from hardening.generated.tables import damages, odd_places
from hardening.good_studies import GOOD as GOOD_STUDIES
from hardening.good_studies import write_files
from tasks.speceval_folders import RULES

_REQUEST = {
    "custom_id": "a",
    "method": "POST",
    "url": "/v1/chat/completions",
    "body": {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "Name a fruit."}]},
}
_ANSWER = {
    "id": "r",
    "custom_id": "a",
    "response": {
        "status_code": 200,
        "body": {"choices": [{"message": {"role": "assistant", "content": "pear"}, "finish_reason": "stop"}]},
    },
    "error": None,
}
_TRACKING = {"batches": [{"provider": "openai", "batch_id": "batch_1"}]}
_SAID = [{"original_index": 0, "input_text": "What is this?", "output_text": "That."}]
_PLAN = ("plan", "study.yaml")
# A good one of each kind, and a command that reads it and calls nobody.
GOOD: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "prices.yaml": (b"openai/gpt-4.1-mini: {input: 1, output: 2, batch: 0.5}\n", _PLAN),
    "truth.yaml": (b"seed: 7\nfaults: [{on: row, do: omit, times: 1}]\n", ("emulator", "--env", "--truth", "truth.yaml")),
    ".env": (b"OVERNIGHT_RUNS=elsewhere\nOPENAI_API_KEY=sk-0123456789abcdef\n", ("status",)),
    "tracking.json": (json.dumps(_TRACKING).encode(), ("adopt", "--from", "tracking.json", "--emulate", "--once")),
    "answers.jsonl": (json.dumps(_ANSWER).encode() + b"\n", ("adopt", "openai", "--output-file", "answers.jsonl")),
    "rules.jsonl": (b"".join(json.dumps(rule).encode() + b"\n" for rule in RULES), ("plan", "grade.yaml")),
    "inputs/no_spam.json": (b'{"inputs": ["What is this?", "And that?"]}', ("plan", "spec.yaml")),
    "prompts/no_spam.txt": (b"Hold answers to this rule.\n", ("plan", "grade.yaml", "--show", "1")),
    "one/20250506_115521/results/no_spam.json": (json.dumps(_SAID).encode(), ("plan", "grade.yaml")),
    "requests.jsonl": (json.dumps(_REQUEST).encode() + b"\n", ("submit", "requests.jsonl", "--provider", "nobody")),
}  # fmt: skip
_ODD: tuple[Any, ...] = (None, True, -1, 10**30, 0.5, "", "x" * 5_000, "\x1b[31m", [], [[]], {}, {"a": {}}, ["a", 1])


def files() -> Iterator[Case]:
    for file, (good, arguments) in GOOD.items():
        for name, raw in damages(good).items():
            yield Case(f"{file} {name}", _written(file, raw), arguments)
        for name, make in odd_places().items():
            yield Case(f"{file} is {name}", _placed(file, make), arguments)
        for name, raw in _edits(file, good):
            yield Case(f"{file} {name}", _written(file, raw), arguments)


def _edits(file: str, good: bytes) -> Iterator[tuple[str, bytes]]:
    """Every value of a file that is JSON, in its turn, replaced by something of another kind."""
    if not file.endswith((".json", ".jsonl")):
        return
    for number, whole in enumerate(_replaced(json.loads(good.splitlines()[0]))):
        yield f"with another value, {number}", json.dumps(whole).encode() + b"\n"


def _replaced(value: Any) -> Iterator[Any]:
    yield from _ODD
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: other} for other in _replaced(inner))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in _replaced(inner))


def _around(folder: Path) -> None:
    write_files(folder)
    for name in ("spec", "grade"):
        (folder / f"{name}.yaml").write_text(json.dumps(GOOD_STUDIES[name]))
    (folder / "study.yaml").write_text(json.dumps({**STUDY, "prices": "prices.yaml"}))


def _written(file: str, raw: bytes) -> Callable[[Path], None]:
    def arrange(folder: Path) -> None:
        _around(folder)
        (folder / file).write_bytes(raw)

    return arrange


def _placed(file: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def arrange(folder: Path) -> None:
        _around(folder)
        (folder / file).unlink(missing_ok=True)
        make(folder / file)

    return arrange
