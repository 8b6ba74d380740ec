import json

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.tables.results import COLUMNS
from overnight.tasks._json_answers import PREFIX, AnswerSchema, decoded

SCHEMA = {"type": "object", "required": ["a"]}


@pytest.mark.parametrize(
    ("schema", "answer", "admitted"),
    [
        (SCHEMA, ' {"a": null}\n', True),
        (SCHEMA, '["a"]', False),
        (SCHEMA, '{"a": 1} {"a": 2}', False),
        (SCHEMA, '```json\n{"a": 1}\n```', False),
        (SCHEMA, '{"a": NaN}', False),
        (SCHEMA, '{"a": "\ud800"}', False),
        (SCHEMA, "[" * 100_000, False),
        ({"type": "array"}, "[]", True),
        ({"type": ["array", "null"]}, "null", True),
        ({}, "{}", True),
        ({}, "[1]", True),
        ({}, "1", False),
        ({"type": "number"}, "1", True),
        ({"type": "integer"}, "1.5", False),
        ({"type": "boolean"}, "1", False),
        ({"type": "string"}, '"x"', True),
    ],
)
def test_what_a_schema_admits(schema, answer, admitted):
    assert (AnswerSchema(schema).read(answer) is not None) is admitted


@settings(deadline=None)
@given(st.text())
def test_any_answer_can_be_read(answer):
    assert AnswerSchema(SCHEMA).read(answer) in (None, {})


def read(part, value, **more):
    """What the column of one field holds; `unparsed` where the whole answer is."""
    found = AnswerSchema({"type": "object", "properties": {"a": part}, **more}).read('{"a": ' + value + "}")
    return "unparsed" if found is None else found["answer_a"]


@pytest.mark.parametrize(
    ("part", "value", "held"),
    [
        ({"type": "string"}, '"5"', "5"),
        ({"type": "string"}, "5", "unparsed"),
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, "5.0", 5),
        ({"type": "integer"}, "5.5", "unparsed"),
        ({"type": "integer"}, '"5"', "unparsed"),
        ({"type": "integer"}, "true", "unparsed"),
        ({"type": "integer"}, "null", "unparsed"),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": "integer"}, str(2**63 - 1), 2**63 - 1),
        ({"type": "integer"}, str(2**63), "unparsed"),
        ({"type": "number"}, "0.1", 0.1),
        ({"type": "number"}, "1e999", "unparsed"),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "1", "unparsed"),
        ({"type": "string", "enum": ["poor", "good"]}, '"good"', "good"),
        ({"type": "string", "enum": ["poor", "good"]}, '"great"', "unparsed"),
        ({"enum": [1, 2]}, "2", 2),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "3", 3),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, '"3"', '"3"'),
        ({"type": "object"}, '{"x": [1, 2.5]}', '{"x":[1,2.5]}'),
        ({"type": "array"}, '["ä"]', '["ä"]'),
        ({}, '"free"', '"free"'),
        ({"$ref": "#/$defs/nowhere"}, "1", "1"),
        ({"$ref": "https://elsewhere.example/schema"}, "1", "1"),
        ({"type": "string"}, '"\\ud800"', "unparsed"),
    ],
)
def test_what_a_column_holds(part, value, held):
    found = read(part, value)
    assert found == held
    assert type(found) is type(held)


def test_references_are_followed_inside_the_schema():
    definitions = {"Grade": {"type": "string", "enum": ["A", "B"]}, "Round": {"$ref": "#/$defs/Round"}}
    assert read({"$ref": "#/$defs/Grade"}, '"B"', **{"$defs": definitions}) == "B"
    assert read({"$ref": "#/$defs/Grade"}, '"C"', **{"$defs": definitions}) == "unparsed"
    assert read({"$ref": "#/$defs/Round"}, "1", **{"$defs": definitions}) == "1"


def test_two_values_under_one_name_are_no_answer():
    schema = AnswerSchema({"type": "object", "properties": {"a": {"type": "integer"}}})
    assert schema.read('{"a": 1, "a": 2}') is None
    assert schema.read('{"a": 1, "a": 1}') == {"answer_a": 1}


def test_no_common_column_can_have_the_name_of_an_answers():
    assert not any(name.startswith(PREFIX) for name in COLUMNS)


@pytest.mark.parametrize(
    "schema",
    [{"type": 5}, {"type": [["x"]]}, {"properties": []}, {"required": 5}, {"type": "object", "properties": {"a": 1}}],
)
def test_an_odd_schema_stops_no_reading(schema):
    assert AnswerSchema(schema).read("{}") in (None, {})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("aä\n", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=4,
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null"])


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3), st.dictionaries(st.sampled_from("abc"), TYPES))
def test_whatever_is_read_fits_its_column(answer, types):
    kinds = {"text": pl.String, "integer": pl.Int64, "number": pl.Float64, "boolean": pl.Boolean}
    schema = AnswerSchema({"type": "object", "properties": {name: {"type": kind} for name, kind in types.items()}})
    for name, value in (schema.read(json.dumps(answer)) or {}).items():
        assert pl.Series([value], dtype=kinds[schema.columns[name]]).to_list() == [value]


@pytest.mark.parametrize(
    "answer",
    [
        '{"better": "a", "better": "b"}',
        '{"better":"a","why":"so: it is","better":"b"}',
        '{"better" : "a", "better" : "b"}',
        '{"deep": {"better": "a", "better": "b"}}',
        '{"b": "a", "\\u0062": "b"}',
        '{"grade": 1, "grade": 2}',
    ],
)
def test_two_values_under_one_name_are_seen_however_they_are_written(answer: str) -> None:
    with pytest.raises(ValueError, match="two values"):
        decoded(answer)


@pytest.mark.parametrize(
    "answer",
    ['{"better": "a", "better": "a"}', '{"why": "so: it is", "n": [1, {"a": 2}]}', "[1]", '{"grade": 4, "why": "so"}'],
)
def test_what_says_one_thing_is_read(answer: str) -> None:
    assert decoded(answer) == msgspec.json.decode(answer)


def test_a_number_too_long_to_be_one_is_no_answer() -> None:
    with pytest.raises(ValueError, match="no JSON"):
        decoded('{"grade": ' + "9" * 5_000 + "}")
