import dataclasses

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from overnight.rank import fit_bt_model, laplacian, newton, tally

from .simulated import CITATIONS, Truth, centred, counted, spelled

TRUTH = Truth(centred([1.2, 0.4, 0.0, -0.3, -0.9, -0.4]), position=0.5, tie=-0.4)


def draws(seed=1, m=300, truth=TRUTH, **how):
    return truth.draw(np.random.default_rng(seed), m, **how)


def said(fit, *words):
    return any(all(word in sentence for word in words) for sentence in fit.problems)


def chances(model, lead, tie):
    if model == "davidson":
        odds = np.exp([lead / 2, np.full_like(lead, tie), -lead / 2])
        return odds / odds.sum(axis=0)
    won, lost = 1 / (1 + np.exp(tie - lead)), 1 / (1 + np.exp(tie + lead))
    return np.array([won, (np.exp(2 * tie) - 1) * won * lost, lost])


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_the_maximum_is_where_a_general_search_finds_it(ties):
    table = draws()
    first, second, result = (table[name].to_numpy() for name in ("object1", "object2", "result"))
    outcome = (2 - 2 * result).astype(int)

    def loss(free):
        theta = np.append(free[:5], -free[:5].sum())
        seen = chances(ties, theta[first] - theta[second] + free[5], free[6])
        return -np.log(seen[outcome, np.arange(len(outcome))]).sum()

    fit = fit_bt_model(table, position=True, ties=ties)
    found = minimize(loss, np.array([0, 0, 0, 0, 0, 0, 0.5]), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(fit.theta[:5], found.x[:5], atol=1e-5)
    assert (fit.position, fit.tie) == pytest.approx((found.x[5], found.x[6]), abs=1e-5)
    assert fit.loglik == pytest.approx(-found.fun, abs=1e-8)
    assert fit.theta.sum() == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(fit.se, np.sqrt(fit.covariance().diagonal()))


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_chances_of_the_fit_are_those_of_the_model(ties):
    fit = fit_bt_model(draws(), ties=ties)
    ahead, _ = fit.difference(0, 4)
    won, tied, lost = chances(ties, np.array([ahead]), fit.tie)
    assert fit.win_probability(0, 4) == pytest.approx(won[0])
    assert fit.tie_probability(0, 4) == pytest.approx(tied[0])
    assert fit.win_probability(4, 0) == pytest.approx(lost[0])


def test_without_ties_the_tie_parameter_is_left_out():
    fit = fit_bt_model(counted(CITATIONS), ties="rao-kupper")
    assert fit.tie is None
    assert fit.engine == "bradley-terry"
    assert fit.win_probability("JASA", "CommStat") == pytest.approx(1 / (1 + np.exp(-2.15915044415 - 0.31035228294)))
    assert fit.tie_probability("JASA", "CommStat") == 0


def test_half_wins_and_dropped_ties():
    table = draws()
    halves = table.with_columns(pl.when(pl.col("result") == 0.5).then(1).otherwise(2).alias("count"))
    split = pl.concat(
        [
            halves.with_columns(pl.when(pl.col("result") == 0.5).then(1.0).otherwise(pl.col("result")).alias("result")),
            halves.filter(pl.col("result") == 0.5).with_columns(pl.lit(0.0).alias("result")),
        ]
    )
    half = fit_bt_model(table, ties="half")
    np.testing.assert_allclose(half.theta, fit_bt_model(split).theta, atol=1e-8)
    assert said(half, "ties were counted as half a win")
    dropped = fit_bt_model(table, ties="drop")
    np.testing.assert_allclose(dropped.theta, fit_bt_model(table.filter(pl.col("result") != 0.5)).theta)
    assert dropped.tie is None
    assert dropped.problems == []


def test_a_planted_position_effect_is_found():
    fit = fit_bt_model(draws(m=20_000), position=True)
    assert abs(fit.position - TRUTH.position) < 4 * fit.position_se < 0.2
    assert abs(fit.tie - TRUTH.tie) < 4 * fit.tie_se < 0.2
    assert fit.problems == []


def test_covariates_take_what_is_theirs():
    rng = np.random.default_rng(5)
    m = 4_000
    first, second = rng.integers(0, 6, m), rng.integers(0, 6, m)
    longer = rng.normal(0, 300, m)
    lead = TRUTH.theta[first] - TRUTH.theta[second] + 0.3 + 0.002 * longer
    table = pl.DataFrame(
        {
            "object1": first,
            "object2": second,
            "result": (rng.random(m) < 1 / (1 + np.exp(-lead))) * 1.0,
            "longer": longer,
        }
    )
    fit = fit_bt_model(table, position=True, covariates=["longer"])
    found = {term: (estimate, error) for term, estimate, error in fit.coefficients.rows()}
    assert abs(found["longer"][0] - 0.002) < 4 * found["longer"][1] < 0.001
    assert fit.position == pytest.approx(found["position"][0])
    rescaled = fit_bt_model(table.with_columns(pl.col("longer") * 1000), position=True, covariates=["longer"])
    assert rescaled.coefficients["estimate"][1] == pytest.approx(found["longer"][0] / 1000)
    np.testing.assert_allclose(rescaled.se, fit.se, rtol=1e-7)
    assert said(fit, "compared an item with itself")


def test_an_unbeaten_and_a_winless_item():
    fit = fit_bt_model(spelled("U>A U>B A>B B>A A>W"))
    assert dict(zip(fit.items, fit.theta, strict=True)) == {"U": np.inf, "A": 0, "B": 0, "W": -np.inf}
    assert np.isnan(fit.se[[2, 3]]).all()
    assert np.isfinite(fit.se[:2]).all()
    assert said(fit, "no finite maximum-likelihood", "U is unbeaten", "W is winless", 'penalty="firth"')
    assert fit.win_probability("U", "A") == 1
    assert fit.win_probability("W", "U") == 0
    assert fit.loglik == pytest.approx(2 * np.log(0.5))


@pytest.mark.parametrize("penalty", ["firth", "eb", 0.5])
def test_a_penalty_makes_the_unbeaten_finite(penalty):
    fit = fit_bt_model(spelled("U>A U>B A>B B>A A>W"), penalty=penalty)
    assert np.isfinite(fit.theta).all()
    assert np.isfinite(fit.se).all()
    assert said(fit, "rests on the penalty")
    assert fit.theta[2] == fit.theta.max()


def test_nobody_in_a_cycle():
    fit = fit_bt_model(spelled("A>B"))
    assert fit.theta.tolist() == [np.inf, -np.inf]
    assert np.isnan(fit.covariance()).all()


def test_parts_never_compared_are_ranked_apart():
    fit = fit_bt_model(spelled("A>B B>A A>B C>D D>C D>C"))
    np.testing.assert_allclose(fit.theta, np.log(2) / 2 * np.array([1, -1, -1, 1]), atol=1e-9)
    assert fit.component.tolist() == [0, 0, 1, 1]
    assert said(fit, "disconnected", "2 components", "A, B; C, D", "ranked apart")
    assert np.isnan(fit.win_probability("A", "C"))
    assert np.isnan(fit.difference("A", "C")).all()
    bridged = fit_bt_model(spelled("A>B B>A A>B C>D D>C D>C"), penalty=1.0)
    assert bridged.component.tolist() == [0, 0, 0, 0]
    assert said(bridged, "disconnected", "rests on the penalty alone")
    apart = fit_bt_model(spelled("A>B B>A A>B C>D D>C D>C"), penalty="firth")
    assert apart.component.max() == 1


def test_a_position_that_the_design_cannot_identify():
    fit = fit_bt_model(spelled("A>C A<C B>C B<C A>D B<D"), position=True)
    assert np.isnan(fit.position)
    assert np.isnan(fit.position_se)
    assert np.isfinite(fit.theta).all()
    assert said(fit, "position effect cannot be identified", "both orders")


def test_a_position_confounded_with_ability():
    truth = Truth(np.linspace(1.5, -1.5, 8))
    rng = np.random.default_rng(3)
    table = truth.draw(rng, 1500)
    fixed = table.with_columns(
        pl.min_horizontal("object1", "object2").alias("object1"),
        pl.max_horizontal("object1", "object2").alias("object2"),
        pl.when(pl.col("object1") < pl.col("object2")).then("result").otherwise(1 - pl.col("result")).alias("result"),
    )
    assert said(
        fit_bt_model(fixed, position=True), "largely confounded with ability", "no pair was shown in both orders"
    )
    assert fit_bt_model(table, position=True).problems == []


def test_a_covariate_that_ability_could_stand_for():
    table = draws().with_columns(
        (pl.col("object1") * 2.0 - pl.col("object2") * 2.0).alias("size"), pl.lit(0.0).alias("nil")
    )
    fit = fit_bt_model(table, position=True, covariates=["size", "nil"])
    assert fit.coefficients.filter(pl.col("term").is_in(["size", "nil"]))["estimate"].is_nan().all()
    assert said(fit, "covariate 'size' cannot be identified")
    assert said(fit, "covariate 'nil' cannot be identified")
    np.testing.assert_allclose(fit.theta, fit_bt_model(table, position=True).theta, atol=1e-9)


def test_the_first_always_wins():
    fit = fit_bt_model(spelled("A>B B>A A>C C>A B>C C>B"), position=True)
    assert fit.position == np.inf
    assert np.isnan(fit.theta).all()
    assert not fit.converged
    assert said(fit, "position would go on to infinity")
    finite = fit_bt_model(spelled("A>B B>A A>C C>A B>C C>B"), position=True, penalty="firth")
    assert 0 < finite.position < 10
    assert finite.converged


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_wins_and_ties_but_no_losses(ties):
    fit = fit_bt_model(spelled("A>B A=B A>B"), ties=ties)
    assert fit.theta[0] == np.inf
    assert said(fit, "no finite maximum-likelihood")


def test_nothing_but_ties():
    fit = fit_bt_model(spelled("A=B B=C"))
    assert np.isnan(fit.theta).all()
    assert np.isnan(fit.reliability)
    assert fit.tie == np.inf
    assert said(fit, "Every comparison was a tie")
    assert fit_bt_model(spelled("A=B B=C"), ties="half").theta.tolist() == [0, 0, 0]


def test_a_fit_that_stops_short_says_so(monkeypatch):
    monkeypatch.setattr(newton, "_MOST_STEPS", 1)
    fit = fit_bt_model(draws())
    assert not fit.converged
    assert np.isnan(fit.se).all()
    assert said(fit, "did not converge")


def test_rows_left_out_are_counted():
    table = pl.concat(
        [draws(), pl.DataFrame({"object1": [0, 2], "object2": [1, 2], "result": [None, 1.0], "prompt": [0, 0]})]
    )
    fit = fit_bt_model(table)
    assert said(fit, "1 row had no result and was left out")
    assert said(fit, "1 row compared an item with itself")
    assert fit.n_comparisons == 300


def test_wrong_choices_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match="found 'davidsen'; did you mean 'davidson'"):
        fit_bt_model(draws(), ties="davidsen")
    with pytest.raises(ValueError, match="penalty must be one of firth, eb, a number; found 'furth'"):
        fit_bt_model(draws(), penalty="furth")
    with pytest.raises(ValueError, match=r"zero or more, 'firth' or 'eb'; found -1\.0"):
        fit_bt_model(draws(), penalty=-1.0)
    for penalty in (np.inf, np.nan, None, True):
        with pytest.raises(ValueError, match="penalty: wanted a number or text, found "):
            fit_bt_model(draws(), penalty=penalty)
    with pytest.raises(ValueError, match="covariates: wanted a list of text, found the text 'longer'"):
        fit_bt_model(draws(), covariates="longer")
    with pytest.raises(ValueError, match="cannot be called 'tie'"):
        fit_bt_model(draws(), covariates=["tie"])
    with pytest.raises(KeyError, match="'zebra' is not among the 6"):
        fit_bt_model(draws()).index("zebra")


