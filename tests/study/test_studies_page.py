"""docs/studies.md cannot fall behind: every key is in it, and every example in it works."""

import re
from pathlib import Path

import pytest

from overnight.study import (
    HANDED_ON,
    BatchSettings,
    Budget,
    Grid,
    GridRule,
    LiveSettings,
    ModelEntry,
    PollSettings,
    Study,
    TemplateEntry,
    resolve,
)
from overnight.study.document import parse_document
from overnight.study.phases import AfterEntry
from overnight.study.priority import PriorityEntry
from overnight.study.stage import WrittenStage
from overnight.study.study import DEFAULTS
from overnight.study.task_registry import task_kinds
from overnight.tasks._pairs.questions import Compare
from overnight.tasks._pairs.settings import PairsEntry, TraitEntry
from overnight.tasks._prompt_files import prompt_names
from overnight.tasks.generate import Generate
from study.writing import complaint

PAGE = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
YAML = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
PYTHON = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
BASE = {"name": "example", "task": "generate", "items": "essays.csv", "prompt": "{text}", "models": ["openai/gpt-4.1"]}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "essays.csv").write_text("ID,text,age\nS01,One essay.,9\nS02,Another.,8\n")
    (tmp_path / "mine.txt").write_text("Grade: {text}")
    (tmp_path / "pairs.csv").write_text("ID1,ID2\nS01,S02\n")
    (tmp_path / "chats.jsonl").write_text('{"ID": "a", "chat": [{"role": "user", "content": "hello"}]}\n')
    return tmp_path


STRUCTS = [WrittenStage, *(kind.settings for kind in task_kinds().values()), ModelEntry, Grid, GridRule]


@pytest.mark.parametrize(
    "keys",
    [DEFAULTS, *(struct.__struct_fields__ for struct in STRUCTS)],
    ids=["Study", *(struct.__name__ for struct in STRUCTS)],
)
def test_every_key_is_explained(keys):
    for key in keys:
        assert f"`{key}`" in PAGE, key


@pytest.mark.parametrize(
    ("prefix", "struct"),
    [
        ("batch", BatchSettings),
        ("live", LiveSettings),
        ("poll", PollSettings),
        ("budget", Budget),
        ("pairs", PairsEntry),
        ("after", AfterEntry),
        ("priority", PriorityEntry),
    ],
)
def test_every_inner_key_is_explained(prefix, struct):
    for field in struct.__struct_fields__:
        assert f"`{prefix}.{field}`" in PAGE, field


@pytest.mark.parametrize("name", HANDED_ON)
def test_all_that_is_handed_on_is_explained(name):
    section = PAGE.partition("## Stages")[2].partition("## Budget")[0]
    assert re.search(rf"^\| (`\w+`, )*`{name}`(, `\w+`)* \|", section, re.MULTILINE)


def test_templates_and_columns_are_explained():
    for entry in (TemplateEntry, TraitEntry):
        assert "`{" + ", ".join(entry.__struct_fields__) + "}`" in PAGE
    for task in (Generate, Compare):
        section = PAGE.partition(f"## The task `{task.name}`")[2]
        for column in task.columns:
            assert re.search(rf"^\| (`\w+`, )*`{column}`(, `\w+`)* \|", section, re.MULTILINE), column


@pytest.mark.parametrize("name", [*prompt_names("compare"), *prompt_names("traits")])
def test_all_that_ships_is_named(name):
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("example", YAML, ids=[example.split("\n")[0] for example in YAML])
def test_every_example_is_a_study(folder, example):
    """What is no whole study is a part of one."""
    value, origin = parse_document(example, "studies.md", folder)
    if "name" not in value:
        without = {"prompt"} if value.keys() & {"templates", "messages"} else set()
        value = {key: one for key, one in BASE.items() if key not in without} | value
    if "system" in value:
        assert "{age}" in value["system"]
    first, *others = resolve(Study.from_mapping(value, origin)).stages
    assert list(first.task.start(first.items(), 0))
    earlier = {first.name}
    for stage in others:
        assert stage.of in earlier or (stage.after is not None and stage.after.stage in earlier)
        earlier.add(stage.name)


@pytest.mark.parametrize("example", PYTHON)
def test_every_program_runs(example):
    names = {}
    exec(example, names)
    stage = resolve(names["study"]).stages[0]
    assert len(list(stage.task.start(stage.items(), 0))) == len(stage.arms) * len(list(stage.items()))


HEAD = "name: a\ntask: generate\nitems: essays.csv\nprompt: x\n"


@pytest.mark.parametrize(
    "models", ["modles: []\n", "models:\n  - openai/gpt-4.1\n  - model: openai/gpt-5\n    temperature: 3\n"]
)
def test_the_page_shows_real_complaints(tmp_path, monkeypatch, models):
    monkeypatch.chdir(tmp_path)
    Path("essay.yaml").write_text(HEAD + models)
    assert f"    {complaint(lambda: Study.load('essay.yaml'))}\n" in PAGE
