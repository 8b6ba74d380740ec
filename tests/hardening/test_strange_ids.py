"""Ids of every kind come back as they went, each with the answer to its own question."""

from __future__ import annotations

import csv
import json

import polars as pl
import pytest

from emulator_process import EmulatorProcess
from hardening.conftest import STUDY, Shell
from overnight import Study
from overnight.core.errors import StudyError
from overnight.study import resolve

STRANGE = [
    "plain",
    "two\nlines",
    "carriage\rreturn",
    "tab\there",
    'quo"te',
    "apo'strophe",
    "com,ma",
    "back\\slash",
    "per%cent",
    "hash#mark",
    "brace{text}",
    "slash/../dots",
    "😀",
    "e\u0301 combining",
    "\u200bzero width",
    "\u202eright to left",
    "bell\x07",
    "\ufeffbom",
    "NA",
    "null",
    "true",
    "0042",
    "1e5",
    "\uff41 wide",
    "x" * 300,
    "\U0010ffff",
    "o" + "a" * 20 + "-0",
]


def test_strange_ids_survive_the_whole_way(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (json.dumps({"id": name, "text": f"mark{number:03d}end"}) for number, name in enumerate(STRANGE))
    (shell.folder / "items.jsonl").write_text("\n".join(lines) + "\n")
    shell.study(items="items.jsonl", batch={"max_requests": 7}, prompt="About {text}")
    with EmulatorProcess({"time_scale": 20000, "latency": {"batch": [60, 600], "live": [0, 0]}}) as emulator:
        monkeypatch.setenv("OPENAI_BASE_URL", emulator.openai_url)
        ending = shell.type("run", "study.yaml")
    assert ending.code == 0, ending
    table = pl.read_parquet(shell.folder / "runs" / "fruit" / "tables" / "results.parquet")
    answers = dict(zip(table["item_id"], table["answer"], strict=True))
    assert set(answers) == set(STRANGE)
    for number, name in enumerate(STRANGE):
        assert f"mark{number:03d}end" in answers[name]
    for ending_of_file in ("csv", "jsonl"):
        written = shell.folder / f"out.{ending_of_file}"
        assert shell.type("results", "fruit", "-o", str(written)).code == 0
    told = json.loads(shell.type("results", "fruit", "--json").out)
    assert [row["item_id"] for row in told] == table["item_id"].to_list()
    assert all(one.isprintable() or one == "\n" for one in shell.type("results", "fruit").out)
    with (shell.folder / "out.csv").open(newline="", encoding="utf-8") as rows:
        assert [row["item_id"] for row in csv.DictReader(rows)] == table["item_id"].to_list()


ZERO = "nul\x00byte"


def test_a_zero_byte_in_an_id_is_refused(shell: Shell) -> None:
    """PostgreSQL keeps none: in its place stands another character, and two ids may become one."""
    for name, text in {
        "items.jsonl": f'{{"id": "ok", "text": "a"}}\n{json.dumps({"id": ZERO, "text": "b"})}\n',
        "items.csv": f"id,text\nok,a\n{ZERO},b\n",
    }.items():
        (shell.folder / name).write_text(text)
        shell.study(items=name)
        for verb in ("plan", "run"):
            ending = shell.type(verb, "study.yaml")
            assert ending.code == 2
            assert f"{name}, " in ending.complaint or f"{name}:" in ending.complaint
            assert r"the id 'nul\x00byte' has a zero byte (U+0000) in it" in ending.complaint, ending
    assert shell.left() == ["items.jsonl"]
    with pytest.raises(StudyError, match="zero byte"):
        resolve(Study(**{**STUDY, "items": pl.DataFrame({"id": [ZERO], "text": ["a"]})}))


def test_a_zero_byte_in_the_id_of_a_ready_made_line_is_refused(shell: Shell) -> None:
    line = {"method": "POST", "url": "/v1/chat/completions", "body": {"model": "gpt-4.1", "messages": []}}
    (shell.folder / "theirs.jsonl").write_text(json.dumps({"custom_id": ZERO, **line}) + "\n")
    assert "theirs.jsonl:1: the id" in shell.type("submit", "theirs.jsonl", "--provider", "openai").complaint
    answer = {"custom_id": ZERO, "response": {"status_code": 200, "body": {"choices": []}}}
    (shell.folder / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    told = shell.type("adopt", "openai", "--output-file", "answers.jsonl").complaint
    assert r"answers.jsonl:1: the id 'nul\x00byte' has a zero byte" in told
    assert shell.left() == ["answers.jsonl", "theirs.jsonl"]
