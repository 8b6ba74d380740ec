"""Pairs judged live: nothing is skipped for ever, nothing is asked twice."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from overnight.core.errors import StudyError
from overnight.pairwise import llm_compare_pair, submit_llm_pairs
from pairwise.conftest import ASKED, Notebook


def live_calls(one: Notebook) -> int:
    return sum(count for name, count in one.emulator.log()["call_counts"].items() if "completions" in name)


def test_one_pair(notebook: Callable[..., Notebook], few: pl.DataFrame) -> None:
    one = notebook()
    row = few.row(0, named=True)
    judged = llm_compare_pair(
        row["ID1"], row["text1"], row["ID2"], row["text2"], "gpt-4.1-mini", *ASKED, include_raw=True
    )
    assert judged.height == 1
    assert judged["better_id"][0] in (row["ID1"], row["ID2"])
    assert judged["status_code"][0] == 200
    assert judged["raw_response"][0]
    assert live_calls(one) == 1


@pytest.mark.parametrize(
    ("backend", "model"),
    [
        ("anthropic", "claude-haiku-4-5"),
        ("gemini", "gemini-2.5-flash"),
        ("together", "deepseek-ai/DeepSeek-V3"),
        ("together", "deepseek-ai/DeepSeek-R1"),
        ("ollama", "gemma3:27b"),
    ],
)
def test_any_backend_judges_live(
    notebook: Callable[..., Notebook], few: pl.DataFrame, backend: str, model: str
) -> None:
    notebook()
    got = submit_llm_pairs(few[:2], model, *ASKED, backend, verbose=False)
    assert got.results["better_id"].is_not_null().all()
    assert got.results["backend"].to_list() == [backend] * 2
    assert got.results["total_tokens"].is_not_null().all()


@pytest.mark.parametrize("how", [{"workers": 3}, {"parallel": False}])
def test_many_pairs(notebook: Callable[..., Notebook], few: pl.DataFrame, how: dict[str, int], capsys) -> None:
    one = notebook()
    got = submit_llm_pairs(few, "gpt-4.1-mini", *ASKED, status_every=2, **how)
    assert got.results.select("ID1", "ID2").rows() == few.select("ID1", "ID2").rows()
    assert got.results["better_id"].is_not_null().all()
    assert got.failed_pairs.is_empty()
    assert "6 of 6 pairs" in capsys.readouterr().err
    assert live_calls(one) == 6


def test_failed_rows_are_asked_again_and_only_they(
    notebook: Callable[..., Notebook], few: pl.DataFrame, tmp_path
) -> None:
    fault = {
        "on": "live",
        "do": "status",
        "status": 400,
        "message": "not today",
        "where": few["text1"][0][:40],
        "times": 3,
    }
    one = notebook(faults=[fault])
    path = tmp_path / "judged.csv"
    first = submit_llm_pairs(few, "gpt-4.1-mini", *ASKED, verbose=False, save_path=path)
    assert first.failed_pairs.height == 3
    assert all("not today" in message for message in first.failed_attempts["error_message"])
    again = submit_llm_pairs(few, "gpt-4.1-mini", *ASKED, verbose=False, save_path=path)
    assert again.failed_pairs.is_empty()
    assert pl.read_csv(path)["better_id"].is_not_null().all()
    assert live_calls(one) == 6 + 3


def test_what_is_refused(few: pl.DataFrame) -> None:
    with pytest.raises(StudyError, match="workers: 0 is less than 1"):
        submit_llm_pairs(few, "gpt-4.1-mini", *ASKED, workers=0)


def test_progress_is_a_bar_in_a_terminal_and_a_key_of_one_s_own_is_used(
    notebook: Callable[..., Notebook], few: pl.DataFrame, capsys, monkeypatch
) -> None:
    one = notebook()
    asked = (few[:2], "gpt-4.1-mini", *ASKED)
    submit_llm_pairs(*asked, verbose=False, api_key="sk-own-0123456789abcdefghijkl-last")
    assert capsys.readouterr().err == "", "no terminal, no bar"
    assert {call["key"] for call in one.emulator.log()["calls"]} == {"last"}
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    submit_llm_pairs(*asked, verbose=False, progress=False)
    assert capsys.readouterr().err == ""
    submit_llm_pairs(*asked, verbose=False)
    drawn = capsys.readouterr().err
    assert drawn.endswith(f"\r[{'=' * 40}] 100%\n")
