"""Firth's bias reduction and the ridge that the data choose."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize, minimize_scalar

from overnight.rank import ability_intervals, empirical_bayes, fit_bt_model
from overnight.rank.empirical_bayes import Mixture, choose_ridge
from overnight.rank.laplacian import Groups
from overnight.rank.newton import Model, maximise
from overnight.rank.outcomes import Davidson, RaoKupper, WinOrLose
from overnight.rank.tally import count_cells, read_rows

from .simulated import Truth, centred, spelled

TRUTH = Truth(centred([1.2, 0.4, 0.0, -0.3, -1.3]), position=0.4, tie=-0.4)


def model_of(outcomes, m=120, truth=TRUTH, seed=4):
    rows = read_rows(truth.draw(np.random.default_rng(seed), m))
    cells = count_cells(rows, ordered=True)
    return Model(cells, outcomes, Groups(np.zeros(len(rows.items), dtype=int)))


def zero_sum_basis(model):
    """Orthonormal directions in which abilities keep their sum, and all other parameters are free."""
    n, size = model.n_items, len(model.start())
    basis = np.zeros((size, size - 1))
    basis[:n, : n - 1] = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, : n - 1]]))[0][:, 1:]
    basis[n:, n - 1 :] = np.eye(size - n)
    return basis


def test_firth_on_one_pair_adds_half_a_win_to_each_side():
    fit = fit_bt_model(spelled("A>B A>B A>B"), penalty="firth")
    assert fit.difference("A", "B")[0] == pytest.approx(np.log(3.5 / 0.5))
    assert fit.penalty == "firth"


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_firth_is_the_mode_under_jeffreys_prior(ties):
    table = TRUTH.draw(np.random.default_rng(4), 60)
    fit = fit_bt_model(table, position=True, ties=ties, penalty="firth")
    cells = count_cells(read_rows(table), ordered=True)
    model = Model(cells, Davidson() if ties == "davidson" else RaoKupper(), Groups(np.zeros(5, dtype=int)))
    basis = zero_sum_basis(model)

    def height(point):
        expected = model.outcomes.probabilities(model.lead(point), model.tie(point))
        total = cells.total
        there = model.outcomes.evaluate(model.lead(point), model.tie(point), *(total * chance for chance in expected))
        spread = model.information(there).covariance().full()
        return model.evaluate(point).loglik - np.linalg.slogdet(basis.T @ spread @ basis)[1] / 2

    mode = np.concatenate([fit.theta, [fit.position, fit.tie]])
    best = height(mode)
    rng = np.random.default_rng(0)
    for _ in range(40):
        direction = basis @ rng.normal(size=basis.shape[1])
        slope = (height(mode + 1e-4 * direction) - height(mode - 1e-4 * direction)) / 2e-4
        assert slope == pytest.approx(0, abs=2e-5)
        assert height(mode + 0.05 * direction) < best


@pytest.mark.parametrize("outcomes", [WinOrLose(), Davidson(), RaoKupper()], ids=lambda outcomes: outcomes.name)
def test_the_ridge_has_the_greatest_evidence(outcomes):
    model = model_of(outcomes)
    basis = zero_sum_basis(model)

    def negative_evidence(log_ridge):
        ridged = model.with_ridge(float(np.exp(log_ridge)))
        optimum = maximise(ridged)
        spread = ridged.information(optimum.evaluation).covariance().full()
        determinant = -np.linalg.slogdet(basis.T @ spread @ basis)[1]
        height = ridged.objective(optimum.point, optimum.evaluation)
        return -(height + (model.n_items - 1) / 2 * log_ridge - determinant / 2)

    searched = minimize_scalar(negative_evidence, bounds=(-3, 4), method="bounded", options={"xatol": 1e-7})
    assert np.log(choose_ridge(model).ridge) == pytest.approx(searched.x, abs=1e-4)


def test_random_probes_stand_for_the_exact_trace(monkeypatch):
    truth = Truth(centred(np.random.default_rng(1).normal(size=300)), position=0.4, tie=-0.4)
    model = model_of(Davidson(), m=3_000, truth=truth)
    exact = choose_ridge(model)
    monkeypatch.setattr(empirical_bayes, "_EXACT_TRACE_UP_TO", 10)
    probed = choose_ridge(model)
    assert probed.ridge == pytest.approx(exact.ridge, rel=0.02)
    assert probed.reliability == pytest.approx(exact.reliability, abs=0.005)


def test_reliability_is_the_squared_correlation_with_the_truth():
    rng = np.random.default_rng(8)
    found, true = [], []
    for _ in range(12):
        truth = Truth(centred(rng.normal(size=60)))
        fit = fit_bt_model(truth.draw(rng, 500), penalty="eb")
        found.append(fit.reliability)
        true.append(np.corrcoef(fit.theta, truth.theta)[0, 1] ** 2)
    assert np.mean(found) == pytest.approx(np.mean(true), abs=0.05)


def swiss_rounds_of_coin_flips(rng, n=60, rounds=16):
    """Items with nothing between them, each round paired with those of equal score: what fools other reliabilities."""
    score, rows = np.zeros(n), []
    for _ in range(rounds):
        order = np.lexsort((rng.random(n), score))
        for first, second in zip(order[::2], order[1::2], strict=True):
            result = float(rng.integers(2))
            score[first] += result
            score[second] += 1 - result
            rows.append({"object1": int(first), "object2": int(second), "result": result})
    return rows


def test_coin_flips_are_not_reliable_however_they_are_paired():
    fit = fit_bt_model(swiss_rounds_of_coin_flips(np.random.default_rng(2)))
    naive = 1 - np.mean(fit.se**2) / np.var(fit.theta)
    assert naive > 0.6
    assert fit.reliability < 0.3


def test_no_difference_at_all():
    fit = fit_bt_model(spelled("A>B B>A A>C C>A B>C C>B A>B B>A"), penalty="eb")
    assert fit.reliability == pytest.approx(0, abs=1e-4)
    assert any("No differences in ability can be told from chance" in sentence for sentence in fit.problems)


def test_a_perfect_order_sets_no_limit():
    fit = fit_bt_model(spelled("A>B A>C A>D B>C B>D C>D " * 30), penalty="eb")
    assert fit.penalty == pytest.approx(empirical_bayes.WEAKEST_RIDGE)
    assert np.isfinite(fit.theta).all()
    assert any("set no limit" in sentence for sentence in fit.problems)


def test_a_penalty_on_abilities_cannot_tame_the_position():
    fit = fit_bt_model(spelled("A>B B>A A>C C>A B>C C>B"), position=True, penalty="eb")
    assert fit.position == np.inf
    assert not fit.converged
    assert any("position would go on to infinity" in sentence for sentence in fit.problems)


def test_shrinkage_beats_the_maximum_where_evidence_is_thin():
    rng = np.random.default_rng(6)
    gain = []
    for _ in range(10):
        truth = Truth(centred(rng.normal(size=30)))
        table = truth.draw(rng, 240)
        shrunk, firth = (fit_bt_model(table, penalty=penalty).theta for penalty in ("eb", "firth"))
        gain.append(np.mean((firth - truth.theta) ** 2) - np.mean((shrunk - truth.theta) ** 2))
    assert np.mean(gain) > 0


def test_a_search_for_the_mode_of_a_ridged_fit_agrees():
    model = model_of(Davidson()).with_ridge(0.8)
    basis = zero_sum_basis(model)

    def loss(free):
        point = basis @ free
        return -model.objective(point, model.evaluate(point))

    found = minimize(loss, basis.T @ model.start(), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(maximise(model).point, basis @ found.x, atol=1e-5)


def test_what_is_known_of_an_ability_is_a_mixture_with_its_tail_away_from_the_middle():
    rows = [("A", "B"), ("A", "C"), ("A", "D"), ("B", "C"), ("C", "B"), ("B", "D"), ("D", "C"), ("C", "D"), ("A", "B")]
    fit = fit_bt_model([{"object1": a, "object2": b, "result": 1} for a, b in rows], penalty="eb")
    low, high = ability_intervals(fit)
    assert (low < fit.theta).all()
    assert (fit.theta < high).all()
    assert high[0] - fit.theta[0] > fit.theta[0] - low[0]  # A, unbeaten, may be far better than it looks
    assert ability_intervals(fit, 0.5)[0][0] > low[0]
    alone = Mixture(np.array([[1.0, -1.0]]), np.array([[0.5, 2.0]]), np.array([1.0]))
    assert alone.quantile(0.975) == pytest.approx([1 + 1.959964 * 0.5, -1 + 1.959964 * 2.0], abs=1e-5)


def test_a_few_pairs_asked_often_are_no_reliable_ranking():
    """A judge that repeats itself: what one vote on a pair says, all of them say."""
    votes = [("A", "B", 1), ("B", "A", 0), ("C", "D", 1), ("D", "C", 0), ("A", "C", 1), ("C", "A", 0)]
    rows = [{"object1": a, "object2": b, "result": won} for a, b, won in votes for _ in range(5)]
    fit = fit_bt_model(rows, penalty="eb", by_pair=True)
    assert fit.worth == pytest.approx(3 / 30)
    assert fit.reliability < 0.3


@pytest.mark.parametrize("penalty", [0.0, "eb"])
@pytest.mark.parametrize("votes", [1, 2, 10])
def test_a_perfect_order_that_coins_often_make_is_no_reliable_one(penalty, votes):
    """Six items that all met come out in a perfect order for 2% of coins, however often each coin is asked again."""
    fit = fit_bt_model(perfect_order(6, votes), penalty=penalty, by_pair=True)
    assert fit.reliability == 0
    assert "could have given these verdicts" in fit.coin_problems[0]
    # Coins hardly ever put twelve in a perfect order, and never make one of thousands of votes that are independent.
    sure = fit_bt_model(perfect_order(12, votes), penalty=penalty, by_pair=True)
    assert sure.reliability > 0.8
    assert sure.coin_problems == []
    assert fit_bt_model(perfect_order(6, 100), penalty=penalty).reliability > 0.9


def perfect_order(n, votes):
    pairs = [(first, second) for second in range(n) for first in range(second)]
    rows = [{"object1": better, "object2": worse, "result": 1} for better, worse in pairs]
    turned = [{"object1": worse, "object2": better, "result": 0} for better, worse in pairs]
    return [row for number in range(votes) for row in (turned if number % 2 else rows)]


def test_votes_that_repeat_each_other_are_worth_one_together_and_no_less():
    """A fit whose residuals are large by chance made them less than one, and a reliable ranking an unreliable one."""
    rng = np.random.default_rng(3)
    table = Truth(centred(rng.normal(size=20))).draw(rng, 200)
    both = ("object1", "object2")
    pairs = table.with_columns(low=pl.min_horizontal(*both), high=pl.max_horizontal(*both))
    once = pairs.unique(["low", "high"], keep="first", maintain_order=True).drop("low", "high")
    often = fit_bt_model(once.with_columns(count=pl.lit(4)), by_pair=True)
    assert often.worth == pytest.approx(0.25)
    assert often.reliability == pytest.approx(fit_bt_model(once).reliability, abs=0.01)
