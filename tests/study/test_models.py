import json
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.ask import Model, Options, question_of
from overnight.core.errors import StudyError, UnknownName
from overnight.providers import vendor
from overnight.study import resolve
from overnight.study.models import THINKING_WORDS
from study.writing import a_study, complaint

THINKING = "off, on, minimal, low, medium, high or a token budget"
A_KEY = "this looks like an API key; write the name of the environment variable that holds it, such as OPENAI_API_KEY"
A_VARIABLE = "wanted the name of an environment variable, such as OPENAI_API_KEY"


def models_of(*written):
    return [arm.model for arm in resolve(a_study(models=list(written))).stages[0].arms]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": " "}, ": the name of the model is empty"),
        ({"temperature": 2.5}, ".temperature: 2.5 is not between 0 and 2"),
        ({"temperature": -0.1}, ".temperature: -0.1 is not between 0 and 2"),
        ({"temperature": float("nan")}, ".temperature: nan is no number that can be sent"),
        ({"temperature": "0"}, ".temperature: wanted a number, found the text '0'"),
        ({"temperature": False}, ".temperature: wanted a number, found false"),
        ({"top_p": 1.1}, ".top_p: 1.1 is not between 0 and 1"),
        ({"max_tokens": 0}, ".max_tokens: 0 is less than 1"),
        ({"max_tokens": 1.5}, ".max_tokens: wanted a whole number, found the number 1.5"),
        ({"seed": 2**63}, f".seed: {2**63} does not fit into 64 bits"),
        ({"stop": ""}, ".stop: an empty text stops nothing"),
        ({"stop": ["a", ""]}, ".stop: an empty text stops nothing"),
        ({"stop": [1]}, ".stop[0]: wanted text, found the number 1; put it in quotes"),
        ({"system": ""}, ".system: the text is empty"),
        ({"api": "chta"}, ".api: wanted chat or responses, found 'chta'; did you mean 'chat'?"),
        ({"extra": [1]}, ".extra: wanted a mapping, found a list"),
        ({"extra": {1: 2}}, ".extra: the keys must be text"),
        ({"extra": {"a": [float("inf")]}}, ".extra.a[0]: inf is no number that can be sent"),
        ({"extra": {"a": "\ud800"}}, ".extra.a: half a character (a lone surrogate) cannot be sent"),
        ({"extra": {"\ud800": 1}}, ".extra: half a character (a lone surrogate) cannot be sent"),
        ({"json_schema": ["a"]}, ".json_schema: wanted text or a mapping, found a list"),
        ({"thinking": "hihg"}, f".thinking: wanted {THINKING}, found 'hihg'; did you mean 'high'?"),
        ({"thinking": ["off", "x"]}, f".thinking[1]: wanted {THINKING}, found 'x'"),
        ({"thinking": True}, ".thinking: wanted a whole number, text or a list, found true"),
        ({"thinking": []}, ".thinking: the list is empty"),
        ({"thinking": 0}, ".thinking: a token budget of 0 is less than 1; to switch thinking off write off"),
        ({"thinking": ["on", "on"]}, ".thinking[1]: on is listed twice"),
        ({"key": "sk-proj-abc"}, f".key: {A_KEY}"),
        ({"key": "AIzaSyA1234567890"}, f".key: {A_KEY}"),
        ({"key": "a1b2c3d4e5f6a7b8c9d0"}, f".key: {A_KEY}"),
        ({"key": "two words"}, f".key: {A_VARIABLE}"),
        ({"key": ""}, f".key: {A_VARIABLE}"),
        ({"base_url": "localhost:8000"}, ".base_url: wanted an address that begins with http:// or https://"),
        (
            {"base_url": "https://me:secret@host/v1"},
            ".base_url: an address with a password in it; name the variable that holds it in `key`",
        ),
        ({"base_url": []}, ".base_url: the list is empty"),
        ({"keys": []}, ".keys: the list is empty"),
        ({"keys": "LAB"}, ".keys: wanted a list, found the text 'LAB'"),
        ({"keys": ["A", "sk-1234567890"]}, f".keys[1]: {A_KEY}"),
        ({"keys": ["A", "two words"]}, f".keys[1]: {A_VARIABLE}"),
        ({"keys": ["A", "B", "A"]}, ".keys[2]: this key is listed twice"),
        ({"key": "A", "keys": ["B"]}, ".keys: `key` is one variable and `keys` are several; write only one of the two"),
        (
            {"base_url": ["http://a/v1", "b"]},
            ".base_url[1]: wanted an address that begins with http:// or https://",
        ),
        ({"base_url": ["http://a/v1", "http://a/v1"]}, ".base_url[1]: this address is listed twice"),
        (
            {"base_url": ["http://a", "http://a"], "keys": ["A", "A"]},
            ".base_url[1]: this address and key is listed twice",
        ),
        (
            {"base_url": ["http://a", "http://b"], "keys": ["A", "B", "C"]},
            ".keys: 3 keys for 2 addresses; write as many of both, in the same order, or one of the two for all",
        ),
        ({"base_urll": "x"}, ": unknown key 'base_urll'; did you mean 'base_url'?"),
    ],
)
def test_what_is_wrong_is_said(fields, message):
    models = ["openai/gpt-4.1", {"model": "openai/gpt-4.1", **fields}]
    assert complaint(lambda: a_study(models=models)) == f"study: models[1]{message}"


