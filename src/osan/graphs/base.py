"""Base graphs, over which the constructions build their gadgets."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from osan.errors import OsanError
from osan.graphs.convert import GraphLike, as_graph
from osan.graphs.graph import Graph, IntArray

# Gadgets double with every edge at a base vertex; past this many vertices the request is a mistake.
_MAX_VERTICES = 1 << 24


@dataclass(frozen=True)
class Base:
    """A simple undirected graph with named vertices and, per vertex, the numbers of its edges."""

    graph: Graph
    names: tuple[Hashable, ...]
    incident: tuple[IntArray, ...]

    def vertex(self, name: Hashable) -> int:
        """The number of the vertex called ``name``."""
        if name not in self.names:
            raise OsanError(f"vertex: expected one of the base graph ({_few(self.names)}), got {name!r}")
        return self.names.index(name)

    def edge(self, ends: tuple[Hashable, Hashable]) -> int:
        """The number of the edge between the two named vertices."""
        if not isinstance(ends, tuple | list) or len(ends) != 2:
            raise OsanError(f"edge: expected an edge (u, v) of the base graph, got {ends!r}")
        wanted = sorted(map(self.vertex, ends))
        found = np.flatnonzero((np.sort(self.graph.edges, axis=1) == wanted).all(axis=1))
        if not found.size:
            raise OsanError(f"edge: expected an edge of the base graph, got ({ends[0]!r}, {ends[1]!r})")
        return int(found[0])

    def subsets(self, vertex: int, odd: bool = False) -> IntArray:
        """The even (odd) subsets S of the edges E(v) at a vertex, as a 0/1 array.

        Shape ``(number of subsets, degree)``; column i says whether edge ``incident[vertex][i]`` is in S.
        """
        degree = len(self.incident[vertex])
        members = np.arange(1 << degree)[:, None] >> np.arange(degree) & 1
        return members[members.sum(axis=1) % 2 == odd]


def as_base(base: GraphLike) -> Base:
    """Convert a graph to a base graph; labels are dropped, names of networkx vertices are kept.

    >>> as_base(Graph(3, [(0, 1), (1, 2)])).subsets(1).tolist()
    [[0, 0], [1, 1]]
    """
    graph = as_graph(base)
    names = tuple(base.nodes) if hasattr(base, "nodes") else tuple(range(graph.num_vertices))
    ends = np.sort(graph.edges, axis=1)
    if graph.directed or (ends[:, 0] == ends[:, 1]).any() or len(np.unique(ends, axis=0)) < len(ends):
        raise OsanError(
            f"base: expected an undirected graph without self-loops and parallel edges, got {graph!r}"
        )
    incident = tuple(np.flatnonzero((graph.edges == v).any(axis=1)) for v in range(graph.num_vertices))
    # Exact integers: 2 ** degree may exceed any fixed width.
    size = sum(1 << max(0, len(edges) - 1) for edges in incident)
    if size > _MAX_VERTICES:
        raise OsanError(
            f"base: expected vertex clouds with at most {_MAX_VERTICES} vertices, got {size} over {graph!r} "
            "(a base vertex with d edges gives 2^(d-1))"
        )
    return Base(graph, names, incident)


def _few(names: tuple[Hashable, ...]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
