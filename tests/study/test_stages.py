"""Studies of several stages: what each takes from whom, and every complaint about it."""

import polars as pl
import pytest

from overnight.core.ask import Item
from overnight.core.errors import UnknownName
from overnight.core.handed_on import GROUPED
from overnight.core.stage import StagePace
from overnight.study import HANDED_ON, Study, resolve
from overnight.study.stage import WrittenStage
from overnight.study.study import FLAT_KEYS
from study.writing import ANSWERS, ITEMS, JUDGING, a_study, changed, complaint, staged, write

NAMES = "up to 100 letters, digits, dots, dashes and underscores, the first a letter or digit"


def test_a_list_of_stages(tmp_path):
    path = write(
        tmp_path,
        """
        name: essay
        stages:
          - name: answers
            task: generate
            items: [{ID: S01, text: one}, {ID: S02, text: two}]
            prompt: "{text}"
            models: [openai/gpt-4.1, openai/gpt-4.1-nano]
            replicates: 2
          - name: judging
            task: generate
            of: answers
            when: done
            take: [truncated, answered]
            prompt: "Is this right? {answer}"
            models: [openai/gpt-5.1]
            seed: 3
            dedupe: false
            gather: 90s
            batch: {max_requests: 5}
        batch: {segments: 2}
        gather: 1h
        poll: {interval_seconds: 5}
        timeout: 2h
        """,
    )
    resolved = resolve(Study.load(path))
    answers, judging = resolved.stages
    assert (answers.name, answers.of, answers.when, answers.take) == ("answers", None, "landed", ("answered",))
    assert [item.id for item in answers.items()] == ["S01", "S02"]
    assert (answers.task.spec()["replicates"], answers.pace) == (2, StagePace(gather=3600, segments=2))
    assert (judging.name, judging.of, judging.when) == ("judging", "answers", "done")
    assert judging.take == ("answered", "truncated")
    assert judging.items is None
    assert (judging.seed, judging.dedupe) == (3, False)
    assert judging.pace == StagePace(gather=90, max_requests=5)
    for stage in (answers, judging):
        assert {arm.stage for arm in stage.arms} == {stage.name}
        assert stage.task.name == "generate"
    assert (resolved.poll.interval_seconds, resolved.timeout_seconds) == (5, 7200)


def test_a_stage_needs_little():
    judging = resolve(staged(ANSWERS, JUDGING)).stages[1]
    assert (judging.when, judging.take, judging.pace) == ("landed", ("answered",), StagePace(gather=600))


def test_a_flat_study_is_a_stage_named_after_its_task():
    (stage,) = resolve(a_study(gather="5m")).stages
    assert (stage.name, stage.of, stage.when, stage.take) == ("generate", None, "landed", ("answered",))
    assert stage.pace.gather == 300


def test_a_stage_alone_in_a_list_keeps_its_name():
    (stage,) = resolve(staged(ANSWERS)).stages
    assert (stage.name, stage.arms[0].stage) == ("answers", "answers")


def test_stages_may_be_given_frames():
    frame = pl.DataFrame(ITEMS)
    first, second = resolve(staged(changed(ANSWERS, items=frame), changed(ANSWERS, name="again"))).stages
    assert list(first.items()) == list(second.items())


def test_a_judge_is_asked_about_rows():
    judging = resolve(staged(ANSWERS, changed(JUDGING, prompt="{answer} of {item_id} by {model}: {text}"))).stages[1]
    fields = {"text": "one", "answer": "yes", "item_id": "S01", "model": "gpt-4.1"}
    (ask,) = judging.task.start([Item("row", fields)], 0)
    assert ask.messages[0].content == "yes of S01 by gpt-4.1: one"


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (changed(ANSWERS, name=None), "`name` is missing"),
        (changed(ANSWERS, task=None), "`task` is missing"),
        (changed(ANSWERS, models=None), "`models` is missing"),
        (changed(ANSWERS, items=None), "wanted one of `items` and `of`, found neither"),
        (changed(ANSWERS, of="answers"), "wanted one of `items` and `of`, found both"),
        (changed(ANSWERS, prompt=None), "wanted one of `prompt`, `templates` and `messages`, found none of them"),
        (changed(ANSWERS, promt="x"), "unknown key 'promt'; did you mean 'prompt'?"),
        (changed(ANSWERS, poll={}), "unknown key 'poll'"),
        (changed(ANSWERS, budget=5), "unknown key 'budget'"),
        ("answers", "wanted a mapping with keys such as name, task and models, found the text 'answers'"),
    ],
)
def test_what_is_wrong_with_a_stage_is_said(stage, message):
    assert complaint(lambda: staged(changed(ANSWERS, name="first"), stage)) == f"study: stages[1]: {message}"


