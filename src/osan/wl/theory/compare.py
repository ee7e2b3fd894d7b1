"""What the checks are made of: which test separates a pair, and graphs to compare tests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import networkx as nx

from osan.graphs import (
    Graph,
    backbone_pair,
    bicyclopentyl,
    cfi_pair,
    csl,
    cycle_pair,
    decalin,
    from_networkx,
    fuerer_grid_pair,
    rook_4x4,
    shrikhande,
)
from osan.wl.encode import Colors
from osan.wl.ladder import split_pairs
from osan.wl.orbits import distinguishes_by_orbits
from osan.wl.refine import distinguishes, refine
from osan.wl.settings import WLTest
from osan.wl.theory.check import Check

GraphPair = tuple[Graph, Graph]


def separates(pair: GraphPair, test: WLTest, by_orbits: bool = False) -> Callable[[int | None], bool]:
    """That a test separates a pair."""
    answer = distinguishes_by_orbits if by_orbits else distinguishes
    return lambda limit: answer(*pair, test, max_memory=limit)


def both(k: int) -> tuple[WLTest, WLTest]:
    """k-OSWL and vertex-subgraph k-OSWL."""
    return WLTest("oswl", k), WLTest("vs-oswl", k)


def sometimes_more(one: WLTest, other: WLTest, pair: GraphPair) -> Callable[[int | None], bool]:
    """That ``one`` separates a pair and ``other`` does not."""
    return lambda limit: (
        distinguishes(*pair, one, max_memory=limit) and not distinguishes(*pair, other, max_memory=limit)
    )


class Compared:
    """Graphs to compare tests on. The colors of each test are kept: many checks ask for the same."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self.graphs = tuple(graphs)
        self._known: dict[tuple[WLTest, int | None], Colors] = {}

    def more(self, one: WLTest, other: WLTest, max_memory: int | None = None) -> int:
        """How many pairs of the graphs ``one`` separates although ``other`` does not."""
        return split_pairs(self._colors(one, max_memory), self._colors(other, max_memory))

    def _colors(self, test: WLTest, max_memory: int | None) -> Colors:
        key = (test, max_memory)
        if key not in self._known:
            self._known[key] = refine(self.graphs, test, max_memory=max_memory).graph_colors
        return self._known[key]


@cache
def collection(largest: int = 7) -> Compared:
    """Embedded graphs to compare tests on: all graphs up to ``largest`` vertices and hard pairs."""
    atlas = [g for g in nx.graph_atlas_g() if len(g) <= largest]
    hard = [*cycle_pair(3), *cycle_pair(4), decalin(), bicyclopentyl(), *cfi_pair(2, colors=False)]
    if largest >= 7:
        hard += [rook_4x4(), shrikhande(), *(csl(11, s) for s in (2, 3, 4, 5)), *cfi_pair(2)]
        hard += [*fuerer_grid_pair(2, 3), *fuerer_grid_pair(2, 4), *backbone_pair(1)]
        hard += [*cfi_pair(3), *cfi_pair(3, colors=False)]
    return Compared([*map(from_networkx, atlas), *hard])


def _never_more(one: WLTest, other: WLTest, largest: int = 7) -> Callable[[int | None], bool]:
    """That ``one`` separates no pair of the collection that ``other`` does not."""
    return lambda limit: collection(largest).more(one, other, limit) == 0


def sometimes_more_in_collection(one: WLTest, other: WLTest) -> Callable[[int | None], bool]:
    """That ``one`` separates some pair of the collection that ``other`` does not."""
    return lambda limit: collection().more(one, other, limit) > 0


def inclusion(place: str, one: WLTest, other: WLTest, largest: int = 7, slow: bool = False) -> Check:
    """That ``one`` never separates what ``other`` does not."""
    return Check(
        place,
        f"{one} separates nothing that {other} does not",
        f"all graphs with up to {largest} vertices and hard pairs",
        True,
        _never_more(one, other, largest),
        slow,
    )
