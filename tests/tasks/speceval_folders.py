"""Folders as SpecEval and its Together and Google scripts write them, made from their documented formats."""

import json
from pathlib import Path
from typing import Any

RULES = [
    {"id": "no_spam", "text": "Never advertise.", "type": "PROHIBITION", "authority_level": "PLATFORM", "section": "A"},
    {"id": "be_kind", "text": "Be kind.", "type": "GUIDELINE", "authority_level": "USER", "section": "B"},
]


def write_spec(folder: Path, rules: Any = RULES) -> Path:
    path = folder / "rules.jsonl"
    path.write_text("".join(json.dumps(rule) + "\n" for rule in rules), encoding="utf-8")
    return path


def batched(base: Path, model: str, answers: dict[str, list[tuple[str, Any]]], time: str = "20250506_115521") -> Path:
    """`<base>/<model>/<time>/results/<statement>.json`."""
    folder = base / model / time / "results"
    folder.mkdir(parents=True)
    for statement, pairs in answers.items():
        records = [
            {"original_index": index, "input_text": asked, "output_text": said, "batch_id": "batch_1"}
            for index, (asked, said) in enumerate(pairs)
        ]
        (folder / f"{statement}.json").write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    return folder


def together(base: Path, model: str, answers: dict[str, list[tuple[str, Any]]], time: str = "20250506_120000") -> Path:
    """`<base>/<model>/<time>/results.json`."""
    folder = base / model / time
    folder.mkdir(parents=True)
    records = [
        {"statement_id": statement, "original_index": index, "input_text": asked, "output_text": said}
        for statement, pairs in answers.items()
        for index, (asked, said) in enumerate(pairs)
    ]
    whole = {"metadata": {"model_name": model}, "results": records}
    (folder / "results.json").write_text(json.dumps(whole), encoding="utf-8")
    return folder
