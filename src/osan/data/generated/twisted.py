"""Pairs of CFI graphs whose place in the hierarchy of k-OSWL is known exactly."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np

from osan.errors import OsanError
from osan.graphs import Graph, Pair, cfi_graph

MAX_K = 3
# A base vertex with d edges becomes 2^(d - 1) vertices.
_MAX_DEGREE = 4


def feedback_vertex_number(graph: nx.Graph) -> int:
    """The smallest number of vertices whose removal leaves a forest, by trying all sets (small graphs only).

    >>> [feedback_vertex_number(nx.complete_graph(n)) for n in (2, 3, 4, 5)]
    [0, 1, 2, 3]
    """
    vertices = set(graph)
    for size in range(len(vertices) + 1):
        for removed in combinations(vertices, size):
            rest = graph.subgraph(vertices - set(removed))
            if not len(rest) or nx.is_forest(rest):
                return size
    raise AssertionError("unreachable: the empty graph is a forest")


def base_size(k: int) -> int:
    """The largest number of vertices of base graphs with feedback vertex number ``k``."""
    return k + 4


def twisted_bases(k: int, count: int, seed: int) -> list[nx.Graph]:
    """Random 2-connected graphs on k + 2 to k + 4 vertices whose feedback vertex number is exactly ``k``.

    They are drawn by rejection and have no degree above four. Equal seeds give equal graphs.

    Parameters
    ----------
    k
        From 1 to 3.
    count
        The number of graphs. They may repeat, since few graphs are this small.
    """
    if not 1 <= k <= MAX_K:
        raise OsanError(f"k: expected 1 to {MAX_K}, got {k}")
    if count < 1:
        raise OsanError(f"count: expected at least 1 base graph, got {count}")
    rng = np.random.default_rng([seed, k])
    out: list[nx.Graph] = []
    while len(out) < count:
        size = int(rng.integers(k + 2, base_size(k) + 1))
        every = list(combinations(range(size), 2))
        edges = rng.integers(size, min(len(every), 2 * size) + 1)
        graph = nx.Graph([every[i] for i in rng.choice(len(every), edges, replace=False)])
        if (
            len(graph) == size
            and max(d for _, d in graph.degree) <= _MAX_DEGREE
            and nx.is_biconnected(graph)
            and feedback_vertex_number(graph) == k
        ):
            out.append(graph)
    return out


def twisted_pairs(k: int, count: int, seed: int) -> list[Pair]:
    """Pairs of CFI graphs, untwisted and twisted, over random base graphs of feedback vertex number ``k``.

    k-OSWL distinguishes the two graphs of a pair and (k - 1)-OSWL does not, in both orders of aggregation.
    Fixing one vertex in the clouds of a feedback vertex set leaves gadgets over a forest, where the twist
    shows. With fewer fixed vertices, an untouched cycle hides it. The base graphs are 2-connected, since
    otherwise their parts can be treated one after the other: two triangles joined by an edge have the
    number 2, yet per-vertex 1-OSWL separates the pair.

    The color of a vertex is its place in the base graph, whose vertices are numbered at random: i for the
    cloud of base vertex i, and numbers from ``base_size(k)`` on for the clouds of edges.

    Examples
    --------
    >>> from osan import wl
    >>> pair = twisted_pairs(2, 1, seed=0)[0]
    >>> [wl.distinguishes(pair.a, pair.b, "oswl", k=k) for k in (1, 2)]
    [False, True]
    """
    rng = np.random.default_rng([seed, k, 1])
    slots = {e: base_size(k) + i for i, e in enumerate(combinations(range(base_size(k)), 2))}
    pairs = []
    for i, base in enumerate(twisted_bases(k, count, seed)):
        color = rng.permutation(base_size(k))[: len(base)].tolist()
        named = nx.relabel_nodes(base, dict(enumerate(color)))
        odd = color[int(rng.integers(len(color)))]
        sides = []
        for twist in ([], [odd]):
            graph = cfi_graph(named, twist)
            places: Any = graph.vertex_labels
            labels = [p[1] if p[0] == "vertex" else slots[tuple(sorted(p[1:]))] for p in places]
            shuffled = Graph(graph.num_vertices, graph.edges, vertex_labels=labels, name=graph.name)
            sides.append(shuffled.permuted(rng.permutation(graph.num_vertices)))
        pairs.append(Pair(sides[0], sides[1], category=f"twisted-{k}", name=str(i)))
    return pairs


def num_colors(k: int) -> int:
    """The number of possible colors in :func:`twisted_pairs`: base vertices and pairs of them."""
    size = base_size(k)
    return size + size * (size - 1) // 2
