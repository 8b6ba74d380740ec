"""What a study may say of comparing, what it comes to, and what is said of what it may not."""

import polars as pl
import pytest

from overnight.core.errors import StudyError, UnknownName
from overnight.study import Study, differences, resolve
from overnight.tasks.compare import MANY_PAIRS
from study.writing import ITEMS, complaint

MODEL = "openai/gpt-4.1"


def comparing(**changes):
    fields = {"name": "essay", "task": "compare", "items": ITEMS, "models": [MODEL]} | changes
    return Study(**{name: value for name, value in fields.items() if value is not None})


def only_stage(**changes):
    (stage,) = resolve(comparing(**changes)).stages
    return stage


def asked(**changes):
    stage = only_stage(**changes)
    return list(stage.task.start(stage.items(), stage.seed))


def test_the_least_that_can_be_written():
    (ask,) = asked()
    assert ask.arm.name == "default__openai__gpt-4.1__default__forward"
    assert ask.arm.model.options.json_schema is not None
    assert "Overall Quality" in ask.messages[0].content


def test_directions_are_part_of_the_grid():
    grid = {"exclude": [{"direction": "forward", "template": "short"}]}
    stage = only_stage(pairs={"reverse": 1.0}, templates=["default", "short"], grid=grid)
    assert [arm.name for arm in stage.arms] == [
        "default__openai__gpt-4.1__default__forward",
        "default__openai__gpt-4.1__default__reverse",
        "short__openai__gpt-4.1__default__reverse",
    ]


def test_a_template_with_tags_is_answered_in_tags():
    mine = {"name": "mine", "text": "{SAMPLE_1} or {SAMPLE_2}? <BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE>"}
    tagged, structured = asked(templates=[mine, "short"], pairs={"order": "given"})
    assert tagged.arm.model.options.json_schema is None
    assert tagged.messages[0].content == "one or two? <BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE>"
    assert structured.arm.model.options.json_schema["required"] == ["better_sample"]


@pytest.mark.parametrize(
    "listed", [[{"ID1": "S02", "ID2": "S01"}], pl.DataFrame({"ID1": ["S02"], "ID2": ["S01"]})], ids=["rows", "frame"]
)
def test_pairs_of_one_s_own(listed):
    assert [ask.item for ask in asked(pairs={"list": listed})] == ["S02:S01"]


def test_pairs_from_a_file(tmp_path):
    (tmp_path / "pairs.csv").write_text("ID1,ID2\nS02,S01\nS02,S01\n")
    path = tmp_path / "study.yaml"
    path.write_text(
        "name: x\ntask: compare\nitems: [{ID: S01, text: a}, {ID: S02, text: b}]\nmodels: [openai/gpt-4.1]\n"
        "pairs: {list: pairs.csv}\n"
    )
    (stage,) = resolve(Study.load(path)).stages
    assert [ask.item for ask in stage.task.start(stage.items(), 0)] == ["S02:S01", "S02:S01#2"]


def test_the_column_of_the_texts():
    rows = [{"ID": "a", "essay": "x", "age": 9}, {"ID": "b", "essay": "y", "age": 8}]
    assert "x" in asked(items=rows, text="essay")[0].messages[0].content
    assert len(asked(items=[{"ID": name, "essay": name} for name in "abc"])) == 3
    said = complaint(lambda: only_stage(items=rows))
    assert said.startswith("study: text: study: items has no column 'text'; the columns are ID, essay, age")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt": "x"}, "prompt: this is for the task generate, not for compare"),
        ({"turns": ["x"]}, "turns: this is for the task generate, not for compare"),
        ({"pairs": {"select": "al"}}, "pairs.select: wanted all, sample or adaptive, found 'al'; did you mean 'all'?"),
        (
            {"pairs": {"select": "adaptive"}},
            "pairs: `adaptive` needs `n`, a number of pairs, or `share`, a part of them",
        ),
        (
            {"pairs": {"select": "adaptive", "n": 9, "rounds": 1}},
            "pairs.rounds: 1 is less than 2: the later rounds learn from the first",
        ),
        ({"pairs": {"select": "sample", "n": 9, "rounds": 3}}, "pairs.rounds: this is for `select: adaptive`"),
        (
            {"pairs": {"select": "adaptive", "n": 9, "list": [{"ID1": "a", "ID2": "b"}]}},
            "pairs.list: adaptive chooses among all pairs; leave the list out, or `select`",
        ),
        (
            {"pairs": {"order": "rand"}},
            "pairs.order: wanted given, random or alternate, found 'rand'; did you mean 'random'?",
        ),
        ({"pairs": {"select": "sample"}}, "pairs: `sample` needs `n`, a number of pairs, or `share`, a part of them"),
        (
            {"pairs": {"select": "sample", "n": 1, "share": 0.5}},
            "pairs: `n` and `share` exclude each other; keep one of them",
        ),
        ({"pairs": {"n": 1}}, "pairs.n: this is for `select: sample` or `adaptive`"),
        ({"pairs": {"select": "sample", "n": 0}}, "pairs.n: 0 is less than 1"),
        ({"pairs": {"select": "sample", "share": 0}}, "pairs.share: 0 is not more than 0 and at most 1"),
        ({"pairs": {"reverse": 1.5}}, "pairs.reverse: 1.5 is not between 0 and 1"),
        ({"pairs": {"seed": -1}}, "pairs.seed: -1 is less than 0"),
        ({"pairs": {"revers": 1}}, "pairs: unknown key 'revers'; did you mean 'reverse'?"),
        ({"trait": {"name": "x", "description": " "}}, "trait.description: the text is empty"),
        ({"text": ""}, "text: wanted the name of a column"),
        ({"tags": ["<B>"]}, "tags: wanted two texts, such as <BETTER_SAMPLE> and </BETTER_SAMPLE>"),
        (
            {"models": [{"model": MODEL, "json_schema": {}}]},
            "models[0].json_schema: compare has a form of its own for its answers",
        ),
    ],
)
def test_what_may_not_be_written(changes, message):
    assert complaint(lambda: comparing(**changes)) == f"study: {message}"


