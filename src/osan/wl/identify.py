"""Which graphs a test identifies: it separates them from every other graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx

from osan.arguments import integer
from osan.errors import OsanError
from osan.graphs import Graph, GraphLike, all_graphs, as_graph, to_networkx
from osan.graphs.small import ATLAS
from osan.wl.refine import refine
from osan.wl.settings import WLTest, make_test

# Graphs that are refined together.
_TOGETHER = 256


def lookalikes(
    graph: GraphLike,
    test: str | WLTest = "wl",
    k: int | None = None,
    *,
    among: Iterable[GraphLike] | None = None,
    max_memory: int | None = None,
    **settings: Any,
) -> list[Graph]:
    """The graphs that a test does not separate from the given one, although they are not isomorphic to it.

    Parameters
    ----------
    graph
        As :func:`osan.wl.refine` takes it.
    test, k, settings
        The test: a name and the settings of :class:`osan.wl.WLTest`, or a ``WLTest``.
    among
        The graphs to compare with; those with other numbers of vertices are left out. By default all graphs
        of this size, if there are up to seven vertices and no labels, loops, parallel or directed edges. For
        eight, pass ``all_graphs(8, connected=...)``.
    max_memory
        Bytes that may be used.

    Examples
    --------
    >>> import networkx as nx
    >>> from osan import wl
    >>> [triangles] = wl.lookalikes(nx.cycle_graph(6))
    >>> triangles.num_edges
    6
    >>> wl.lookalikes(nx.cycle_graph(6), "oswl", k=1)
    []
    """
    chosen, plain = make_test(test, k, **settings), as_graph(graph)
    candidates = _candidates(plain, among)
    found: list[Graph] = []
    for first in range(0, len(candidates), _TOGETHER):
        part = candidates[first : first + _TOGETHER]
        colors = refine([plain, *part], chosen, max_memory=max_memory).graph_colors
        alike = [other for other, color in zip(part, colors[1:], strict=True) if color == colors[0]]
        found += [other for other in alike if not _isomorphic(plain, other)]
    return found


def identifies(
    graph: GraphLike,
    test: str | WLTest = "wl",
    k: int | None = None,
    *,
    among: Iterable[GraphLike] | None = None,
    max_memory: int | None = None,
    **settings: Any,
) -> bool:
    """Whether a test separates a graph from all other graphs; see :func:`lookalikes` for the arguments.

    >>> import networkx as nx
    >>> from osan import wl
    >>> wl.identifies(nx.path_graph(6)), wl.identifies(nx.cycle_graph(6))
    (True, False)
    """
    return not lookalikes(graph, test, k, among=among, max_memory=max_memory, **settings)


def dimension(
    graph: GraphLike,
    max_k: int = 3,
    *,
    among: Iterable[GraphLike] | None = None,
    max_memory: int | None = None,
) -> int | None:
    """The Weisfeiler-Leman dimension: the smallest k for which (folklore) k-WL identifies a graph.

    ``None`` if it is more than ``max_k``. With ``among``, it is the dimension among these graphs, and so a
    lower bound of the dimension; see :func:`lookalikes`.

    >>> import networkx as nx
    >>> from osan import wl
    >>> wl.dimension(nx.path_graph(6)), wl.dimension(nx.cycle_graph(6))
    (1, 2)
    """
    integer(max_k, "max_k", least=1)
    plain = as_graph(graph)
    rest = _candidates(plain, among)
    for k in range(1, max_k + 1):
        rest = lookalikes(plain, "wl", k, among=rest, max_memory=max_memory)
        if not rest:
            return k
    return None


def _candidates(graph: Graph, among: Iterable[GraphLike] | None) -> list[Graph]:
    if among is not None:
        plain = map(as_graph, among)
        n, directed = graph.num_vertices, graph.directed
        return [other for other in plain if other.num_vertices == n and other.directed == directed]
    simple = len({(min(edge), max(edge)) for edge in graph.edges.tolist()}) == graph.num_edges
    loops = (graph.edges[:, 0] == graph.edges[:, 1]).any()
    labeled = graph.vertex_labels is not None or graph.edge_labels is not None
    if graph.num_vertices > ATLAS or graph.directed or labeled or loops or not simple:
        raise OsanError(
            f"among: expected graphs to compare with, since not all graphs like {graph!r} are listed (only "
            f"simple ones without labels with up to {ATLAS} vertices), got none"
        )
    return all_graphs(graph.num_vertices)


def _isomorphic(one: Graph, other: Graph) -> bool:
    g, h = to_networkx(one), to_networkx(other)
    if g.is_multigraph() != h.is_multigraph():
        return False

    def same_edges(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
        if not g.is_multigraph():
            return bool(a.get("label") == b.get("label"))
        ours, theirs = ([data.get("label") for data in side.values()] for side in (a, b))
        return len(ours) == len(theirs) and all(ours.count(x) == theirs.count(x) for x in ours)

    return bool(
        nx.is_isomorphic(
            g, h, node_match=lambda a, b: a.get("label") == b.get("label"), edge_match=same_edges
        )
    )
