"""What a later stage asks of items is asked of the table they come from, before anything is paid."""

import polars as pl
import pytest

from overnight.api import plan
from overnight.core.template import columns_text
from overnight.study import HANDED_ON, Study, resolve
from study.writing import ANSWERS, ITEMS, JUDGING, a_study, changed, complaint, staged, write

OF_ROWS = f"which is no column of the items; {columns_text(('ID', 'text', *HANDED_ON))}"
OF_ITEMS = "which is no column of the items; the columns are ID, text"


@pytest.fixture
def answers(tmp_path):
    return changed(ANSWERS, items=write(tmp_path, "ID,text\nS01,one\nS02,two\n", "essays.csv"))


@pytest.mark.parametrize("name", ["ID", "text", *HANDED_ON])
def test_a_judge_may_name_columns_and_what_is_handed_on(answers, name):
    judging = changed(JUDGING, prompt=f"{{{name}}}", system=f"{{{name}}}", turns=[f"{{{name}}} {{answer}}"])
    assert len(resolve(staged(answers, judging)).stages) == 2
    assert len(resolve(staged(ANSWERS, judging)).stages) == 2


@pytest.mark.parametrize(
    ("judging", "message"),
    [
        (changed(JUDGING, prompt="{anwser}"), f"prompt: template 'prompt' asks for {{anwser}}, {OF_ROWS}; did you mean 'answer'?"),
        (changed(JUDGING, system="{who}"), f"system: template 'system' asks for {{who}}, {OF_ROWS}"),
        (changed(JUDGING, turns=["x", "{txt}"]), f"turns[1]: template 'turn 2' asks for {{txt}}, {OF_ROWS}; did you mean 'text'?"),
        (changed(JUDGING, prompt=None, messages="chat"), f"messages: `messages` asks for 'chat', {OF_ROWS}"),
        (changed(JUDGING, models=[{"model": "openai/gpt-4.1", "system": "{s}"}]), f"models[0].system: template 'system' asks for {{s}}, {OF_ROWS}"),
    ],
)  # fmt: skip
def test_a_missing_column_is_said_before_anything_is_read(answers, judging, message):
    assert complaint(lambda: resolve(staged(answers, judging))) == f"study: stages[1].{message}"


def test_columns_go_through_any_number_of_stages(answers):
    third = changed(JUDGING, name="third", of="judging", prompt="{text} {answer} {ID}")
    resolve(staged(answers, JUDGING, third))
    wanted = f"study: stages[2].prompt: template 'prompt' asks for {{txt}}, {OF_ROWS}; did you mean 'text'?"
    wrong = staged(answers, JUDGING, changed(third, prompt="{txt}"))
    assert complaint(lambda: resolve(wrong)) == wanted


def test_each_table_is_asked_for_what_its_own_stages_need(answers):
    other = changed(ANSWERS, name="other", items=[{"ID": "a", "word": "x"}], prompt="{word}")
    judging = changed(JUDGING, of="other", prompt="{word} {answer}")
    first, second, third = resolve(staged(answers, other, judging)).stages
    assert first.items is not None
    assert second.items is not None
    assert third.items is None


def test_a_row_that_a_later_stage_cannot_use_is_said_with_its_line(tmp_path):
    items = write(tmp_path, '{"ID": "S01", "text": "one", "key": "1"}\n{"ID": "S02", "text": "two"}\n', "essays.jsonl")
    judging = changed(JUDGING, prompt="Is {answer} the same as {key}?")
    wanted = f"{items}:2: stage 'judging': template 'prompt' asks for {{key}}, {OF_ROWS}"
    assert complaint(lambda: resolve(staged(changed(ANSWERS, items=items), judging))) == wanted
    alone = resolve(staged(changed(ANSWERS, items=items))).stages[0].items
    assert len(list(alone())) == 2


def test_a_turn_may_name_columns_and_the_last_answer(answers):
    path = answers["items"]
    resolve(a_study(items=path, turns=["Sure about {text}?", "You said {answer}."]))
    wanted = f"study: turns[0]: template 'turn 1' asks for {{thoughts}}, {OF_ITEMS}, answer"
    assert complaint(lambda: resolve(a_study(items=path, turns=["{thoughts}"]))) == wanted
    wanted = f"study: turns[0]: template 'turn 1' asks for {{txt}}, {OF_ITEMS}, answer; did you mean 'text'?"
    assert complaint(lambda: resolve(a_study(items=path, turns=["{txt}"]))) == wanted
    rows = (
        resolve(a_study(items=[*ITEMS, {"ID": "S03", "text": "three", "more": 1}], turns=["{answer}"])).stages[0].items
    )
    assert len(list(rows())) == 3
    wanted = f"study: items[0]: template 'turn 1' asks for {{more}}, {OF_ITEMS}, answer"
    assert complaint(lambda: resolve(a_study(turns=["{more}"]))) == wanted


