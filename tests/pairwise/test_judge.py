"""What a notebook's arguments come to: temperature 0 unless the model thinks, each provider's word for thinking."""

import pytest

from overnight.core.errors import StudyError, UnknownName
from overnight.pairwise._judge import judge_of
from overnight.providers import vendor


@pytest.mark.parametrize(
    ("backend", "model", "options", "entry"),
    [
        ("openai", "gpt-4.1", {}, {"temperature": 0.0}),
        ("openai", "gpt-4.1", {"temperature": 0.7, "max_tokens": 9}, {"temperature": 0.7, "max_tokens": 9}),
        ("openai", "gpt-5.1", {"include_thoughts": True}, {"thinking": "low"}),
        ("openai", "gpt-5.1", {"reasoning": "none"}, {"thinking": "off", "temperature": 0.0}),
        ("openai", "gpt-5-mini", {}, {}),
        ("anthropic", "claude-sonnet-4-5", {}, {"temperature": 0.0, "max_tokens": 768}),
        ("anthropic", "claude-sonnet-4-5", {"reasoning": "enabled"}, {"thinking": 1024, "max_tokens": 2048}),
        (
            "claude",
            "claude-sonnet-4-5",
            {"include_thoughts": True, "thinking_budget_tokens": 1500},
            {"thinking": 1500, "max_tokens": 2048},
        ),
        ("gemini", "gemini-3-pro-preview", {"thinking_level": "low", "include_thoughts": True}, {"thinking": "low"}),
        ("gemini", "gemini-2.5-flash", {"reasoning": "none"}, {"thinking": "off", "temperature": 0.0}),
        ("openai", "gpt-4.1", {"endpoint": "responses"}, {"api": "responses", "temperature": 0.0}),
    ],
)
def test_arguments_as_a_model_entry(backend, model, options, entry):
    assert judge_of(backend, model, options).entry == {"model": f"{vendor(backend).name}/{model}"} | entry


def test_what_is_wanted_of_the_answers_is_kept():
    judge = judge_of("openai", "gpt-5.1", {"include_raw": True, "include_thoughts": True}, 5)
    assert (judge.include_raw, judge.include_thoughts, judge.max_retries) == (True, True, 5)


def test_what_is_not_known_is_said():
    with pytest.raises(StudyError, match="unknown option 'temprature'; did you mean 'temperature'"):
        judge_of("openai", "gpt-4.1", {"temprature": 0})
    with pytest.raises(StudyError, match=r"endpoint: wanted chat\.completions or responses, found 'chat'"):
        judge_of("openai", "gpt-4.1", {"endpoint": "chat"})
    with pytest.raises(UnknownName, match="provider 'opeani' is not known; did you mean 'openai'"):
        judge_of("opeani", "gpt-4.1", {})
