"""CFI gadgets: graphs that k-WL separates and (k - 1)-WL does not."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from numbers import Integral

import numpy as np

from osan.arguments import integer
from osan.errors import OsanError
from osan.graphs.base import as_base
from osan.graphs.convert import GraphLike
from osan.graphs.graph import Graph


def cfi_graph(base: GraphLike, odd: Iterable[Hashable] = (), *, colors: bool = True, name: str = "") -> Graph:
    """The CFI graph over ``base`` with odd subsets at the base vertices ``odd``, even ones elsewhere.

    Paper, appendix, "CFI-Gadgets", with any base graph B in place of the clique. Vertices: ``(v, S)`` for
    each base vertex v and each even (odd) set S of edges at v, in this order, then e^0, e^1 for each base
    edge e. Edges: e^0 e^1; ``(v, S)`` with e^1 for e in S, with e^0 for the other edges e at v. Over a
    connected base graph only the parity of ``len(odd)`` matters up to isomorphism.

    Parameters
    ----------
    base
        A :class:`Graph` or networkx graph, undirected and simple.
    odd
        Names of base vertices.
    colors
        Label the vertex cloud of v ``("vertex", v)`` and the edge cloud of e = {u, v} ``("edge", u, v)``,
        the paper's C_v and C_e. Without colors, the graph has no labels.

    Examples
    --------
    >>> cfi_graph(Graph(3, [(0, 1), (0, 2), (1, 2)]))
    Graph(num_vertices=12, num_edges=15, vertex labels)
    """
    over = as_base(base)
    odd_vertices = {over.vertex(v) for v in odd}
    clouds = [over.subsets(v, v in odd_vertices) for v in range(over.graph.num_vertices)]
    first_edge_cloud = sum(map(len, clouds))
    zeros = first_edge_cloud + 2 * np.arange(over.graph.num_edges)
    parts = [np.stack([zeros, zeros + 1], axis=1)]
    labels: list[Hashable] = []
    for v, cloud in enumerate(clouds):
        vertices = np.broadcast_to(len(labels) + np.arange(len(cloud))[:, None], cloud.shape)
        ends = zeros[over.incident[v]] + cloud
        parts.append(np.stack([vertices.reshape(-1), ends.reshape(-1)], axis=1))
        labels += [("vertex", over.names[v])] * len(cloud)
    for u, v in over.graph.edges.tolist():
        labels += [("edge", over.names[u], over.names[v])] * 2
    return Graph(len(labels), np.concatenate(parts), vertex_labels=labels if colors else None, name=name)


def cfi_pair(
    base: GraphLike | int, twisted: Hashable | None = None, *, colors: bool = True
) -> tuple[Graph, Graph]:
    r"""The pair (G, H) of CFI graphs over ``base``; H takes the odd subsets at one vertex.

    Over the clique K_{k+1} these are the gadgets G_k and H_k (paper, "Construction of G_k and H_k"), which
    (k - 1)-WL does not separate and k-WL does (folklore version; Lemmas neurips and neurips2). Over any
    connected base graph the two are not isomorphic if they have colors.

    Parameters
    ----------
    base
        A :class:`Graph` or networkx graph, undirected and simple; or the number k of at least 1, for the
        clique K_{k+1}.
    twisted
        The base vertex with odd subsets; the first one by default.
    colors
        As in :func:`cfi_graph`.

    Notes
    -----
    G_k and H_k have :math:`(k+1) 2^{k-1} + 2 \binom{k+1}{2}` vertices each: k + 1 vertex clouds of
    :math:`2^{k-1}` and :math:`\binom{k+1}{2}` edge clouds of two. The paper prints
    :math:`k 2^k + 2 \binom{k+2}{2}` instead (20 rather than 12 for k = 2), which its construction does not
    give: the second term belongs to :math:`G_{k+1}`.

    Examples
    --------
    >>> [cfi_pair(k)[0].num_vertices for k in (1, 2, 3, 4)]
    [4, 12, 28, 60]
    >>> import networkx as nx
    >>> cfi_pair(nx.cycle_graph("abcd"), twisted="c")
    (Graph(num_vertices=16, num_edges=20, vertex labels), Graph(num_vertices=16, num_edges=20, vertex labels))
    """
    names = ("", "")
    if isinstance(base, Integral):
        import networkx as nx

        # Vertex clouds double with k.
        integer(base, "k", least=1, most=64)
        names = (f"G_{base}", f"H_{base}")
        base = nx.complete_graph(int(base) + 1)
    over = as_base(base)
    if not over.names:
        raise OsanError("base: expected a graph with a vertex to twist, got no vertices")
    odd = over.names[0] if twisted is None else twisted
    return (
        cfi_graph(base, colors=colors, name=names[0]),
        cfi_graph(base, [odd], colors=colors, name=names[1]),
    )
