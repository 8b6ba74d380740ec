"""Names that look like a known model mistyped, and names that may be new."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.prices.known_models import Doubt, doubt_about, known_models

PROVIDERS = ("openai", "anthropic", "gemini")


@pytest.mark.parametrize(
    ("provider", "name", "nearest"),
    [
        ("openai", "gpt-4.1-mnii", "gpt-4.1-mini"),
        ("openai", "gpt-4.1mini", "gpt-4.1-mini"),
        ("openai", "gtp-4.1", "gpt-4.1"),
        ("openai", "GPT-4.1-MIN", "gpt-4.1-mini"),
        ("anthropic", "claude-sonet-4-5", "claude-sonnet-4-5"),
        ("anthropic", "claude-haiku-45", "claude-haiku-4-5"),
        ("gemini", "gemini-2.5-falsh", "gemini-2.5-flash"),
        ("vertex", "gemini-2.5-falsh", "gemini-2.5-flash"),
    ],
)
def test_a_slip(provider: str, name: str, nearest: str):
    assert doubt_about(provider, name) == Doubt(nearest, slip=True)


@pytest.mark.parametrize("name", ["gpt-4.2-mini", "gpt-5.9", "o9-mini"])
def test_other_numbers_may_be_a_new_model(name: str):
    doubt = doubt_about("openai", name)
    assert doubt is None or not doubt.slip


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openai", "gpt-4.1-mini"),
        ("openai", "gpt-4.1-mini-2025-04-14"),
        ("openai", "ft:gpt-4.1-mini-2025-04-14:lab::id"),
        ("openai", "some-model"),
        ("anthropic", "claude-haiku-4-5-20251001"),
        ("ollama", "llama3"),
        ("compatible", "gpt-4.1-mnii"),
        ("of-another-package", "any"),
    ],
)
def test_no_doubt(provider: str, name: str):
    assert doubt_about(provider, name) is None


@given(st.sampled_from(PROVIDERS).flatmap(lambda one: st.tuples(st.just(one), st.sampled_from(known_models(one)))))
def test_what_is_known_is_never_doubted(known: tuple[str, str]):
    assert doubt_about(*known) is None


@given(st.sampled_from(PROVIDERS), st.text(max_size=40))
def test_any_name_is_read(provider: str, name: str):
    doubt = doubt_about(provider, name)
    assert doubt is None or doubt.nearest in known_models(provider)
