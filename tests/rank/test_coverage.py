"""Do 95% intervals hold the truth 95% of the time? With ties, position, clusters and unequal counts."""

import numpy as np
import pytest

from overnight.rank import fit_bt_model

from .simulated import Truth, centred

RUNS = 500
THETA = centred([1.3, 0.6, 0.2, 0.0, -0.7, -1.4])


def coverage(truth, m, *, seed, cluster_size=1, **options):
    """For each parameter: how often its interval held it."""
    rng = np.random.default_rng(seed)
    held = []
    for _ in range(RUNS):
        fit = fit_bt_model(truth.draw(rng, m, cluster_size=cluster_size), **options)
        found, errors, true = list(fit.theta), list(fit.se), list(truth.theta)
        if fit.position is not None:
            found, errors, true = [*found, fit.position], [*errors, fit.position_se], [*true, truth.position]
        if fit.tie is not None:
            found, errors, true = [*found, fit.tie], [*errors, fit.tie_se], [*true, truth.tie]
        held.append(np.abs(np.array(found) - true) <= 1.959964 * np.array(errors))
    return np.mean(held, axis=0)


@pytest.mark.parametrize(
    ("truth", "options"),
    [
        (Truth(THETA), {}),
        (Truth(THETA, position=0.6, tie=-0.3), {"position": True}),
        (Truth(THETA, position=0.6, tie=-0.3), {"position": True, "cluster": "prompt", "cluster_size": 5}),
    ],
    ids=["plain", "ties-and-position", "clusters"],
)
def test_intervals_hold_the_truth(truth, options):
    held = coverage(truth, 900, seed=20, **options)
    assert held.mean() == pytest.approx(0.95, abs=0.02)
    assert (held >= 0.92).all()
    assert (held <= 0.98).all()


def test_without_clusters_dependence_is_overlooked():
    held = coverage(Truth(THETA, position=0.6, tie=-0.3), 900, seed=20, position=True, cluster_size=5)
    assert held.mean() < 0.85


def test_leaving_position_out_does_not_invent_one():
    truth = Truth(THETA, tie=-0.3)
    rng = np.random.default_rng(5)
    z = []
    for _ in range(200):
        fit = fit_bt_model(truth.draw(rng, 600), position=True)
        z.append(fit.position / fit.position_se)
    assert np.mean(np.abs(z) > 1.96) < 0.1
