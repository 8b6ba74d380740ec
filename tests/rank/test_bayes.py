"""The whole posterior: it finds what was planted, says when it did not, and is the same for the same seed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from overnight.core.errors import WrongArgument
from overnight.rank import bayes, fit_bayes_bt, fit_bt_model, rank_probabilities
from overnight.rank.bayes import _model
from overnight.rank.diagnostics import effective_size, split_rhat


def verdicts(
    spread: float = 1.5, items: int = 12, rows: int = 400, lapse: float = 0.0
) -> tuple[np.ndarray, pl.DataFrame]:
    draw = np.random.default_rng(5)
    truth = draw.normal(0, spread, items)
    truth -= truth.mean()
    first = draw.integers(0, items, rows)
    second = (first + draw.integers(1, items, rows)) % items
    chance = (1 - lapse) * expit(truth[first] - truth[second] + 0.5) + lapse / 2
    won = (draw.random(rows) < chance).astype(float)
    return truth, pl.DataFrame({"object1": first, "object2": second, "result": won})


def test_the_posterior_holds_what_was_planted() -> None:
    truth, table = verdicts()
    fit = fit_bayes_bt(table, draws=400, warmup=300)
    assert (fit.diagnostics["rhat"] <= 1.01).all()
    assert fit.problem is None
    low, high = np.quantile(fit.draws, [0.025, 0.975], axis=0)
    assert ((low < truth) & (truth < high)).mean() > 0.8
    assert fit.position is not None
    low, high = np.quantile(fit.position, [0.01, 0.99])
    assert low < 0.5 < high
    summary = fit.summary()
    assert summary["ID"][0] == int(truth.argmax())
    assert fit.rank_probabilities(3).table["p_top"].sum() == pytest.approx(3)
    assert 0.7 < fit.reliability < 1
    # Near to the fit whose prior is learnt, which is an approximation of it.
    learnt = fit_bt_model(table, position=True, penalty="eb")
    assert np.corrcoef(learnt.theta, fit.draws.mean(axis=0))[0, 1] > 0.99
    again = fit_bayes_bt(table, draws=400, warmup=300)
    assert (again.theta == fit.theta).all()


def test_the_gradient_is_that_of_the_value() -> None:
    _, table = verdicts(items=4, rows=30)
    model = _model(table, position=True, lapse=True)
    point = np.random.default_rng(0).normal(0, 0.5, (7, 1))
    _, slope = model.value(point)
    for at in range(7):
        step = np.zeros_like(point)
        step[at] = 1e-5
        up, down = model.value(point + step)[0][0], model.value(point - step)[0][0]
        assert slope[at, 0] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-4)


def test_chains_that_differ_are_told() -> None:
    draw = np.random.default_rng(0)
    same = draw.normal(size=(4, 500))
    assert split_rhat(same) < 1.01
    assert 1_500 < effective_size(same) < 2_600
    apart = same + np.arange(4)[:, None]
    assert split_rhat(apart) > 1.2
    slow = np.cumsum(draw.normal(size=(4, 500)), axis=1)
    assert effective_size(slow) < 100


def test_chains_go_on_until_they_agree_and_say_so_where_they_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    _, table = verdicts(items=30, rows=90)
    fit = fit_bayes_bt(table, draws=100, warmup=100)
    assert fit.converged
    assert fit.theta.shape[1] > 100
    monkeypatch.setattr(bayes, "_DOUBLINGS", 0)
    with pytest.warns(bayes.ChainsApartWarning, match="the chains do not agree yet after 100 draws each: R-hat is 1"):
        short = fit_bayes_bt(table, draws=100, warmup=100)
    assert not short.converged
    assert short.theta.shape[1] == 100


def test_ranks_have_probabilities() -> None:
    truth, table = verdicts()
    found = rank_probabilities(fit_bt_model(table, position=True, penalty="eb"), top=3)
    assert found is not None
    assert found.table["p_best"].sum() == pytest.approx(1)
    assert found.table["p_top"].sum() == pytest.approx(3)
    assert found.table["ID"][0] == int(truth.argmax())
    assert 0 < found.top_set <= found.table["p_top"][2]
    with pytest.raises(WrongArgument, match="top must be between 1 and 12"):
        rank_probabilities(fit_bt_model(table, penalty="eb"), top=13)


def test_what_cannot_be_fitted_is_told() -> None:
    with pytest.raises(WrongArgument, match="no readable verdict"):
        fit_bayes_bt(
            pl.DataFrame(
                {"object1": ["a"], "object2": ["b"], "result": [None]}, schema_overrides={"result": pl.Float64}
            )
        )
    with pytest.raises(WrongArgument, match="wanted 1 where the first won"):
        fit_bayes_bt([{"object1": "a", "object2": "b", "result": 3}])
    with pytest.raises(WrongArgument, match="at least 2 chains"):
        fit_bayes_bt([{"object1": "a", "object2": "b", "result": 1}], chains=1)
