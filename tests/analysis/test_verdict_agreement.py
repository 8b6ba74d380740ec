"""Do judges of pairs agree beyond chance?"""

import numpy as np
import polars as pl
import pytest

from overnight.analysis import verdict_agreement
from overnight.core.errors import WrongArgument


def panel(rng, n, noise, *, ties=0.0, names="ab"):
    """Three judges who see the better of two with some noise, in random order."""
    rows = []
    for pair in range(n):
        first, second = rng.permutation([f"{name}{pair}" for name in names])
        truth = rng.random() < 0.5
        for judge in ("x", "y", "z"):
            said = truth == (rng.random() > noise)
            rows.append((first, second, "tie" if rng.random() < ties else "first" if said else "second", judge))
    return pl.DataFrame(rows, schema=["first_id", "second_id", "verdict", "judge"], orient="row")


@pytest.mark.parametrize("ties", [0.0, 0.2])
def test_the_interval_holds_what_judges_really_agree_in(ties):
    """Two that are right with chance .8 agree in .68 of what they decide; by tosses it would be a half."""
    same = (1 - ties) ** 2 * 0.68 + ties**2
    chance = (1 - ties) ** 2 / 2 + ties**2
    truth, rng, held = (same - chance) / (1 - chance), np.random.default_rng(3), []
    for _ in range(60):
        found = verdict_agreement(panel(rng, 60, 0.2, ties=ties))
        assert found["judge_a"].to_list() == ["all", "x", "x", "y"]
        held += [low <= truth <= high for low, high in found.select("kappa_lwr", "kappa_upr").iter_rows()]
    assert 0.88 <= np.mean(held) <= 0.995


def test_names_of_items_decide_nothing():
    seen = panel(np.random.default_rng(4), 80, 0.2)
    turned = seen.with_columns(pl.col("first_id", "second_id").str.replace("a", "z"))
    assert verdict_agreement(turned)["kappa"].to_list() == pytest.approx(verdict_agreement(seen)["kappa"].to_list())


def test_what_cannot_be_read_is_left_out_and_counted():
    seen = panel(np.random.default_rng(5), 70, 0.1)
    unread = (pl.col("judge") == "x") & pl.col("first_id").str.contains("1")
    gone = seen.with_columns(verdict=pl.when(unread).then(pl.lit("unparsed")).otherwise("verdict"))
    everybody, x_and_y, *_ = verdict_agreement(gone).iter_rows(named=True)
    assert everybody["n_left_out"] == 0
    assert x_and_y["n_left_out"] == seen.filter(unread).height
    assert x_and_y["n_pairs"] == 70 - x_and_y["n_left_out"]
    assert verdict_agreement(seen.with_columns(verdict=pl.lit("tie")))["note"][0] == "all verdicts are ties"
    with pytest.raises(WrongArgument, match="without a judge"):
        verdict_agreement(seen.with_columns(judge=pl.lit(None, pl.String)))


def test_pairs_of_one_subject_go_together():
    """The same verdicts, copied within their subjects, are no more evidence."""
    seen = panel(np.random.default_rng(6), 60, 0.2).with_columns(subject=pl.col("first_id").str.slice(1))
    copies = [
        seen.with_columns(pl.concat_str("first_id", pl.lit(tail)), pl.concat_str("second_id", pl.lit(tail)))
        for tail in ("", "'", "''")
    ]
    once, thrice = verdict_agreement(seen), verdict_agreement(pl.concat(copies))
    assert thrice["n_pairs"].to_list() == [3 * n for n in once["n_pairs"]]
    assert thrice["se"].to_list() == pytest.approx(once["se"].to_list())
