import numpy as np
import pytest

from overnight.analysis import prediction_powered_mean, rogan_gladen


def study(rng, n=60, many=1_500, sensitivity=0.9, specificity=0.8, share=0.4):
    truth = (rng.random(n + many) < share) * 1.0
    judge = np.where(truth == 1, rng.random(n + many) < sensitivity, rng.random(n + many) >= specificity) * 1.0
    return truth[:n], judge[:n], judge[n:]


def test_by_hand():
    y, f, rest = np.array([1.0, 0, 1, 1]), np.array([1.0, 0, 0, 1]), np.array([1.0, 1, 0, 0, 1])
    found = prediction_powered_mean(y, f, rest, trust=0.5)
    assert found.estimate == pytest.approx(0.5 * 0.6 + np.mean(y - 0.5 * f))
    variance = 0.25 * rest.var(ddof=1) / 5 + (y - 0.5 * f).var(ddof=1) / 4
    assert found.se == pytest.approx(np.sqrt(variance))
    chosen = prediction_powered_mean(y, f, rest)
    shared = np.mean((y - y.mean()) * (f - f.mean()))
    assert chosen.trust == pytest.approx(shared / ((1 + 4 / 5) * np.concatenate([f, rest]).var(ddof=1)))
    assert prediction_powered_mean(y, f, rest, trust=0).estimate == found.human_only


def test_a_useless_judge_is_not_trusted():
    rng = np.random.default_rng(1)
    y, f, rest = rng.random(200), rng.random(200), rng.random(2_000)
    found = prediction_powered_mean(y, f, rest)
    assert found.trust < 0.2
    assert found.se == pytest.approx(found.human_only_se, rel=0.05)
    constant = prediction_powered_mean(y, np.ones(200), np.ones(2_000))
    assert constant.trust == 0
    assert constant.estimate == pytest.approx(y.mean())


def test_it_is_right_where_the_judge_is_biased_and_narrower_than_humans_alone():
    rng = np.random.default_rng(2)
    held, worth, judge_only = [], [], []
    for _ in range(500):
        found = prediction_powered_mean(*study(rng, n=100))
        held.append(found.lwr <= 0.4 <= found.upr)
        worth.append(found.worth / 100)
        judge_only.append(found.judge_only)
    assert 0.92 <= np.mean(held) <= 0.98
    assert np.mean(worth) > 1.3
    assert np.mean(judge_only) > 0.45


@pytest.mark.parametrize(("n", "share"), [(20, 0.02), (20, 0.1), (50, 0.05), (100, 0.02)])
def test_rare_events_are_held_as_often_as_promised(n, share):
    rng = np.random.default_rng(4)
    found = [prediction_powered_mean(*study(rng, n, 1_000, 0.9, 0.9, share)) for _ in range(400)]
    assert np.mean([one.lwr <= share <= one.upr for one in found]) >= 0.93
    assert all(0 <= one.lwr <= one.upr <= 1 for one in found)


def test_labels_that_are_all_alike_are_said():
    found = prediction_powered_mean([0] * 20, [0] * 20, [0, 1] * 50)
    assert found.upr > 0.05
    assert "All but 0 of 20 human labels are alike" in found.problems[0]
    assert prediction_powered_mean([0, 1] * 10, [0, 1] * 10, [0, 1] * 50).problems == []


def test_rogan_gladen_by_hand():
    human, judge = [1] * 10 + [0] * 10, [1] * 9 + [0] + [0] * 8 + [1] * 2
    found = rogan_gladen(human, judge, [1] * 50 + [0] * 50)
    assert (found.sensitivity, found.specificity) == pytest.approx((0.9, 0.8))
    assert found.estimate == pytest.approx(0.3 / 0.7)
    variance = 0.25 / 100 + (3 / 7) ** 2 * 0.09 / 10 + (4 / 7) ** 2 * 0.16 / 10
    assert found.se == pytest.approx(np.sqrt(variance) / 0.7)
    assert found.problems == []


def test_rogan_gladen_holds_the_truth():
    rng = np.random.default_rng(3)
    held = [found.lwr <= 0.4 <= found.upr for found in (rogan_gladen(*study(rng, n=200)) for _ in range(400))]
    assert 0.92 <= np.mean(held) <= 0.98


def test_a_judge_no_better_than_a_coin_cannot_be_corrected():
    found = rogan_gladen([1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1])
    assert np.isnan(found.estimate)
    assert "add up to more than one" in found.problems[0]
    assert np.isnan(rogan_gladen([1, 1], [1, 1], [1, 0]).estimate)


def test_a_rate_beyond_the_possible_is_moved_and_said():
    found = rogan_gladen([1] * 10 + [0] * 10, [1] * 10 + [0] * 7 + [1] * 3, [0] * 100)
    assert found.estimate == 0
    assert found.lwr == 0 <= found.upr
    assert "moved to its edge" in found.problems[0]


def test_wrong_use_is_refused():
    with pytest.raises(ValueError, match="2 human labels for 1 judge labels"):
        prediction_powered_mean([1, 0], [1], [1])
    with pytest.raises(ValueError, match="at least two labelled"):
        prediction_powered_mean([1], [1], [1, 0])
    with pytest.raises(ValueError, match="0 or 1"):
        rogan_gladen([0.5], [1], [1])
    with pytest.raises(ValueError, match="no unlabelled item"):
        rogan_gladen([1], [1], [None])