def test_a_ridge_is_a_normal_prior():
    table = draws()
    fit = fit_bt_model(table, penalty=2.0)
    first, second, result = (table[name].to_numpy() for name in ("object1", "object2", "result"))

    def loss(free):
        theta, tie = free[:6], free[6]
        seen = chances("davidson", theta[first] - theta[second], tie)
        return -np.log(seen[(2 - 2 * result).astype(int), np.arange(300)]).sum() + theta @ theta

    found = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(fit.theta, found.x[:6], atol=1e-5)
    assert fit.theta.sum() == pytest.approx(0, abs=1e-9)
    assert np.abs(fit.theta).sum() < np.abs(fit_bt_model(table).theta).sum()


@pytest.mark.parametrize("options", [{}, {"position": True}, {"penalty": 0.7, "position": True}])
def test_conjugate_gradients_find_what_factorising_finds(options, monkeypatch):
    table = draws(m=2_000, truth=Truth(centred(np.linspace(-1, 1, 40)), position=0.2, tie=-0.5))
    by_factor = fit_bt_model(table, **options)
    monkeypatch.setattr(laplacian, "FACTORISE_UP_TO", 5)
    by_gradients = fit_bt_model(table, **options)
    np.testing.assert_allclose(by_gradients.theta, by_factor.theta, atol=1e-9)
    np.testing.assert_allclose(by_gradients.se, by_factor.se, atol=1e-9)
    monkeypatch.setattr(laplacian, "_CG_MOST_STEPS", 2)
    in_despair = fit_bt_model(table, **options)
    np.testing.assert_allclose(in_despair.theta, by_factor.theta, atol=1e-9)


