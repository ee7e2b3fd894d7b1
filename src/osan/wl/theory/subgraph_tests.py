"""The subgraph tests of Zhang et al. (2023): which separates more, with a pair for every strict step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import networkx as nx

from osan.graphs import cycle_pair, fuerer_graph
from osan.wl.settings import WLTest
from osan.wl.theory.check import Check
from osan.wl.theory.compare import Compared, GraphPair, collection, sometimes_more

PLACE = "(beyond the paper)"


class Step(NamedTuple):
    """That ``more`` separates all that ``less`` does, and the pair ``witness`` as well."""

    less: WLTest
    more: WLTest
    witness: str


def _triangle(name: str) -> list[tuple[str, str]]:
    return [(f"{name}0", f"{name}1"), (f"{name}1", f"{name}2"), (f"{name}0", f"{name}2")]


def _diamond(name: str) -> list[tuple[str, str]]:
    """Two triangles with a common edge, and ends at 0 and 1."""
    middle = (f"{name}2", f"{name}3")
    return [middle, *((f"{name}{end}", vertex) for end in (0, 1) for vertex in middle)]


def _joined(*parts: list[tuple[str, str]]) -> nx.Graph:
    """Triangles and diamonds in a row, each joined to the next by an edge."""
    base = nx.Graph([edge for part in parts for edge in part])
    names = [part[0][0][:-1] for part in parts]
    base.add_edges_from((f"{one}{int(i > 0)}", f"{other}0") for i, (one, other) in enumerate(pairwise(names)))
    return base


# Base graphs of Fürer pairs. The last two give the smallest pairs over base graphs with up to seven vertices
# and degrees from two to four.
BASES: dict[str, nx.Graph] = {
    "two triangles in a row": _joined(_triangle("a"), _triangle("b")),
    "three triangles in a row": _joined(_triangle("a"), _triangle("b"), _triangle("c")),
    "two diamonds in a row": _joined(_diamond("a"), _diamond("b")),
    "diamond, triangle, diamond in a row": _joined(_diamond("a"), _triangle("b"), _diamond("c")),
    "two triangles, joined twice": nx.Graph([*_triangle("a"), *_triangle("b"), ("a0", "b0"), ("a1", "b1")]),
    "six vertices, nine edges": nx.Graph(
        [(0, 1), (0, 2), (0, 4), (0, 5), (1, 2), (1, 3), (1, 4), (3, 4), (4, 5)]
    ),
}
CYCLES = "6-cycle, two triangles"


def witness_pair(name: str) -> GraphPair:
    """The pair of this name: X and Y over a base graph, without colors.

    >>> [graph.num_vertices for graph in witness_pair("two triangles in a row")]
    [16, 16]
    """
    if name == CYCLES:
        return cycle_pair(3)
    base = BASES[name]
    twist = next(iter(base.edges))
    return fuerer_graph(base, colors=False), fuerer_graph(base, [twist], colors=False)


ONE_WL, TWO_WL = WLTest("wl"), WLTest("wl", 2)
SWL, PSWL, GSWL, SSWL = (
    {"SV": WLTest(name), "VS": WLTest(f"vs-{name}")} for name in ("swl", "pswl", "gswl", "sswl")
)

# Every arrow of the diagram.
STEPS = [
    Step(ONE_WL, SWL["VS"], CYCLES),
    Step(SWL["VS"], SWL["SV"], "two triangles in a row"),
    Step(SWL["VS"], PSWL["VS"], "two triangles in a row"),
    Step(SWL["SV"], PSWL["SV"], "three triangles in a row"),
    Step(PSWL["VS"], PSWL["SV"], "two diamonds in a row"),
    Step(PSWL["SV"], GSWL["SV"], "diamond, triangle, diamond in a row"),
    Step(GSWL["SV"], SSWL["SV"], "two triangles, joined twice"),
    Step(SSWL["SV"], TWO_WL, "six vertices, nine edges"),
]
# Neither separates all that the other does.
APART = [
    Step(PSWL["VS"], SWL["SV"], "two diamonds in a row"),
    Step(SWL["SV"], PSWL["VS"], "three triangles in a row"),
]
# Tests that separate the same.
ALIKE = [
    (SWL["SV"], WLTest("oswl", 1)),
    (SWL["VS"], WLTest("vs-oswl", 1)),
    (GSWL["VS"], GSWL["SV"]),
    (SSWL["VS"], SSWL["SV"]),
    (WLTest("dss", 1), GSWL["SV"]),
]


@cache
def graphs_to_compare() -> Compared:
    """All graphs with up to six vertices and all witness pairs."""
    pairs = [witness_pair(name) for name in BASES]
    return Compared([*collection(6).graphs, *(graph for pair in pairs for graph in pair)])


def _no_more(one: WLTest, other: WLTest) -> Callable[[int | None], bool]:
    return lambda limit: graphs_to_compare().more(one, other, limit) == 0


def subgraph_test_checks() -> Iterator[Check]:
    where = "all graphs with up to 6 vertices and Fürer pairs"
    for less, more, _ in STEPS:
        yield Check(
            PLACE, f"{less} separates nothing that {more} does not", where, True, _no_more(less, more)
        )
    for one, other in ALIKE:
        for a, b in ((one, other), (other, one)):
            yield Check(PLACE, f"{a} separates nothing that {b} does not", where, True, _no_more(a, b))
    for less, more, name in [*STEPS, *APART]:
        pair = witness_pair(name)
        size = f"n = {pair[0].num_vertices}"
        told = f"C_6 and 2 C_3 ({size})" if name == CYCLES else f"X, Y over {name} ({size})"
        yield Check(
            PLACE,
            f"{more} separates a pair that {less} does not",
            told,
            True,
            sometimes_more(more, less, pair),
        )
