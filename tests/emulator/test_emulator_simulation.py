"""The simulated models are pure functions: properties of their answers."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import msgspec
import pytest
from driving import chat_body
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight_emulator.answers.answering import Models
from overnight_emulator.answers.schema import UnusableSchemaError
from overnight_emulator.batches.rows import canonical
from overnight_emulator.chance import Chance
from overnight_emulator.dialects.openai.lines import answer
from overnight_emulator.dialects.openai.prompts import read_prompt
from overnight_emulator.dialects.openai.rules import CHAT, RESPONSES
from overnight_emulator.simulate import expected, expected_answer
from overnight_emulator.truth import Answers, Truth

texts = st.text(max_size=200)
bodies = st.builds(chat_body, texts, model=st.sampled_from(["gpt-4.1", "gpt-5", "o3", "gpt-4o-mini"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10) | st.floats(-5, 5) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(seed=st.integers(0, 99), asked=st.lists(bodies, min_size=1, max_size=6), shuffle=st.randoms())
@settings(max_examples=50, deadline=None)
def test_answers_do_not_depend_on_the_order_of_arrival(seed: int, asked: list[Any], shuffle: random.Random):
    models = Models(Truth(seed=seed))
    first = [models.answer(read_prompt(body)) for body in asked]
    order = list(range(len(asked)))
    shuffle.shuffle(order)
    again = Models(Truth(seed=seed))
    second = {index: again.answer(read_prompt(asked[index])) for index in order}
    assert [second[index] for index in range(len(asked))] == first
    assert first[0].text == expected_answer(seed, asked[0])


@given(bodies)
@settings(max_examples=50, deadline=None)
def test_keys_may_stand_in_any_order_and_another_seed_is_another_world(body: dict[str, Any]):
    turned = dict(reversed(body.items()))
    assert expected(1, turned) == expected(1, body)
    assert expected_answer(1, body) != expected_answer(2, body)


@given(bodies, st.integers(1, 800))
@settings(max_examples=100, deadline=None)
def test_no_answer_is_longer_than_its_limit(body: dict[str, Any], limit: int):
    body = {**body, "max_completion_tokens": limit}
    said = expected(0, body)
    whole = Models(Truth()).full_text(read_prompt(body))
    assert said.output_tokens <= limit
    assert said.reasoning_tokens <= said.output_tokens
    assert whole.startswith(said.text)
    assert said.ending == ("stop" if said.text == whole else "length")
    assert said.input_tokens == math.ceil(len(body["messages"][0]["content"]) / 4)


@given(json_values | st.fixed_dictionaries({}, optional={
    "model": st.sampled_from(["gpt-4.1", "gpt-5"]) | json_values,
    "messages": st.lists(st.fixed_dictionaries({"role": json_values, "content": json_values}), max_size=3) | json_values,
    "input": texts | json_values,
    "text": json_values,
    "reasoning": json_values,
    "reasoning_effort": json_values,
    "n": json_values,
    "max_completion_tokens": json_values,
    "max_output_tokens": json_values,
    "response_format": json_values
    | st.fixed_dictionaries({"type": st.just("json_schema"), "json_schema": st.fixed_dictionaries({"name": st.just("x"), "schema": st.dictionaries(st.sampled_from(["type", "$ref", "items", "enum", "minItems", "anyOf", "minimum", "properties", "multipleOf"]), json_values)})}),
}), st.sampled_from([CHAT, RESPONSES]))  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_no_body_is_beyond_an_answer_or_a_refusal(body: Any, endpoint: str):
    if not isinstance(body, dict):
        return
    truth = Truth()
    reply = answer(Models(truth), truth, body, endpoint, 0.0, b"digest")
    assert reply.status in {200, 400, 404}
    assert (reply.usage is not None) == (reply.status == 200)
    json.loads(msgspec.json.encode(reply.body))


def test_tokens_are_counted_by_model():
    truth = Truth(tokens_per_character={"default": 0.5, "gpt-4*": 1.0, "gpt-4.1": 2.0})
    for model, tokens in (("gpt-4.1", 20), ("gpt-4o", 10), ("other", 5)):
        assert expected(0, chat_body("x" * 10, model=model), truth).input_tokens == tokens


def test_planted_answers_come_first_and_may_repeat_what_was_found():
    truth = Truth(answer_with={r"capital of (\w+)": r"It is the city of \1.", "France": "never reached"})
    assert expected_answer(0, chat_body("What is the capital of France?"), truth) == "It is the city of France."
    assert expected_answer(0, chat_body("Bonjour France"), truth) == "never reached"


def test_shares_of_outcomes_are_kept():
    truth = Truth(answers=Answers(refused=0.2, truncated=0.1, filtered=0.3))
    endings = [expected(5, chat_body(str(i)), truth).ending for i in range(2000)]
    for ending, share in (("refusal", 0.2), ("length", 0.1), ("content_filter", 0.3), ("stop", 0.4)):
        assert endings.count(ending) == pytest.approx(2000 * share, abs=5 * math.sqrt(2000 * share * (1 - share)))


@given(st.integers(), st.text(), st.lists(st.text() | st.binary() | st.integers(), max_size=3))
def test_chance_is_even_tempered(seed: int, purpose: str, content: list[Any]):
    chance = Chance(seed)
    share = chance.share(purpose, *content)
    assert 0 <= share < 1
    assert share == Chance(seed).share(purpose, *content)
    assert 3 <= chance.between(3, 4, purpose, *content) <= 4
    assert len(chance.hexadecimal(7, purpose, *content)) == 7
    if content:
        assert chance.number(purpose, *content) != chance.number(purpose, *content, "more")


# schemas

names = st.sampled_from(["alpha", "beta", "gamma", "delta"])
scalars = st.one_of(
    st.just({"type": "null"}),
    st.just({"type": "boolean"}),
    st.builds(lambda low, more: {"type": "string", "minLength": low, "maxLength": low + more}, st.integers(0, 30), st.integers(0, 90)),
    st.builds(lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more}, st.integers(-50, 50), st.integers(0, 60)),
    st.builds(lambda low: {"type": "integer", "exclusiveMinimum": low}, st.integers(-9, 9)),
    st.builds(lambda low, step: {"type": "integer", "minimum": low, "multipleOf": step}, st.integers(-9, 9), st.integers(1, 7)),
    st.builds(lambda low, more: {"type": "number", "minimum": low, "exclusiveMaximum": low + more}, st.floats(-5, 5), st.floats(0.01, 5)),
    st.builds(lambda top: {"type": "number", "maximum": top}, st.floats(-5, 5)),
    st.builds(lambda values: {"enum": values}, st.lists(st.integers() | st.text(max_size=5) | st.booleans(), min_size=1, max_size=4)),
    st.builds(lambda value: {"const": value}, json_values),
    st.builds(lambda kinds: {"type": kinds}, st.permutations(["string", "null"])),
)  # fmt: skip


def composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def with_required(properties: dict[str, Any], data: list[bool], closed: bool) -> dict[str, Any]:
        required = [name for name, wanted in zip(properties, data, strict=False) if wanted]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": not closed}

    return st.one_of(
        st.builds(
            with_required, st.dictionaries(names, inner), st.lists(st.booleans(), min_size=4, max_size=4), st.booleans()
        ),
        st.builds(
            lambda items, least, more: {"type": "array", "items": items, "minItems": least, "maxItems": least + more},
            inner,
            st.integers(0, 3),
            st.integers(0, 3),
        ),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3)),
    )  # fmt: skip


schemas = st.recursive(scalars, composed, max_leaves=10)


def is_valid(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """What JSON Schema says, for the words used here; written apart from the emulator."""
    if "$ref" in schema:
        return is_valid(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema and not any(is_valid(value, option, root) for option in schema["anyOf"]):
        return False
    if "const" in schema and canonical(value) != canonical(schema["const"]):
        return False
    if "enum" in schema and not any(value == one and type(value) is type(one) for one in schema["enum"]):
        return False
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_of_type(value, kind) for kind in kinds):
        return False
    if isinstance(value, str):
        return schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return fits(value, schema)
    if isinstance(value, list) and "items" in schema:
        count = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf)
        return count and all(is_valid(item, schema["items"], root) for item in value)
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        named = set(schema.get("required", [])) <= set(value)
        closed = schema.get("additionalProperties", True) or set(value) <= set(known)
        return named and closed and all(is_valid(value[name], known[name], root) for name in value if name in known)
    return True


def is_of_type(value: Any, kind: str) -> bool:
    types = {"null": type(None), "boolean": bool, "string": str, "array": list, "object": dict}
    if kind in types:
        return isinstance(value, types[kind])
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (kind == "number" and isinstance(value, float))


def fits(value: float, schema: dict[str, Any]) -> bool:
    step = schema.get("multipleOf")
    return (
        schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
        and schema.get("exclusiveMinimum", -math.inf) < value < schema.get("exclusiveMaximum", math.inf)
        and (step is None or value % step == 0)
    )


def structured(schema: dict[str, Any], seed: int = 0, text: str = "Fill this in.") -> Any:
    form = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    return json.loads(expected_answer(seed, chat_body(text, response_format=form)))


@given(schemas, st.integers(0, 5))
@settings(max_examples=400, deadline=None)
def test_structured_answers_are_valid_for_their_schema(schema: dict[str, Any], seed: int):
    document = structured(schema, seed)
    assert is_valid(document, schema, schema), document
    assert structured(schema, seed) == document


@given(schemas)
@settings(max_examples=50, deadline=None)
def test_the_responses_api_fills_in_the_same_kind_of_document(schema: dict[str, Any]):
    body = {
        "model": "gpt-4.1",
        "input": "Fill.",
        "text": {"format": {"type": "json_schema", "name": "x", "schema": schema}},
    }
    assert is_valid(json.loads(expected_answer(0, body)), schema, schema)


TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "label": {"type": "string"},
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["label", "next", "children"],
            "additionalProperties": False,
        }
    },
}


def test_a_schema_that_refers_to_itself_comes_to_an_end():
    for seed in range(5):
        document = structured(TREE, seed)
        assert is_valid(document, TREE, TREE)
        assert len(json.dumps(document)) < 2_000_000


def test_all_of_several_schemas_are_filled_in():
    one = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    other = {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"]}
    document = structured({"allOf": [one, other]})
    assert set(document) == {"a", "b"}


def test_fixed_places_of_a_list_are_kept():
    document = structured({"type": "array", "prefixItems": [{"const": 1}, {"const": "two"}], "items": False})
    assert document == [1, "two"]


@pytest.mark.parametrize(
    ("schema", "holds"),
    [
        ({"type": "array", "items": {"enum": ["x"]}, "uniqueItems": True}, lambda value: len(value) <= 1),
        ({"type": "object", "minProperties": 2}, lambda value: len(value) == 2),
        ({"type": "object", "required": ["free"]}, lambda value: isinstance(value["free"], str)),
        ({"type": "number", "minimum": 1, "maximum": 2, "multipleOf": 0.25}, lambda value: value % 0.25 == 0),
        ({"items": {"type": "null"}, "minItems": 1}, lambda value: set(value) == {None}),
        ({"enum": ["red", "green", "blue"]}, lambda value: value in {"red", "green", "blue"}),
        ({"oneOf": [{"type": "boolean"}, {"type": "string"}]}, lambda value: isinstance(value, bool)),
        ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}, lambda value: value == 4),
        ({"type": "integer", "maximum": 3}, lambda value: value <= 3),
    ],
)
def test_rarer_words_of_a_schema_are_understood(schema, holds):
    for seed in range(10):
        assert holds(structured(schema, seed))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}, "minItems": 2**62},
        {"type": "object", "minProperties": 2**62},
        {"type": "string", "minLength": 2**62},
        {"$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}, "minItems": 9}}, "$ref": "#/$defs/n"},
    ],
    ids=["items", "properties", "characters", "branches"],
)
def test_a_schema_that_wants_more_than_any_answer_holds_is_refused(schema):
    body = chat_body("x", response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}})
    with pytest.raises(UnusableSchemaError):
        Models(Truth()).answer(read_prompt(body))


def test_a_schema_that_leads_nowhere_is_refused():
    truth = Truth()
    body = chat_body(
        "x", response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": {"$ref": "#/no"}}}
    )
    reply = answer(Models(truth), truth, body, CHAT, 0.0, b"digest")
    assert (reply.status, reply.body["error"]["code"]) == (400, "invalid_json_schema")
    with pytest.raises(UnusableSchemaError):
        Models(truth).answer(read_prompt(body))
