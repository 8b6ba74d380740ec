import pytest

from overnight.pairwise import check_llm_api_keys
from overnight.providers import vendors


def test_which_keys_are_there_and_never_what_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for vendor in vendors().values():
        monkeypatch.delenv(vendor.key_variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    frame = check_llm_api_keys()
    assert frame.columns == ["backend", "service", "env_var", "has_key"]
    found = dict(frame.select("backend", "has_key").iter_rows())
    assert found["openai"] is True
    assert found["anthropic"] is False
    said = capsys.readouterr().out
    assert "OPENAI_API_KEY: set" in said
    assert "sk-secret" not in said
    check_llm_api_keys(verbose=False)
    assert capsys.readouterr().out == ""
