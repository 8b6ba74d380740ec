"""Requests as Anthropic reads them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import Model, Options
from overnight.core.errors import StudyError
from overnight.providers.anthropic.body import encode, form_of, line, read_line
from overnight.providers.anthropic.families import ADAPTIVE_TOKENS, ANSWER_TOKENS, FAMILIES, OLDER, version_of
from overnight.providers.anthropic.problems import problems
from providers.asking import ask

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
text = st.text(st.characters(exclude_categories=["Cs"]))


def claude(name: str = "claude-haiku-4-5", **options: Any) -> Model:
    return Model(provider="anthropic", name=name, options=Options(**options))


def body(of: Model, *turns: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(encode(form_of(of), ask(of, *(turns or ("hi",)))))
    return found


def test_a_plain_question() -> None:
    assert encode(form_of(claude()), ask(claude(), "hi")) == (
        b'{"model":"claude-haiku-4-5","messages":[{"role":"user","content":"hi"}],"max_tokens":4096}'
    )


def test_the_system_prompt_is_apart_and_turns_follow_in_order() -> None:
    turns = (("system", "Be brief."), ("system", "Be kind."), "one", ("assistant", "two"), "three")
    found = body(claude(), *turns)
    assert found["system"] == "Be brief.\n\nBe kind."
    assert [(turn["role"], turn["content"]) for turn in found["messages"]] == [
        ("user", "one"), ("assistant", "two"), ("user", "three"),
    ]  # fmt: skip


def test_a_late_system_message_is_refused() -> None:
    with pytest.raises(StudyError, match="item 'item-1': a system message after the first turn"):
        body(claude(), "one", ("system", "Be brief."))


def test_a_model_that_cannot_go_on_from_its_own_words_is_not_asked_to() -> None:
    assert body(claude(), "one", ("assistant", "two"))["messages"][-1]["role"] == "assistant"
    with pytest.raises(StudyError, match="the last turn is the assistant's"):
        body(claude("claude-opus-5-5"), "one", ("assistant", "two"))


@pytest.mark.parametrize(
    ("name", "options", "sent"),
    [
        ("claude-haiku-4-5", {}, {"max_tokens": ANSWER_TOKENS}),
        ("claude-haiku-4-5", {"max_tokens": 7, "stop": ("END",)}, {"max_tokens": 7, "stop_sequences": ["END"]}),
        ("claude-haiku-4-5", {"thinking": "off"}, {"max_tokens": ANSWER_TOKENS}),
        (
            "claude-sonnet-4-5",
            {"thinking": "on", "max_tokens": 2048},
            {"max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024}},
        ),
        (
            "claude-sonnet-4-6",
            {"thinking": "high"},
            {"max_tokens": 16384 + ANSWER_TOKENS, "thinking": {"type": "enabled", "budget_tokens": 16384}},
        ),
        (
            "claude-opus-4-5",
            {"thinking": 3000},
            {"max_tokens": 3000 + ANSWER_TOKENS, "thinking": {"type": "enabled", "budget_tokens": 3000}},
        ),
        (
            "claude-opus-5",
            {"thinking": "low"},
            {
                "max_tokens": ADAPTIVE_TOKENS,
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "low"},
            },
        ),
        (
            "claude-opus-5-5",
            {"thinking": "on"},
            {"max_tokens": ADAPTIVE_TOKENS, "thinking": {"type": "adaptive", "display": "summarized"}},
        ),
        ("claude-opus-5-5", {}, {"max_tokens": ADAPTIVE_TOKENS}),
        ("claude-sonnet-5", {"thinking": "off"}, {"max_tokens": ADAPTIVE_TOKENS, "thinking": {"type": "disabled"}}),
        (
            "claude-sonnet-5-5",
            {"thinking": "off", "max_tokens": 90},
            {"max_tokens": 90, "thinking": {"type": "between_tools"}},
        ),
        ("claude-opus-4-8", {"thinking": "off"}, {"max_tokens": ANSWER_TOKENS}),
        ("claude-opus-5", {"temperature": 1.0, "top_p": 1.0}, {"max_tokens": ADAPTIVE_TOKENS}),
        ("claude-haiku-4-5", {"temperature": 0.0, "top_p": 0.5}, {"max_tokens": 4096, "temperature": 0, "top_p": 0.5}),
        (
            "claude-haiku-4-5",
            {"json_schema": SCHEMA},
            {"max_tokens": 4096, "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        ),
        (
            "claude-haiku-4-5",
            {"extra": {"anthropic_version": OLDER, "top_k": 5, "metadata": {"user_id": "u"}}},
            {"max_tokens": 4096, "top_k": 5, "metadata": {"user_id": "u"}},
        ),
    ],
)
def test_options_are_compiled(name: str, options: dict[str, Any], sent: dict[str, Any]) -> None:
    found = body(claude(name, **options))
    assert {field: value for field, value in found.items() if field not in ("model", "messages")} == sent
    assert problems(claude(name, **options)) == []


@pytest.mark.parametrize(
    ("options", "older"),
    [
        ({}, False),
        ({"temperature": 1.0}, False),
        ({"temperature": 0.0}, True),
        ({"top_p": 0.9}, True),
        ({"extra": {"anthropic_version": OLDER}}, True),
        ({"temperature": 0.0, "extra": {"anthropic_version": "2026-10-21"}}, False),
    ],
)
def test_sampling_chooses_the_version_that_has_it(options: dict[str, Any], older: bool) -> None:
    assert (version_of(claude(**options)) == OLDER) == older


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("claude-opus-5-5", {"thinking": "off"}, "thinking: 'off' with claude-opus-5-5, which always thinks"),
        ("claude-opus-5", {"thinking": 2000}, "thinking: a budget of 2000 tokens with claude-opus-5"),
        ("claude-opus-5", {"thinking": "minimal"}, "thinking: 'minimal' with claude-opus-5, which does not take it"),
        ("claude-3-5-haiku-20241022", {"thinking": "on"}, "cannot think; leave it out"),
        ("claude-haiku-4-5", {"thinking": 1000}, "wants at least 1,024"),
        ("claude-haiku-4-5", {"thinking": 4000, "max_tokens": 4000}, "max_tokens: 4000 with 4,000 tokens to think"),
        ("claude-haiku-4-5", {"thinking": "on", "max_tokens": 1024}, "max_tokens: 1024 with 1,024 tokens to think"),
        ("claude-haiku-4-5", {"thinking": 70_000}, "writes at most 64,000 in all"),
        ("claude-haiku-4-5", {"thinking": "on", "temperature": 0.5}, "temperature: 0.5 with thinking"),
        ("claude-haiku-4-5", {"temperature": 1.5}, "from 0 to 1"),
        ("claude-opus-4-7", {"temperature": 0.5}, "temperature: 0.5 with claude-opus-4-7, which takes none but 1"),
        ("claude-haiku-4-5", {"top_p": 0.5, "extra": {"anthropic_version": "2026-10-21"}}, "top_p: 0.5 under version"),
        ("claude-haiku-4-5", {"max_tokens": 64_001}, "takes from 1 to 64,000"),
        ("claude-haiku-4-5", {"stop": ("  ",)}, "more than white space"),
        ("claude-haiku-4-5", {"seed": 4}, "seed: 4; Anthropic has no seed"),
        ("claude-haiku-4-5", {"api": "chat"}, "api: 'chat'; Anthropic has one API"),
        ("claude-3-haiku-20240307", {"json_schema": SCHEMA}, "cannot be held to a schema"),
        ("claude-haiku-4-5", {"json_schema": {"type": "object", "properties": {}}}, "additionalProperties"),
        ("claude-haiku-4-5", {"extra": {"max_tokens": 5}}, "extra: `max_tokens` is written by Overnight"),
        ("claude-haiku-4-5", {"extra": {"anthropic_version": "2019"}}, "wanted 2023-06-01 or 2026-10-21"),
    ],
)
def test_what_a_family_refuses_is_refused_in_words(name: str, options: dict[str, Any], words: str) -> None:
    (sentence,) = problems(claude(name, **options))
    assert words in sentence


@given(
    st.sampled_from([pattern.replace("*", "") for family in FAMILIES for pattern in family.patterns]),
    st.sampled_from([None, "off", "on", "minimal", "low", "medium", "high", 1024, 9000]),
    st.none() | st.integers(1, 128_000),
)
def test_whatever_is_let_through_keeps_the_rules_of_thinking(name: str, thinking: Any, limit: int | None) -> None:
    asked = claude(name or "other", thinking=thinking, max_tokens=limit)
    if problems(asked):
        return
    found = body(asked)
    assert found["max_tokens"] >= 1
    if found.get("thinking", {}).get("type") == "enabled":
        assert 1024 <= found["thinking"]["budget_tokens"] < found["max_tokens"]


@given(text, text)
def test_any_text_survives(system: str, said: str) -> None:
    found = body(claude(), ("system", system), said)
    assert (found["system"], found["messages"][0]["content"]) == (system, said)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(StudyError, match="half a character"):
        body(claude(), "\ud83d")


def test_a_line_is_read_back() -> None:
    asked = claude()
    given = encode(form_of(asked), ask(asked, "hi"))
    assert line("oabc-1", given) == b'{"custom_id":"oabc-1","params":' + given + b"}"
    found = read_line(line("oabc-1", given))
    assert (found.custom_id, found.model.name, found.body) == ("oabc-1", "claude-haiku-4-5", given)
    assert version_of(found.model) != OLDER
    warm = read_line(b'{"custom_id":"a","params":{"model":"m","max_tokens":1,"temperature":0}}')
    assert version_of(warm.model) == OLDER


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b"nonsense", "the line: "),
        (b"{}", "custom_id: missing"),
        (b'{"custom_id":"a b","params":{}}', "custom_id: 'a b'"),
        (b'{"custom_id":"a"}', "params: missing"),
        (b'{"custom_id":"a","params":[]}', "params: "),
        (b'{"custom_id":"a","params":{"max_tokens":1}}', "params.model: missing"),
        (b'{"custom_id":"a","params":{"model":"m"}}', "params.max_tokens: missing"),
        (b'{"custom_id":"a","params":{"model":"m","max_tokens":1,"stream":true}}', "cannot stream"),
    ],
)
def test_a_bad_line_is_refused_by_its_field(given: bytes, words: str) -> None:
    with pytest.raises(StudyError) as caught:
        read_line(given)
    assert str(caught.value).startswith(words) or words in str(caught.value)
