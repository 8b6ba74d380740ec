"""One rule for what a run is called, wherever the name comes from."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import overnight as on
from overnight.core.errors import StudyError
from overnight.core.names import check_run_name, name_problem, run_name_of

BAD = [
    "accounts.db",
    "ACCOUNTS.DB-wal",
    "../../x",
    "a/b",
    "a\nb",
    "a\tb",
    ".rehearsal",
    "",
    " ",
    "x" * 101,
    "é",
    "-v",
    "a\x00b",
]


def study(name: str = "fruit") -> on.Study:
    return on.Study(
        name=name, task="generate", items=[{"id": "1", "text": "a"}], prompt="{text}", models=["openai/gpt-4.1"]
    )


@pytest.mark.parametrize("name", BAD)
def test_every_way_to_name_a_run_is_held_to_it(tmp_path: Path, name: str) -> None:
    file = tmp_path / "file.jsonl"
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "a"}]}
    line = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": body}
    file.write_text(json.dumps(line) + "\n")
    runs = tmp_path / "runs"
    with pytest.raises(StudyError, match="cannot name a run"):
        on.run(study(name), runs=runs, emulate=True)
    for call in (
        lambda: on.run(study(), as_name=name, runs=runs, emulate=True),
        lambda: on.submit(study(), as_name=name, runs=runs, emulate=True),
        lambda: on.plan(study(), as_name=name, runs=runs, emulate=True),
        lambda: on.submit(file, provider="openai", as_name=name, runs=runs, emulate=True),
        lambda: on.adopt("openai", "batch_1", as_name=name, runs=runs, emulate=True),
    ):
        with pytest.raises(StudyError, match=r"--as: .* cannot name a run"):
            call()
    assert not runs.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["file.jsonl"]


@given(st.text())
def test_a_name_made_of_anything_names_a_run(text: str) -> None:
    assert name_problem(run_name_of(text)) is None
    assert check_run_name(run_name_of(text), "it") == run_name_of(text)


@pytest.mark.parametrize("name", ["r*", "r?", "r[ab]"])
def test_paths_are_no_patterns(tmp_path: Path, name: str) -> None:
    for folder, text in ((name, "one"), ("ra", "two")):
        runs = tmp_path / folder
        items = [{"id": text, "text": text}]
        done = on.run(
            on.Study(name="fruit", task="generate", items=items, prompt="{text}", models=["openai/gpt-4.1"]),
            runs=runs, emulate=True,
        )  # fmt: skip
        assert done.results()["item_id"].to_list() == [text]
    runs = tmp_path / name
    assert on.results("fruit", runs=runs, emulate=True)["item_id"].to_list() == ["one"]
    assert on.costs("fruit", runs=runs, emulate=True).height == 1


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_verdicts_are_read_from_one_file(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from overnight.cli.rank_pairs import _read

    for name, winner in (("a*", "x"), ("ab", "y")):
        frame = pl.DataFrame({"ID1": ["x"], "ID2": ["y"], "better_id": [winner]})
        path = tmp_path / f"{name}{ending}"
        writers = {
            ".csv": lambda frame=frame, path=path: frame.write_csv(path),
            ".tsv": lambda frame=frame, path=path: frame.write_csv(path, separator="\t"),
            ".jsonl": lambda frame=frame, path=path: frame.write_ndjson(path),
            ".parquet": lambda frame=frame, path=path: frame.write_parquet(path),
        }
        writers[ending]()
    assert _read(tmp_path / f"a*{ending}")["better_id"].to_list() == ["x"]
