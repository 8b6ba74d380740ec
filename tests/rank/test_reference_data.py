"""Published tables with published answers."""

import numpy as np
import pytest

from overnight.rank import fit_bt_model

from .simulated import CITATIONS, baseball, counted


def test_citations_sum_to_zero():
    fit = fit_bt_model(counted(CITATIONS))
    assert fit.items == ["Biometrika", "CommStat", "JASA", "JRSSB"]
    expected = [0.78992205269, -2.15915044415, 0.31035228294, 1.05887610851]
    errors = [0.04333046869, 0.07257974346, 0.04164101552, 0.05304698819]
    np.testing.assert_allclose(fit.theta, expected, atol=1e-9)
    np.testing.assert_allclose(fit.se, errors, atol=1e-9)
    assert fit.deviance == pytest.approx(4.2934, abs=5e-5)
    assert fit.df_residual == 3
    assert fit.problems == []


def test_citations_against_a_reference():
    fit = fit_bt_model(counted(CITATIONS))
    expected = {
        "CommStat": (-2.94907249684, 0.10254533537),
        "JASA": (-0.47956976975, 0.06058872924),
        "JRSSB": (0.26895405582, 0.07082996511),
    }
    for journal, difference in expected.items():
        assert fit.difference(journal, "Biometrika") == pytest.approx(difference, abs=1e-8)


def test_citations_with_firth():
    fit = fit_bt_model(counted(CITATIONS), penalty="firth")
    against = [fit.difference(journal, "Biometrika")[0] for journal in ("CommStat", "JASA", "JRSSB")]
    np.testing.assert_allclose(against, [-2.94438, -0.47908, 0.26853], atol=5.1e-6)


def test_textbook_strengths():
    games = [("A", "B", 2, 3), ("A", "D", 1, 4), ("B", "C", 5, 3), ("C", "D", 1, 3)]
    fit = fit_bt_model(counted(games))
    np.testing.assert_allclose(np.exp(fit.theta), [0.640, 1.043, 0.660, 2.270], atol=5e-4)


@pytest.mark.parametrize(
    ("home", "expected"),
    [
        (
            False,
            [
                (1.1077, 0.3339),
                (0.6839, 0.3319),
                (1.4364, 0.3396),
                (1.5814, 0.3433),
                (1.2476, 0.3359),
                (1.2945, 0.3367),
            ],
        ),
        (
            True,
            [
                (1.1438, 0.3378),
                (0.7047, 0.3350),
                (1.4754, 0.3446),
                (1.6196, 0.3474),
                (1.2813, 0.3404),
                (1.3271, 0.3403),
            ],
        ),
    ],
)
def test_baseball(home, expected):
    fit = fit_bt_model(baseball(), position=home)
    found = [fit.difference(team, "BAL") for team in ("BOS", "CLE", "DET", "MIL", "NYY", "TOR")]
    np.testing.assert_allclose(found, expected, atol=5.1e-5)
    if home:
        assert fit.position == pytest.approx(0.3023, abs=5.1e-5)
        assert fit.position_se == pytest.approx(0.1309, abs=5.1e-5)
        assert fit.deviance == pytest.approx(38.643, abs=1e-3)
        assert fit.df_residual == 35
