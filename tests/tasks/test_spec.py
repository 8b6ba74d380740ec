import json
from pathlib import Path
from unicodedata import normalize

import polars as pl
import pytest

from overnight.study import Study
from overnight.study.resolved import resolve
from overnight.tasks._specs.inputs import input_id
from overnight.tasks._specs.reading import statements_of
from study.writing import complaint

RULE = {"id": "no_spam", "text": "Never advertise.", "type": "PROHIBITION", "authority_level": "PLATFORM"}
OTHER = {**RULE, "id": "be_kind", "type": "guideline", "section": "Manner", "related_statements": ["no_spam"]}
SHIPPED = Path(__file__).parents[2] / "examples" / "speceval"


@pytest.fixture
def spec(tmp_path):
    def written(*lines, name="rules.jsonl"):
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return written


def with_inputs(folder, **inputs):
    folder.mkdir(exist_ok=True)
    for name, found in inputs.items():
        (folder / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
    return folder


def a_study(path, inputs, **more):
    return Study(name="s", task="generate", spec=str(path), inputs=inputs, models=["openai/gpt-4.1"], **more)


def stage_of(path, inputs, **more):
    (stage,) = resolve(a_study(path, inputs, **more)).stages
    return stage


def test_statements_are_read_with_their_examples(spec):
    example = {"description": "d", "user_query": "q", "good_response": "g", "bad_response": "b"}
    path = spec({**RULE, "metadata": {"examples": [example]}}, OTHER)
    found = statements_of(path)
    assert list(found) == ["no_spam", "be_kind"]
    assert found["no_spam"].fields()["examples"] == [example]
    assert (found["be_kind"].type, found["be_kind"].authority_level, found["be_kind"].section) == (
        "guideline",
        "platform",
        "Manner",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", ":2: not a line of JSON: "),
        ("[1]", ":2: wanted an object in braces, found a list"),
        ({**OTHER, "type": "RULE"}, ":2: type: wanted prohibition, requirement, guideline, definition, found 'rule'"),
        ({**OTHER, "authority_level": "root"}, ":2: authority_level: wanted platform, developer, user, guideline, "),
        ({**OTHER, "id": "no_spam"}, ":2: the id 'no_spam' was used before, at "),
        ({**OTHER, "id": " "}, ":2: id: the text is empty"),
        ({key: OTHER[key] for key in ("text", "type", "authority_level")}, ":2: a statement needs 'id'"),
        ({**OTHER, "text": 7}, ":2: text: wanted a text, found the number 7"),
        ({key: OTHER[key] for key in ("id", "text", "type")}, ":2: a statement needs 'authority_level'"),
        ({"id": "a", "text": "b", "type": "guideline", "authority_levl": "user"}, "did you mean 'authority_levl'?"),
        ({**OTHER, "metadata": {"examples": [{"user_query": 1}]}}, ":2: metadata.examples: "),
        ({**OTHER, "metadata": []}, None),
    ],
)
def test_what_is_wrong_with_a_statement_is_told_with_its_line(spec, line, message):
    path = spec(RULE, line)
    if message is None:
        assert len(statements_of(path)) == 2
    else:
        assert message in complaint(lambda: statements_of(path))
        assert str(path) in complaint(lambda: statements_of(path))


def test_a_spec_without_statements_is_refused(spec):
    assert complaint(lambda: statements_of(spec(""))).endswith("rules.jsonl: there are no statements")


def test_every_input_is_an_item_that_carries_its_statement(spec, tmp_path):
    inputs = with_inputs(tmp_path / "in", no_spam={"inputs": ["one", "two"], "seed": 3}, be_kind={"inputs": ["three"]})
    stage = stage_of(spec(OTHER, RULE), inputs)
    items = list(stage.items())
    assert [(item.id, item.fields["input"], item.fields["input_index"]) for item in items] == [
        ("be_kind_0", "three", 0),
        ("no_spam_0", "one", 0),
        ("no_spam_1", "two", 1),
    ]
    assert items[0].fields["statement"] == "Never advertise."
    assert [ask.messages[-1].content for ask in stage.task.start(items, 0)] == ["three", "one", "two"]
    assert stage.arms[0].template == "input"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_inputs_bear_their_statement_s_name_however_the_letters_are_put_together(spec, tmp_path, form):
    inputs = with_inputs(tmp_path / "in", **{normalize(form, "no spam é"): {"inputs": ["one"]}})
    (item,) = stage_of(spec({**RULE, "id": "no spam é"}), inputs).items()
    assert (item.id, item.fields["input"]) == ("no spam é_0", "one")


