"""Every complaint about a study, in a file and in a program."""

import copy
import math
import pickle
from pathlib import Path

import polars as pl
import pytest

from overnight.core.errors import StudyError, UnknownName
from overnight.study import BatchSettings, Grid, ModelEntry, PollSettings, Study, TemplateEntry
from overnight.study.stage import WrittenStage
from overnight.study.study import DEFAULTS, Header
from study.writing import ITEMS, a_study, complaint, write

WANTED_ITEMS = "a file, a folder of .txt, a polars or pandas frame, or a list of mappings"
NAMES = "up to 100 letters, digits, dots, dashes and underscores, the first a letter or digit"


def test_a_file_and_a_program_say_the_same(tmp_path):
    path = write(
        tmp_path,
        """
        name: essay
        task: generate
        items: essays.csv
        id: ID
        templates: [a.txt, {name: b, text: "{text}"}]
        system: Be kind.
        models:
          - openai/gpt-4.1
          - {model: gpt-5.1, thinking: [off, high], max_tokens: 2048}
        grid: {exclude: [{model: openai/gpt-5.1, thinking: off}]}
        replicates: 2
        seed: 7
        dedupe: false
        mode: batch
        batch: {segments: 3}
        poll: {interval_seconds: 5}
        timeout: 2h
        turns: ["Sure?"]
        gather: 5m
        budget: 0.5
        prices: prices.yaml
        """,
    )
    loaded = Study.load(path)
    made = Study(
        name="essay",
        task="generate",
        items="essays.csv",
        id="ID",
        templates=["a.txt", {"name": "b", "text": "{text}"}],
        system="Be kind.",
        models=["openai/gpt-4.1", {"model": "gpt-5.1", "thinking": ["off", "high"], "max_tokens": 2048}],
        grid={"exclude": [{"model": "openai/gpt-5.1", "thinking": "off"}]},
        replicates=2,
        seed=7,
        dedupe=False,
        batch={"segments": 3},
        poll={"interval_seconds": 5},
        timeout="2h",
        turns=["Sure?"],
        gather="5m",
        budget=0.5,
        prices="prices.yaml",
    )
    for field in (*DEFAULTS, "templates", "turns", "prompt", "messages"):
        assert getattr(loaded, field) == getattr(made, field), field
    assert loaded.origin.folder == tmp_path


def test_fields_may_be_structs_and_paths():
    study = a_study(
        prompt=None,
        templates=(Path("a.txt"), TemplateEntry(name="b", text="x")),
        models=(ModelEntry(model="openai/gpt-4.1", temperature=1),),
        grid=Grid(),
        batch=BatchSettings(max_requests=5),
        poll=PollSettings(per_job_delay=0),
        timeout=90,
    )
    assert study.batch == BatchSettings(max_requests=5)


def test_a_study_does_not_change():
    with pytest.raises(AttributeError):
        a_study().name = "other"
    assert a_study().replace(name="other").name == "other"
    assert a_study().replace(prompt="Other {text}").prompt == "Other {text}"
    assert "invalid name" in complaint(lambda: a_study().replace(name="invalid name"))


