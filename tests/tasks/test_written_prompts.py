"""One judge prompt for each statement: whose they are, where they lie, and what is refused before anything is sent."""

import json
from pathlib import Path

import polars as pl
import pytest

from overnight.core.ask import Item
from overnight.study import Study, resolve
from overnight.study.identity import differences
from overnight.study.origin import Origin
from overnight.tasks._judging.judging import Grade
from overnight.tasks._judging.written_prompts import read_prompt_files
from study.writing import complaint
from tasks.speceval_folders import batched

RULES = [
    {"id": name, "text": f"Mind {name}.", "type": "GUIDELINE", "authority_level": "USER"}
    for name in ("no_spam", "be_kind", "Ünïcode x/y")
]
WRITING = {"name": "writing", "task": "generate", "spec": "rules.jsonl", "templates": ["judge_prompt"]}
WRITING |= {"models": ["openai/gpt-4.1"]}
ANSWERS = {"name": "answers", "task": "generate", "spec": "rules.jsonl", "models": ["openai/gpt-4.1-nano"]}
ANSWERS |= {"inputs": [{"statement_id": rule["id"], "input": "Well?"} for rule in RULES]}
GRADES = {"name": "grades", "task": "grade", "of": "answers", "models": ["openai/gpt-4.1-mini"]}

AGAIN = {"name": "again", "task": "generate", "of": "writing", "prompt": "{answer}", "models": ["openai/gpt-4.1"]}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in RULES))


def resolved(*stages):
    return resolve(Study(name="s", stages=list(stages)))


def test_statements_are_items_and_a_shipped_template_asks_for_a_judge_prompt():
    writing = resolved(WRITING).stages[0]
    items = list(writing.items())
    assert [item.id for item in items] == [rule["id"] for rule in RULES]
    asked = [ask.messages[-1].content for ask in writing.task.start(items, 0)]
    assert all(rule["text"] in text for rule, text in zip(RULES, asked, strict=True))
    assert all("{" not in text for text in asked)


