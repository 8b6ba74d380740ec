from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from overnight.analysis import check_positional_bias, compute_reverse_consistency
from overnight.analysis.consistency import count_orders, positional_bias
from overnight.rank import BadVerdicts

DETAILS = [
    "key", "better_id_main", "ID1_main", "ID2_main", "n_main_votes", "n_main_A", "n_main_B", "is_main_tie",
    "better_id_rev", "ID1_rev", "ID2_rev", "n_rev_votes", "n_rev_A", "n_rev_B", "is_rev_tie", "is_consistent",
]  # fmt: skip
SUMMARY = [
    "n_pairs", "prop_consistent", "boot_mean", "boot_lwr", "boot_upr", "p_sample1_main", "p_sample1_rev",
    "p_sample1_overall", "total_pos1_wins", "total_comparisons", "n_inconsistent", "n_inconsistent_pos1_bias",
    "n_inconsistent_pos2_bias", "p_inconsistent",
]  # fmt: skip


def verdicts(text):
    """`AB:A` says that A was shown first and found better; `AB:-` that there was no verdict."""
    rows = [(word[0], word[1], None if word[3] == "-" else word[3]) for word in text.split()]
    return pl.DataFrame(rows, schema={"ID1": pl.String, "ID2": pl.String, "better_id": pl.String}, orient="row")


def test_three_pairs_one_of_which_follows_the_position():
    found = compute_reverse_consistency(verdicts("12:1 13:3 23:2"), verdicts("21:1 31:3 32:3"))
    assert found.summary.rows() == [(3, 2, pytest.approx(2 / 3))]
    bias = check_positional_bias(found, seed=1)
    assert bias.summary.columns == SUMMARY
    row = bias.summary.row(0, named=True)
    assert (row["n_inconsistent"], row["n_inconsistent_pos1_bias"], row["n_inconsistent_pos2_bias"]) == (1, 1, 0)
    assert (row["total_pos1_wins"], row["total_comparisons"]) == (4, 6)
    assert row["p_sample1_main"] == pytest.approx(binomtest(2, 3).pvalue)
    assert row["p_inconsistent"] == 1.0
    flagged = bias.details.filter(pl.col("is_pos1_bias"))
    assert flagged["key"].to_list() == ["2||3"]
    assert flagged.select("winner_pos_main", "winner_pos_rev").rows() == [("pos1", "pos1")]


def test_repeated_verdicts_are_settled_by_majority():
    found = compute_reverse_consistency(
        verdicts("AB:A AB:A AB:B BA:A CD:C CD:D DC:- EF:E"), verdicts("BA:B BA:B DC:D FE:F")
    )
    assert found.details.columns == DETAILS
    assert found.details.rows() == [
        ("A||B", "A", "A", "B", 4, 3, 1, False, "B", "B", "A", 2, 2, 0, False, False),
        ("E||F", "E", "E", "F", 1, 1, 0, False, "F", "F", "E", 1, 1, 0, False, False),
    ]


def test_the_order_shown_most_often_represents_a_pair():
    found = compute_reverse_consistency(verdicts("BA:B BA:A AB:B"), verdicts("AB:B BA:B"))
    assert found.details.select("ID1_main", "ID1_rev").rows() == [("B", "A")]


def test_nothing_in_both_orders():
    found = compute_reverse_consistency(verdicts("AB:A"), verdicts("CD:C"))
    assert found.summary.rows() == [(0, 0, None)]
    with pytest.raises(ValueError, match="nothing to check"):
        check_positional_bias(found)


def test_details_alone_are_enough_and_columns_are_needed():
    found = compute_reverse_consistency(verdicts("AB:A AC:A"), verdicts("BA:A CA:A"))
    bias = check_positional_bias(found.details)
    assert bias.summary["n_inconsistent"].item() == 0
    assert bias.summary["p_inconsistent"].item() is None
    with pytest.raises(BadVerdicts, match="column 'is_consistent' is missing"):
        check_positional_bias(found.details.drop("is_consistent"))
    with pytest.raises(
        BadVerdicts, match="column 'better_id' is missing; found: ID1, ID2, better; did you mean 'better'"
    ):
        compute_reverse_consistency(verdicts("AB:A").rename({"better_id": "better"}), verdicts("BA:A"))


def biased_judge(rng, n_pairs, position):
    """Both orders of many pairs, judged by quality with a pull towards the first."""
    quality = rng.normal(size=n_pairs)
    rows = {"main": [], "rev": []}
    for pair, better in enumerate(quality):
        a, b = f"a{pair}", f"b{pair}"
        first = rng.random() < 1 / (1 + np.exp(-(2 * better + position)))
        rows["main"].append((a, b, a if first else b))
        again = rng.random() < 1 / (1 + np.exp(-(-2 * better + position)))
        rows["rev"].append((b, a, b if again else a))
    return [pl.DataFrame(part, schema=["ID1", "ID2", "better_id"], orient="row") for part in rows.values()]


def test_the_sign_test_sees_what_the_pooled_one_overlooks():
    rng = np.random.default_rng(11)
    found = {"p_inconsistent": 0, "p_sample1_overall": 0}
    false_alarms = 0
    for _ in range(120):
        summary = check_positional_bias(compute_reverse_consistency(*biased_judge(rng, 60, 0.5)), n_boot=10).summary
        for name in found:
            found[name] += summary[name].item() < 0.05
        calm = check_positional_bias(compute_reverse_consistency(*biased_judge(rng, 60, 0.0)), n_boot=10).summary
        false_alarms += calm["p_inconsistent"].item() < 0.05
    assert found["p_inconsistent"] > 1.4 * found["p_sample1_overall"]
    assert false_alarms / 120 <= 0.09


