"""Rankings by the names of R: one fit, whatever engine is named."""

from __future__ import annotations

import polars as pl
import pytest

import overnight.pairwise as pw
from overnight.core.errors import WrongArgument

RESULTS = pl.DataFrame(
    {
        "ID1": ["a", "b", "c", "a", "b", "c", "b", "a"],
        "ID2": ["b", "c", "a", "c", "a", "b", "a", "b"],
        "better_id": ["a", "b", "c", "a", "a", "c", "b", "a"],
    }
)


def test_engines_say_whether_there_is_a_position_effect() -> None:
    data = pw.build_bt_data(RESULTS)
    assert pw.fit_bt_model(data).position is None
    assert pw.fit_bt_model(data, engine="BradleyTerry2").position is None
    assert pw.fit_bt_model(data, engine="sirt").position is not None
    assert pw.fit_bt_model(data, position=True).position is not None
    with pytest.raises(WrongArgument, match="engine: 'sirt' says already"):
        pw.fit_bt_model(data, engine="sirt", position=False)
    with pytest.raises(WrongArgument, match="engine"):
        pw.fit_bt_model(data, engine="stan")


def test_a_summary_and_elo_are_here_too(capsys: pytest.CaptureFixture[str]) -> None:
    fit = pw.fit_bt_model(pw.build_bt_data(RESULTS), verbose=True)
    assert "3 items" in capsys.readouterr().out
    assert pw.summarize_bt_fit(fit)["ID"].to_list()[0] == "a"
    assert pw.fit_elo_model(pw.build_elo_data(RESULTS), runs=2).elo.height == 3
