import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.rank.outcomes import Davidson, RaoKupper, WinOrLose, curvature_slope, expected_curvature

MODELS = [WinOrLose(), Davidson(), RaoKupper()]
leads = st.floats(-6, 6)
ties = st.floats(0.05, 3)
counts = st.tuples(*[st.floats(0, 50)] * 3)


def one(value):
    return np.array([value])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@given(lead=leads, tie=ties)
def test_chances_add_up_and_mirror(model, lead, tie):
    won, tied, lost = model.probabilities(one(lead), tie)
    assert won + tied + lost == pytest.approx(1)
    mirrored = model.probabilities(one(-lead), tie)
    np.testing.assert_allclose(mirrored, (lost, tied, won), rtol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@given(lead=leads, tie=ties, seen=counts)
def test_derivatives_are_those_of_the_likelihood(model, lead, tie, seen):
    step = 1e-4

    def at(lead, tie):
        return model.evaluate(one(lead), tie, *map(one, seen))

    here = at(lead, tie)
    scale = 1 + sum(seen)
    by_lead = (at(lead + step, tie).loglik - at(lead - step, tie).loglik) / (2 * step)
    by_tie = (at(lead, tie + step).loglik - at(lead, tie - step).loglik) / (2 * step)
    assert here.lead_score[0] == pytest.approx(by_lead, abs=1e-5 * scale)
    assert here.tie_score[0] == pytest.approx(by_tie, abs=2e-4 * scale)
    curve = -(at(lead + step, tie).lead_score - at(lead - step, tie).lead_score) / (2 * step)
    cross = -(at(lead, tie + step).lead_score - at(lead, tie - step).lead_score) / (2 * step)
    corner = -(at(lead, tie + step).tie_score - at(lead, tie - step).tie_score) / (2 * step)
    assert here.curvature.lead[0] == pytest.approx(curve[0], abs=1e-5 * scale)
    assert here.curvature.cross[0] == pytest.approx(cross[0], abs=1e-5 * scale)
    assert here.curvature.tie[0] == pytest.approx(corner[0], abs=1e-2 * scale)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@given(lead=leads, tie=ties, seen=counts)
def test_loglik_is_that_of_the_chances(model, lead, tie, seen):
    won, tied, lost = model.probabilities(one(lead), tie)
    wins, draws, losses = seen
    if not model.has_tie:
        wins, draws, losses = wins + draws / 2, 0.0, losses + draws / 2
    expected = wins * np.log(won) + losses * np.log(lost) + (draws * np.log(tied) if model.has_tie else 0.0)
    assert model.evaluate(one(lead), tie, *map(one, seen)).loglik == pytest.approx(expected[0], abs=1e-8)


@pytest.mark.parametrize("model", [Davidson(), RaoKupper()], ids=lambda model: model.name)
@given(share=st.floats(0.01, 0.9))
def test_start_gives_the_share_of_ties_between_equals(model, share):
    assert model.probabilities(one(0.0), model.start(share))[1] == pytest.approx(share)


def test_slope_of_the_logistic_curvature():
    lead = np.linspace(-3, 3, 7)
    chance = 1 / (1 + np.exp(-lead))
    found = curvature_slope(
        lambda at, tie: expected_curvature(WinOrLose(), at, tie, np.full(7, 4.0)), lead, 0.0, (np.ones(7), 0.0)
    )
    np.testing.assert_allclose(found.lead, 4 * chance * (1 - chance) * (1 - 2 * chance), atol=1e-9)


def test_a_tie_zone_of_no_width_is_outside_rao_and_kuppers_model():
    assert RaoKupper().evaluate(one(0.3), 0.0, one(1.0), one(1.0), one(1.0)).loglik == -np.inf
