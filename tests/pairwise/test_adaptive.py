"""Adaptive ranking in a notebook: a session that stops by itself, is saved at every step, and tells what it did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from overnight import pairwise as pw
from overnight.core.errors import StudyError
from pairwise.conftest import Notebook

SAMPLES = pl.DataFrame(
    {"ID": [f"S{n:02d}" for n in range(12)], "text": [f"An essay of grade {n:02d}." for n in range(12)]}
)
TRUTH = {
    "qualities": {text: n / 2.0 for n, text in enumerate(SAMPLES["text"])},
    "judge": {"noise": 0.5, "position_bias": 0.0},
}
ASKED = ("gpt-4.1-mini", "Quality", "How good it is.")


def test_a_session_stops_by_itself_and_says_why(notebook: Callable[..., Notebook], tmp_path: Path) -> None:
    one = notebook(**TRUTH)
    folder = tmp_path / "session"
    quiet = {"verbose": False, "progress": False}
    session = pw.adaptive_rank(SAMPLES, *ASKED, session_dir=folder, n_pairs=60, until={"reliability": 0.7}, **quiet)
    for _ in range(8):
        if session.stopped is None:  # on a slow machine, the emulator's day is over before all rounds are
            session = pw.adaptive_rank_resume(folder, **quiet)
    assert session.stopped is not None
    assert "reliability is 0." in session.stopped
    rounds = pw.adaptive_round_log(session)
    assert rounds["pairs"][-1] <= 60
    assert rounds["reliability"][-1] >= 0.7
    assert rounds["cost"].is_not_null().all()
    steps = pw.adaptive_step_log(session)
    assert steps.height == pw.adaptive_results_history(session).height == rounds["pairs"][-1]
    assert steps["step_id"].to_list() == list(range(1, steps.height + 1))
    ranked = pw.summarize_items(session)["ID"].to_list()
    assert ranked[0] in ("S11", "S10", "S09")
    items = pw.adaptive_item_log(session)
    assert items["p_best"].sum() == pytest.approx(1)
    assert items["deg"].sum() == 2 * steps.height
    assert pw.adaptive_item_log(session, 1)["refit_id"].unique().to_list() == [1]
    assert pw.summarize_adaptive(session)["stopped"].to_list() == [session.stopped]
    assert pw.summarize_refits(session).height == rounds.height
    # The same call, and whoever loads the folder, asks nothing more; a stricter rule goes on.
    calls = one.emulator.log()["call_counts"]
    again = pw.adaptive_rank_resume(folder, **quiet)
    assert pw.adaptive_step_log(again).equals(steps)
    assert one.emulator.log()["call_counts"] == calls
    further = pw.adaptive_rank(SAMPLES, *ASKED, session_dir=folder, n_pairs=60, until={}, **quiet)
    for _ in range(8):
        if further.stopped is None:
            further = pw.adaptive_rank_resume(folder, **quiet)
    assert further.stopped == "all 60 pairs were asked"
    assert pw.adaptive_step_log(further).join(steps, on=["pair", "verdict"], how="semi").height == steps.height
    copy = pw.save_adaptive_session(further, tmp_path / "copy")
    assert pw.summarize_items(pw.load_adaptive_session(copy)).equals(pw.summarize_items(further))
    assert pw.validate_session_dir(copy)


def test_what_is_no_session_is_told(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="this is no adaptive session"):
        pw.validate_session_dir(tmp_path)
    judge = pw.make_adaptive_judge_llm("openai", *ASKED)
    session = pw.adaptive_rank_start(SAMPLES, judge, tmp_path / "new")
    with pytest.raises(StudyError, match="there is no table 'precision' yet"):
        pw.adaptive_round_log(session)
    with pytest.raises(StudyError, match="still under way"):
        pw.save_adaptive_session(session, tmp_path / "copy")
    (tmp_path / "new" / "session.json").write_text("{}")
    with pytest.raises(StudyError, match="not as a session keeps it"):
        pw.load_adaptive_session(tmp_path / "new")
