"""A good study of every task, with the files that they name, to be spoiled a key at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hardening.conftest import ITEMS, STUDY
from tasks.speceval_folders import RULES, batched

_MODELS = ["openai/gpt-4.1"]
_ANSWERS = {rule["id"]: [(f"Ask {rule['id']} {n}?", f"Answer {n}.") for n in range(2)] for rule in RULES}
_JUDGED = {"name": "fruit", "spec": "rules.jsonl", "candidates": {"one": "one", "two": "two"}, "models": _MODELS}
_PRESSURE = {"task": "pressure", "items": "things.jsonl", "design": "escalation", "levels": 2, "models": _MODELS}
GOOD: dict[str, dict[str, Any]] = {
    "generate": STUDY,
    "spec": {"name": "fruit", "task": "generate", "spec": "rules.jsonl", "inputs": "inputs", "models": _MODELS},
    "compare": {"name": "fruit", "task": "compare", "items": "items.csv", "trait": "overall_quality", "models": _MODELS},
    "rank": {**_JUDGED, "task": "rank"},
    "comply": {**_JUDGED, "task": "comply"},
    "grade": {**_JUDGED, "task": "grade", "prompt_files": "prompts"},
    "inputs": {"name": "fruit", "task": "inputs", "spec": "rules.jsonl", "models": _MODELS, "judges": _MODELS, "n": 2},
    "pressure": {"name": "fruit", **_PRESSURE},
}  # fmt: skip
# A task that only comes after another: its keys are those of the last stage.
STAGED: dict[str, dict[str, Any]] = {
    "flips": {
        "name": "fruit",
        "stages": [{"name": "talk", **_PRESSURE}, {"name": "flips", "task": "flips", "of": "talk", "models": _MODELS}],
    },
}


def write_files(folder: Path) -> None:
    (folder / "items.csv").write_text(ITEMS)
    (folder / "things.jsonl").write_text(
        "".join(json.dumps({"id": str(n), "question": f"Is thing {n} safe?"}) + "\n" for n in range(3))
    )
    (folder / "rules.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in RULES))
    (folder / "inputs").mkdir(exist_ok=True)
    for statement, pairs in _ANSWERS.items():
        (folder / "inputs" / f"{statement}.json").write_text(json.dumps({"inputs": [asked for asked, _ in pairs]}))
    for model in ("one", "two"):
        batched(folder, model, _ANSWERS)  # type: ignore[arg-type]
    (folder / "prompts").mkdir(exist_ok=True)
    for statement in _ANSWERS:
        (folder / "prompts" / f"{statement}.txt").write_text("Hold answers to this rule.\n")
