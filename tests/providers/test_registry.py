"""Which vendors there are, and whose a model is."""

import subprocess
import sys
from datetime import date
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight import providers
from overnight.core.ask import Model
from overnight.core.errors import StudyError, UnknownName
from overnight.providers import registry


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, providers.GROUP)


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("somebodys_vendor")
    module.lab = SimpleNamespace(name="lab", models=("gpt-4*",), connect=None, format=None)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_openai_is_installed_as_a_vendor() -> None:
    assert providers.vendors()["openai"] is providers.vendor("openai")
    assert providers.vendor("openai").emulator_path == "/openai/v1"


def test_to_know_all_vendors_loads_no_network() -> None:
    code = (
        "import sys; from overnight.providers import vendors; vendors(); "
        "print([one for one in sys.modules if one == 'aiohttp' or one.endswith('.connection')])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_an_unknown_vendor_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match=r"provider 'opnai' is not known; did you mean 'openai'\?"):
        providers.vendor("opnai")


def test_an_alias_is_its_vendor() -> None:
    assert providers.vendor("claude") is providers.vendor("anthropic")
    assert providers.resolve_model("claude/claude-haiku-4-5") == ("anthropic", "claude-haiku-4-5")


def test_an_alias_of_an_absent_vendor_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    only = {"openai": providers.vendors()["openai"]}
    monkeypatch.setattr(providers, "_installed", lambda: only)
    with pytest.raises(UnknownName, match="provider 'claude' is not known"):
        providers.vendor("claude")


def test_changing_the_table_handed_out_changes_nothing() -> None:
    providers.vendors().clear()
    assert "openai" in providers.vendors()


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("openai/gpt-4.1", ("openai", "gpt-4.1")),
        ("openai/ft:gpt-4.1:lab/x::1", ("openai", "ft:gpt-4.1:lab/x::1")),
        ("openai/a-model-of-2031", ("openai", "a-model-of-2031")),
        (" gpt-5-nano ", ("openai", "gpt-5-nano")),
        ("o3", ("openai", "o3")),
        ("o4-mini", ("openai", "o4-mini")),
        ("chatgpt-4o-latest", ("openai", "chatgpt-4o-latest")),
        ("ft:gpt-4.1-mini:lab::x", ("openai", "ft:gpt-4.1-mini:lab::x")),
        ("claude-opus-5-5", ("anthropic", "claude-opus-5-5")),
    ],
)
def test_models_are_resolved(text: str, resolved: tuple[str, str]) -> None:
    assert providers.resolve_model(text) == resolved


@pytest.mark.parametrize(
    "text", ["gpt-oss-120b", "llama-4", "", "o", "/gpt-4.1", "openai/", "opnai/gpt-4.1", "Qwen/Q3"]
)
def test_models_of_nobody_are_refused(text: str) -> None:
    with pytest.raises(UnknownName):
        providers.resolve_model(text)


@given(st.text(min_size=1).filter(lambda name: name.strip() == name))
def test_what_follows_the_first_slash_is_the_model(name: str) -> None:
    assert providers.resolve_model("openai/" + name) == ("openai", name)


def test_a_name_that_two_vendors_could_own_is_refused_with_the_choices(
    plugin: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = registry.load([point("lab", "somebodys_vendor:lab"), point("openai", "overnight.providers.openai:provider")])
    monkeypatch.setattr(providers, "_installed", lambda: both)
    with pytest.raises(UnknownName, match=r"more than one provider; write one of lab/gpt-4.1, openai/gpt-4.1"):
        providers.resolve_model("gpt-4.1")
    assert providers.resolve_model("o3") == ("openai", "o3")
    assert providers.notices(Model(provider="lab", name="gpt-4")) == []
    assert providers.guide().count("\n## ") == 2, "what each takes, and OpenAI's page"


def test_notices_come_from_the_models_vendor() -> None:
    (notice,) = providers.notices(Model(provider="openai", name="gpt-4"), date(2026, 11, 15))
    assert "2026-10-23" in notice


def test_two_packages_may_not_claim_one_name(plugin: ModuleType) -> None:
    with pytest.raises(StudyError, match="'lab' is claimed by two packages"):
        registry.load([point("lab", "somebodys_vendor:lab"), point("lab", "somebodys_vendor:lab")])


@pytest.mark.parametrize("value", ["no_such_package:lab", "somebodys_vendor:absent", "somebodys_vendor:__name__"])
def test_a_broken_plugin_is_named(plugin: ModuleType, value: str) -> None:
    with pytest.raises(StudyError, match="provider 'lab'"):
        registry.load([point("lab", value)])


def test_a_vendor_must_bear_its_entry_points_name(plugin: ModuleType) -> None:
    with pytest.raises(StudyError, match="not a vendor of that name"):
        registry.load([point("other", "somebodys_vendor:lab")])


def test_the_public_names_are_sorted_and_there() -> None:
    assert providers.__all__ == sorted(providers.__all__)
    assert all(hasattr(providers, name) for name in providers.__all__)


def test_the_documentation_is_what_the_code_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "providers.md"
    assert page.read_text() == providers.guide(), (
        "write it anew: python -c \"import overnight.providers as p; print(p.guide(), end='')\" > docs/providers.md"
    )