def test_every_field_has_one_right_type():
    of_stages = {*WrittenStage.__struct_fields__} - {"of", "when", "take", "group", "after"}
    rest = {"stages", "budget"}
    assert {*DEFAULTS} == of_stages | {*Header.__struct_fields__} | rest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, f"name: the text '' cannot name a run; wanted {NAMES}"),
        ({"name": "../up"}, f"name: the text '../up' cannot name a run; wanted {NAMES}"),
        ({"name": ".hidden"}, f"name: the text '.hidden' cannot name a run; wanted {NAMES}"),
        ({"name": "a" * 101}, f"name: the text '{'a' * 40}...' cannot name a run; wanted {NAMES}"),
        ({"name": "a\n"}, f"name: the text 'a\\n' cannot name a run; wanted {NAMES}"),
        ({"name": 7}, "name: wanted text, found the number 7; put it in quotes"),
        ({"name": {"a": 1}}, "name: wanted text, found a mapping"),
        ({"task": ["generate"]}, "task: wanted text, found a list"),
        ({"items": 7}, f"items: wanted {WANTED_ITEMS}, found int"),
        ({"items": {"a": 1}}, f"items: wanted {WANTED_ITEMS}, found dict"),
        ({"items": b"a.csv"}, f"items: wanted {WANTED_ITEMS}, found bytes"),
        ({"items": pl.LazyFrame({"a": [1]})}, f"items: wanted {WANTED_ITEMS}, found LazyFrame"),
        ({"empty": "leave"}, "empty: wanted allow or skip, found 'leave'"),
        ({"id": ""}, "id: wanted the name of a column"),
        ({"id": 1}, "id: wanted text, found the number 1; put it in quotes"),
        ({"system": " "}, "system: the text is empty"),
        ({"prompt": ""}, "prompt: the text is empty"),
        ({"prompt": "\ud800"}, "prompt: half a character (a lone surrogate) cannot be sent"),
        ({"models": []}, "models: at least one model is needed"),
        ({"models": "openai/gpt-4.1"}, "models: wanted a list, found the text 'openai/gpt-4.1'"),
        ({"models": [7]}, "models[0]: wanted text or a mapping, found the number 7; put it in quotes"),
        ({"models": [{"temperature": 1}]}, "models[0]: `model` is missing"),
        ({"grid": []}, "grid: wanted a mapping, found a list"),
        ({"replicates": 0}, "replicates: 0 is not between 1 and 100,000"),
        ({"replicates": -1}, "replicates: -1 is not between 1 and 100,000"),
        ({"replicates": 1.5}, "replicates: wanted a whole number, found the number 1.5"),
        ({"replicates": True}, "replicates: wanted a whole number, found true"),
        ({"seed": -1}, "seed: -1 is less than 0"),
        ({"seed": "1_000"}, "seed: wanted a whole number, found the text '1_000'"),
        ({"dedupe": "no"}, "dedupe: wanted true or false, found the text 'no'"),
        ({"seed": 2**63}, "seed: 9223372036854775808 does not fit into 64 bits"),
        ({"name": b"essay"}, "name: a value of type bytes cannot be written in a study"),
        ({"mode": "btach"}, "mode: wanted batch, live, auto, found 'btach'; did you mean 'batch'?"),
        ({"live": {"rpm": 0}}, "live.rpm: 0 is not more than 0"),
        ({"deadline": 0}, "deadline: 0 is no time at all; write something like 12h"),
        (
            {"deadline": "tomorrow"},
            "deadline: 'tomorrow' is neither; wanted a duration such as 12h, or a time such as 2026-11-20T08:00",
        ),
        ({"spill": {"before": "2h"}}, "spill: is for `mode: auto`; this study's mode is batch"),
        ({"mode": "auto", "spill": {"before": "2h"}}, "spill: needs a `deadline` to spill before"),
        (
            {"mode": "auto", "deadline": "9h", "spill": {"before": -1}},
            "spill.before: -1 is less than 0 seconds",
        ),
        (
            {"mode": "auto", "deadline": "9h", "spill": {"max_cost": 0}},
            "spill.max_cost: 0 is not more than 0 dollars",
        ),
        ({"live": {"rps": 1}}, "live: unknown key 'rps'; did you mean 'rpm'?"),
        ({"live": {"concurrency": 1.5}}, "live.concurrency: wanted a whole number, found the number 1.5"),
        ({"batch": 5}, "batch: wanted a mapping, found the number 5"),
        (
            {"batch": {"max_requests": 1, "segments": 1}},
            "batch: `max_requests` and `segments` exclude each other; keep one of them",
        ),
        ({"batch": {"max_requests": 0}}, "batch.max_requests: 0 is less than 1"),
        ({"batch": {"segments": -2}}, "batch.segments: -2 is less than 1"),
        ({"batch": {"segments": 2.5}}, "batch.segments: wanted a whole number, found the number 2.5"),
        (
            {"batch": {"max_requests": 50, "min_requests": 100}},
            "batch.min_requests: 100 is more than `max_requests`, which is 50",
        ),
        ({"batch": {"size": 1}}, "batch: unknown key 'size'"),
        ({"poll": {"interval_seconds": 0}}, "poll.interval_seconds: 0 is not more than 0 seconds"),
        ({"poll": {"interval_seconds": math.inf}}, "poll.interval_seconds: inf is no number that can be sent"),
        ({"poll": {"per_job_delay": -1}}, "poll.per_job_delay: -1 is less than 0 seconds"),
        ({"poll": {"interval": 1}}, "poll: unknown key 'interval'; did you mean 'interval_seconds'?"),
        (
            {"timeout": "soon"},
            "timeout: 'soon' is not a duration; wanted seconds or something like 90s, 10m, 1h30m, 2d",
        ),
        ({"timeout": 0}, "timeout: 0 seconds is no time at all; write something like 90s, 10m, 24h"),
        ({"timeout": math.nan}, "timeout: nan is no number that can be sent"),
        ({"timeout": True}, "timeout: wanted a number or text, found true"),
        ({"gather": -1}, "gather: -1 is less than 0 seconds"),
        (
            {"gather": "a while"},
            "gather: 'a while' is not a duration; wanted seconds or something like 90s, 10m, 1h30m, 2d",
        ),
        ({"batch": {"segments": object()}}, "batch: a value of type object cannot be written in a study"),
        ({"prompt": None}, "wanted one of `prompt`, `templates` and `messages`, found none of them"),
        ({"messages": "chat"}, "wanted one of `prompt`, `templates` and `messages`, found prompt and messages"),
        ({"templates": ["a.txt"]}, "wanted one of `prompt`, `templates` and `messages`, found prompt and templates"),
        ({"prompt": None, "messages": ""}, "messages: wanted the name of a column"),
        ({"prompt": None, "templates": []}, "templates: the list is empty"),
        ({"prompt": None, "templates": [""]}, "templates[0]: the text is empty"),
        ({"prompt": None, "templates": [{"name": "a"}]}, "templates[0]: `text` is missing"),
        ({"prompt": None, "templates": [{"name": "", "text": "x"}]}, "templates[0].name: the text is empty"),
        ({"prompt": None, "templates": [{"name": "a", "text": "\n"}]}, "templates[0].text: the text is empty"),
        (
            {"prompt": None, "templates": [{"name": "a", "txt": "x"}]},
            "templates[0]: unknown key 'txt'; did you mean 'text'?",
        ),
    ],
)
def test_what_is_wrong_is_said(changes, message):
    assert complaint(lambda: a_study(**changes)) == f"study: {message}"