def test_a_stages_prompts_go_with_the_answers_of_their_statement():
    grades = resolved(WRITING, ANSWERS, {**GRADES, "prompts": "writing"}).stages[-1]
    assert (grades.beside.stage, grades.beside.by, grades.beside.field) == ("writing", "statement_id", "judge_prompt")
    assert [arm.template for arm in grades.arms] == ["written"]


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([{**GRADES, "prompts": "writng"}], "prompts: there is no stage 'writng'; did you mean 'writing'?"),
        ([{**GRADES, "prompts": "grades"}], "prompts: a stage cannot take its own rows"),
        ([{**GRADES, "prompts": "later"}, {**WRITING, "name": "later"}], "prompts: 'later' comes later"),
        ([{**GRADES, "prompts": "answers"}], "'answers' has no item 'no_spam'"),
        (
            [{**WRITING, "name": "two", "replicates": 2}, {**GRADES, "prompts": "two"}],
            "prompts: 'two' says 2 things about each item; one model, asked once, is wanted",
        ),
        (
            [AGAIN, {**GRADES, "prompts": "again"}],
            "prompts: 'again' takes the rows of another stage; name one with items of its own",
        ),
        (
            [{**GRADES, "prompts": "writing", "templates": [{"name": "own", "text": "{answer}"}]}],
            "template 'own' does not show {judge_prompt}, the judge prompt",
        ),
        (
            [{**GRADES, "templates": [{"name": "own", "text": "{answer} {judge_prompt}"}]}],
            "template 'own' asks for {judge_prompt}, which is no column of the items",
        ),
        ([{**GRADES, "prompts": "writing", "prompt_files": "x"}], "leave one of the two out"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_sent(stages, message):
    assert message in complaint(lambda: resolved(WRITING, ANSWERS, *stages))


def test_statements_that_nobody_writes_a_prompt_for_are_named():
    Path("fewer.jsonl").write_text(json.dumps(RULES[0]) + "\n")
    study = resolved({**WRITING, "spec": "fewer.jsonl"}, ANSWERS, {**GRADES, "prompts": "writing"})
    wanted = "grades: 'writing' has nothing for 2 of 3 values of `statement_id`, whose rows are left out: be_kind, "
    assert any(note.startswith(wanted) for note in study.stages[-1].notes)


def test_prompts_of_a_stage_need_the_answers_of_a_stage():
    batched(Path("made"), "one", {"no_spam": [("Well?", "Yes.")]})
    found = complaint(
        lambda: Study(
            name="s", task="grade", spec="rules.jsonl", candidates=["made/one"], prompts="w", models=["openai/gpt-4.1"]
        )
    )
    assert "for `candidates` name files with `prompt_files`" in found


def written(**prompts):
    folder = Path("prompts")
    folder.mkdir(exist_ok=True)
    for name, text in prompts.items():
        (folder / f"{name}.txt").write_text(text)
    return str(folder)


def of_folders(**more):
    made = Path("made")
    if not made.exists():
        for model in ("one", "two"):
            batched(made, model, {"no_spam": [("Well?", f"{model} A")], "be_kind": [("So?", f"{model} B")]})
    folders = [f"made/{name}" for name in ("one", "two")]
    base = {"name": "s", "task": "grade", "spec": "rules.jsonl", "models": ["openai/gpt-4.1-mini"]}
    return resolve(Study(candidates=folders, **{**base, **more}))


def test_prompts_in_files_are_shown_by_statement_and_what_has_none_is_counted():
    (stage,) = of_folders(prompt_files=written(no_spam="Look for offers.")).stages
    asks = list(stage.task.start(stage.items(), 0))
    assert len(asks) == 2
    assert all(ask.messages[-1].content.startswith("Look for offers.") for ask in asks)
    assert stage.task.left_out == {"one": {"no prompt": 1}, "two": {"no prompt": 1}}
    assert any(note.startswith("2 of 3 statements have no prompt, and are not judged: be_kind") for note in stage.notes)
    again = Grade.from_spec(stage.arms, stage.task.spec())
    assert [ask.messages for ask in again.start(stage.items(), 0)] == [ask.messages for ask in asks]


def test_prompts_may_be_a_table_or_the_results_of_a_run():
    pl.DataFrame({"statement_id": ["be_kind"], "prompt": ["Look for warmth."]}).write_csv("prompts.csv")
    rows = {"item_id": ["be_kind", "no_spam"], "status": ["answered", "failed"], "answer": ["Look for warmth.", None]}
    pl.DataFrame(rows).write_parquet("results.parquet")
    for table in ("prompts.csv", "results.parquet"):
        (stage,) = of_folders(prompt_files=table).stages
        shown = [ask.messages[-1].content for ask in stage.task.start(stage.items(), 0)]
        assert len(shown) == 2
        assert all(text.startswith("Look for warmth.") for text in shown)


def test_rank_and_comply_take_them_too():
    (rank,) = of_folders(task="rank", prompt_files=written(no_spam="Look for offers.")).stages
    assert len(list(rank.task.start(rank.items(), 0))) == 2
    assert rank.task.left_out == {"one": {"no prompt": 1}, "two": {"no prompt": 1}}
    (comply,) = of_folders(task="comply", prompt_files="prompts").stages
    assert len(list(comply.task.start(comply.items(), 0))) == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"statement_id": "no_spm", "prompt": "x"}], "'no_spm' is no statement of the spec; did you mean 'no_spam'?"),
        ([{"statement_id": "no_spam", "prompt": " "}], "the column 'prompt' is empty"),
        ([{"statement_id": "no_spam", "prompt": "x"}] * 2, "'no_spam' has a prompt already; one for each is wanted"),
        ([{"statement_id": "no_spam", "promt": "x"}], "has no column 'prompt'; the columns are statement_id, promt"),
    ],
)
def test_what_is_wrong_with_prompts_in_a_table_is_told(rows, message):
    pl.DataFrame(rows).write_csv("prompts.csv")
    assert message in complaint(lambda: of_folders(prompt_files="prompts.csv"))


def test_prompts_may_come_but_not_change_or_go():
    before = of_folders(prompt_files=written(no_spam="Look for offers.")).definition
    more = of_folders(prompt_files=written(be_kind="Look for warmth.")).definition
    assert differences(before, more) == []
    assert differences(more, before) == ["prompt_files: the prompt of 'be_kind' is gone"]
    other = of_folders(prompt_files=written(no_spam="Look closer.")).definition
    assert differences(more, other) == ["prompt_files: the prompt of 'no_spam' changed"]
    plain = of_folders().definition
    assert "prompt_files: there was no prompt of 'be_kind'" in differences(plain, more)


def test_names_are_compared_however_their_letters_are_put_together():
    found = read_prompt_files([{"statement_id": "u\u0308", "prompt": "x"}], Origin(), ["\u00fc"])
    task = Grade([], by_prompt=True, prompt_files=found)
    assert task._shown(Item("i", {"statement_id": "\u00fc"}))["judge_prompt"] == "x"
