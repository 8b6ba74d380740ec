import msgspec
import pytest

from overnight.study import definition, differences
from study.writing import ANSWERS, ITEMS, JUDGING, a_study, changed, staged

MODELS = ["openai/gpt-4.1", {"model": "openai/gpt-4.1", "temperature": 0}]
PLAIN = "prompt__openai__gpt-4.1__default__forward"


def after(**changes):
    old = definition(a_study(models=MODELS))
    new = definition(a_study(**({"models": MODELS} | changes)))
    # What a run remembers has been through a file.
    return differences(msgspec.json.decode(msgspec.json.encode(old)), new)


def test_a_definition_is_plain_and_without_paths(tmp_path):
    (tmp_path / "mine.txt").write_text("Text: {text}")
    (tmp_path / "essays.csv").write_text("ID,text\nS01,one\n")
    study = a_study(
        prompt=None,
        templates=[tmp_path / "mine.txt"],
        items=tmp_path / "essays.csv",
        system="Be kind",
        models=[{"model": "openai/gpt-4.1", "temperature": 0, "key": "LAB"}],
    )
    assert definition(study)["stages"]["generate"] == {
        "task": "generate",
        "of": None,
        "when": None,
        "take": None,
        "templates": {"mine": {"text": "Text: {text}", "votes_from": 0}},
        "messages": None,
        "system": "Be kind",
        "turns": None,
        "arms": {
            "mine__openai__gpt-4.1__default__forward": {
                "template": "mine",
                "provider": "openai",
                "model": "gpt-4.1",
                "direction": "forward",
                "system": None,
                "base_url": None,
                "options": {"temperature": 0.0},
            }
        },
        "id": "ID",
        "replicates": 1,
        "seed": 0,
        "dedupe": True,
    }


def test_a_definition_says_which_rows_are_handed_on():
    found = definition(staged(ANSWERS, changed(JUDGING, when="done", take=["refused", "answered"], turns=["Sure?"])))
    assert list(found) == ["stages"]
    assert list(found["stages"]) == ["answers", "judging"]
    judging = found["stages"]["judging"]
    assert (judging["task"], judging["of"], judging["when"]) == ("generate", "answers", "done")
    assert (judging["take"], judging["turns"], judging["id"]) == (["answered", "refused"], ["Sure?"], None)
    answers = found["stages"]["answers"]
    assert [answers[field] for field in ("of", "when", "take", "turns", "id")] == [None, None, None, None, "ID"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"items": [*ITEMS, {"ID": "S03", "text": "three"}]},
        {"id": "ID"},
        {"batch": {"segments": 2}},
        {"poll": {"interval_seconds": 1}},
        {"timeout": "1h"},
        {"gather": "1h"},
        {"budget": 5},
        {"name": "other"},
        {"replicates": 3},
        {"models": [*MODELS, "openai/gpt-4.1-nano"]},
        {"models": [{"model": "openai/gpt-4.1", "key": "LAB"}, MODELS[1]]},
        {"models": ["openai/gpt-4.1-nano", *MODELS]},
    ],
)
def test_what_may_change_or_grow(changes):
    assert after(**changes) == []


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        ({"prompt": "Other: {text}"}, ["templates: the text of 'prompt' changed"]),
        ({"system": "Be kind"}, ['system: was not given, is now "Be kind"']),
        ({"seed": 1}, ["seed: was 0, is now 1"]),
        ({"turns": ["Sure?"]}, ['turns: was not given, is now ["Sure?"]']),
        ({"dedupe": False}, ["dedupe: was true, is now false"]),
        ({"id": "text"}, ['id: was "ID", is now "text"']),
        ({"models": MODELS[:1]}, [f"models: the arm {PLAIN}__37b66ec2 is gone"]),
        (
            {"models": [{"model": "openai/gpt-4.1", "max_tokens": 5}, MODELS[1]]},
            [f"models: in the arm {PLAIN}, max_tokens: was not given, is now 5"],
        ),
        (
            {"models": [{"model": "openai/gpt-4.1", "base_url": "http://127.0.0.1:1"}, MODELS[1]]},
            [f'models: in the arm {PLAIN}, base_url: was not given, is now "http://127.0.0.1:1"'],
        ),
        (
            {"prompt": None, "templates": [{"name": "a", "text": "{text}"}]},
            ["templates: 'prompt' is gone"],
        ),
        ({"prompt": "x {text}", "seed": 3}, ["seed: was 0, is now 3", "templates: the text of 'prompt' changed"]),
    ],
)
def test_what_may_not(changes, sentences):
    assert after(**changes) == sentences


def test_replicates_only_grow():
    old, new = definition(a_study(replicates=3)), definition(a_study(replicates=2))
    assert differences(old, new) == ["replicates: was 3, is now 2; there may only be more"]
    assert differences(new, old) == []


def test_long_values_are_cut():
    old, new = definition(a_study()), definition(a_study(system="x" * 100))
    assert differences(old, new) == [f'system: was not given, is now "{"x" * 59}...']


