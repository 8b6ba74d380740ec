import msgspec
import pytest

from overnight.study import definition, differences
from study.writing import ITEMS, a_study

MODELS = ["openai/gpt-4.1", {"model": "openai/gpt-4.1", "temperature": 0}]
PLAIN = "prompt__openai__gpt-4.1__default__forward"


def changed(**changes):
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


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"items": [*ITEMS, {"ID": "S03", "text": "three"}]},
        {"id": "ID"},
        {"batch": {"segments": 2}},
        {"poll": {"interval_seconds": 1}},
        {"timeout": "1h"},
        {"name": "other"},
        {"replicates": 3},
        {"models": [*MODELS, "openai/gpt-4.1-nano"]},
        {"models": [{"model": "openai/gpt-4.1", "key": "LAB"}, MODELS[1]]},
        {"models": ["openai/gpt-4.1-nano", *MODELS]},
    ],
)
def test_what_may_change_or_grow(changes):
    assert changed(**changes) == []


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        ({"prompt": "Other: {text}"}, ["templates: the text of 'prompt' changed"]),
        ({"system": "Be kind"}, ['system: was not given, is now "Be kind"']),
        ({"seed": 1}, ["seed: was 0, is now 1"]),
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
    assert changed(**changes) == sentences


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