OF_ROWS_ONLY = "this is for a stage with `of`, not for one with `items`"


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (changed(ANSWERS, name=""), f"name: the text '' cannot name a stage; wanted {NAMES}"),
        (changed(ANSWERS, name="a b"), f"name: the text 'a b' cannot name a stage; wanted {NAMES}"),
        (changed(ANSWERS, name="-a"), f"name: the text '-a' cannot name a stage; wanted {NAMES}"),
        (changed(ANSWERS, name=5), "name: wanted text, found the number 5; put it in quotes"),
        (changed(ANSWERS, name="First"), "name: two stages are called 'First'"),
        (changed(ANSWERS, when="landed"), f"when: {OF_ROWS_ONLY}"),
        (changed(ANSWERS, take=["answered"]), f"take: {OF_ROWS_ONLY}"),
        (changed(JUDGING, empty="skip"), "empty: this is for a stage with `items`, and counts for all stages after it"),
        (changed(JUDGING, of="first", id="ID"), "id: this is for a stage with `items`; rows of another stage have ids already"),
        (changed(JUDGING, of=["first"]), "of: wanted text, found a list"),
        (changed(JUDGING, of="judging"), "of: a stage cannot take its own rows (before it: first)"),
        (changed(JUDGING, of="last"), "of: 'last' comes later; list it before this one (before it: first)"),
        (changed(JUDGING, of="first", when="don"), "when: wanted landed or done, found 'don'; did you mean 'done'?"),
        (changed(JUDGING, of="first", when=1), "when: wanted text, found the number 1; put it in quotes"),
        (changed(JUDGING, of="first", take="answered"), "take: wanted a list, found the text 'answered'"),
        (changed(JUDGING, of="first", take=[]), "take: the list is empty"),
        (
            changed(JUDGING, of="first", take=["answered", "failed"]),
            "take[1]: wanted answered, refused or truncated, found 'failed'",
        ),
        (
            changed(JUDGING, of="first", take=["truncatd"]),
            "take[0]: wanted answered, refused or truncated, found 'truncatd'; did you mean 'truncated'?",
        ),
        (changed(JUDGING, of="first", take=["refused", "refused"]), "take[1]: refused is listed twice"),
        (changed(ANSWERS, gather=-1), "gather: -1 is less than 0 seconds"),
        (
            changed(ANSWERS, gather="soon"),
            "gather: 'soon' is not a duration; wanted seconds or something like 90s, 10m, 1h30m, 2d",
        ),
        (changed(ANSWERS, batch={"segments": 0}), "batch.segments: 0 is less than 1"),
        (changed(ANSWERS, replicates=0), "replicates: 0 is not between 1 and 100,000"),
        (changed(ANSWERS, seed=-1), "seed: -1 is less than 0"),
        (changed(ANSWERS, models=[{"model": "openai/gpt-4.1", "top_p": 2}]), "models[0].top_p: 2 is not between 0 and 1"),
        (changed(ANSWERS, items=7), "items: wanted a file, a folder of .txt, a polars or pandas frame, or a list of mappings, found int"),
        (changed(ANSWERS, grid={"include": []}), "grid.include: the list is empty"),
        (changed(ANSWERS, system={1, 2}), "system: wanted text, found a list"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_stage_is_said(stage, message):
    first, last = changed(ANSWERS, name="first"), changed(ANSWERS, name="last")
    assert complaint(lambda: staged(first, stage, last)) == f"study: stages[1].{message}"


def test_the_rows_of_nobody():
    wanted = "study: stages[1].of: there is no stage 'answrs'; did you mean 'answers'? (before it: answers)"
    assert complaint(lambda: staged(ANSWERS, changed(JUDGING, of="answrs")), UnknownName) == wanted
    wanted = "study: stages[0].of: there is no stage 'answers'; the first stage needs `items`"
    assert complaint(lambda: staged(JUDGING), UnknownName) == wanted


def test_an_unknown_task_is_offered_the_nearest():
    wanted = "study: stages[0].task: unknown task 'generat'; did you mean 'generate'? (known: compare, "
    assert complaint(lambda: staged(changed(ANSWERS, task="generat")), UnknownName).startswith(wanted)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([], "stages: the list is empty"),
        ("answers", "stages: wanted a list, found the text 'answers'"),
        ({"name": "answers"}, "stages: wanted a list, found a mapping"),
    ],
)
def test_stages_are_a_list(stages, message):
    assert complaint(lambda: Study(name="essay", stages=stages)) == f"study: {message}"


GIVEN = {
    "task": "generate",
    "items": pl.DataFrame(ITEMS),
    "models": ["openai/gpt-4.1"],
    "id": "ID",
    "priority": "risk",
    "empty": "skip",
    "prompt": "{text}",
    "templates": ["a.txt"],
    "messages": "chat",
    "system": "x",
    "turns": ["y"],
    "text": "text",
    "trait": "organization",
    "pairs": {"reverse": 1.0},
    "ties": True,
    "explanation": True,
    "confidence": True,
    "tags": ["<B>", "</B>"],
    "grid": {},
    "replicates": 2,
    "seed": 2,
    "dedupe": False,
}


@pytest.mark.parametrize("key", FLAT_KEYS)
def test_a_stage_s_own_key_cannot_stand_beside_the_list(key):
    wanted = f"`{key}` cannot stand beside `stages`; write it in the stage it is for"
    assert complaint(lambda: staged(ANSWERS, **{key: GIVEN[key]})) == f"study: {wanted}"
    mapping = {"name": "essay", "stages": [ANSWERS], key: getattr(a_study(), key)}
    assert complaint(lambda: Study.from_mapping(mapping, "flags")) == f"flags: {wanted}"


