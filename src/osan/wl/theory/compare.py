"""What the checks are made of: which test separates a pair, and graphs to compare tests on."""

from __future__ import annotations

from collections.abc import Callable

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
from osan.wl.ladder import separates_more
from osan.wl.orbits import distinguishes_by_orbits
from osan.wl.refine import distinguishes
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


def collection(largest: int = 7) -> list[Graph]:
    """Embedded graphs to compare tests on: all graphs up to ``largest`` vertices and hard pairs."""
    atlas = [g for g in nx.graph_atlas_g() if len(g) <= largest]
    hard = [*cycle_pair(3), *cycle_pair(4), decalin(), bicyclopentyl(), *cfi_pair(2, colors=False)]
    if largest >= 7:
        hard += [rook_4x4(), shrikhande(), *(csl(11, s) for s in (2, 3, 4, 5)), *cfi_pair(2)]
        hard += [*fuerer_grid_pair(2, 3), *fuerer_grid_pair(2, 4), *backbone_pair(1)]
        hard += [*cfi_pair(3), *cfi_pair(3, colors=False)]
    return [*map(from_networkx, atlas), *hard]


def _never_more(one: WLTest, other: WLTest, largest: int = 7) -> Callable[[int | None], bool]:
    """That ``one`` separates no pair of the collection that ``other`` does not."""
    return lambda limit: separates_more(collection(largest), one, other, max_memory=limit) == 0


def sometimes_more_in_collection(one: WLTest, other: WLTest) -> Callable[[int | None], bool]:
    """That ``one`` separates some pair of the collection that ``other`` does not."""
    return lambda limit: separates_more(collection(), one, other, max_memory=limit) > 0


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
