"""A folder as pairwiseLLM leaves it: batches at a provider, a registry, its own files of inputs, outputs and pairs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import anthropic
import openai
import polars as pl
import pyreadr
import requests

from overnight.pairwise import build_prompt, make_pairs
from pairwise.conftest import ASKED, Notebook

MODELS = {"openai": "gpt-4.1-mini", "anthropic": "claude-haiku-4-5", "gemini": "gemini-2.5-flash"}
PREFIXES = {"openai": "EXP", "anthropic": "ANTH", "gemini": "GEM"}
KEY = "sk-test-0123456789abcdefghijklmnop"


def pairs_of_samples(count: int) -> pl.DataFrame:
    """Samples `stu_00` and on, each better than the one before it."""
    rows = [{"ID": f"stu_{n:02d}", "text": f"A text of quality {n:02d}."} for n in range(count)]
    return make_pairs(rows)


def truth(count: int) -> dict[str, Any]:
    """The later sample of a pair is always the better one, so a row that is joined wrongly shows."""
    return {"qualities": {f"A text of quality {n:02d}.": 20.0 * n for n in range(count)}, "judge": {"noise": 0.1}}


def prompt_of(row: dict[str, str]) -> str:
    return build_prompt(ASKED[2], *ASKED[:2], row["text1"], row["text2"])


def name_of(row: dict[str, str], provider: str) -> str:
    return f"{PREFIXES[provider]}_{row['ID1']}_vs_{row['ID2']}"


def sent_by_r(one: Notebook, provider: str, pairs: pl.DataFrame) -> str:
    """A batch at the provider that no run in the folder knows of; its id."""
    rows = list(pairs.iter_rows(named=True))
    return {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini}[provider](one, rows)


def _openai(one: Notebook, rows: Sequence[dict[str, str]]) -> str:
    lines = [
        {
            "custom_id": name_of(row, "openai"),
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": MODELS["openai"], "messages": [{"role": "user", "content": prompt_of(row)}]},
        }
        for row in rows
    ]
    with openai.OpenAI(api_key=KEY, base_url=one.emulator.openai_url) as client:
        body = "".join(json.dumps(line) + "\n" for line in lines)
        file = client.files.create(file=("input.jsonl", body.encode()), purpose="batch")
        made = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
        return made.id


def _anthropic(one: Notebook, rows: Sequence[dict[str, str]]) -> str:
    asked: list[Any] = [
        {
            "custom_id": name_of(row, "anthropic"),
            "params": {
                "model": MODELS["anthropic"],
                "max_tokens": 768,
                "messages": [{"role": "user", "content": prompt_of(row)}],
            },
        }
        for row in rows
    ]
    with anthropic.Anthropic(api_key=KEY, base_url=f"{one.emulator.url}/anthropic") as client:
        return client.messages.batches.create(requests=asked).id


def gemini_request(row: dict[str, str]) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": prompt_of(row)}]}]}


def _gemini(one: Notebook, rows: Sequence[dict[str, str]]) -> str:
    """In place, and without keys."""
    asked = [{"request": gemini_request(row)} for row in rows]
    body = {"batch": {"display_name": "pairwiseLLM", "input_config": {"requests": {"requests": asked}}}}
    made = requests.post(
        f"{one.emulator.url}/gemini/v1beta/models/{MODELS['gemini']}:batchGenerateContent",
        json=body,
        headers={"x-goog-api-key": KEY},
        timeout=30,
    )
    made.raise_for_status()
    return str(made.json()["name"])


def write_folder(
    folder: Path,
    provider: str,
    ids: Sequence[str | None],
    parts: Sequence[pl.DataFrame],
    *,
    done: Iterable[int] = (),
    rds: bool = True,
    inputs: bool = False,
    home: str = "/home/somebody/r/",
) -> None:
    """The registry and, where wanted, the files of pairs and of inputs."""
    folder.mkdir(exist_ok=True)
    header = "segment_index,provider,model,batch_id,batch_input_path,batch_output_path,csv_path,pairs_path,done"
    lines = [header]
    for number, (batch, part) in enumerate(zip(ids, parts, strict=True), 1):
        stem = f"batch_{number:02d}"
        kinds = ("input.jsonl", "output.jsonl", "results.csv", "pairs.rds")
        files = [f"{home}{stem}_{kind}" for kind in kinds]
        flag = "TRUE" if number in set(done) else "FALSE"
        lines.append(",".join([str(number), provider, MODELS[provider], batch or "NA", *files, flag]))
        if rds:
            pyreadr.write_rds(str(folder / f"{stem}_pairs.rds"), part.to_pandas())
        if inputs and provider == "gemini":
            asked = [
                {
                    "custom_id": name_of(row, provider),
                    "ID1": row["ID1"],
                    "ID2": row["ID2"],
                    "request": gemini_request(row),
                }
                for row in part.iter_rows(named=True)
            ]
            (folder / f"{stem}_input.jsonl").write_text(json.dumps({"requests": asked}, indent=2))
    (folder / "jobs_registry.csv").write_text("\n".join(lines) + "\n")