def test_a_value_that_holds_itself_is_said():
    extra = {}
    extra["again"] = extra
    models = [{"model": "openai/gpt-4.1", "extra": extra}]
    assert complaint(lambda: a_study(models=models)) == "study: models: nested too deeply"


def test_an_unknown_task_is_offered_the_nearest():
    wanted = "study: task: unknown task 'generat'; did you mean 'generate'? (known: compare, "
    assert complaint(lambda: a_study(task="generat"), UnknownName).startswith(wanted)


HEAD = "name: essay\ntask: generate\nitems: essays.csv\nprompt: '{text}'\nmodels:\n  - openai/gpt-4.1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD.replace("models:", "modles:"), "5:1: unknown key 'modles'; did you mean 'models'?"),
        (
            HEAD + "  - {model: a, temprature: 1}\n",
            "7:16: models[1]: unknown key 'temprature'; did you mean 'temperature'?",
        ),
        (
            HEAD + "  - {model: a, temperature: hot}\n",
            "7:29: models[1].temperature: wanted a number, found the text 'hot'",
        ),
        (HEAD + "  - model: a\n    temperature: 3\n", "8:18: models[1].temperature: 3 is not between 0 and 2"),
        (HEAD + "  - temperature: 1\n", "7:5: models[1]: `model` is missing"),
        (HEAD + "replicates:\n", "7:12: replicates: wanted a whole number, found nothing"),
        (
            HEAD + "batch: {max_requests: 1, segments: 2}\n",
            "7:8: batch: `max_requests` and `segments` exclude each other; keep one of them",
        ),
        (HEAD + "grid: {include: [{modl: x}]}\n", "7:19: grid.include[0]: unknown key 'modl'; did you mean 'model'?"),
        (HEAD + "origin: here\n", "7:1: unknown key 'origin'"),
        (HEAD.replace("models:\n  - openai/gpt-4.1\n", ""), "1:1: `models` is missing"),
        (HEAD.replace("name: essay\n", ""), "1:1: `name` is missing"),
        ("- a\n- b\n", "1:1: wanted keys such as name, task, items and models, found a list"),
        ("essay\n", "1:1: wanted keys such as name, task, items and models, found the text 'essay'"),
        (HEAD + "task: generate\n", "7:1: duplicate key 'task', first given in line 2"),
    ],
)
def test_a_file_is_answered_with_line_and_column(tmp_path, text, message):
    path = write(tmp_path, text)
    assert complaint(lambda: Study.load(path)) == f"{path}:{message}"