@settings(deadline=None)
@given(st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=8))
def test_a_key_is_never_shown(tail):
    secret = f"sk-{tail}"
    assert secret not in complaint(lambda: a_study(models=[{"model": "openai/gpt-4.1", "key": secret}]))


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "LAB_GEMINI_KEY", "THE_ORGANISATION_S_SECOND_OPENAI_API_KEY", "key2", "lab"]
)
def test_names_of_variables_are_welcome(name):
    assert models_of({"model": "openai/gpt-4.1", "key": name})[0].key == name


def test_text_is_a_model_without_options():
    assert models_of("openai/gpt-4.1") == [Model(provider="openai", name="gpt-4.1")]


def test_every_option_arrives():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    found = models_of(
        {
            "model": "openai/gpt-4.1",
            "temperature": 0,
            "top_p": 1,
            "max_tokens": 5,
            "seed": 3,
            "stop": "END",
            "json_schema": schema,
            "api": "chat",
            "extra": {"user": "me"},
            "key": "LAB",
            "base_url": "http://127.0.0.1:1/v1",
        }
    )
    options = Options(
        temperature=0.0,
        top_p=1.0,
        max_tokens=5,
        seed=3,
        stop=("END",),
        json_schema=schema,
        api="chat",
        extra={"user": "me"},
    )
    assert found == [
        Model(provider="openai", name="gpt-4.1", options=options, key="LAB", base_url="http://127.0.0.1:1/v1")
    ]
    assert isinstance(found[0].options.temperature, float)


def test_a_list_of_thinking_is_as_many_arms():
    found = models_of({"model": "openai/gpt-5.1", "thinking": ["off", "high"]})
    assert [model.options.thinking for model in found] == ["off", "high"]
    assert "minimal" in THINKING_WORDS


def test_a_bare_name_is_resolved_and_noted():
    resolved = resolve(a_study(models=["gpt-4.1-nano"]))
    assert resolved.stages[0].arms[0].model.provider == "openai"
    assert "models[0]: gpt-4.1-nano is taken as openai/gpt-4.1-nano" in resolved.stages[0].notes


def test_an_unknown_provider_is_said_with_its_place():
    message = complaint(lambda: resolve(a_study(models=["openai/gpt-4.1", "opnai/gpt-4.1"])), UnknownName)
    assert message.startswith("study: models[1]: provider 'opnai' is not known; did you mean 'openai'?")


def test_a_provider_s_rule_is_said_at_its_field():
    model = Model(provider="openai", name="o3", options=Options(temperature=0.5, thinking="high"))
    problems = vendor("openai").format.problems(model)
    field, _, rest = problems[0].partition(": ")
    assert field == "temperature"
    study = a_study(models=[{"model": "openai/o3", "temperature": 0.5, "thinking": "high"}])
    assert complaint(lambda: resolve(study)) == f"study: models[0].temperature: {rest}"


def test_all_broken_rules_are_said_at_once():
    study = a_study(models=[{"model": "openai/o3", "temperature": 0.5, "top_p": 0.5}])
    message = complaint(lambda: resolve(study))
    assert message.startswith("study: models[0].temperature: 0.5")
    assert "; top_p: 0.5" in message


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def schema_study(written):
    return a_study(models=[{"model": "openai/gpt-4.1", "json_schema": written}])


def test_a_schema_may_be_a_file(tmp_path):
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(SCHEMA))
    assert resolve(schema_study(str(path))).stages[0].arms[0].model.options.json_schema == SCHEMA


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": object}', ":1:10: not JSON: Expecting value"),
        ("[1]", ": a schema is an object in braces"),
        ('{"a": NaN}', ": not JSON: NaN is not a number of JSON"),
    ],
)
def test_a_bad_schema_file_is_said(tmp_path, text, message):
    path = tmp_path / "answer.json"
    path.write_text(text)
    assert complaint(lambda: resolve(schema_study(str(path)))) == f"study: models[0].json_schema: {path}{message}"


def test_a_schema_that_is_no_file_is_said(tmp_path):
    wanted = "study: models[0].json_schema: wanted a mapping or the path of a .json file, found 'object'"
    assert complaint(lambda: resolve(schema_study("object"))) == wanted
    assert (
        complaint(lambda: resolve(schema_study(str(tmp_path / "no.json"))))
        == f"study: models[0].json_schema: {tmp_path / 'no.json'}: no such file"
    )


@pytest.mark.parametrize("key", ["a" * 200_000, "1" * 200_000])
def test_a_long_word_for_a_key_is_looked_at_in_no_time(key):
    """A pattern that looked ahead at every letter took minutes over these."""
    began = time.perf_counter()
    with suppress(StudyError):
        models_of({"model": "gpt-4.1", "key": key})
    assert time.perf_counter() - began < 3


@pytest.mark.parametrize(
    ("written", "members"),
    [
        ({"keys": ["A"]}, [("A", None)]),
        ({"keys": ["A", "B"]}, [("A", None), ("B", None)]),
        ({"base_url": ["http://a"]}, [(None, "http://a")]),
        ({"base_url": ["http://a", "http://b"], "key": "A"}, [("A", "http://a"), ("A", "http://b")]),
        ({"base_url": "http://a", "keys": ["A", "B"]}, [("A", "http://a"), ("B", "http://a")]),
        ({"base_url": ["http://a", "http://b"], "keys": ["A", "B"]}, [("A", "http://a"), ("B", "http://b")]),
    ],
)
def test_a_pool_is_known_by_its_first_member(written, members):
    (model,) = models_of({"model": "openai/gpt-4.1", **written})
    assert [(one.key, one.base_url) for one in model.members] == members
    assert (model.key, model.base_url) == members[0]
    first = Model(provider="openai", name="gpt-4.1", options=model.options, base_url=members[0][1])
    assert question_of(model) == question_of(first)