def test_the_input_may_stand_in_a_prompt(spec, tmp_path):
    inputs = with_inputs(tmp_path / "in", no_spam={"inputs": ["one"]})
    stage = stage_of(spec(RULE), inputs, prompt="{statement} {input}")
    assert [ask.messages[-1].content for ask in stage.task.start(stage.items(), 0)] == ["Never advertise. one"]


def test_inputs_may_be_a_table(spec, tmp_path):
    table = pl.DataFrame({"statement_id": ["no_spam", "be_kind", "no_spam"], "input": ["one", "two", "three"]})
    table.write_csv(tmp_path / "in.csv")
    for inputs in (table, str(tmp_path / "in.csv")):
        items = list(stage_of(spec(RULE, OTHER), inputs).items())
        assert [(item.id, item.fields["input"]) for item in items] == [
            ("no_spam_0", "one"),
            ("be_kind_0", "two"),
            ("no_spam_1", "three"),
        ]


def test_statements_without_inputs_are_named_before_anything_is_sent(spec, tmp_path):
    inputs = with_inputs(tmp_path / "in", no_spam={"inputs": ["one"]}, summary={"rounds": 3})
    notes = stage_of(spec(RULE, OTHER), inputs).notes
    assert "1 of 2 statements have no inputs: be_kind" in notes
    assert f"{inputs / 'summary.json'} holds no inputs, and is left out" in notes


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"no_span": {"inputs": ["x"]}}, "no_span.json: inputs of a statement that is not in the spec; did you mean"),
        ({"no_spam": {"input": ["x"]}}, 'no_spam.json: wanted {"inputs": ["...", ...]}, found a mapping'),
        ({"no_spam": {"inputs": ["x", " "]}}, "no_spam.json: inputs[1]: the text is empty"),
        ({"no_spam": {"inputs": ["x", None]}}, "no_spam.json: inputs[1]: wanted a text, found nothing"),
        ({}, "there is no file <statement id>.json, such as no_spam.json"),
    ],
)
def test_what_is_wrong_with_inputs_is_told(spec, tmp_path, found, message):
    folder = with_inputs(tmp_path / "in", **found)
    assert message in complaint(lambda: stage_of(spec(RULE), folder).items())


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"statement_id": "no_span", "input": "x"}], "'no_span' is no statement of the spec; did you mean 'no_spam'?"),
        ([{"statement_id": "no_spam", "input": ""}], "the column 'input' is empty"),
        (pl.DataFrame({"statement": ["no_spam"], "input": ["x"]}), "has no column 'statement_id'"),
    ],
)
def test_what_is_wrong_with_a_table_of_inputs_is_told(spec, rows, message):
    assert message in complaint(lambda: list(stage_of(spec(RULE), rows).items()))


def test_an_id_names_no_path(spec, tmp_path):
    """A stranger's id cannot make us read a file somewhere else."""
    (tmp_path / "secret.json").write_text('{"inputs": ["a secret"]}')
    inputs = with_inputs(tmp_path / "in", no_spam={"inputs": ["one"]})
    items = list(stage_of(spec(RULE, {**OTHER, "id": "../secret"}), inputs).items())
    assert [item.id for item in items] == ["no_spam_0"]


def test_spec_and_inputs_go_together(spec, tmp_path):
    assert "`spec` alone asks nothing: give its `inputs`, or say" in complaint(lambda: a_study(spec(RULE), None))
    beside = complaint(
        lambda: a_study(spec(RULE), [{"statement_id": "a", "input": "b"}], items=[{"id": "x", "t": "y"}])
    )
    assert beside == "study: items: `spec` says what the items are; leave `items` out"


def test_a_statement_is_told_by_the_id_of_its_input():
    """Underscores and numbers in ids: the last part is the number, whatever stands before it."""
    ids = [input_id(statement, index) for statement in ("a", "a_1", "a_1_0") for index in (0, 1, 10)]
    assert len(set(ids)) == len(ids)
    assert [name.rpartition("_")[0] for name in ids] == [s for s in ("a", "a_1", "a_1_0") for _ in range(3)]


def test_the_shipped_spec_is_whole():
    study = Study.load(SHIPPED / "study.yaml")
    stage = resolve(study).stages[0]
    assert len(list(stage.items())) == 24
    assert not any("have no inputs" in note for note in stage.notes)
