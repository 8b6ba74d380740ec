"""Folders that pairwiseLLM made: batches that R sent are collected here, joined by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import openai
import polars as pl
import pyreadr
import pytest

from overnight.core.errors import StudyError
from overnight.pairwise import build_prompt, make_pairs
from overnight.pairwise.multi_batch import llm_resume_multi_batches
from pairwise.conftest import ASKED, Notebook

TEXTS = {"stu_01": "An awful text.", "stu_02": "A bearable text.", "c": "A charming text."}
PAIRS = make_pairs([{"ID": name, "text": text} for name, text in TEXTS.items()])


def request(row: dict[str, str]) -> str:
    prompt = build_prompt(ASKED[2], *ASKED[:2], row["text1"], row["text2"])
    body = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": prompt}]}
    name = f"EXP_{row['ID1']}_vs_{row['ID2']}"
    return json.dumps({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body})


def sent_by_r(one: Notebook) -> list[str]:
    """Two batches at the provider that no run in the folder knows of; their ids."""
    ids = []
    with openai.OpenAI(api_key="sk-test", base_url=one.emulator.openai_url) as client:
        for number, part in enumerate((PAIRS[:2], PAIRS[2:]), 1):
            lines = "\n".join(request(row) for row in part.iter_rows(named=True)) + "\n"
            file = client.files.create(file=(f"part{number}.jsonl", lines.encode()), purpose="batch")
            batch = client.batches.create(
                input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
            )
            ids.append(batch.id)
    return ids


def write_registry(folder: Path, ids: list[str], *, rds: bool) -> None:
    folder.mkdir()
    rows = []
    for number, batch in enumerate(ids, 1):
        stem = f"batch_{number:02d}"
        files = [
            f"/home/somebody/r/{stem}_{kind}" for kind in ("input.jsonl", "output.jsonl", "results.csv", "pairs.rds")
        ]
        rows.append(["openai", "gpt-4.1-mini", batch, *files])
        if rds:
            pyreadr.write_rds(str(folder / f"{stem}_pairs.rds"), (PAIRS[:2] if number == 1 else PAIRS[2:]).to_pandas())
    header = "segment_index,provider,model,batch_id,batch_input_path,batch_output_path,csv_path,pairs_path,done"
    lines = [f"{number},{','.join(row)},{'TRUE' if number == 1 else 'FALSE'}" for number, row in enumerate(rows, 1)]
    (folder / "jobs_registry.csv").write_text("\n".join([header, *lines]) + "\n")


@pytest.mark.parametrize("rds", [True, False])
def test_a_registry_of_pairwisellm_is_resumed(notebook: Callable[..., Notebook], rds: bool) -> None:
    qualities = {text: 20.0 * place for place, text in enumerate(TEXTS.values())}
    one = notebook(qualities=qualities, judge={"noise": 0.1})
    write_registry(one.folder, sent_by_r(one), rds=rds)
    pairs = None if rds else PAIRS
    got = one.resume(write_registry=True, write_results_csv=True, write_combined_csv=True, pairs=pairs)
    assert got.combined is not None
    found = got.combined.select("ID1", "ID2", "better_id").sort("ID1", "ID2").rows()
    assert found == [("stu_01", "c", "c"), ("stu_01", "stu_02", "stu_02"), ("stu_02", "c", "c")]
    # The segment that R had marked as done is there as well.
    assert [job.results.height for job in got.jobs if job.results is not None] == [2, 1]
    assert pl.read_csv(one.folder / "jobs_registry.csv")["done"].all()
    assert pl.read_csv(one.folder / "combined_results.csv").height == 3
    again = llm_resume_multi_batches(output_dir=one.folder, pairs=pairs)
    assert again.combined is not None
    assert again.combined.equals(got.combined)


def test_pairs_that_cannot_be_found_are_asked_for(notebook: Callable[..., Notebook]) -> None:
    one = notebook()
    write_registry(one.folder, ["batch_1"], rds=False)
    with pytest.raises(StudyError, match=r"batch_01_pairs.rds: no such file; give the pairs as `pairs`"):
        one.resume()
