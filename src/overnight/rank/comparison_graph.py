"""Who was compared with whom, and who beat whom: what decides whether a ranking exists before any fitting.

Items joined by no chain of comparisons cannot be ranked together. Items joined by no *cycle* of wins have no
finite maximum-likelihood ability: an unbeaten item could always be made better without contradicting anything.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from overnight.rank.arrays import Floats, Ints, summed
from overnight.rank.tally import Cells


@dataclass(frozen=True)
class ComparisonGraph:
    """For every item: its component, its group within which wins go round in cycles, and where it must stand.

    `placement` is 0 where a finite ability exists, plus or minus infinity above or below all that is finite, and
    NaN where not even that can be said.
    """

    component: Ints
    group: Ints
    placement: Floats
    win_share: Floats

    @property
    def is_connected(self) -> bool:
        return int(self.component.max()) == 0

    @property
    def is_separated(self) -> bool:
        return len(np.unique(self.group)) > len(np.unique(self.component))


def read_graph(cells: Cells, n_items: int) -> ComparisonGraph:
    over = (cells.wins > 0) | (cells.ties > 0)
    under = (cells.losses > 0) | (cells.ties > 0)
    winner = np.concatenate([cells.first[over], cells.second[under]])
    loser = np.concatenate([cells.second[over], cells.first[under]])
    beats = csr_array((np.ones(len(winner)), (winner, loser)), shape=(n_items, n_items))
    # Older versions of scipy keep every vote on a pair as a line of its own, and lose their way in such a graph.
    beats.sum_duplicates()
    component = _by_size(connected_components(beats, directed=False)[1])
    group = _by_size(connected_components(beats, directed=True, connection="strong")[1])
    placement = np.zeros(n_items)
    if group.max() > component.max():
        for label in range(int(component.max()) + 1):
            _place(beats, np.flatnonzero(component == label), group, placement)
    return ComparisonGraph(component, group, placement, _win_share(cells, n_items))


def within_groups(cells: Cells, label: Ints) -> Cells:
    """Only the cells whose two items are in one group; the others are certain in the limit, and tell nothing more."""
    keep = label[cells.first] == label[cells.second]
    if keep.all():
        return cells
    return cells.picked(keep)


def _by_size(label: Ints) -> Ints:
    """Labels renumbered, the largest first; among equals, the one with the earliest item."""
    kinds, first_seen, sizes = np.unique(label, return_index=True, return_counts=True)
    order = np.lexsort((first_seen, -sizes))
    renumbered = np.empty(len(kinds), dtype=np.int64)
    renumbered[order] = np.arange(len(kinds))
    return renumbered[label]


def _place(beats: csr_array, members: Ints, group: Ints, placement: Floats) -> None:
    """Place the items of one component against its largest group; that group alone has finite abilities."""
    sizes = np.bincount(group[members])
    if np.count_nonzero(sizes) == 1:
        return
    core_label = int(sizes.argmax())
    if sizes[core_label] == 1:
        # nobody is in a cycle: only the ends of the order can be placed
        wins, losses = np.diff(beats.indptr), np.diff(beats.T.tocsr().indptr)
        placement[members] = np.where(losses[members] == 0, np.inf, np.where(wins[members] == 0, -np.inf, np.nan))
        return
    core = int(members[group[members] == core_label][0])
    below = breadth_first_order(beats, core, return_predecessors=False)
    above = breadth_first_order(beats.T.tocsr(), core, return_predecessors=False)
    placement[members] = np.nan
    placement[below] = -np.inf
    placement[above] = np.inf
    placement[members[group[members] == core_label]] = 0.0


def _win_share(cells: Cells, n_items: int) -> Floats:
    half = cells.ties / 2
    won = summed(cells.first, cells.wins + half, n_items) + summed(cells.second, cells.losses + half, n_items)
    played = summed(cells.first, cells.total, n_items) + summed(cells.second, cells.total, n_items)
    return np.asarray(won / played)


__all__ = ["ComparisonGraph", "read_graph", "within_groups"]
