"""The bytes that are sent: one golden body for every rule of the compiler."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import Ask, Message
from overnight.core.errors import StudyError
from overnight.providers.openai.body import form_of
from overnight.providers.openai_api.body import encode, line, read_line
from overnight.providers.writing import ByModel
from providers.asking import ask, model

SCHEMA = {
    "title": "A verdict!",
    "type": "object",
    "properties": {"why": {"type": "string"}, "better": {"enum": ["1", "2"]}},
}
text = st.text(st.characters(exclude_categories=["Cs"]))


def body_of(asked: Ask) -> str:
    return encode(form_of(asked.arm.model), asked).decode()


@pytest.mark.parametrize(
    ("name", "options", "written"),
    [
        ("gpt-4.1", {}, '{"model":"gpt-4.1","messages":[{"role":"user","content":"hi"}]}'),
        (
            "gpt-4.1",
            {"temperature": 0.0, "top_p": 0.5, "max_tokens": 64, "seed": 7, "stop": ("END",), "thinking": "off"},
            (
                '{"model":"gpt-4.1","messages":[{"role":"user","content":"hi"}],"max_tokens":64,"seed":7,'
                '"stop":["END"],"temperature":0.0,"top_p":0.5}'
            ),
        ),
        (
            "gpt-5",
            {"max_tokens": 64},
            '{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":64}',
        ),
        (
            "gpt-5",
            {"thinking": "low", "max_tokens": 64},
            (
                '{"model":"gpt-5","input":[{"role":"user","content":"hi"}],"max_output_tokens":64,'
                '"reasoning":{"effort":"low","summary":"auto"}}'
            ),
        ),
        (
            "gpt-5",
            {"thinking": "on", "api": "chat"},
            '{"model":"gpt-5","messages":[{"role":"user","content":"hi"}],"reasoning_effort":"medium"}',
        ),
        (
            "gpt-5.1",
            {"thinking": "off"},
            '{"model":"gpt-5.1","messages":[{"role":"user","content":"hi"}],"reasoning_effort":"none"}',
        ),
        (
            "gpt-5.1",
            {"thinking": "off", "api": "responses"},
            '{"model":"gpt-5.1","input":[{"role":"user","content":"hi"}],"reasoning":{"effort":"none"}}',
        ),
        ("o3-pro", {}, '{"model":"o3-pro","input":[{"role":"user","content":"hi"}]}'),
        (
            "gpt-7",
            {"temperature": 0.5, "max_tokens": 9, "thinking": "high"},
            (
                '{"model":"gpt-7","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":9,'
                '"reasoning_effort":"high","temperature":0.5}'
            ),
        ),
        (
            "gpt-4.1",
            {"json_schema": SCHEMA},
            (
                '{"model":"gpt-4.1","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema",'
                '"json_schema":{"name":"A_verdict","schema":{"title":"A verdict!","type":"object","properties":'
                '{"why":{"type":"string"},"better":{"enum":["1","2"]}}},"strict":true}}}'
            ),
        ),
        (
            "gpt-5",
            {"json_schema": {"type": "object"}, "api": "responses"},
            (
                '{"model":"gpt-5","input":[{"role":"user","content":"hi"}],"text":{"format":{"type":"json_schema",'
                '"name":"answer","schema":{"type":"object"},"strict":true}}}'
            ),
        ),
        (
            "gpt-4.1",
            {"temperature": 0.0, "extra": {"service_tier": "flex", "temperature": 0.7, "model": "x", "stream": True}},
            '{"model":"gpt-4.1","messages":[{"role":"user","content":"hi"}],"service_tier":"flex","temperature":0.7}',
        ),
    ],
)
def test_options_are_compiled(name: str, options: dict[str, Any], written: str) -> None:
    assert body_of(ask(model(name, **options), "hi")) == written


TURNS = (("system", "Be brief."), "hi", ("assistant", "Hello."), ("system", "Now rudely."), "again")


@pytest.mark.parametrize(
    ("name", "options", "written"),
    [
        (
            "gpt-4.1",
            {},
            (
                '{"model":"gpt-4.1","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"},'
                '{"role":"assistant","content":"Hello."},{"role":"system","content":"Now rudely."},'
                '{"role":"user","content":"again"}]}'
            ),
        ),
        (
            "o3",
            {},
            (
                '{"model":"o3","messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"hi"},'
                '{"role":"assistant","content":"Hello."},{"role":"developer","content":"Now rudely."},'
                '{"role":"user","content":"again"}]}'
            ),
        ),
        (
            "o3",
            {"api": "responses"},
            (
                '{"model":"o3","instructions":"Be brief.","input":[{"role":"user","content":"hi"},'
                '{"role":"assistant","content":"Hello."},{"role":"developer","content":"Now rudely."},'
                '{"role":"user","content":"again"}]}'
            ),
        ),
    ],
)
def test_turns_keep_their_order_and_get_the_familys_role(name: str, options: dict[str, Any], written: str) -> None:
    assert body_of(ask(model(name, **options), *TURNS)) == written


@given(text, text, st.sampled_from(["gpt-4.1", "gpt-5", "o3-pro", "gpt-9"]))
def test_any_text_arrives_as_it_was(system: str, user: str, name: str) -> None:
    body = json.loads(body_of(ask(model(name), ("system", system), user)))
    if name == "o3-pro":
        assert (body["instructions"], body["input"][0]["content"]) == (system, user)
    else:
        assert [message["content"] for message in body["messages"]] == [system, user]


def test_half_a_character_is_refused_with_the_item() -> None:
    with pytest.raises(StudyError, match="item 'essay-7'"):
        body_of(ask(model(), "\ud83d", item="essay-7"))


def test_equal_models_give_equal_bytes() -> None:
    one, other = model(extra={"b": 1, "a": 2}), model(extra={"a": 2, "b": 1})
    assert body_of(ask(one, "hi")) == body_of(ask(other, "hi"))


def test_forms_are_told_apart_by_model_and_never_mixed_up() -> None:
    forms = ByModel(form_of)
    for number in range(1000):  # far more than are kept; each model dies before the next is made
        asked = ask(model(max_tokens=number + 1), "hi")
        assert json.loads(encode(forms.of(asked.arm.model), asked))["max_tokens"] == number + 1
    assert len(forms._made) <= 256


def test_a_line_wraps_its_body() -> None:
    assert line(form_of(model()), "oabc-1", b'{"x":1}') == (
        b'{"custom_id":"oabc-1","method":"POST","url":"/v1/chat/completions","body":{"x":1}}'
    )
    assert b'"url":"/v1/responses"' in line(form_of(model("o3-pro")), "oabc-1", b"{}")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


@given(text, st.dictionaries(text, json_values))
def test_a_line_gives_any_body_back(custom_id: str, body: dict[str, Any]) -> None:
    written = line(form_of(model()), custom_id, msgspec.json.encode(body))
    assert b"\n" not in written
    assert json.loads(written) == {
        "custom_id": custom_id,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": body,
    }


@pytest.mark.parametrize("of", [model(), model("gpt-5", thinking="low"), model("o3")])
def test_a_written_line_is_a_ready_line(of: Any) -> None:
    form = form_of(of)
    body = encode(form, ask(of, ("system", "s"), "u"))
    ready = read_line(line(form, "oabc-1", body), "openai")
    assert (ready.custom_id, ready.model.name, ready.body) == ("oabc-1", of.name, body)
    assert line(form_of(ready.model), ready.custom_id, ready.body) == line(form, "oabc-1", body)


GOOD = {
    "custom_id": "r1",
    "method": "POST",
    "url": "/v1/chat/completions",
    "body": {"model": "gpt-4.1", "messages": []},
}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"custom_id": None}, "custom_id: missing"),
        ({"custom_id": ""}, "custom_id: missing"),
        ({"custom_id": 7}, r"the line: Expected `str \| null`, got `int` - at `\$.custom_id`"),
        ({"method": None}, "method: missing; wanted POST"),
        ({"method": "GET"}, "method: 'GET'; wanted POST"),
        ({"url": None}, "url: missing; wanted one of /v1/chat/completions, /v1/responses"),
        ({"url": "/v1/embeddings"}, "url: '/v1/embeddings'"),
        ({"body": None}, "body: "),
        ({"body": []}, "body: Expected `object`"),
        ({"body": {"messages": []}}, "body.model: missing"),
        ({"body": {"model": "gpt-4.1", "stream": True}}, "body.stream: a batch cannot stream"),
    ],
)
def test_a_ready_line_is_refused_by_field(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(StudyError, match=complaint):
        read_line(json.dumps(GOOD | change).encode(), "openai")


@pytest.mark.parametrize(
    "given_bytes", [b"", b"nonsense", b"[]", b'{"custom_id":"\xff"}', b"\xef\xbb\xbf{}", b"[" * 100_000]
)
def test_what_is_no_line_is_refused_in_words(given_bytes: bytes) -> None:
    with pytest.raises(StudyError):
        read_line(given_bytes, "openai")


def test_bytes_that_are_no_text_are_refused_though_they_are_only_passed_on() -> None:
    with pytest.raises(StudyError, match="utf-8"):
        read_line(json.dumps(GOOD).encode().replace(b"[]", b'"\xff"'), "openai")


def test_a_line_without_a_body_is_refused() -> None:
    with pytest.raises(StudyError, match="body: missing"):
        read_line(b'{"custom_id":"r1","method":"POST","url":"/v1/responses"}', "openai")


def test_messages_are_our_own_struct() -> None:
    # The chat path encodes Message as it is: its fields are OpenAI's.
    assert msgspec.json.encode(Message("user", "x")) == b'{"role":"user","content":"x"}'
