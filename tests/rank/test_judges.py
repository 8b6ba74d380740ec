import numpy as np
import polars as pl
import pytest

from overnight.rank import BadVerdicts, fit_bt_model, fit_judge_model, summarize_bt_fit

from .simulated import centred, spelled

THETA = centred([1.6, 0.9, 0.5, 0.1, -0.4, -1.0, -1.7])
KEEN = np.array([1.6, 1.1, 0.3])
FIRST = np.array([0.6, -0.4, 0.0])
TIE = np.array([-0.5, -40.0, -1.0])


def panel(seed=1, m=4_000, theta=THETA):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, len(theta), m)
    second = (first + rng.integers(1, len(theta), m)) % len(theta)
    judge = rng.integers(0, 3, m)
    lead = KEEN[judge] * (theta[first] - theta[second]) + FIRST[judge]
    odds = np.exp([lead / 2, TIE[judge], -lead / 2])
    won, tied, _ = odds / odds.sum(axis=0)
    luck = rng.random(m)
    return pl.DataFrame(
        {
            "object1": first,
            "object2": second,
            "result": np.where(luck < won, 1.0, np.where(luck < won + tied, 0.5, 0.0)),
            "judge": [f"judge {at}" for at in judge],
            "prompt": rng.integers(0, 80, m),
        }
    )


def test_judges_are_told_apart():
    found = fit_judge_model(panel())
    table = found.judges
    assert table["judge"].to_list() == ["judge 0", "judge 1", "judge 2"]
    for name, truth in (("discrimination", KEEN), ("position", FIRST)):
        z = (table[name].to_numpy() - truth) / table[f"{name}_se"].to_numpy()
        assert np.abs(z).max() < 3.5
    assert table["discrimination"].mean() == pytest.approx(1)
    assert (table["reliability"].diff().drop_nulls() < 0).all()
    assert (table["agreement"].diff().drop_nulls() < 0).all()
    assert table["tie_share"][1] == 0
    assert table["n_verdicts"].sum() == 4_000


def test_abilities_are_those_of_an_average_judge():
    fit = fit_judge_model(panel()).fit
    assert np.abs((fit.theta - THETA) / fit.se).max() < 3.5
    assert fit.theta.sum() == pytest.approx(0, abs=1e-9)
    assert fit.converged
    assert fit.problems == []
    assert summarize_bt_fit(fit)["ID"].to_list() == list(range(7))


def test_weighing_judges_beats_pooling_them():
    rng = np.random.default_rng(4)
    joint_error, pooled_error = [], []
    for seed in range(12):
        theta = centred(rng.normal(size=10))
        table = panel(seed, 600, theta)
        joint, pooled = fit_judge_model(table).fit, fit_bt_model(table, position=True)
        joint_error.append(1 - np.corrcoef(joint.theta, theta)[0, 1])
        pooled_error.append(1 - np.corrcoef(pooled.theta, theta)[0, 1])
    assert np.mean(joint_error) < np.mean(pooled_error)


def test_intervals_hold_the_truth():
    held = []
    for seed in range(120):
        found = fit_judge_model(panel(seed, 1_200))
        held.append(np.abs(found.fit.theta - THETA) <= 1.96 * found.fit.se)
    assert 0.92 <= np.mean(held) <= 0.98


def test_one_judge_is_the_plain_model():
    table = panel().filter(pl.col("judge") == "judge 0")
    fit = fit_judge_model(table)
    plain = fit_bt_model(table, position=True)
    np.testing.assert_allclose(fit.fit.theta, plain.theta, atol=5e-3)
    assert fit.judges["discrimination"].to_list() == [1.0]


@pytest.mark.parametrize("cluster", ["prompt", "array"])
def test_errors_by_cluster(cluster):
    table = panel(m=1_500)
    repeated = pl.concat([table, table, table])
    labels = "prompt" if cluster == "prompt" else repeated["prompt"].to_numpy()
    once, again = fit_judge_model(table, cluster="prompt"), fit_judge_model(repeated, cluster=labels)
    np.testing.assert_allclose(again.fit.se, once.fit.se, rtol=0.05)
    assert (fit_judge_model(repeated).fit.se < 0.7 * again.fit.se).all()


def test_dropping_ties_and_no_position():
    found = fit_judge_model(panel(), ties="drop", position=False)
    assert found.judges["tie_share"].to_list() == [0, 0, 0]
    assert found.judges["position"].is_nan().all()
    with pytest.raises(ValueError, match="ties must be one of davidson, drop"):
        fit_judge_model(panel(), ties="half")


def test_what_cannot_be_ranked_is_said_here_too():
    table = spelled("A>B A>C B>C C>B").with_columns(pl.Series("judge", ["x", "y", "x", "y"]))
    found = fit_judge_model(table)
    assert found.judges["n_verdicts"].to_list() == [2, 2]
    assert found.judges["discrimination"].is_nan().all()
    assert any("A is unbeaten" in sentence for sentence in found.problems)


def test_rows_without_a_result_are_left_to_the_pooled_fit_to_mention():
    table = panel(m=600)
    holes = pl.concat(
        [
            table,
            pl.DataFrame(
                {"object1": [0], "object2": [1], "result": [None], "judge": ["idle"], "prompt": [0]},
                schema=table.schema,
            ),
        ]
    )
    found = fit_judge_model(holes)
    assert found.judges["judge"].to_list() == ["judge 0", "judge 1", "judge 2"]
    assert any("1 row had no result" in sentence for sentence in found.problems)


def test_wrong_judges_are_refused_with_the_reason():
    table = spelled("A>B B>A A<B B<A").with_columns(judge=pl.Series(["j", None, "j", "k"]))
    with pytest.raises(BadVerdicts, match="column 'judge' has 1 rows without a judge"):
        fit_judge_model(table)
    with pytest.raises(ValueError, match="penalty: wanted a number, found the text 'firth'"):
        fit_judge_model(table, penalty="firth")


def test_a_judge_whose_verdicts_count_nothing_is_not_listed():
    table = spelled("A>B B>A A<B B<A A>B").with_columns(
        judge=pl.Series(list("jjjjk")), count=pl.Series([1, 1, 1, 1, 0])
    )
    assert fit_judge_model(table).judges["judge"].to_list() == ["j"]
