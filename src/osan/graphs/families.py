"""Small graphs and pairs that are standard examples for 1-WL."""

from __future__ import annotations

from itertools import product

import numpy as np

from osan.arguments import integer
from osan.errors import OsanError
from osan.graphs.graph import Graph

# Longer cycles are mistakes.
_MOST = 10**8


def csl(n: int, s: int) -> Graph:
    """The circular skip link graph CSL(n, s): the cycle C_n and an edge from each i to i + s (mod n).

    4-regular, so 1-WL sees no difference between one s and another. Murphy et al., "Relational Pooling for
    Graph Representations" (2019), take n and s coprime; here s only has to leave the graph 4-regular.

    >>> csl(41, 2)
    Graph('CSL(41, 2)', num_vertices=41, num_edges=82)
    """
    integer(n, "n", most=_MOST)
    integer(s, "s")
    if not 2 <= s <= n - 2 or 2 * s == n:
        raise OsanError(f"CSL(n, s): expected 2 <= s <= n - 2 and 2 s != n, got n = {n}, s = {s}")
    ring = np.arange(n)
    edges = np.concatenate([np.stack([ring, (ring + step) % n], axis=1) for step in (1, s)])
    return Graph(n, edges, name=f"CSL({n}, {s})")


def rook_4x4() -> Graph:
    """The 4 x 4 rook's graph: squares in one row or column are adjacent; srg(16, 6, 2, 2).

    With :func:`shrikhande` the smallest pair of strongly regular graphs with equal parameters: 2-WL
    (folklore) does not distinguish them.
    """
    squares = list(product(range(4), repeat=2))
    edges = [
        (i, j)
        for j, (row, column) in enumerate(squares)
        for i, other in enumerate(squares[:j])
        if row == other[0] or column == other[1]
    ]
    return Graph(16, edges, name="rook 4x4")


def shrikhande() -> Graph:
    """The Shrikhande graph: on Z_4 x Z_4, differences ±(1, 0), ±(0, 1), ±(1, 1); srg(16, 6, 2, 2)."""
    edges = [
        (4 * a + b, 4 * ((a + x) % 4) + (b + y) % 4)
        for a, b in product(range(4), repeat=2)
        for x, y in ((1, 0), (0, 1), (1, 1))
    ]
    return Graph(16, edges, name="Shrikhande")


def cycle_pair(n: int) -> tuple[Graph, Graph]:
    """The cycle C_2n and two disjoint cycles C_n, which 1-WL does not distinguish.

    >>> cycle_pair(3)
    (Graph('C_6', num_vertices=6, num_edges=6), Graph('2 C_3', num_vertices=6, num_edges=6))
    """
    integer(n, "n", least=3, most=_MOST)
    two = np.concatenate([_cycle(n), n + _cycle(n)])
    return Graph(2 * n, _cycle(2 * n), name=f"C_{2 * n}"), Graph(2 * n, two, name=f"2 C_{n}")


def decalin() -> Graph:
    """Decalin's carbon skeleton: two hexagons that share an edge.

    1-WL does not distinguish it from :func:`bicyclopentyl`.
    """
    return Graph(10, [*_cycle(10), (0, 5)], name="decalin")


def bicyclopentyl() -> Graph:
    """Bicyclopentyl's carbon skeleton: two pentagons joined by an edge."""
    return Graph(10, [*_cycle(5), *(5 + _cycle(5)), (0, 5)], name="bicyclopentyl")


def _cycle(n: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    ring = np.arange(n)
    return np.stack([ring, (ring + 1) % n], axis=1)
