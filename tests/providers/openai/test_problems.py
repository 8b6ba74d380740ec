"""Every rule says the field, what was found and what to write instead; what keeps the rules is silent."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.providers.openai.problems import problems
from providers.asking import model

CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gpt-4.1", {"temperature": 0.0, "top_p": 0.5, "max_tokens": 1, "seed": 1, "stop": ("a", "b")}),
        ("gpt-4.1", {"thinking": "off", "json_schema": CLOSED}),
        ("gpt-4.1", {"api": "responses", "temperature": 0.3}),
        ("gpt-5", {"thinking": "minimal", "temperature": 1.0, "max_tokens": 16}),
        ("gpt-5", {"seed": 4}),
        ("gpt-5", {"thinking": "low", "api": "chat", "seed": 4}),
        ("gpt-5", {"extra": {"temperature": 0, "stop": ["x"], "n": 1}}),
        ("gpt-5.1", {"thinking": "off", "temperature": 0.0}),
        ("gpt-5.2", {"temperature": 0.2, "top_p": 0.9}),
        ("gpt-5.1", {"thinking": "high", "temperature": 1.0}),
        ("o1", {"stop": ("x",)}),
        ("o3-pro", {"thinking": "high", "json_schema": CLOSED}),
        ("gpt-7", {"temperature": 0.2, "thinking": "off", "stop": ("x",), "seed": 3, "json_schema": CLOSED}),
    ],
)
def test_what_keeps_the_rules_may_be_sent(name: str, options: dict[str, Any]) -> None:
    assert problems(model(name, **options)) == []


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        (
            "o3-pro",
            {"api": "chat"},
            "api: 'chat' with o3-pro, which answers only on the Responses API; write `api: responses` or leave it out",
        ),
        (
            "gpt-5",
            {"thinking": 2048},
            "thinking: a budget of 2048 tokens; OpenAI has none, write one of on, minimal, low, medium, high",
        ),
        (
            "gpt-5",
            {"thinking": "off"},
            "thinking: 'off' with gpt-5, which always thinks; write one of on, minimal, low, medium, high",
        ),
        (
            "gpt-5.1",
            {"thinking": "minimal"},
            "thinking: 'minimal' with gpt-5.1, which does not take it; write one of off, on, low, medium, high",
        ),
        (
            "gpt-4.1",
            {"thinking": "on"},
            "thinking: 'on' with gpt-4.1, whose thinking cannot be set; leave it out",
        ),
        (
            "o3",
            {"temperature": 0.2},
            (
                "temperature: 0.2 with o3, a reasoning model that takes only 1; leave it out (if you know that the "
                "model takes it, put it under `extra`)"
            ),
        ),
        (
            "gpt-5.1",
            {"thinking": "low", "top_p": 0.9},
            (
                "top_p: 0.9 with thinking low; gpt-5.1 takes only 1 while it thinks: leave it out, or write "
                "`thinking: off` (if you know that the model takes it, put it under `extra`)"
            ),
        ),
        ("gpt-4.1", {"temperature": 2.5}, "temperature: 2.5; wanted a number from 0 to 2"),
        ("gpt-4.1", {"top_p": -0.1}, "top_p: -0.1; wanted a number from 0 to 1"),
        ("gpt-4.1", {"max_tokens": 0}, "max_tokens: 0; the chat API wants at least 1"),
        ("gpt-5", {"thinking": "low", "max_tokens": 15}, "max_tokens: 15; the responses API wants at least 16"),
        (
            "gpt-5",
            {"thinking": "low", "seed": 7},
            (
                "seed: 7 on the Responses API, which has no seed; write `api: chat` (thoughts are then not kept) "
                "or leave it out"
            ),
        ),
        ("o3-pro", {"seed": 7}, "seed: 7 on the Responses API, which has no seed; leave it out"),
        (
            "gpt-4.1",
            {"api": "responses", "stop": ("x",)},
            "stop: not taken by the Responses API; write `api: chat` (thoughts are then not kept) or leave it out",
        ),
        (
            "o4-mini",
            {"stop": ("x",)},
            "stop: not taken by o4-mini; leave it out (if you know that the model takes it, put it under `extra`)",
        ),
        ("gpt-4.1", {"stop": ("a", "b", "c", "d", "e")}, "stop: 5 sequences; OpenAI takes at most 4"),
        (
            "gpt-4-turbo",
            {"json_schema": CLOSED},
            (
                "json_schema: gpt-4-turbo cannot be held to a schema; leave it out and ask for tags, or choose a "
                "newer model"
            ),
        ),
        (
            "gpt-4.1",
            {"json_schema": {"type": "array", "items": {"type": "string"}}},
            "json_schema: the outermost `type` must be object; put the value into a field of one",
        ),
        (
            "gpt-4.1",
            {"extra": {"stream": True}},
            "extra: `stream` is written by Overnight and cannot be set; leave it out",
        ),
        (
            "gpt-4.1",
            {"extra": {"n": 3}},
            "extra: `n: 3` would pay for answers that are not kept; write `replicates: 3`",
        ),
    ],
)
def test_a_broken_rule_is_one_sentence(name: str, options: dict[str, Any], sentence: str) -> None:
    assert problems(model(name, **options)) == [sentence]


@pytest.mark.parametrize("field", ["model", "messages", "input", "instructions", "stream"])
def test_extra_cannot_take_over_what_is_asked(field: str) -> None:
    (sentence,) = problems(model(extra={field: "x"}))
    assert f"`{field}`" in sentence


def test_loose_objects_are_found_at_any_depth() -> None:
    loose = {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}}, "required": ["x"]}
    schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": loose},
            "either": {"anyOf": [{"type": "null"}, loose]},
            "named": {"$ref": "#/$defs/part"},
        },
        "required": ["list", "either", "named"],
        "additionalProperties": False,
        "$defs": {"part": loose},
    }
    assert problems(model(json_schema=schema)) == [
        f"{where}: {what}"
        for where in ("json_schema.list.items", "json_schema.either.anyOf[1]", "json_schema.$defs.part")
        for what in (
            "an object without `additionalProperties: false`; add it",
            "y not in `required`; OpenAI wants every field there",
        )
    ]


def test_all_broken_rules_are_told_at_once() -> None:
    fields = [told.split(":")[0] for told in problems(model("o3", thinking="off", temperature=0.0, stop=("x",)))]
    assert fields == ["thinking", "temperature", "stop"]


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["type", "properties", "items", "required", "$defs", "x"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "items", "required"]), json_like))
def test_no_schema_is_too_odd_to_be_judged(schema: dict[str, Any]) -> None:
    assert all(told.startswith("json_schema") for told in problems(model(json_schema=schema)))
