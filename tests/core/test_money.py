from __future__ import annotations

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from overnight.core.money import Budget, Purse, Wanted

CAP = st.none() | st.integers(0, 100)
ROWS = st.builds(
    Wanted,
    stage=st.sampled_from(["a", "b"]),
    amounts=st.lists(st.integers(0, 30) | st.none(), max_size=5),
    spills=st.booleans(),
)


@given(
    total=CAP,
    stages=st.dictionaries(st.just("a"), st.integers(0, 100)),
    to_spill=CAP,
    team=CAP,
    wanted=st.lists(ROWS, max_size=4),
)
def test_all_is_taken_at_once_only_where_each_row_would_be(
    total: int | None, stages: dict[str, int], to_spill: int | None, team: int | None, wanted: list[Wanted]
) -> None:
    purse = Purse(Budget(total=total, stages=stages), {}, to_spill, team)
    by_row = deepcopy(purse)
    each = [by_row.take(rows.stage, amount, spills=rows.spills) for rows in wanted for amount in rows.amounts]
    before = vars(deepcopy(purse))
    if purse.take_all(wanted):
        assert all(each)
        assert vars(purse) == vars(by_row)
    else:
        assert vars(purse) == before
        assert not all(each) or any(None in rows.amounts for rows in wanted)
