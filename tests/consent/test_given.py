"""The user's word: asked for once, kept for the user, and for nobody else."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from overnight import consent
from overnight.consent.given import grant_host, host_named, require_host, require_path
from overnight.core.errors import ConsentNeeded, StudyError


def test_a_refusal_names_the_flag_and_the_line_of_python() -> None:
    with pytest.raises(ConsentNeeded, match=r"why; if that is meant, add --allow-host a\.example ") as refused:
        require_host("a.example", "LAB_KEY", "why")
    assert "overnight.allow(hosts=['a.example'])" in str(refused.value)
    assert refused.value.exit_code == 2


def test_what_was_allowed_is_kept_for_the_user_alone(config: Path) -> None:
    consent.allow("https://A.example/v1")
    require_host("a.example", "LAB_KEY", "why")
    assert json.loads(config.read_text()) == {"hosts": {"a.example": ["LAB_KEY"]}, "paths": []}
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert stat.S_IMODE(config.parent.stat().st_mode) == 0o700
    consent.forget()  # another process
    require_host("a.example", "LAB_KEY", "why")


def test_what_is_remembered_is_the_host_with_its_key() -> None:
    grant_host("a.example", "")
    require_host("a.example", "", "why")
    with pytest.raises(ConsentNeeded):
        require_host("a.example", "OPENAI_API_KEY", "why")
    with pytest.raises(ConsentNeeded):
        require_host("b.example", "", "why")


def test_a_host_without_a_port_is_good_for_all_of_its_ports() -> None:
    consent.allow(["a.example"])
    require_host("a.example:8443", "K", "why")
    consent.allow(["b.example:1"])
    require_host("b.example:1", "K", "why")
    with pytest.raises(ConsentNeeded):
        require_host("b.example:2", "K", "why")


@pytest.mark.parametrize(
    ("typed", "host"),
    [
        ("A.example", "a.example"),
        ("https://a.example:8/v1/", "a.example:8"),
        ("a.example/", "a.example"),
        ("gs://bucket/", "gs://bucket"),
    ],
)
def test_a_host_may_be_typed_as_an_address(typed: str, host: str) -> None:
    assert host_named(typed) == host


def test_a_question_is_asked_where_somebody_can_answer() -> None:
    asked: list[str] = []
    consent.ask_with(lambda question: asked.append(question) or True)  # type: ignore[func-returns-value]
    require_host("a.example", "K", "why")
    require_host("a.example", "K", "why")
    assert asked == ["why. Allow it, and remember that?"]
    consent.ask_with(lambda _: False)
    with pytest.raises(ConsentNeeded):
        require_path(Path("/x"), lambda _: False, "why")


def test_without_a_place_to_keep_it_the_word_holds_for_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    (tmp_path / "none").write_bytes(b"")  # where a folder would have to be
    consent.allow("a.example")
    require_host("a.example", "K", "why")
    require_host("a.example", "K", "why")


def test_a_damaged_file_is_named_and_allows_nothing(config: Path) -> None:
    config.parent.mkdir(parents=True)
    config.write_text('{"hosts": {"a.example": "K"}')
    with pytest.raises(StudyError, match=r"allowed\.json: not a list of what you have allowed"):
        require_host("a.example", "K", "why")