def test_the_bootstrap_is_seeded_and_about_right():
    pair = compute_reverse_consistency(*biased_judge(np.random.default_rng(1), 200, 0.0))
    one, same = (check_positional_bias(pair, n_boot=4000, seed=5).summary for _ in range(2))
    assert one.equals(same)
    share = one["prop_consistent"].item()
    reach = 1.96 * np.sqrt(share * (1 - share) / 200)
    assert one["boot_mean"].item() == pytest.approx(share, abs=0.005)
    assert (one["boot_lwr"].item(), one["boot_upr"].item()) == pytest.approx((share - reach, share + reach), abs=0.015)


words = st.lists(st.sampled_from(["AB:A", "AB:B", "BA:A", "BA:B", "AC:A", "AC:C", "CB:C", "CB:B", "AB:-"]), max_size=15)


@settings(deadline=None)
@given(words.map(" ".join).map(verdicts), words.map(" ".join).map(verdicts))
def test_swapping_the_two_runs_swaps_the_columns(main, reverse):
    found, swapped = compute_reverse_consistency(main, reverse), compute_reverse_consistency(reverse, main)
    assert found.summary.equals(swapped.summary)
    names = {name: name.replace("main", "rev") if "main" in name else name.replace("rev", "main") for name in DETAILS}
    assert found.details.rename(names).select(DETAILS).equals(swapped.details)


class Judged:
    """A run, as far as it is needed here."""

    def __init__(self, frame):
        self._frame = frame

    def verdicts(self):
        return self._frame


def own_verdicts(text, *, directions=True):
    """`AB:1` says that A was shown before B and won; `2` that B did, `=` that they tied, `?` that nobody could tell."""
    words = {"1": "first", "2": "second", "=": "tie", "?": "unparsed"}
    rows = [(word[0], word[1], words[word[3]], "forward" if word[0] < word[1] else "reverse") for word in text.split()]
    frame = pl.DataFrame(rows, schema=["first_id", "second_id", "verdict", "direction"], orient="row")
    return frame if directions else frame.with_columns(direction=pl.lit("forward"))


@pytest.mark.parametrize("directions", [True, False])
def test_a_runs_own_verdicts_hold_both_orders(directions):
    frame = own_verdicts("AB:1 BA:2 AC:1 CA:1 BC:= CB:1 BD:? DB:1", directions=directions)
    found = compute_reverse_consistency(frame)
    assert found.summary.rows() == [(2, 1, 0.5)]  # of a tie, and of what cannot be read, nothing is known
    assert compute_reverse_consistency(Judged(frame)).details.equals(found.details)
    assert check_positional_bias(found, seed=0).summary["n_inconsistent_pos1_bias"].item() == 1


def test_many_verdicts_are_counted_as_they_would_be_one_by_one():
    """So many that they are settled in parts: votes, ties, what cannot be read, pairs in one order only."""
    rng = np.random.default_rng(4)
    rows = 150_000
    first = rng.integers(0, 5, rows)
    second = (first + rng.integers(1, 5, rows)) % 5
    frame = pl.DataFrame({
        "first_id": pl.Series(first).cast(pl.String), "second_id": pl.Series(second).cast(pl.String),
        "verdict": rng.choice(["first", "second", "tie", "unparsed"], rows, p=[0.5, 0.3, 0.1, 0.1]),
        "direction": np.where(first < second, "forward", "reverse"),
        "subject": pl.Series(rng.integers(0, 5_000, rows)).cast(pl.String),
    })  # fmt: skip
    counted, found = count_orders(frame), compute_reverse_consistency(frame)
    assert (counted.pairs, counted.consistent) == found.summary.row(0)[:2]
    bias = check_positional_bias(found, seed=7).summary.row(0, named=True)
    assert positional_bias(counted.decided, n_boot=1000, seed=7) == bias
    low, high = (one("first_id", "second_id") for one in (pl.min_horizontal, pl.max_horizontal))
    orders = frame.group_by("subject", low.alias("low"), high.alias("high")).agg(pl.col("first_id").n_unique())
    assert counted.asked == (orders["first_id"] == 2).sum()


def test_ids_that_look_like_two_are_not_mixed_up():
    main = {"ID1": ["A||B", "A"], "ID2": ["C", "B||C"], "better_id": ["C", "A"]}
    reverse = {"ID1": ["C", "B||C"], "ID2": ["A||B", "A"], "better_id": ["C", "A"]}
    found = compute_reverse_consistency(main, reverse)
    assert found.summary.rows() == [(2, 2, 1.0)]


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["AB:1", "AB:2", "AB:=", "BA:1", "BA:2", "AC:1", "AC:2", "CA:1", "CA:2", "CA:?"]), min_size=1
    )
)
def test_pairs_that_are_settled_already_count_as_those_that_are_not(words):
    """Majorities by hand, of pairs with one vote, with votes that agree, and with others."""
    votes = {}
    for word in words:
        won = {"1": word[0], "2": word[1]}.get(word[3])
        if won:
            votes.setdefault(("".join(sorted(word[:2])), word[0] < word[1]), []).append(won)
    majority = {asked: [one for one, n in Counter(won).items() if 2 * n > len(won)] for asked, won in votes.items()}
    both = [(majority[pair, True], majority.get((pair, False))) for pair, forward in majority if forward]
    decided = [(one, other) for one, other in both if one and other]
    found = count_orders(own_verdicts(" ".join(words)))
    assert (found.pairs, found.consistent) == (len(decided), sum(one == other for one, other in decided))
