"""The whole fit against one written the plain way: row by row, by a general search, with differences for derivatives."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from overnight.rank import fit_bt_model

from .simulated import Truth, baseball, centred

LEAGUE = Truth(centred([0.9, 0.5, 0.1, -0.2, -1.3]), position=0.4, tie=-0.2)
WIDTH = 1e-4


def chances(model, lead, tie):
    if model == "win or lose":
        won = 1 / (1 + np.exp(-lead))
        return np.array([won, np.zeros_like(won), 1 - won])
    if model == "davidson":
        odds = np.exp([lead / 2, np.full_like(lead, tie), -lead / 2])
        return odds / odds.sum(axis=0)
    won, lost = 1 / (1 + np.exp(tie - lead)), 1 / (1 + np.exp(tie + lead))
    return np.array([won, 1 - won - lost, lost])


def plainly(table, model, *, penalty=0.0):
    """Estimates, their covariance and the log-likelihood of each row as a function of the free parameters."""
    names = sorted({*table["object1"], *table["object2"]})
    first, second = (np.searchsorted(names, table[side].to_numpy()) for side in ("object1", "object2"))
    outcome = (2 - 2 * table["result"].to_numpy()).astype(int)
    weight = table["count"].to_numpy() if "count" in table.columns else np.ones(len(first))
    n = len(names)

    def by_row(free):
        theta = np.append(free[: n - 1], -free[: n - 1].sum())
        seen = chances(model, theta[first] - theta[second] + free[n - 1], free[-1])
        return weight * np.log(seen[outcome, np.arange(len(outcome))])

    def loss(free):
        theta = np.append(free[: n - 1], -free[: n - 1].sum())
        return -by_row(free).sum() + penalty / 2 * theta @ theta

    start = np.zeros(n) if model == "win or lose" else np.append(np.zeros(n), 0.5)
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-8})
    point = newton_polish(loss, found.x)
    bread = np.linalg.inv(second_differences(loss, point))
    return point, bread, by_row


def newton_polish(loss, point):
    """The last digits, which a search by first derivatives leaves open."""
    for _ in range(3):
        steps = WIDTH * np.eye(len(point))
        slope = np.array([loss(point + step) - loss(point - step) for step in steps]) / (2 * WIDTH)
        point = point - np.linalg.solve(second_differences(loss, point), slope)
    return point


def second_differences(loss, point):
    """Fourth order: good to about seven digits."""
    steps = 1e-2 * np.eye(len(point))

    def mixed(one, other):
        corners = loss(point + one + other) - loss(point + one - other) - loss(point - one + other)
        return (corners + loss(point - one - other)) / 4e-4

    def refined(one, other):
        return (4 * mixed(one / 2, other / 2) * 4 - mixed(one, other)) / 3

    return np.array([[refined(one, other) for other in steps] for one in steps])


def compared(fit, point, spread):
    """Ours beside theirs: the abilities, with the last one made of the others, then position and tie."""
    n = len(fit.items)
    build = np.zeros((len(point) + 1, len(point)))
    build[: n - 1, : n - 1] = np.eye(n - 1)
    build[n - 1, : n - 1] = -1
    build[n:, n - 1 :] = np.eye(len(point) - n + 1)
    terms = fit.coefficients
    np.testing.assert_allclose(np.append(fit.theta, terms["estimate"]), build @ point, atol=1e-6)
    errors = np.sqrt((build @ spread @ build.T).diagonal())
    np.testing.assert_allclose(np.append(fit.se, terms["se"]), errors, atol=1e-6)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
@pytest.mark.parametrize("penalty", [0.0, 0.8])
def test_ties_position_and_penalty(model, penalty):
    table = LEAGUE.draw(np.random.default_rng(8), 500)
    point, bread, by_row = plainly(table, model, penalty=penalty)
    fit = fit_bt_model(table, position=True, ties=model, penalty=penalty)
    compared(fit, point, bread)
    assert fit.loglik == pytest.approx(by_row(point).sum(), abs=1e-7)


def test_baseball_at_home_to_the_last_digits():
    point, bread, by_row = plainly(baseball(), "win or lose")
    fit = fit_bt_model(baseball(), position=True)
    compared(fit, point, bread)
    assert fit.loglik == pytest.approx(by_row(point).sum(), abs=1e-7)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_clustered_errors_with_ties(model):
    table = LEAGUE.draw(np.random.default_rng(9), 500, cluster_size=4)
    point, bread, by_row = plainly(table, model)
    steps = WIDTH * np.eye(len(point))
    scores = np.array([by_row(point + step) - by_row(point - step) for step in steps]).T / (2 * WIDTH)
    sums = np.array([scores[table["prompt"].to_numpy() == label].sum(axis=0) for label in range(125)])
    fit = fit_bt_model(table, position=True, ties=model, cluster="prompt")
    compared(fit, point, bread @ (sums.T @ sums) @ bread)


def test_weights_are_repeated_rows():
    table = LEAGUE.draw(np.random.default_rng(10), 200).with_columns(pl.Series("weight", np.arange(200) % 4 + 0.5))
    point, bread, _ = plainly(table.rename({"weight": "count"}), "davidson")
    compared(fit_bt_model(table, position=True), point, bread)
