"""Wrong input of every kind: one clear line, the right exit code, and nothing left behind."""

from __future__ import annotations

import json

import pytest

import overnight
from hardening.conftest import STUDY, Shell, Spoil
from overnight.core.errors import StudyError

WRONG_STUDIES: list[tuple[str, Spoil, list[str]]] = [
    ("missing items", lambda d: (d.folder / "items.csv").unlink(), ["study.yaml:1:", "items.csv: no such file"]),
    ("empty items", lambda d: d.items(""), ["items.csv:1:", "name the columns"]),
    ("a header and no items", lambda d: d.items("id,text\n"), ["items.csv", "no items"]),
    ("an item with no text", lambda d: d.items("id,text\n1,\n"), ["items.csv:2", "'1'", "empty"]),
    ("two items with one id", lambda d: d.items("id,text\n1,a\n2,b\n1,c\n"), ["items.csv:4", "'1'", "items.csv:2"]),
    ("a ragged table", lambda d: d.items("id,text\n1,a,b\n"), ["items.csv:2", "3 fields where the header has 2"]),
    ("an open quote", lambda d: d.items('id,text\n1,"abc\n2,x\n'), ["items.csv:2", "never closed"]),
    ("items in Latin-1", lambda d: d.items(b"id,text\n1,caf\xe9\n"), ["items.csv:2", "0xe9", "save the file as UTF-8"]),
    ("no such column", lambda d: d.study(prompt="About {txt}"), ["{txt}", "columns are id, text", "'text'"]),
    ("an unknown key", lambda d: d.study(promt="x"), ["study.yaml:1:", "'promt'", "did you mean 'prompt'?"]),
    ("an unknown provider", lambda d: d.study(models=["opnai/gpt-4.1"]), ["models[0]", "'opnai'", "'openai'"]),
    (
        "an unknown option of a model",
        lambda d: d.study(models=[{"model": "openai/gpt-4.1", "temprature": 1}]),
        ["models[0]", "'temprature'", "did you mean 'temperature'?"],
    ),
    (
        "an option that the model refuses",
        lambda d: d.study(models=[{"model": "openai/o3", "temperature": 0.3}]),
        ["temperature", "o3"],
    ),
    ("an unknown task", lambda d: d.study(task="genrate"), ["'genrate'", "did you mean 'generate'?"]),
    (
        "two ways of cutting",
        lambda d: d.study(batch={"max_requests": 5, "segments": 2}),
        ["max_requests", "segments", "exclude each other"],
    ),
    ("broken YAML", lambda d: d.study(b"name: fruit\n  task: [x\n"), ["study.yaml:2:7", "not YAML"]),
    ("brackets without end", lambda d: d.study(b"[" * 100_000), ["study.yaml:1:101", "nested too deeply"]),
    ("a key twice", lambda d: d.study(b"name: a\nname: b\n"), ["study.yaml:2:1", "duplicate key 'name'", "line 1"]),
    ("an empty study", lambda d: d.study(b""), ["study.yaml", "empty"]),
    ("a list for a study", lambda d: d.study(b"- a\n"), ["study.yaml:1:1", "found a list"]),
    ("a study in Latin-1", lambda d: d.study(b"name: caf\xe9\n"), ["study.yaml:1", "0xe9", "UTF-8"]),
    ("a name that leaves the folder", lambda d: d.study(name="../evil"), ["name", "'../evil'", "cannot name a run"]),
    ("a number for text", lambda d: d.study(prompt=3), ["prompt", "wanted text", "the number 3"]),
    ("no models", lambda d: d.study(models=[]), ["models"]),
    ("half a character", lambda d: d.study(prompt="\ud800 {text}"), ["study.yaml:1:", "surrogate"]),
]


@pytest.mark.parametrize(
    ("spoil", "told"), [case[1:] for case in WRONG_STUDIES], ids=[case[0] for case in WRONG_STUDIES]
)
@pytest.mark.parametrize("verb", ["run", "plan"])
def test_a_wrong_study_is_refused_in_one_line(shell: Shell, verb: str, spoil: Spoil, told: list[str]) -> None:
    spoil(shell)
    ending = shell.type(verb, "study.yaml")
    assert ending.code == 2, ending
    assert ending.out == ""
    for words in told:
        assert words in ending.complaint
    assert shell.left() == []


def test_a_refused_rehearsal_leaves_nothing_either(shell: Shell) -> None:
    shell.items("id,text\n1,a\n2,b\n1,c\n")
    assert "ids must be unique" in shell.type("run", "study.yaml", "--emulate").complaint
    assert shell.left() == []


def test_a_refused_study_takes_nothing_with_it(shell: Shell) -> None:
    theirs = shell.folder / "runs" / "fruit" / "notes.txt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("mine")
    shell.items("id,text\n1,a\n2,b\n1,c\n")
    assert shell.type("run", "study.yaml").code == 2
    assert theirs.read_text() == "mine"


def test_a_missing_study(shell: Shell) -> None:
    ending = shell.type("run", "nothing.yaml")
    assert (ending.code, ending.err) == (2, "overnight: nothing.yaml: no such file\n")
    assert shell.left() == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run",), "STUDY is missing"),
        (("run", "study.yaml", "--limt", "3"), "did you mean '--limit'?"),
        (("run", "study.yaml", "--limit", "0"), "--limit: 0 is not"),
        (("run", "study.yaml", "--limit", "many"), "--limit"),
        (("run", "study.yaml", "--timeout", "soon"), "--timeout: 'soon' is not a duration"),
        (("rnu", "study.yaml"), "did you mean 'run'?"),
        (("resume", "fruit"), "no run 'fruit'"),
        (("results", "fruit"), "no run 'fruit'"),
        (("rebuild", "fruit"), "no run 'fruit'"),
        (("status", "fruit"), "no run 'fruit'"),
        (("resume",), "no runs in runs yet"),
        (("submit", "study.yaml", "--provider", "openai"), "--provider is for a ready-made .jsonl file"),
    ],
)
def test_wrong_use_is_told_in_one_line(shell: Shell, arguments: tuple[str, ...], told: str) -> None:
    ending = shell.type(*arguments)
    assert ending.code == 2
    assert told in ending.complaint
    assert shell.left() == []


def test_a_plan_of_no_rows_is_refused(shell: Shell) -> None:
    with pytest.raises(StudyError, match="--limit: 0 is not a number of rows above 0"):
        overnight.plan(shell.folder / "study.yaml", limit=0)


def test_a_byte_order_mark_is_no_mistake(shell: Shell) -> None:
    shell.study(b"\xef\xbb\xbf" + json.dumps(STUDY).encode())
    shell.items(b"\xef\xbb\xbfid,text\r\n1,apples\r\n")
    ending = shell.type("plan", "study.yaml", "--json")
    assert ending.code == 0
    assert sum(arm["requests"] for arm in json.loads(ending.out)["arms"]) == 1


def test_enormous_rows_are_planned(shell: Shell) -> None:
    shell.items("id,text\n1," + "x" * 3_000_000 + "\n2,y\n")
    ending = shell.type("plan", "study.yaml", "--json")
    assert ending.code == 0
    assert sum(arm["requests"] for arm in json.loads(ending.out)["arms"]) == 2


def test_a_field_that_is_probably_a_mistake_is_named(shell: Shell) -> None:
    shell.items("id,text\n1,y\nbig," + "x" * (65 << 20) + "\n")
    ending = shell.type("run", "study.yaml")
    assert ending.code == 2
    assert "items.csv:3" in ending.complaint
