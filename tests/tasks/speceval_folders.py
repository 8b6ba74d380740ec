"""Folders as SpecEval and its Together and Google scripts write them, and readers of them: made from their formats.

Readers know the documented fields and no others, and `flag` beside a verdict that is none.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

RULES = [
    {"id": "no_spam", "text": "Never advertise.", "type": "PROHIBITION", "authority_level": "PLATFORM", "section": "A"},
    {"id": "be_kind", "text": "Be kind.", "type": "GUIDELINE", "authority_level": "USER", "section": "B"},
]
BATCH = "batch_1"
URL = "/v1/chat/completions"
TIME_STAMP = re.compile(r"\d{8}_\d{6}")


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
            lines.append({"custom_id": f"{statement}_{index}", "method": "POST", "url": URL, "body": body})
        (folder / "results" / f"{statement}.json").write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    sent = folder / "preprocessed" / "batch_input_1d2c3b4a.jsonl"
    sent.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    known = {"batch_id": BATCH, "status": "completed", "original_prompts_data": prompts, "error_message": None}
    files = {
        "_internal_input_filepath": str(sent),
        "_internal_input_file_id": "file-1",
        "_internal_output_file_id": "file-2",
        "_internal_error_file_id": None,
        "_internal_openai_status": "completed",
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
    input_file: str = msgspec.field(name="_internal_input_filepath")


class SentLine(Exactly):
    """As OpenAI has it; other vendors' lines have forms of their own."""

    custom_id: str
    method: Literal["POST"]
    url: str
    body: dict[str, Any]


class Generations(NamedTuple):
    """One run's folder: answers by statement, and what was sent, by batch."""

    folder: Path
    results: dict[str, list[Generated]]
    batches: dict[str, SentBatch]
    lines: dict[str, list[SentLine]]


class Ranking(Exactly):
    input: str
    output_a: str
    output_b: str
    rank: Literal[1, -1, 0] | None
    raw_judge_response: str | None
    judge_custom_id_task: str
    provider_expected_custom_id: str
    flag: str | None = None


class RankedBatch(msgspec.Struct):
    batch_id: str
    status: Literal["processing", "completed", "failed", "unknown"]
    original_ranking_tasks_data: list[dict[str, Any]]


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


def read_generations(base: Path, spec: str, model: str) -> Generations:
    """The one run in `<base>/<spec>/<model>/<time>/`: files are found as the format names them, or as they name each other."""
    (folder,) = (base / spec / model).iterdir()
    assert TIME_STAMP.fullmatch(folder.name)
    results = {path.stem: read(path, list[Generated]) for path in (folder / "results").glob("*.json")}
    batches = {path.stem: read(path, SentBatch) for path in (folder / "metadata").glob("*.json")}
    lines = {}
    for name, batch in batches.items():
        assert batch.batch_id == name
        sent = Path(batch.input_file)
        assert re.fullmatch(r"batch_input_.+\.jsonl", sent.name)
        assert (folder / "preprocessed" / sent.name).samefile(sent)
        lines[name] = [msgspec.json.decode(line, type=SentLine) for line in sent.read_bytes().splitlines()]
    assert {row.batch_id for rows in results.values() for row in rows} == batches.keys()
    return Generations(folder, results, batches, lines)


def read_raw(folder: Path, batch: str) -> dict[str, str | None]:
    """What a judge said in one batch, by `judge_custom_id_task`: `<A>x<B>/raw/batch_<id>_raw_judge_output.json`.

    The metadata of the same batch lie in `<A>x<B>/metadata/batch_ranking_meta_<id>.json`.
    """
    kept = read(folder / "metadata" / f"batch_ranking_meta_{batch}.json", RankedBatch)
    assert (kept.batch_id, kept.status) == (batch, "completed")
    raw = read(folder / "raw" / f"batch_{batch}_raw_judge_output.json", dict[str, str | None])
    assert len(kept.original_ranking_tasks_data) == len(raw)
    return raw


def read_rankings(base: Path, spec: str, judge: str) -> Iterator[tuple[Path, Rankings]]:
    """`<base>/spec_<spec>/judge_<judge>/<A>x<B>/results/<statement>.json`, each with its folder `<A>x<B>`."""
    for path in sorted(base.glob(f"spec_{spec}/judge_{judge}/*/results/*.json")):
        yield path.parents[1], read(path, Rankings)


def read_verdicts(base: Path, spec: str, judge: str) -> Iterator[tuple[Path, Verdicts]]:
    """`<base>/spec_<spec>/judge_<judge>/<model>/results/<statement>.json`."""
    for path in sorted(base.glob(f"spec_{spec}/judge_{judge}/*/results/*.json")):
        yield path.parents[1], read(path, Verdicts)
