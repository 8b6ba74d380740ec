"""What may change a fit, and what may not."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.rank import fit_bt_model, summarize_bt_fit

items = st.integers(0, 4)
comparison = st.tuples(items, items, st.sampled_from([1.0, 0.5, 0.0])).filter(lambda row: row[0] != row[1])
tables = st.lists(comparison, min_size=2, max_size=60)
models = st.fixed_dictionaries(
    {
        "position": st.booleans(),
        "ties": st.sampled_from(["davidson", "rao-kupper", "half"]),
        "penalty": st.sampled_from([0.0, 0.3, "firth"]),
    }
)
# Enough of everything that every model has a finite maximum, whatever is added.
CYCLE = [(a, (a + 1) % 5, result) for a in range(5) for result in (1.0, 0.0)] + [(2, 0, 1.0), (0, 2, 0.0), (0, 3, 0.5)]


def frame(rows):
    first, second, result = zip(*rows, strict=True)
    return pl.DataFrame({"object1": first, "object2": second, "result": result})


def same(one, other, *, tolerance=1e-6):
    np.testing.assert_allclose(one.theta, other.theta, atol=tolerance)
    np.testing.assert_allclose(one.se, other.se, atol=tolerance)
    assert one.loglik == pytest.approx(other.loglik, abs=1e-6)
    for name in ("position", "position_se", "tie", "tie_se"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=tolerance, nan_ok=True)


@settings(deadline=None, max_examples=60)
@given(tables, models)
def test_every_table_gets_numbers_or_words(rows, model):
    fit = fit_bt_model(frame(rows), **model)
    finite = np.isfinite(fit.theta) & np.isfinite(fit.se)
    assert finite.all() or fit.problems
    assert fit.converged or fit.problems
    for label in range(int(fit.component.max()) + 1):
        inside = finite & (fit.component == label)
        assert fit.theta[inside].sum() == pytest.approx(0, abs=1e-6) or fit.problems
    assert summarize_bt_fit(fit).height == len(fit.items)


@settings(deadline=None, max_examples=40)
@given(tables, models, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, model, random):
    shuffled = list(CYCLE + rows)
    random.shuffle(shuffled)
    same(fit_bt_model(frame(CYCLE + rows), **model), fit_bt_model(frame(shuffled), **model))


@settings(deadline=None, max_examples=40)
@given(tables, models, st.permutations(range(5)))
def test_names_do_not_matter(rows, model, names):
    plain = fit_bt_model(frame(CYCLE + rows), **model)
    renamed = fit_bt_model(frame([(names[a], names[b], result) for a, b, result in CYCLE + rows]), **model)
    order = [renamed.index(names[item]) for item in plain.items]
    np.testing.assert_allclose(renamed.theta[order], plain.theta, atol=1e-6)
    np.testing.assert_allclose(renamed.se[order], plain.se, atol=1e-6)
    np.testing.assert_allclose(renamed.covariance()[np.ix_(order, order)], plain.covariance(), atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(tables, models)
def test_swapping_positions_turns_the_position_effect_and_nothing_else(rows, model):
    plain = fit_bt_model(frame(CYCLE + rows), **model)
    swapped = fit_bt_model(frame([(b, a, 1 - result) for a, b, result in CYCLE + rows]), **model)
    np.testing.assert_allclose(swapped.theta, plain.theta, atol=1e-6)
    np.testing.assert_allclose(swapped.se, plain.se, atol=1e-6)
    assert swapped.tie == pytest.approx(plain.tie, abs=1e-6)
    if plain.position is not None:
        assert swapped.position == pytest.approx(-plain.position, abs=1e-6)


@settings(deadline=None, max_examples=40)
@given(tables, models.filter(lambda model: model["penalty"] == 0.0), st.integers(2, 5))
def test_seeing_everything_again_only_shrinks_the_errors(rows, model, times):
    once = fit_bt_model(frame(CYCLE + rows), **model)
    again = fit_bt_model(frame((CYCLE + rows) * times), **model)
    counted = fit_bt_model(frame(CYCLE + rows).with_columns(pl.lit(times).alias("count")), **model)
    same(again, counted)
    np.testing.assert_allclose(again.theta, once.theta, atol=1e-6)
    np.testing.assert_allclose(again.se * np.sqrt(times), once.se, atol=1e-6)
    assert again.loglik == pytest.approx(times * once.loglik)


@settings(deadline=None, max_examples=40)
@given(tables, models.filter(lambda model: model["penalty"] == 0.0))
def test_turning_every_verdict_turns_the_ranking(rows, model):
    plain = fit_bt_model(frame(CYCLE + rows), **model)
    turned = fit_bt_model(frame([(a, b, 1 - result) for a, b, result in CYCLE + rows]), **model)
    np.testing.assert_allclose(turned.theta, -plain.theta, atol=1e-6)
    np.testing.assert_allclose(turned.se, plain.se, atol=1e-6)


@settings(deadline=None, max_examples=25)
@given(tables, models, st.integers(2, 5))
def test_cluster_errors_see_copies_for_what_they_are(rows, model, times):
    """Copies within a cluster leave clustered errors alone, where plain errors would shrink."""
    rows = CYCLE + rows
    once = fit_bt_model(frame(rows), **{**model, "penalty": 0.0}, cluster=np.arange(len(rows)))
    again = fit_bt_model(frame(rows * times), **{**model, "penalty": 0.0}, cluster=np.tile(np.arange(len(rows)), times))
    same(
        once,
        fit_bt_model(frame(rows), **{**model, "penalty": 0.0}, cluster=[f"p{at}" for at in range(len(rows))]),
    )
    np.testing.assert_allclose(again.se, once.se, atol=1e-6)
