"""What Google's families refuse is said before anything is sent, in sentences."""

from typing import Any

import pytest

from overnight.core.ask import Model, Options
from overnight.providers.google_api.families import FAMILIES, family_of, thinking_choices
from overnight.providers.google_api.problems import problems


def found(name: str, *, imported: bool = False, **options: Any) -> list[str]:
    return problems(Model(provider="gemini", name=name, options=Options(**options)), imported=imported)


@pytest.mark.parametrize(
    ("name", "thinking", "sentence"),
    [
        ("gemini-2.0-flash", "low", "thinking: 'low' with gemini-2.0-flash, which does not think; leave it out"),
        ("gemini-2.5-pro", "off", "thinking: 'off' with gemini-2.5-pro, which always thinks; write one of on, minimal"),
        ("gemini-2.5-flash-lite", 100, "thinking: a budget of 100 tokens; gemini-2.5-flash-lite takes 512 to 24576"),
        ("gemini-3-pro-preview", "medium", "thinking: 'medium' with gemini-3-pro-preview, which does not take it"),
        ("gemini-3.6-flash", "off", "thinking: 'off' with gemini-3.6-flash, which always thinks"),
        ("gemini-3.7-flash", "minimal", "thinking: 'minimal' with gemini-3.7-flash, which does not take it"),
        ("gemini-3.8-flash", 1000, "thinking: a budget of 1000 tokens, which gemini-3.8-flash ignores; write one of"),
    ],
)
def test_thinking_that_a_family_refuses(name: str, thinking: Any, sentence: str) -> None:
    (said,) = found(name, thinking=thinking)
    assert said.startswith(sentence)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_choice_that_is_offered_is_taken(family: Any) -> None:
    name = family.patterns[0].replace("*", "x").replace("[78]", "7")
    assert family_of(name) is family
    for choice in thinking_choices(family):
        assert found(name, thinking=choice) == []
    if family.budgets:
        assert found(name, thinking=family.budgets[0]) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"api": "chat"}, "api: 'chat'; Google's models answer on one API only"),
        ({"temperature": 2.5}, "temperature: 2.5; wanted a number from 0 to 2"),
        ({"stop": tuple("abcdef")}, "stop: 6 sequences; Google takes at most 5"),
        ({"max_tokens": 100, "thinking": 200}, "max_tokens: 100, which a thinking budget of 200 uses up"),
        ({"extra": {"contents": []}}, "extra: `contents` is written by Overnight"),
        ({"extra": {"generationConfig": {"candidateCount": 3}}}, "extra: `candidateCount: 3` would pay"),
        ({"extra": {"generationConfig": 3}}, "extra: `generationConfig` must be a mapping"),
    ],
)
def test_options_that_google_refuses(options: dict[str, Any], sentence: str) -> None:
    (said,) = found("gemini-2.5-flash", **options)
    assert said.startswith(sentence)


def test_a_model_nobody_knows_has_no_rules() -> None:
    assert found("gemini-9-new", thinking=99999, temperature=1) == []


DEEP: dict[str, Any] = {"type": "string"}
for _ in range(7):
    DEEP = {"type": "object", "properties": {"inner": DEEP}}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "object", "properties": {"a b": {"type": "string"}}}, "the field 'a b'"),
        ({"type": "array", "items": {}}, "an empty object"),
        (DEEP, "nested too deeply"),
        ({"$ref": "#/$defs/no"}, "points nowhere"),
        ({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, "refers to itself"),
        ({"allOf": [{"type": "string"}]}, "`allOf`"),
        ({"type": ["string", "integer"]}, "write one type"),
        ({"type": "array", "items": True}, "in place of a schema"),
    ],
)
def test_schemas_that_vertex_cannot_read(schema: dict[str, Any], words: str) -> None:
    said = found("gemini-2.5-flash", imported=True, json_schema=schema)
    assert said
    assert said[0].startswith("json_schema: ")
    assert words in said[0]
    assert found("gemini-2.5-flash", json_schema=schema) == []


def test_what_vertex_cannot_import_is_refused_in_extra_fields() -> None:
    said = found("gemini-2.5-flash", imported=True, extra={"tools": [{"googleSearch": {}}], "labels": None})
    assert said == [
        "extra: `tools[0].googleSearch` is empty, which Vertex cannot read; leave it out",
        "extra: `labels` is null, which Vertex cannot read; leave it out",
    ]
