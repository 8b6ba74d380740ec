"""Rows of a run in SpecEval's layouts, so that its analyses and other tools can go on with them.

Written from the tables and the stage's own items; the same command writes the same files again. What is no
answer is `ERROR: ...`, as its readers know it; what is no verdict is null there, never a tie or a "no".
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from overnight.core.ask import Item
from overnight.core.errors import StudyError
from overnight.core.stage import Stage
from overnight.providers import batch_format, vendor
from overnight.tasks._judging.answer_pairs import answers_of, pair_at
from overnight.tasks._specs.file_names import apart, as_name

_RANKS = {"first": 1, "second": -1, "tie": 0, "none": 0}


class Target(NamedTuple):
    """Where an export goes: a folder, and the name of the specification in it."""

    base: Path
    spec: str


class _Rows:
    """The rows of one stage, by item, and the batches they came with."""

    def __init__(self, tables: Path, stage: str) -> None:
        import polars as pl  # noqa: PLC0415 - a third of a second that only its users wait for

        self.rows = (
            pl.read_parquet(tables / "results.parquet", glob=False)
            .filter((pl.col("stage") == stage) & (pl.col("replicate") == 0))
            .to_dicts()
        )
        tries = pl.read_parquet(tables / "attempts.parquet", glob=False)
        used = tries.filter(pl.col("used")).select("request_key", "batch_id", "custom_id")
        self.batches = {key: (batch or "live", custom or "") for key, batch, custom in used.iter_rows()}
        begun = tries["submitted_at"].drop_nulls().min()
        # When the run was first sent: the same whenever it is written.
        self.time = str(begun or "1970-01-01T00:00:00Z")
        self.stamp = self.time[:19].replace("-", "").replace(":", "").replace("T", "_")

    def batch_of(self, row: Mapping[str, Any]) -> str:
        return self.batches.get(row["request_key"], ("", ""))[0]


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    part.replace(path)


def said(row: Mapping[str, Any] | None) -> str:
    """The answer, or why there is none."""
    if row is None or row["status"] != "answered" or row["answer"] is None:
        why = "pending" if row is None else row["cause"] or row["status"]
        return f"ERROR: {why}"
    return str(row["answer"])


def export_generations(tables: Path, stage: Stage, model: str, target: Target, *, together: bool) -> Iterator[str]:
    """`<base>/<spec>/<model>/<time>/`: results by statement with metadata by batch, or Together's one file."""
    found = _Rows(tables, stage.name)
    rows = {row["item_id"]: row for row in found.rows if row["turn"] == 0}
    items = list(stage.items() if stage.items is not None else ())
    records = [
        {
            "statement_id": item.fields["statement_id"],
            "original_index": item.fields["input_index"],
            "input_text": item.fields["input"],
            "output_text": said(rows.get(item.id)),
            "batch_id": found.batch_of(rows[item.id]) if item.id in rows else "",
        }
        for item in items
    ]
    folder = target.base / as_name(target.spec) / as_name(model) / found.stamp
    if together:
        metadata = {"model_name": model, "spec": target.spec, "timestamp": found.time, "total_prompts": len(records)}
        kept = [{key: value for key, value in one.items() if key != "batch_id"} for one in records]
        _write(folder / "results.json", {"metadata": metadata, "results": kept})
    else:
        for statement, mine in _by_statement(records).items():
            plain = [
                {key: one[key] for key in ("original_index", "input_text", "output_text", "batch_id")} for one in mine
            ]
            _write(folder / "results" / f"{as_name(statement)}.json", plain)
        _write_batches(folder, stage, items, records)
    bad = sum(one["output_text"].startswith("ERROR: ") for one in records)
    yield f"{folder}: {len(records):,} answers" + (f", {bad:,} of them errors" if bad else "")


