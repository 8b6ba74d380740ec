"""Chances and quantiles are scipy's own, and comparing two columns loads nothing that fits or solves."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest
from scipy import stats

from overnight.rank import distributions


def test_they_are_those_of_the_large_library() -> None:
    draw = Random(3)
    for _ in range(300):
        n = draw.randint(1, 10 ** draw.randint(1, 5))
        heads, value, freedom = draw.randint(0, n), draw.gauss(0, 3), draw.randint(1, 300)
        assert distributions.coin_test(heads, n) == pytest.approx(
            stats.binomtest(heads, n).pvalue, rel=1e-8, abs=1e-300
        )
        assert distributions.coin_chance(heads, n) == pytest.approx(
            stats.binom.pmf(heads, n, 0.5), rel=1e-8, abs=1e-300
        )
        assert distributions.student_tail(value, freedom) == stats.t.sf(value, freedom)
        assert distributions.normal_tail(value) == stats.norm.sf(value)
        assert distributions.chi_squared_tail(abs(value), 1) == stats.chi2.sf(abs(value), 1)
        share = draw.uniform(0.001, 0.999)
        assert distributions.student_quantile(share, freedom) == stats.t.ppf(share, freedom)
        assert distributions.normal_quantile(share) == stats.norm.ppf(share)
        found = distributions.beta_quantile(share, heads + 1, n - heads + 1)
        assert found == pytest.approx(stats.beta.ppf(share, heads + 1, n - heads + 1), rel=1e-9)
        assert distributions.share_of_all(share, n) == pytest.approx(stats.beta.ppf(share, n, 1), rel=1e-12)
        assert distributions.share_of_none(share, n) == pytest.approx(stats.beta.ppf(1 - share, 1, n), rel=1e-9)
    assert distributions.normal_quantile((1 + 0.95) / 2) == stats.norm.ppf(0.975)


def test_without_a_toss_nothing_is_told() -> None:
    assert (distributions.coin_test(0, 0), distributions.coin_test(2, 4), distributions.coin_test(0, 6)) == (
        1.0,
        1.0,
        0.03125,
    )


def test_the_dashboard_needs_no_solver() -> None:
    loaded = _loaded(
        "overnight.serving.web.routes", "from overnight.rank import distributions as d; d.normal_tail(1.0)"
    )
    assert "scipy.special" in loaded
    assert not any(part in loaded for part in ("scipy.stats", "scipy.optimize", "scipy.sparse"))


def test_a_rate_in_which_all_rows_are_alike_needs_no_scipy() -> None:
    asked = "from overnight.analysis import rate; rate([1] * 9); rate([0] * 9); rate([1] * 9 + [0] * 9)"
    assert _loaded("overnight.tasks._answer_report", asked) == "[]\n"


def _loaded(module: str, then: str) -> str:
    """What of scipy is there when a module was imported and something was asked of it."""
    asked = f"import sys, {module}\n{then}\nprint([one for one in sys.modules if one.startswith('scipy.')])"
    return subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
