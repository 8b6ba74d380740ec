"""Folders that were moved, emptied or damaged on the way: one line says what is wrong and what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from overnight.core.errors import OvernightError, StudyError
from overnight.pairwise.multi_batch import llm_resume_multi_batches
from pairwise.conftest import Notebook
from pairwise.r_folder import name_of, pairs_of_samples, write_folder
from pairwise.test_foreign_failures import WON, answer, held_together, resumed

PAIRS = pairs_of_samples(4)
HOMES = ["/home/somebody/r/", "C:\\Users\\Somebody\\My Runs\\", "\\\\server\\share\\", "old-run/", "../../etc/", ""]


def with_answers(folder: Path) -> None:
    rows = [answer(name_of(row, "openai"), WON) for row in PAIRS.iter_rows(named=True)]
    (folder / "batch_01_output.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("home", HOMES)
def test_files_are_found_beside_the_registry_wherever_it_was_made(notebook: Callable[..., Notebook], home: str) -> None:
    one = notebook()
    write_folder(one.folder, "openai", ["batch_1"], [PAIRS], done=[1], home=home)
    with_answers(one.folder)
    moved = one.folder.rename(one.folder.with_name("moved"))
    got = llm_resume_multi_batches(output_dir=moved, write_results_csv=True, write_registry=True)
    assert held_together(got, PAIRS) == (6, 0)
    assert (moved / "batch_01_results.csv").is_file()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / "batch_01_pairs.rds").unlink(), "batch_01_pairs.rds: no such file; give the pairs as `pairs`"),
        (lambda f: (f / "batch_01_pairs.rds").write_bytes(b"junk"), "batch_01_pairs.rds: not a table that R saved"),
        (lambda f: (f / "batch_01_pairs.rds").write_bytes(b""), "batch_01_pairs.rds: not"),
        (lambda f: (f / "jobs_registry.csv").unlink(), "there is no jobs_registry.csv in"),
        (lambda f: (f / "jobs_registry.csv").write_bytes(b""), "jobs_registry.csv: not a registry of batches"),
        (lambda f: (f / "jobs_registry.csv").write_bytes(b"\xff\xfe\x00"), "jobs_registry.csv: not UTF-8"),
        (lambda f: (f / "jobs_registry.csv").write_text("a,b\n1,2\n"), "there is no column 'segment_index'"),
        (lambda f: _registry(f, "x,openai,m,b,FALSE"), "jobs_registry.csv:2: segment_index: wanted a whole number"),
        (lambda f: _registry(f, "1,opnai,m,b,FALSE"), "jobs_registry.csv:2: provider 'opnai' is not known"),
        (lambda f: _registry(f, "1,openai,m,b,FALSE\n1,openai,m,c,FALSE"), "segment 1 is there twice"),
        (lambda f: _registry(f, ""), "there are no batches in it"),
        (
            lambda f: _registry(f, "1,openai,m,b,FALSE", ",pairs_path", ",pairs.parquet"),
            "the folder run/ that belongs to it is not here",
        ),
    ],
)
def test_a_damaged_folder_is_told_in_one_line(
    notebook: Callable[..., Notebook], spoil: Callable[[Path], object], words: str
) -> None:
    one = notebook()
    write_folder(one.folder, "openai", ["batch_1"], [PAIRS])
    spoil(one.folder)
    with pytest.raises(OvernightError) as told:
        one.resume()
    assert words in str(told.value)
    assert "\n" not in str(told.value)
    assert not list(one.folder.glob("segment-*"))


def _registry(folder: Path, rows: str, more: str = "", value: str = "") -> None:
    lines = "\n".join(row + value for row in rows.splitlines())
    (folder / "jobs_registry.csv").write_text(f"segment_index,provider,model,batch_id,done{more}\n{lines}\n")


def test_a_damaged_download_is_asked_for_again(notebook: Callable[..., Notebook]) -> None:
    """The provider is asked; where it has forgotten the batch too, that is said."""
    one = notebook()
    write_folder(one.folder, "openai", ["batch_nobody"], [PAIRS], done=[1])
    (one.folder / "batch_01_output.jsonl").write_text("<html>")
    with pytest.raises(StudyError, match="openai has no batch 'batch_nobody' in this account"):
        one.resume()


def test_other_names_for_the_ids_and_no_texts_will_do(notebook: Callable[..., Notebook]) -> None:
    one = notebook()
    write_folder(one.folder, "openai", ["batch_1"], [PAIRS], done=[1], rds=False)
    with_answers(one.folder)
    assert held_together(resumed(one, pairs=PAIRS.select(A_id="ID1", B_id="ID2")), PAIRS) == (6, 0)


def test_a_folder_of_ours_without_its_run_says_so(notebook: Callable[..., Notebook], few: pl.DataFrame) -> None:
    one = notebook()
    one.submit(few, write_registry=True)
    (one.folder / "run").rename(one.folder.parent / "elsewhere")
    with pytest.raises(StudyError, match="run/ that belongs to it is not here; bring it along"):
        one.resume()