def _by_statement(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in records:
        found.setdefault(one["statement_id"], []).append(one)
    _check_statements(found)
    return {statement: sorted(mine, key=lambda one: one["original_index"]) for statement, mine in found.items()}


def _check_statements(names: Iterable[str]) -> None:
    """Files bear statements' names: one of them must not be written over another."""
    seen: dict[str, str] = {}
    for statement in names:
        other = seen.setdefault(as_name(statement).casefold(), statement)
        if other != statement:
            message = f"the statements '{other}' and '{statement}' would have one file name; no files were written"
            raise StudyError(message)


def _write_batches(folder: Path, stage: Stage, items: list[Item], records: list[dict[str, Any]]) -> None:
    """One metadata file and one input file for each batch, as it was sent but for the custom ids."""
    arm = stage.arms[0]
    seller = vendor(arm.model.provider)
    asks = {ask.item: ask for ask in stage.task.start(items, stage.seed) if ask.replicate == 0 and ask.arm == arm}
    for batch in dict.fromkeys(one["batch_id"] for one in records if one["batch_id"]):
        of_batch = [(item, one) for item, one in zip(items, records, strict=True) if one["batch_id"] == batch]
        prompts = [{key: one[key] for key in ("original_index", "statement_id", "input_text")} for _, one in of_batch]
        failed = all(one["output_text"].startswith("ERROR: ") for _, one in of_batch)
        metadata: dict[str, Any] = {
            "batch_id": batch,
            "status": "failed" if failed else "completed",
            "original_prompts_data": prompts,
        }
        if batch != "live":
            lines = b"".join(
                batch_format(seller).line(arm.model, item.id, seller.format.encode(asks[item.id])) + b"\n"
                for item, _ in of_batch
            )
            path = folder / "preprocessed" / f"batch_input_{as_name(batch)}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(lines)
            metadata["_internal_input_filepath"] = str(path)
        _write(folder / "metadata" / f"{as_name(batch)}.json", metadata)


def export_rankings(tables: Path, stage: Stage, target: Target) -> Iterator[str]:
    """`<base>/spec_<spec>/judge_<judge>/<A>x<B>/{metadata,raw,results}`, for every ordered pair of candidates."""
    found = _Rows(tables, stage.name)
    items = {item.id: item.fields for item in (stage.items() if stage.items is not None else ())}
    rows = [row for row in found.rows if row["verdict"] is not None]
    _check_statements(dict.fromkeys(str(row["statement_id"]) for row in rows))
    groups = _by_judge(rows, "first_id", "second_id")
    for folder, ((_, judge, _, _), (first, second)), mine in _placed(groups, target):
        for statement, some in _grouped(mine, "statement_id").items():
            ranked = sorted((_ranking(row, items, found) for row in some), key=lambda one: one["input"])
            metadata = {
                "ranking_judge_model_info": {"model_name": judge},
                "model_a": first,
                "model_b": second,
                "org_spec_name": target.spec,
                "statement_id": statement,
                "batch_id": ", ".join(sorted({found.batch_of(row) for row in some})),
                "timestamp": found.time,
            }
            _write(folder / "results" / f"{as_name(statement)}.json", {"metadata": metadata, "rankings": ranked})
        for batch, some in _grouped(mine, lambda row: found.batch_of(row) or "live").items():
            tasks = [{"item_id": row["item_id"], "statement_id": row["statement_id"]} for row in some]
            kept = {"batch_id": batch, "status": "completed", "original_ranking_tasks_data": tasks}
            _write(folder / "metadata" / f"batch_ranking_meta_{as_name(batch)}.json", kept)
            said = {row["item_id"]: row["answer"] for row in some}
            _write(folder / "raw" / f"batch_{as_name(batch)}_raw_judge_output.json", said)
    told = f"{len(found.rows):,} verdicts on {len({names for _, names in groups}):,} ordered pairs"
    yield f"{target.base / f'spec_{as_name(target.spec)}'}: {told}"


def _grouped(rows: Iterable[dict[str, Any]], by: Any) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(str(by(row) if callable(by) else row[by]), []).append(row)
    return found


def _ranking(row: Mapping[str, Any], items: Mapping[str, Mapping[str, Any]], found: _Rows) -> dict[str, Any]:
    pair = pair_at(row["item_id"])
    fields = items.get(pair.item, {})
    answers = answers_of(fields)
    ranking = {
        "input": str(fields.get("input", "")),
        "output_a": answers.get((row["first_id"], pair.replicate)),
        "output_b": answers.get((row["second_id"], pair.replicate)),
        "rank": _RANKS.get(row["verdict"]) if row["parsed"] else None,
        "raw_judge_response": row["answer"],
        "judge_custom_id_task": row["item_id"],
        "provider_expected_custom_id": found.batches.get(row["request_key"], ("", ""))[1],
    }
    # What is neither a win nor a tie is told: a reader that counts noughts would take it for a tie.
    flag = row["verdict"] if row["parsed"] else row["verdict"] if row["status"] == "answered" else row["status"]
    return ranking if flag in {"first", "second", "tie"} else ranking | {"flag": flag}


def export_judgements(tables: Path, stage: Stage, target: Target) -> Iterator[str]:
    """`<base>/spec_<spec>/judge_<judge>/<candidate>/results/<statement>.json`."""
    found = _Rows(tables, stage.name)
    items = {item.id: item.fields for item in (stage.items() if stage.items is not None else ())}
    graded = stage.task.name == "grade"
    rows = [row for row in found.rows if row["candidate"] is not None]
    _check_statements(dict.fromkeys(str(row["statement_id"]) for row in rows))
    for folder, (_, (candidate,)), mine in _placed(_by_judge(rows, "candidate"), target):
        for statement, some in _grouped(mine, "statement_id").items():
            batches = sorted({found.batch_of(row) for row in some} - {""})
            metadata = {"model": candidate, "statement_id": statement, "batch_ids": batches}
            ordered = sorted(some, key=lambda row: row["input_index"] or 0)
            results = [_judgement(row, items.get(row["item_id"], {}), graded=graded) for row in ordered]
            _write(folder / "results" / f"{as_name(statement)}.json", {"metadata": metadata, "results": results})
    yield f"{target.base / f'spec_{as_name(target.spec)}'}: {len(found.rows):,} verdicts"


# A judge: whose it is, its model, its template and its thinking; and the candidates that it speaks of.
_Judge = tuple[str, str, str, str]
_Judged = tuple[_Judge, tuple[str, ...]]


def _by_judge(rows: Iterable[dict[str, Any]], *candidates: str) -> dict[_Judged, list[dict[str, Any]]]:
    """Judges that differ in anything but the direction are apart."""
    found: dict[_Judged, list[dict[str, Any]]] = {}
    for row in rows:
        judge = (row["provider"], row["model"], row["template"], row["thinking"])
        found.setdefault((judge, tuple(row[name] for name in candidates)), []).append(row)
    return found


def _placed(
    groups: Mapping[_Judged, list[dict[str, Any]]], target: Target
) -> Iterator[tuple[Path, _Judged, list[dict[str, Any]]]]:
    """Each group with a folder of its own, `judge_<model>/<candidate>` or `<A>x<B>`, whatever names are made of."""
    judges = list(dict.fromkeys(judge for judge, _ in groups))
    candidates = list(dict.fromkeys(names for _, names in groups))
    judge_folders = dict(zip(judges, apart([f"judge_{judge[1]}" for judge in judges]), strict=True))
    folders = dict(zip(candidates, apart(["x".join(map(as_name, names)) for names in candidates]), strict=True))
    base = target.base / f"spec_{as_name(target.spec)}"
    for group, rows in groups.items():
        judge, names = group
        yield base / judge_folders[judge] / folders[names], group, rows


def _judgement(row: Mapping[str, Any], fields: Mapping[str, Any], *, graded: bool) -> dict[str, Any]:
    known = row["score"] is not None
    verdict = (
        {"rating": int(row["score"]) if known else None}
        if graded
        else {"compliant": bool(row["score"]) if known else None}
    )
    told = {"input": fields.get("input"), "output": fields.get("answer"), **verdict}
    told |= {"confidence": row["confidence"], "explanation": row["explanation"]}
    return told if known else told | {"flag": row["label"] if row["status"] == "answered" else row["status"]}