HEAD = """
name: essay
stages:
  - name: answers
    task: generate
    items: [{ID: S01, text: one}]
    prompt: "{text}"
    models: [openai/gpt-4.1]
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "replicates: 1\n", "8:1: `replicates` cannot stand beside `stages`; write it in the stage it is for"),
        (HEAD + "of: answers\n", "8:1: `of` is for a stage of a list; write it under `stages`"),
        (HEAD.replace("name: essay\n", ""), "1:1: `name` is missing"),
        (HEAD + "    gahter: 1m\n", "8:5: stages[0]: unknown key 'gahter'; did you mean 'gather'?"),
        (HEAD + "    gather: -1s\n", "8:13: stages[0].gather: '-1s' is not a duration; wanted seconds or something like 90s, 10m, 1h30m, 2d"),
        (HEAD + "    seed: -1\n", "8:11: stages[0].seed: -1 is less than 0"),
        (HEAD.replace("    prompt", "    promt"), "6:5: stages[0]: unknown key 'promt'; did you mean 'prompt'?"),
        (HEAD + "  - {name: b, task: generate, of: c, prompt: x, models: [a]}\n", "8:35: stages[1].of: there is no stage 'c' (before it: answers)"),
        (HEAD + "stages: []\n", "8:1: duplicate key 'stages', first given in line 2"),
        ("name: essay\nstages:\n", "2:8: stages: wanted a list, found nothing"),
    ],
)  # fmt: skip
def test_a_file_is_answered_with_line_and_column(tmp_path, text, message):
    path = write(tmp_path, text)
    assert complaint(lambda: Study.load(path)) == f"{path}:{message}"


def test_what_a_provider_refuses_has_its_place():
    study = staged(ANSWERS, changed(JUDGING, models=["openai/gpt-4.1", {"model": "nobody/x"}]))
    wanted = "study: stages[1].models[1]: provider 'nobody' is not known "
    assert complaint(lambda: resolve(study), UnknownName).startswith(wanted)


def test_items_have_their_place():
    study = staged(ANSWERS, changed(ANSWERS, name="more", items=[{"ID": "", "text": "x"}]))
    wanted = "study: stages[1].items[0]: the id, column 'ID', is empty"
    assert complaint(lambda: resolve(study)) == wanted
    wanted = (
        "study: stages[0].id: study: stages[0].items has no column 'Id'; the columns are ID, text; did you mean 'ID'?"
    )
    assert complaint(lambda: resolve(staged(changed(ANSWERS, id="Id")))) == wanted


def test_notes_say_whose_they_are():
    constant = changed(ANSWERS, prompt="Well?")
    note = "template 'prompt' names no column: every item is asked the same"
    assert note in resolve(staged(constant)).stages[0].notes
    first, second = resolve(staged(constant, JUDGING)).stages
    assert f"answers: {note}" in first.notes
    assert all(text.startswith("judging: ") for text in second.notes)


def test_what_is_handed_on_is_a_promise():
    promised = "answer thoughts item_id arm provider model template thinking replicate turn answers conversation status"
    assert " ".join(HANDED_ON) == promised
    assert {group: " ".join(names) for group, names in GROUPED.items()} == {
        "item": "item_id answers members missing",
        "thread": "item_id arm provider model template thinking replicate conversation answers members missing",
    }


@pytest.mark.parametrize("name", ["text", "item_id", "members", "answers", "missing"])
def test_a_stage_may_take_rows_in_groups(name):
    judging = changed(JUDGING, group="item", prompt=f"{{{name}}}")
    assert [stage.group for stage in resolve(staged(ANSWERS, judging)).stages] == [None, "item"]


def test_a_group_knows_what_its_rows_were_made_of():
    third = changed(JUDGING, name="third", of="judging", group="item", prompt="{answer} {members}")
    assert resolve(staged(ANSWERS, JUDGING, third)).stages[2].group == "item"
    fourth = changed(JUDGING, name="fourth", of="third", prompt="{missing} {answer}")
    assert len(resolve(staged(ANSWERS, JUDGING, third, fourth)).stages) == 4


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (changed(JUDGING, group="items"), "group: wanted item or thread, found 'items'; did you mean 'item'?"),
        (changed(ANSWERS, name="x", group="item"), "group: this is for a stage with `of`, not for one with `items`"),
    ],
)
def test_a_wrong_group_is_refused(stage, message):
    assert complaint(lambda: staged(ANSWERS, stage)) == f"study: stages[1].{message}"


def test_a_group_has_no_answer_of_its_own():
    judging = changed(JUDGING, group="item", prompt="{answer}")
    assert "asks for {answer}, which is no column of the items" in complaint(lambda: resolve(staged(ANSWERS, judging)))


def test_every_key_of_a_stage_is_known():
    assert set(FLAT_KEYS) == {*WrittenStage.__struct_fields__} - {
        "name",
        "after",
        "of",
        "when",
        "take",
        "group",
        "gather",
        "batch",
    }
