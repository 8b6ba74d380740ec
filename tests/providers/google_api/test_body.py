"""What Google gets to read: bodies, lines, and ready-made lines read back."""

from typing import Any

import msgspec
import pytest

from overnight.core.ask import Model, Options
from overnight.core.errors import StudyError
from overnight.providers import batch_format, vendor
from overnight.providers.google_api.body import encode, form_of, line, read_line
from providers.asking import ask

SCHEMA = {
    "$defs": {"grade": {"type": "integer", "minimum": 1}},
    "type": "object",
    "properties": {"grade": {"$ref": "#/$defs/grade"}, "why": {"type": ["string", "null"]}},
    "required": ["grade"],
    "additionalProperties": False,
}


def model(name: str = "gemini-2.5-flash", provider: str = "gemini", **options: Any) -> Model:
    return Model(provider=provider, name=name, options=Options(**options))


def body(of: Model, *turns: Any, imported: bool = False) -> Any:
    return msgspec.json.decode(encode(form_of(of, imported=imported), ask(of, *(turns or ("Why?",)))))


def config(name: str = "gemini-2.5-flash", *, imported: bool = False, **options: Any) -> Any:
    return body(model(name, **options), imported=imported).get("generationConfig")


def test_a_question_alone_says_nothing_else() -> None:
    assert body(model()) == {"contents": [{"role": "user", "parts": [{"text": "Why?"}]}]}


def test_roles_and_the_system_message() -> None:
    turns = (("system", "Be brief."), "One?", ("assistant", "One."), ("system", "Be kind."), "Sure?")
    assert body(model(), *turns) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "One?"}]},
            {"role": "model", "parts": [{"text": "One."}]},
            {"role": "user", "parts": [{"text": "Sure?"}]},
        ],
    }


def test_every_option_has_its_field() -> None:
    sent = config(max_tokens=100, temperature=0.5, top_p=0.9, seed=7, stop=("END",))
    assert sent == {"maxOutputTokens": 100, "temperature": 0.5, "topP": 0.9, "seed": 7, "stopSequences": ["END"]}


@pytest.mark.parametrize(
    ("name", "thinking", "sent"),
    [
        ("gemini-2.5-flash", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "on", {"thinkingBudget": -1, "includeThoughts": True}),
        ("gemini-2.5-pro", "low", {"thinkingBudget": 1024, "includeThoughts": True}),
        ("gemini-2.5-flash-lite", 600, {"thinkingBudget": 600, "includeThoughts": True}),
        ("gemini-3-pro-preview", "low", {"thinkingLevel": "LOW", "includeThoughts": True}),
        ("gemini-3-pro-preview", "on", {"includeThoughts": True}),
        ("gemini-3.6-flash", "minimal", {"thinkingLevel": "MINIMAL", "includeThoughts": True}),
        ("gemini-9-new", "high", {"thinkingLevel": "HIGH", "includeThoughts": True}),
    ],
)
def test_thinking_is_told_as_the_family_has_it(name: str, thinking: Any, sent: dict[str, Any]) -> None:
    assert config(name, thinking=thinking) == {"thinkingConfig": sent}


def test_a_model_that_does_not_think_is_told_nothing() -> None:
    assert config("gemini-2.0-flash", thinking="off") is None


def test_a_schema_goes_as_it_is_where_it_can() -> None:
    assert config(json_schema=SCHEMA) == {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}


@pytest.mark.parametrize(("name", "imported"), [("gemini-2.0-flash", False), ("gemini-2.5-flash", True)])
def test_a_schema_goes_in_the_smaller_language_where_it_must(name: str, imported: bool) -> None:
    assert config(name, json_schema=SCHEMA, imported=imported) == {
        "responseMimeType": "application/json",
        "responseSchema": {
            "type": "object",
            "properties": {
                "grade": {"type": "integer", "minimum": 1},
                "why": {"type": "string", "nullable": True},
            },
            "required": ["grade"],
        },
    }


def test_extra_fields_come_last_and_reach_into_the_configuration() -> None:
    of = model(
        temperature=1,
        extra={
            "safetySettings": [{"category": "X"}],
            "generationConfig": {"topK": 3, "temperature": 0},
            "contents": [],
        },
    )
    sent = body(of)
    assert sent["generationConfig"] == {"temperature": 0, "topK": 3}
    assert sent["safetySettings"] == [{"category": "X"}]
    assert sent["contents"][0]["parts"] == [{"text": "Why?"}]


def test_the_same_bytes_whatever_the_order_of_settings() -> None:
    one = model(extra={"a": 1, "b": 2})
    other = model(extra={"b": 2, "a": 1})
    assert form_of(one) == form_of(other)


def test_batch_and_live_send_the_same_body() -> None:
    for name, id_field in (("gemini", "key"), ("vertex", "custom_id")):
        provider = batch_format(vendor(name))
        asked = ask(model(provider=name, thinking="low", json_schema=SCHEMA), ("system", "Be brief."), "Why?")
        live = provider.encode(asked)
        (sent,) = (msgspec.json.decode(provider.line(asked.arm.model, "o1-0", live)),)
        assert sent == {id_field: "o1-0", "request": msgspec.json.decode(live)}


def test_half_a_character_is_refused_with_its_item() -> None:
    with pytest.raises(StudyError, match=r"item 'item-1'.*half a character"):
        encode(form_of(model()), ask(model(), "a\ud800b"))


def test_a_ready_made_line_is_read_back() -> None:
    asked = {"contents": [{"parts": [{"text": "?"}]}]}
    whole = msgspec.json.encode({"key": "k1", "request": {"model": "models/gemini-2.5-flash", **asked}})
    found = read_line(whole, "gemini", "key")
    assert (found.custom_id, found.model.provider, found.model.name) == ("k1", "gemini", "gemini-2.5-flash")
    assert msgspec.json.decode(found.body) == asked
    assert line("key", "k1", found.body) == b'{"key":"k1","request":%b}' % found.body


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b"nonsense", "the line: "),
        (b'{"custom_id":"a","request":{"contents":[1]}}', "key: missing"),
        (b'{"key":"a"}', "request: missing"),
        (b'{"key":"a","request":{"contents":[1]}}', "request.model: missing"),
        (b'{"key":7}', "the line: "),
    ],
)
def test_a_ready_made_line_names_what_is_wrong(given: bytes, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        read_line(given, "gemini", "key")