def test_beyond_the_limit_there_are_abilities_but_no_errors(monkeypatch):
    from overnight.rank import bradley_terry, fit_report

    for module in (laplacian, bradley_terry, fit_report):
        monkeypatch.setattr(module, "EXACT_ERRORS_UP_TO", 5)
    monkeypatch.setattr(laplacian, "FACTORISE_UP_TO", 5)
    fit = fit_bt_model(draws())
    assert np.isnan(fit.se).all()
    assert np.isfinite(fit.theta).all()
    assert said(fit, "exact errors are computed for up to 5")
    assert np.isnan(fit.difference(0, 1)[1])


def test_a_fit_is_a_value():
    fit = fit_bt_model(draws())
    with pytest.raises(dataclasses.FrozenInstanceError):
        fit.theta = None


@pytest.mark.parametrize("ties", ["davidson", "drop"])
def test_going_through_cells_in_portions_makes_no_difference(ties, monkeypatch):
    whole = fit_bt_model(draws(), position=True, ties=ties)
    monkeypatch.setattr(tally, "_CACHED", 7)
    in_portions = fit_bt_model(draws(), position=True, ties=ties)
    np.testing.assert_allclose(in_portions.theta, whole.theta, atol=1e-12)
    np.testing.assert_allclose(in_portions.se, whole.se, atol=1e-12)
    assert in_portions.deviance == pytest.approx(whole.deviance, abs=1e-9)
    assert in_portions.coefficients["se"].to_list() == pytest.approx(whole.coefficients["se"].to_list(), abs=1e-12)


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("A>B", {}, 0),
        ("A>B B>A A>C", {}, 0),
        ("A>B B>A B>C C>B A>C", {}, 1),
        ("A>B B>A C>D D>C", {}, 0),
        ("A>B B>A C>D D>C", {"penalty": 1.0}, 0),
        ("A>B B>A A=B B>C C>B C>A", {}, 3),
    ],
)
def test_degrees_of_freedom_are_those_of_what_is_fitted(text, options, expected):
    fit = fit_bt_model(spelled(text), **options)
    assert fit.df_residual == expected
    assert fit.deviance == pytest.approx(0, abs=1e-6) or expected