@pytest.mark.parametrize("key", ["of", "when", "take"])
def test_keys_of_listed_stages_are_shown_their_place(tmp_path, key):
    path = write(tmp_path, HEAD + f"{key}: answers\n")
    wanted = f"{path}:7:1: `{key}` is for a stage of a list; write it under `stages`"
    assert complaint(lambda: Study.load(path)) == wanted


def test_a_mapping_is_answered_with_where_it_came_from():
    fields = {"name": "essay", "task": "generate", "items": ITEMS, "prompt": "{text}", "models": ["openai/gpt-4.1"]}
    assert Study.from_mapping(fields, "flags").items is ITEMS
    assert (
        complaint(lambda: Study.from_mapping(fields | {"promt": 1}, "flags"))
        == "flags: unknown key 'promt'; did you mean 'prompt'?"
    )
    assert complaint(lambda: Study.from_mapping(fields | {7: 1})) == "study: unknown key '7'"
    assert complaint(lambda: Study.from_mapping(fields | {"seed": -1}, "flags")).startswith("flags: seed: ")
    assert (
        complaint(lambda: Study.from_mapping(None))
        == "study: wanted keys such as name, task, items and models, found nothing"
    )


def test_a_missing_file_is_said(tmp_path):
    assert (
        complaint(lambda: Study.load(str(tmp_path / "no.yaml")), StudyError) == f"{tmp_path / 'no.yaml'}: no such file"
    )


def test_a_study_shows_what_was_written():
    shown = repr(a_study())
    assert shown.startswith("Study(name='essay', task='generate'")
    assert "origin=Origin('study')" in shown


def test_a_program_is_offered_the_nearest_key():
    fields = {"task": "generate", "items": ITEMS, "prompt": "{text}", "models": ["openai/gpt-4.1"]}
    assert complaint(lambda: Study(nme="essay", **fields)) == "study: unknown key 'nme'; did you mean 'name'?"
    assert complaint(lambda: Study(name="essay", pairz={}, **fields)) == (
        "study: unknown key 'pairz'; did you mean 'pairs'?"
    )
    assert complaint(lambda: Study(**fields)) == "study: `name` is missing"
    wanted = "study: `of` is for a stage of a list; write it under `stages`"
    assert complaint(lambda: Study(name="essay", of="a", **fields)) == wanted


def test_a_study_has_the_keys_of_its_task():
    study = a_study()
    assert (study.prompt, study.turns, study.replicates) == ("Grade: {text}", None, 1)
    with pytest.raises(AttributeError, match="a study has no 'trait'"):
        _ = study.trait
    again = pickle.loads(pickle.dumps(copy.copy(a_study(turns=["Sure?"]))))
    assert again.turns == ["Sure?"]
