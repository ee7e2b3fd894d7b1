"""Fürer's graphs X(B) and Y(B): vertex clouds joined directly, some base edges twisted."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from osan.arguments import integer
from osan.errors import OsanError
from osan.graphs.base import as_base
from osan.graphs.convert import GraphLike
from osan.graphs.graph import Graph

BaseEdge = tuple[Hashable, Hashable]


def fuerer_graph(
    base: GraphLike, twisted: Iterable[BaseEdge] = (), *, colors: bool = True, name: str = ""
) -> Graph:
    """X(B), with the base edges ``twisted`` twisted (paper, "Construction of Fürer grid-graphs").

    Vertices: the clouds C_v of all ``(v, S)`` with S an even set of base edges at v. For a base edge
    e = {u, v}, ``(u, S)`` and ``(v, T)`` are joined if both or neither of S and T contain e; if e is
    twisted, if exactly one does. Over a connected base graph, an even number of twists gives a graph
    isomorphic to X(B), an odd number one isomorphic to Y(B).

    Parameters
    ----------
    base
        A :class:`Graph` or networkx graph, undirected and simple.
    twisted
        A set of base edges, each a pair of vertex names in either order; repeating one has no effect.
    colors
        Label the cloud of v ``("vertex", v)``, the paper's c_v. Without colors, the graph has no labels.

    Examples
    --------
    >>> square = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    >>> fuerer_graph(square, twisted=[(2, 1)])
    Graph(num_vertices=8, num_edges=8, vertex labels)
    """
    over = as_base(base)
    twists = {over.edge(ends) for ends in twisted}
    clouds = [over.subsets(v) for v in range(over.graph.num_vertices)]
    first = np.cumsum([0, *map(len, clouds)])
    parts = [np.empty((0, 2), dtype=np.int64)]
    for e, (u, v) in enumerate(over.graph.edges.tolist()):
        in_s = clouds[u][:, over.incident[u] == e]
        in_t = clouds[v][:, over.incident[v] == e]
        joined = (in_s ^ in_t.T) == (e in twists)
        parts.append(np.argwhere(joined) + first[[u, v]])
    labels = [("vertex", over.names[v]) for v, cloud in enumerate(clouds) for _ in range(len(cloud))]
    return Graph(int(first[-1]), np.concatenate(parts), vertex_labels=labels if colors else None, name=name)


def fuerer_grid_pair(
    h: int, n: int, twisted: Iterable[BaseEdge] | None = None, *, colors: bool = True
) -> tuple[Graph, Graph]:
    """X(B) and Y(B) over the h x n grid B (paper, "Construction of Fürer grid-graphs").

    With h = k + 1 and n much larger, k-WL does not distinguish them and (k + 1)-WL does (folklore version).

    Parameters
    ----------
    h, n
        Rows and columns, at least 1; base vertices are named ``(row, column)`` from 0.
    twisted
        The base edges twisted in the second graph; by default one, in row 0 between the two middle
        columns (in column 0 if there is only one column).

    Examples
    --------
    >>> fuerer_grid_pair(2, 3)[1]
    Graph('Y(2x3)', num_vertices=16, num_edges=28, vertex labels)
    """
    import networkx as nx

    h, n = integer(h, "h"), integer(n, "n")
    if h < 1 or n < 1 or h * n < 2:
        raise OsanError(f"grid: expected h, n >= 1 and h * n >= 2, got {h} x {n}")
    if twisted is None:
        middle = ((n if n > 1 else h) - 1) // 2
        twisted = [((0, middle), (0, middle + 1)) if n > 1 else ((middle, 0), (middle + 1, 0))]
    grid = nx.grid_2d_graph(h, n)
    return (
        fuerer_graph(grid, colors=colors, name=f"X({h}x{n})"),
        fuerer_graph(grid, twisted, colors=colors, name=f"Y({h}x{n})"),
    )
