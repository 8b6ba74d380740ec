"""Folders as SpecEval and its Together and Google scripts write them, and readers of them: made from their formats.

Readers know the documented fields and no others, and `flag` beside a verdict that is none.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

RULES = [
    {"id": "no_spam", "text": "Never advertise.", "type": "PROHIBITION", "authority_level": "PLATFORM", "section": "A"},
    {"id": "be_kind", "text": "Be kind.", "type": "GUIDELINE", "authority_level": "USER", "section": "B"},
]
BATCH = "batch_1"


def write_spec(folder: Path, rules: Any = RULES) -> Path:
    path = folder / "rules.jsonl"
    path.write_text("".join(json.dumps(rule) + "\n" for rule in rules), encoding="utf-8")
    return path


def batched(base: Path, model: str, answers: dict[str, list[tuple[str, Any]]], time: str = "20250506_115521") -> Path:
    """`<base>/<model>/<time>/{results/<statement>.json, metadata/<batch>.json, preprocessed/batch_input_<uuid>.jsonl}`."""
    folder = base / model / time
    for name in ("results", "metadata", "preprocessed"):
        (folder / name).mkdir(parents=True)
    prompts, lines = [], []
    for statement, pairs in answers.items():
        records = []
        for index, (asked, said) in enumerate(pairs):
            records.append({"original_index": index, "input_text": asked, "output_text": said, "batch_id": BATCH})
            prompts.append({"original_index": index, "statement_id": statement, "input_text": asked})
            body = {"model": model, "messages": [{"role": "user", "content": asked}]}
            lines.append({"custom_id": f"{statement}_{index}", "method": "POST", "url": "/v1/chat", "body": body})
        (folder / "results" / f"{statement}.json").write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    sent = folder / "preprocessed" / "batch_input_1d2c3b4a.jsonl"
    sent.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    known = {"batch_id": BATCH, "status": "completed", "original_prompts_data": prompts, "error_message": None}
    files = {
        "_internal_input_filepath": str(sent),
        "_internal_input_file_id": "file-1",
        "_internal_output_file_id": "f",
    }
    (folder / "metadata" / f"{BATCH}.json").write_text(json.dumps(known | files), encoding="utf-8")
    return folder / "results"


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


class Exactly(msgspec.Struct, forbid_unknown_fields=True):
    pass


class Generated(Exactly):
    original_index: int
    input_text: str
    output_text: str
    batch_id: str


class AtTogether(Exactly):
    statement_id: str
    original_index: int
    input_text: str
    output_text: str


class OfTogether(Exactly):
    metadata: dict[str, Any]
    results: list[AtTogether]


class Prompt(Exactly):
    original_index: int
    statement_id: str
    input_text: str


class SentBatch(msgspec.Struct):
    """A provider's own fields stand beside these."""

    batch_id: str
    status: Literal["processing", "completed", "failed", "unknown"]
    original_prompts_data: list[Prompt]


class Ranking(Exactly):
    input: str
    output_a: str
    output_b: str
    rank: Literal[1, -1, 0] | None
    raw_judge_response: str | None
    judge_custom_id_task: str
    provider_expected_custom_id: str
    flag: str | None = None


class RankingMetadata(Exactly):
    ranking_judge_model_info: dict[str, Any]
    model_a: str
    model_b: str
    org_spec_name: str
    statement_id: str
    batch_id: str
    timestamp: str


class Rankings(Exactly):
    metadata: RankingMetadata
    rankings: list[Ranking]


class Verdict(Exactly):
    input: str
    output: str
    compliant: bool | None
    confidence: float | None
    explanation: str | None
    flag: str | None = None


class VerdictMetadata(Exactly):
    model: str
    statement_id: str
    batch_ids: list[str]


class Verdicts(Exactly):
    metadata: VerdictMetadata
    results: list[Verdict]


T = TypeVar("T")


def read(path: Path, kind: type[T]) -> T:
    return msgspec.json.decode(path.read_bytes(), type=kind)


def read_rankings(base: Path, spec: str, judge: str) -> Iterator[tuple[Path, Rankings]]:
    """`<base>/spec_<spec>/judge_<judge>/<A>x<B>/results/<statement>.json`, each with its folder `<A>x<B>`."""
    for path in sorted(base.glob(f"spec_{spec}/judge_{judge}/*/results/*.json")):
        yield path.parents[1], read(path, Rankings)


def read_verdicts(base: Path, spec: str, judge: str) -> Iterator[tuple[Path, Verdicts]]:
    """`<base>/spec_<spec>/judge_<judge>/<model>/results/<statement>.json`."""
    for path in sorted(base.glob(f"spec_{spec}/judge_{judge}/*/results/*.json")):
        yield path.parents[1], read(path, Verdicts)