def test_an_unknown_trait_is_offered_the_nearest():
    assert complaint(lambda: comparing(trait="organisation"), UnknownName) == (
        "study: trait: unknown trait 'organisation'; did you mean 'organization'? (known: organization, "
        "overall_quality); write one of your own as {name: ..., description: ...}"
    )


def test_keys_of_compare_are_refused_elsewhere():
    fields = {"name": "x", "task": "generate", "items": ITEMS, "models": [MODEL], "prompt": "{text}"}
    assert (
        complaint(lambda: Study(**fields, ties=True)) == "study: ties: this is for the task compare, not for generate"
    )


def test_compare_takes_no_rows_of_another_stage():
    first = {"name": "a", "task": "generate", "items": ITEMS, "prompt": "{text}", "models": [MODEL]}
    second = {"name": "b", "task": "compare", "of": "a", "models": [MODEL]}
    said = complaint(lambda: Study(name="x", stages=[first, second]))
    assert said == "study: stages[1].of: compare takes samples from `items`, not the rows of another stage"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"templates": [{"name": "t", "text": "{SAMPLE_1} {SAMPLE_2} {text}"}]},
            "templates[0]: template 't' asks for {text}, which no pair has (there are: TRAIT_NAME, TRAIT_DESCRIPTION,",
        ),
        ({"templates": [{"name": "t", "text": "{SAMPLE_1}"}]}, "templates[0]: template 't' does not show {SAMPLE_2}"),
        (
            {"pairs": {"list": [{"ID1": "S01", "ID2": "S03"}]}},
            "study: pairs.list[0]: there is no sample 'S03'",
        ),
        ({"pairs": {"list": [{"ID1": "S01"}]}}, "study: pairs.list[0]: column 'ID2' names no sample"),
        (
            {"pairs": {"list": pl.DataFrame({"ID1": ["S01"], "id2": ["S02"]})}},
            "study: pairs.list: study: pairs.list has no column 'ID2'; the columns are ID1, id2; did you mean 'id2'?",
        ),
        ({"pairs": {"list": 7}}, "pairs.list: wanted a file, a folder of .txt, a polars or pandas frame"),
        ({"pairs": {"list": "nope.csv"}}, "pairs.list: nope.csv: no such file or folder"),
        ({"templates": ["defalt"]}, "defalt: no such file; did you mean 'default'? (shipped: default,"),
    ],
)
def test_what_shows_when_the_study_is_made_ready(changes, message):
    assert message in complaint(lambda: asked(**changes), StudyError)


def test_what_to_know_before_paying():
    def notes(**changes):
        return [note for note in only_stage(**changes).notes if "pair" in note]

    assert ["in one order only" in note for note in notes()] == [True]
    assert not notes(pairs={"reverse": 1.0})
    many = [{"ID": str(number), "text": "x"} for number in range(142)]
    (note,) = notes(items=many, pairs={"reverse": 1.0})
    assert note == "all pairs of 142 samples are 10,011; `pairs: {select: sample, n: 2000}` asks fewer"
    assert MANY_PAIRS == 10_000
    assert not notes(items=many, pairs={"reverse": 1.0, "select": "sample", "n": 5})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"trait": "organization"}, "trait: was"),
        ({"ties": True}, "ties: was false, is now true"),
        ({"pairs": {"select": "sample", "n": 9, "reverse": 0.5}}, "pairs.n: was 10, is now 9; there may only be more"),
        (
            {"pairs": {"select": "sample", "n": 10, "reverse": 0.4}},
            "pairs.reverse: was 0.5, is now 0.4; there may only be more",
        ),
        ({"pairs": {"select": "sample", "n": 10, "reverse": 0.5, "seed": 3}}, "pairs.seed: was 0, is now 3"),
        ({"pairs": None}, "pairs.n: was 10, is now not given"),
    ],
)
def test_a_change_is_named(changes, sentence):
    study = {"pairs": {"select": "sample", "n": 10, "reverse": 0.5}}
    before, now = (resolve(comparing(**fields)).definition for fields in (study, study | changes))
    assert any(sentence in said for said in differences(before, now)), differences(before, now)


@pytest.mark.parametrize(
    "pairs", [{"select": "sample", "n": 20, "reverse": 0.5}, {"select": "sample", "n": 10, "reverse": 1.0}]
)
def test_more_pairs_extend_the_run(pairs):
    before = resolve(comparing(pairs={"select": "sample", "n": 10, "reverse": 0.5})).definition
    assert differences(before, resolve(comparing(pairs=pairs)).definition) == []
