"""Pairs of graphs that are hard to tell apart, and what the explorer and the library say about them."""

from __future__ import annotations

import networkx as nx
import numpy as np

from osan import wl
from osan.graphs import Graph, encode_graph6

# The tests of the page by name, their arguments for wl.distinguishes, and whether they have two aggregations.
TESTS = {
    "wl1": {"test": "wl", "k": 1},
    "wl2": {"test": "wl", "k": 2},
    "wl3": {"test": "wl", "k": 3},
    "oswl1": {"test": "oswl", "k": 1},
    "oswl2": {"test": "oswl", "k": 2},
    "delete-vertex": {"test": "oswl", "operation": "delete"},
    "delete-edge": {"test": "oswl", "what": "edge", "operation": "delete"},
    "ego": {"test": "oswl", "what": "ego", "operation": "select"},
    "ego-marked": {"test": "oswl", "what": "ego", "operation": "select", "mark_center": True},
    "swl": {"test": "swl"},
    "pswl": {"test": "pswl"},
    "gswl": {"test": "gswl"},
    "sswl": {"test": "sswl"},
}


def cases() -> list[tuple[str, str, int]]:
    """Every test of the page with each aggregation, and ego-nets of radius 1 and 2."""
    out = []
    for name, settings in TESTS.items():
        for aggregation in ("vertex",) if settings["test"] == "wl" else ("vertex", "subgraph"):
            for hops in (1, 2) if settings.get("what") == "ego" else (1,):
                out.append((name, aggregation, hops))
    return out


def verdict(a: Graph, b: Graph, name: str, aggregation: str, hops: int) -> bool:
    """What the library says."""
    settings = dict(TESTS[name])
    test = settings.pop("test")
    if settings.get("what") == "ego":
        settings["hops"] = hops
    return wl.distinguishes(a, b, test if aggregation == "vertex" else f"vs-{test}", **settings)


def random_pair(rng: np.random.Generator, most: int = 10) -> tuple[Graph, Graph]:
    """Two graphs of up to ``most`` vertices with equal degrees, regular or almost the same, shuffled."""
    n = int(rng.integers(4, most + 1))
    if rng.random() < 0.5:
        degree = int(rng.integers(2, min(5, n)))
        degree -= (degree * n) % 2
        both = [nx.random_regular_graph(degree, n, seed=int(rng.integers(1 << 30))) for _ in range(2)]
    else:
        first = nx.gnp_random_graph(n, float(rng.uniform(0.15, 0.7)), seed=int(rng.integers(1 << 30)))
        second = first.copy()
        for _ in range(int(rng.integers(0, 4))):
            _swap(second, rng)
        both = [first, second]
    graphs = [Graph(n, list(graph.edges)) for graph in both]
    return graphs[0], graphs[1].permuted(rng.permutation(n))


def _swap(graph: nx.Graph, rng: np.random.Generator) -> None:
    """Exchange the ends of two edges, if that is possible; degrees stay."""
    edges = list(graph.edges)
    if len(edges) < 2:
        return
    i, j = rng.choice(len(edges), 2, replace=False)
    (a, b), (c, d) = edges[i], edges[j]
    if len({a, b, c, d}) == 4 and not graph.has_edge(a, d) and not graph.has_edge(c, b):
        graph.remove_edges_from([(a, b), (c, d)])
        graph.add_edges_from([(a, d), (c, b)])


def asked(a: Graph, b: Graph, wanted: list[tuple[str, str, int]]) -> list[list[object]]:
    """The arguments of ``Osan.distinguishes`` for a pair of graphs without labels."""
    texts = [encode_graph6(a), encode_graph6(b)]
    return [[*texts, *case] for case in wanted]
