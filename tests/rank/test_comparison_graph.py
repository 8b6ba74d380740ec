import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from overnight.rank.comparison_graph import read_graph, within_groups
from overnight.rank.tally import count_cells, read_rows

from .simulated import spelled


def graph_of(text):
    rows = read_rows(spelled(text))
    cells = count_cells(rows, ordered=False)
    return rows.items.to_list(), cells, read_graph(cells, len(rows.items))


def test_a_cycle_of_wins_is_one_group():
    _, _, graph = graph_of("A>B B>C C>A")
    assert graph.is_connected
    assert not graph.is_separated
    assert graph.placement.tolist() == [0, 0, 0]


def test_a_tie_joins_as_two_wins_would():
    _, _, graph = graph_of("A=B B=C")
    assert not graph.is_separated


def test_components_are_numbered_from_the_largest():
    items, _, graph = graph_of("A>B B>A C>D D>E E>C")
    assert dict(zip(items, graph.component.tolist(), strict=True)) == {"A": 1, "B": 1, "C": 0, "D": 0, "E": 0}
    assert not graph.is_connected


def test_items_above_below_and_beside_the_cycle():
    items, cells, graph = graph_of("U>A A>B B>A A>W U>X X>W")
    placed = dict(zip(items, graph.placement.tolist(), strict=True))
    assert placed["U"] == np.inf
    assert placed["W"] == -np.inf
    assert placed["A"] == placed["B"] == 0
    assert np.isnan(placed["X"])
    inside = within_groups(cells, graph.group)
    assert inside.total.sum() == 2


def test_without_cycles_only_the_ends_are_placed():
    _, _, graph = graph_of("A>B B>C C>D")
    assert graph.placement[0] == np.inf
    assert graph.placement[3] == -np.inf
    assert np.isnan(graph.placement[1:3]).all()


@given(st.lists(st.tuples(st.sampled_from("ABCDE"), st.sampled_from("<>="), st.sampled_from("ABCDE")), min_size=1))
def test_groups_are_what_paths_of_wins_say(words):
    words = [word for word in words if word[0] != word[2]]
    if not words:
        return
    items, _, graph = graph_of(" ".join("".join(word) for word in words))
    beats = {(a, b) for a, how, b in words if how in ">="} | {(b, a) for a, how, b in words if how in "<="}
    reach = {(a, a) for a in items} | beats
    for via in items:
        reach |= {(a, b) for a in items for b in items if (a, via) in reach and (via, b) in reach}
    for at, a in enumerate(items):
        for other, b in enumerate(items):
            same = (a, b) in reach and (b, a) in reach
            assert (graph.group[at] == graph.group[other]) == same
