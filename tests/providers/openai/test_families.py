"""What each family of models takes, and what that makes of a model's options."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.providers.openai.families import FAMILIES, api_of, effort_of, family_of, notices, thinking_choices
from providers.asking import model


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4.1", "gpt-4o, gpt-4.1, gpt-4.5"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o, gpt-4.1, gpt-4.5"),
        ("ft:gpt-4.1-mini-2025-04-14:lab::abc", "gpt-4o, gpt-4.1, gpt-4.5"),
        ("gpt-4o-2024-05-13", "gpt-4 and older, chatgpt"),
        ("gpt-4", "gpt-4 and older, chatgpt"),
        ("gpt-4-turbo", "gpt-4 and older, chatgpt"),
        ("gpt-3.5-turbo-0125", "gpt-4 and older, chatgpt"),
        ("chatgpt-4o-latest", "gpt-4 and older, chatgpt"),
        ("gpt-5", "gpt-5"),
        ("gpt-5-nano-2025-08-07", "gpt-5"),
        ("gpt-5-chat-latest", "gpt-5 chat"),
        ("gpt-5.2-chat-latest", "gpt-5 chat"),
        ("gpt-5-pro-2025-10-06", "gpt-5-pro"),
        ("gpt-5.2-pro", "gpt-5.x pro"),
        ("gpt-5-codex", "codex"),
        ("gpt-5.1-codex-max", "codex"),
        ("codex-mini-latest", "codex"),
        ("gpt-5.1", "gpt-5.1"),
        ("gpt-5.4-nano", "gpt-5.2 and later"),
        ("o1", "other o-series"),
        ("o1-pro", "o-series pro"),
        ("o3", "o3, o4"),
        ("o3-mini", "o3, o4"),
        ("o4-mini-2025-04-16", "o3, o4"),
        ("o4-mini-deep-research", "deep research"),
        ("computer-use-preview", "computer use"),
        ("gpt-6-pro", "later pro"),
        ("gpt-6", "any other name"),
        ("my-own-model", "any other name"),
        ("ft:odd", "any other name"),
    ],
)
def test_names_find_their_family(name: str, family: str) -> None:
    assert family_of(name).name == family


@given(st.text())
def test_every_name_has_a_family(name: str) -> None:
    assert family_of(name) in FAMILIES


@pytest.mark.parametrize(
    ("name", "options", "api"),
    [
        ("gpt-4.1", {}, "chat"),
        ("gpt-4.1", {"thinking": "off"}, "chat"),
        ("gpt-4.1", {"api": "responses"}, "responses"),
        ("gpt-5", {}, "chat"),
        ("gpt-5", {"thinking": "low"}, "responses"),
        ("gpt-5", {"thinking": "on"}, "responses"),
        ("gpt-5", {"thinking": "low", "api": "chat"}, "chat"),
        ("gpt-5.1", {"thinking": "off"}, "chat"),
        ("o3", {}, "chat"),
        ("o3", {"thinking": "high"}, "responses"),
        ("o3-pro", {}, "responses"),
        ("gpt-5-codex", {}, "responses"),
        ("o3-deep-research", {}, "responses"),
        ("computer-use-preview", {}, "responses"),
        ("gpt-7", {}, "chat"),
        ("gpt-7", {"thinking": "high"}, "chat"),
    ],
)
def test_the_api_follows_the_family_and_the_thinking(name: str, options: dict[str, str], api: str) -> None:
    assert api_of(model(name, **options)) == api


@pytest.mark.parametrize(
    ("name", "thinking", "effort"),
    [
        ("gpt-5", None, None),
        ("gpt-5", "on", "medium"),
        ("gpt-5", "minimal", "minimal"),
        ("gpt-5", "off", None),
        ("gpt-5.1", "off", "none"),
        ("gpt-5.4", "high", "high"),
        ("gpt-5-pro", "on", "high"),
        ("gpt-4.1", "off", None),
        ("gpt-4.1", "on", None),
        ("o3", 2048, None),
        ("gpt-7", "off", "none"),
        ("gpt-7", "on", "medium"),
    ],
)
def test_thinking_becomes_an_effort(name: str, thinking: str | int | None, effort: str | None) -> None:
    assert effort_of(model(name, thinking=thinking)) == effort


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("gpt-5", ["on", "minimal", "low", "medium", "high"]),
        ("gpt-5.2", ["off", "on", "low", "medium", "high"]),
        ("gpt-5-pro", ["on", "high"]),
        ("gpt-4o", ["off"]),
        ("gpt-7", ["off", "on", "minimal", "low", "medium", "high"]),
    ],
)
def test_the_choices_are_named_in_the_studys_words(name: str, choices: list[str]) -> None:
    assert thinking_choices(family_of(name)) == choices


@pytest.mark.parametrize("name", ["gpt-4", "gpt-4-0613", "o3-mini-2025-01-31", "gpt-4.1-nano"])
def test_a_model_past_its_announced_end_is_pointed_out(name: str) -> None:
    past = f"{name}: OpenAI announced its end for 2026-10-23; requests may be refused as unknown model"
    assert notices(model(name), date(2026, 11, 15)) == [past]
    assert notices(model(name), date(2026, 10, 23)) == [past]
    assert notices(model(name), date(2026, 10, 22)) == [f"{name}: OpenAI announced its end for 2026-10-23, in 1 day"]


def test_a_near_end_is_counted_down_and_a_far_one_is_not_mentioned() -> None:
    assert notices(model("gpt-5"), date(2026, 12, 1)) == ["gpt-5: OpenAI announced its end for 2026-12-11, in 10 days"]
    assert notices(model("gpt-5.1"), date(2026, 12, 1)) == []


@pytest.mark.parametrize("name", ["gpt-5.2", "gpt-4.1-whatever", "gpt-7"])
def test_nothing_is_said_of_models_without_an_announced_end(name: str) -> None:
    assert notices(model(name), date(2030, 1, 1)) == []


def test_today_is_the_default() -> None:
    assert notices(model("gpt-4")) == notices(model("gpt-4"), date.today())  # noqa: DTZ011