def hidden(study: Study) -> list[str]:
    return [
        note for stage in resolve(study).stages for note in stage.notes if " is that of " in note or "turns" in note
    ]


def test_a_name_with_two_meanings_is_noted():
    frame = pl.DataFrame({"ID": ["a"], "text": ["x"], "model": ["m"], "answer": ["y"], "turn": [1]})
    answers = changed(ANSWERS, items=frame, prompt="{text} {answer} {model}")
    judging = changed(JUDGING, prompt="{model}: {text}", turns=["{turn} and {answer}?"])
    assert hidden(staged(answers, judging)) == [
        "judging: {model} is that of the row handed on, not the items' column of that name",
        "judging: {turn} is that of the row handed on, not the items' column of that name",
        "judging: {answer} in `turns` is the model's last answer, not the items'",
    ]
    last = "{answer} in `turns` is the model's last answer, not the items'"
    assert hidden(a_study(items=frame, turns=["{answer}!"])) == [last]
    assert hidden(a_study(turns=["{answer}!"])) == []
    assert hidden(staged(ANSWERS, changed(JUDGING, turns=["{answer}!"]))) == [f"judging: {last}"]
    assert hidden(staged(ANSWERS, changed(JUDGING, prompt="{answer} {model}"))) == []


WRITING = {"task": "inputs", "spec": "spec.jsonl", "models": ["openai/gpt-4.1"], "n": 2, "rounds": 1}
ASKING = {"task": "generate", "of": "write", "prompt": "{input} {statement} {scenario}", "models": ["openai/gpt-4.1"]}
COMPLY = {"task": "comply", "of": "answer", "models": ["openai/gpt-4.1"]}
_NO_ANSWERS = "'write' hands on items that it has written, and no answers"
_FIRST = "let a stage of generate answer them, and take that one"


def written(tmp_path, monkeypatch, *later):
    monkeypatch.chdir(tmp_path)
    statement = '{"id": "kind", "text": "Be kind.", "type": "guideline", "authority_level": "user"}'
    write(tmp_path, statement + "\n", "spec.jsonl")
    names = ("write", "answer", "judge")
    return Study(name="s", stages=[{"name": n, **one} for n, one in zip(names, (WRITING, *later), strict=False)])


def test_a_stage_takes_what_another_one_writes(tmp_path, monkeypatch):
    study = written(tmp_path, monkeypatch, ASKING, COMPLY)
    assert len(resolve(study).stages) == 3
    rows = {(arm.stage, arm.rows) for arm in plan(study).arms}
    assert rows >= {("answer", 2), ("judge", 2)}


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (changed(ASKING, prompt="{inputs}"), "prompt: template 'prompt' asks for {inputs}, which is no column of the items; the columns are id, statement_id, statement, type, authority_level, section, subsection, examples, input, input_index, category, scenario and 1 more; did you mean 'input'?"),
        (changed(ASKING, prompt="{answer}"), f"of: {_NO_ANSWERS}, so that there is no {{answer}}; {_FIRST}"),
        (changed(ASKING, when="done"), "when: 'write' hands on what it has written, one by one, when it is over; leave `when` out"),
        (changed(ASKING, take=["answered"]), "take: 'write' hands on what it has written, one by one, when it is over; leave `take` out"),
        (changed(ASKING, group="item"), "group: 'write' hands on what it has written, one by one, when it is over; leave `group` out"),
        (changed(COMPLY, of="write"), f"of: {_NO_ANSWERS}, so that there is no {{answer}}; {_FIRST}"),
        (changed(COMPLY, task="rank", of="write"), f"of: {_NO_ANSWERS}; {_FIRST}"),
    ],
)  # fmt: skip
def test_what_is_written_is_no_answer(tmp_path, monkeypatch, later, message):
    assert complaint(lambda: resolve(written(tmp_path, monkeypatch, later))) == f"study: stages[1].{message}"