def test_a_vote_keeps_its_number():
    """A second template of the same words is a vote of its own; put first, it would take the numbers of the other."""

    def listed(*names):
        return definition(a_study(prompt=None, templates=[{"name": name, "text": "{text}"} for name in names]))

    assert differences(listed("a"), listed("a", "b")) == []
    sentence = "templates: another one with the text of 'a' is now listed before it; list it after"
    assert differences(listed("a"), listed("b", "a")) == [sentence]


def test_messages_and_their_arms():
    items = [{"ID": "a", "chat": [{"role": "user", "content": "x"}], "talk": [{"role": "user", "content": "x"}]}]

    def asking(column, *models):
        return definition(a_study(prompt=None, messages=column, items=items, models=list(models)))

    old = asking("chat", "openai/gpt-4.1", "openai/gpt-4.1-nano")
    assert differences(old, asking("talk", "openai/gpt-4.1", "openai/gpt-4.1-nano")) == [
        'messages: was "chat", is now "talk"'
    ]
    gone = "models: the arm messages__openai__gpt-4.1-nano__default__forward is gone"
    assert differences(old, asking("chat", "openai/gpt-4.1")) == [gone]


def between(old, new):
    """Sentences about the change from one study to another."""
    return differences(msgspec.json.decode(msgspec.json.encode(definition(old))), definition(new))


LAST = changed(JUDGING, name="last")
FLAT_STAGE = changed(ANSWERS, name="generate")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (staged(ANSWERS), staged(ANSWERS, JUDGING)),
        (staged(ANSWERS, JUDGING), staged(ANSWERS, JUDGING, LAST)),
        (staged(ANSWERS, JUDGING), staged(changed(ANSWERS, replicates=2), JUDGING)),
        (staged(ANSWERS, JUDGING), staged(ANSWERS, changed(JUDGING, take=["answered"], when="landed"))),
        (
            staged(ANSWERS, JUDGING),
            staged(ANSWERS, changed(JUDGING, gather="1m", batch={"segments": 2}), budget=5, timeout=5, poll={}),
        ),
        (a_study(prompt="{text}"), staged(FLAT_STAGE)),
        (a_study(prompt="{text}"), staged(FLAT_STAGE, changed(JUDGING, of="generate"))),
        (staged(FLAT_STAGE), a_study(prompt="{text}")),
    ],
)
def test_how_stages_may_change_or_grow(old, new):
    assert between(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        (staged(ANSWERS, JUDGING), staged(ANSWERS), ["stages: 'judging' is gone"]),
        (staged(ANSWERS), staged(changed(ANSWERS, name="other")), ["stages: 'answers' is gone"]),
        (a_study(prompt="{text}"), staged(ANSWERS), ["stages: 'generate' is gone"]),
        (
            staged(ANSWERS, LAST),
            staged(ANSWERS, JUDGING, LAST),
            ["stages: 'judging' is now listed before 'last'; list it after"],
        ),
        (
            staged(ANSWERS, JUDGING, LAST),
            staged(ANSWERS, LAST, JUDGING),
            ["stages: 'last' is now listed before 'judging'; list it after"],
        ),
        (
            staged(ANSWERS, JUDGING),
            staged(ANSWERS, LAST),
            ["stages: 'judging' is gone"],
        ),
        (
            staged(ANSWERS, JUDGING),
            staged(changed(ANSWERS, seed=1), changed(JUDGING, when="done", take=["refused"], turns=["Sure?"])),
            [
                "stage 'answers': seed: was 0, is now 1",
                'stage \'judging\': when: was "landed", is now "done"',
                'stage \'judging\': take: was ["answered"], is now ["refused"]',
                "stage 'judging': turns: was not given, is now [\"Sure?\"]",
            ],
        ),
        (
            staged(ANSWERS, JUDGING, LAST),
            staged(ANSWERS, JUDGING, changed(LAST, of="judging")),
            ['stage \'last\': of: was "answers", is now "judging"'],
        ),
        (
            staged(ANSWERS),
            staged(changed(ANSWERS, prompt="Other {text}"), JUDGING),
            ["stage 'answers': templates: the text of 'prompt' changed"],
        ),
        (staged(ANSWERS), staged(changed(ANSWERS, seed=1)), ["seed: was 0, is now 1"]),
    ],
)
def test_how_stages_may_not(old, new, sentences):
    assert between(old, new) == sentences


def test_another_task_is_said_as_such():
    old = definition(a_study())
    (stage,) = old["stages"].values()
    new = {"stages": {"compare": {**stage, "task": "compare"}}}
    assert differences(old, new) == ['task: was "generate", is now "compare"']


def test_runs_of_the_first_version_go_on():
    """They remember a definition without a list of stages, and without the keys that came with it."""
    now = definition(a_study())
    (stage,) = now["stages"].values()
    before = {field: value for field, value in stage.items() if field not in ("of", "when", "take", "turns")}
    assert differences(before, now) == []
    assert differences({**before, "seed": 1}, now) == ["seed: was 1, is now 0"]
