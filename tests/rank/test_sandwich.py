import numpy as np
import polars as pl
import pytest

from overnight.rank import fit_bt_model, fit_judge_model, summarize_bt_fit, tally

from .simulated import Truth, centred

TRUTH = Truth(centred([1.0, 0.2, -0.1, -1.1]), position=0.3)


def by_hand(table, fit, cluster):
    """V B V in the textbook way: a logistic regression on dummies against the first item, then contrasts."""
    first, second, result = (table[name].to_numpy() for name in ("object1", "object2", "result"))
    n = len(fit.items)
    design = np.zeros((len(first), n + 1))
    design[np.arange(len(first)), first] += 1
    design[np.arange(len(first)), second] -= 1
    design[:, n] = 1
    reduced = np.delete(design, 0, axis=1)
    chance = 1 / (1 + np.exp(-(design[:, :n] @ fit.theta + fit.position)))
    bread = np.linalg.inv((reduced * (chance * (1 - chance))[:, None]).T @ reduced)
    score = reduced * (result - chance)[:, None]
    sums = np.array([score[cluster == label].sum(axis=0) for label in np.unique(cluster)])
    spread = np.zeros((n + 1, n + 1))
    spread[1:, 1:] = bread @ (sums.T @ sums) @ bread
    contrast = np.eye(n + 1)
    contrast[:n, :n] -= 1 / n
    return np.sqrt((contrast @ spread @ contrast.T).diagonal())


@pytest.mark.parametrize("size", [1, 7])
def test_clustered_errors_are_the_textbook_sandwich(size):
    table = TRUTH.draw(np.random.default_rng(3), 400, cluster_size=size)
    cluster = table["prompt"].to_numpy()
    fit = fit_bt_model(table, position=True, cluster="prompt")
    np.testing.assert_allclose(np.append(fit.se, fit.position_se), by_hand(table, fit, cluster), rtol=1e-7)
    assert fit.n_clusters == len(np.unique(cluster))
    assert "clustered" in fit.engine


def test_estimates_do_not_change_with_the_errors():
    table = TRUTH.draw(np.random.default_rng(3), 400, cluster_size=5)
    np.testing.assert_array_equal(fit_bt_model(table, cluster="prompt").theta, fit_bt_model(table).theta)


def test_labels_may_be_text_or_an_array():
    table = TRUTH.draw(np.random.default_rng(3), 400, cluster_size=5)
    named = table.with_columns(("p" + pl.col("prompt").cast(pl.String)).alias("name"))
    expected = fit_bt_model(table, cluster="prompt").se
    np.testing.assert_allclose(fit_bt_model(named, cluster="name").se, expected)
    np.testing.assert_allclose(fit_bt_model(table, cluster=table["prompt"].to_list()).se, expected)


@pytest.mark.parametrize("portion", [1, 30, 399])
def test_portions_make_no_difference(portion, monkeypatch):
    table = TRUTH.draw(np.random.default_rng(3), 400, cluster_size=7).sample(fraction=1.0, shuffle=True, seed=1)
    whole = fit_bt_model(table, position=True, cluster="prompt")
    monkeypatch.setattr(tally, "_LEAST_PORTION", portion)
    monkeypatch.setattr(tally, "_MOST_PORTION", portion)
    in_portions = fit_bt_model(table, position=True, cluster="prompt")
    np.testing.assert_allclose(in_portions.se, whole.se, rtol=1e-10)
    assert in_portions.n_clusters == whole.n_clusters == 58


def test_the_small_sample_factor():
    table = TRUTH.draw(np.random.default_rng(3), 400, cluster_size=20)
    plain, larger = (fit_bt_model(table, cluster="prompt", small_sample=flag) for flag in (False, True))
    np.testing.assert_allclose(larger.se, plain.se * np.sqrt(20 / 19))


def test_few_clusters_are_said():
    table = TRUTH.draw(np.random.default_rng(3), 400, cluster_size=50)
    fit = fit_bt_model(table, cluster="prompt")
    assert any("only 8 clusters" in sentence for sentence in fit.problems)


def test_one_cluster_tells_no_errors():
    table = TRUTH.draw(np.random.default_rng(3), 400).with_columns(prompt=pl.lit("the only one"), judge=pl.lit("j"))
    fit = fit_bt_model(table, position=True, cluster="prompt", small_sample=True)
    np.testing.assert_array_equal(fit.theta, fit_bt_model(table, position=True).theta)
    assert np.isnan([*fit.se, fit.position_se]).all()
    assert fit.problems == [
        "All comparisons are of one cluster: it has nothing to vary from, so that errors are given as NaN."
    ]
    assert summarize_bt_fit(fit)["rank_lwr"].to_list() == [None] * 4
    judged = fit_judge_model(table, cluster="prompt")
    assert np.isnan(judged.fit.se).all()
    assert judged.problems == fit.problems


def test_ties_and_covariates_take_part():
    rng = np.random.default_rng(3)
    table = Truth(TRUTH.theta, position=0.3, tie=-0.3).draw(rng, 600, cluster_size=4)
    table = table.with_columns(pl.Series("longer", rng.normal(size=600)))
    fit = fit_bt_model(table, position=True, cluster="prompt", covariates=["longer"])
    plain = fit_bt_model(table, position=True, covariates=["longer"])
    assert fit.tie_se > 1.1 * plain.tie_se
    assert fit.coefficients["se"].is_finite().all()
