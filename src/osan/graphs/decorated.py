"""Graphs with a gadget at every vertex: what is seen locally against how it is arranged."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from osan.errors import OsanError
from osan.graphs.convert import GraphLike, as_graph
from osan.graphs.graph import Graph


def decorate(
    base: GraphLike,
    gadgets: Sequence[GraphLike],
    *,
    base_label: Hashable = None,
    labels: bool = False,
    name: str = "",
) -> Graph:
    """Attach the i-th gadget to the i-th vertex of ``base``: each of its vertices is joined to that vertex.

    This is how the paper attaches CFI gadgets to a backbone (appendix, "Construction of the graphs X_k and
    Y_k"), for any base and any gadgets. The vertices of ``base`` come first, then those of each gadget.

    Parameters
    ----------
    base, gadgets
        Undirected graphs; one gadget per vertex of ``base``. Edge labels are dropped.
    base_label, labels
        With ``labels``, vertices of gadgets keep their labels, and those of ``base`` get ``base_label``.

    Examples
    --------
    >>> import networkx as nx
    >>> decorate(nx.path_graph(2), [nx.empty_graph(1), nx.empty_graph(2)]).num_edges
    4
    """
    inner, parts = as_graph(base), [as_graph(gadget) for gadget in gadgets]
    if len(parts) != inner.num_vertices:
        raise OsanError(f"gadgets: expected one per vertex ({inner.num_vertices}), got {len(parts)}")
    edges = [inner.edges]
    vertex_labels: list[Hashable] = [base_label] * inner.num_vertices
    for i, gadget in enumerate(parts):
        first = len(vertex_labels)
        members = first + np.arange(gadget.num_vertices)
        edges += [gadget.edges + first, np.stack([np.full_like(members, i), members], axis=1)]
        vertex_labels += gadget.vertex_labels or [None] * gadget.num_vertices
    return Graph(
        len(vertex_labels),
        np.concatenate(edges),
        vertex_labels=vertex_labels if labels else None,
        name=name,
    )


def icosahedral_pair() -> tuple[Graph, Graph]:
    """Two icosahedra decorated with hexagons and pairs of triangles, arranged differently (n = 84).

    One marked vertex tells which gadget it belongs to, and the distance from there. The icosahedron is
    distance-regular, so that is all that 1-OSWL learns about the arrangement, and the two arrangements agree
    in it: at each vertex, the number of hexagons at every distance. They differ under color refinement of the
    icosahedron colored by its gadgets, which a network that shares what it saw between subgraphs
    (GNN-as-kernel with restarts, DSS-GNN) can run. Found by exhaustive search over the 2-colorings of small
    distance-regular graphs; it is not in the paper.

    >>> [graph.num_vertices for graph in icosahedral_pair()]
    [84, 84]
    """
    import networkx as nx

    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    hexagon = nx.cycle_graph(6)
    base = nx.icosahedral_graph()
    arrangements = ({5, 6, 7, 9, 11}, {5, 6, 7, 9, 10})
    one, other = (
        decorate(base, [hexagon if v in chosen else triangles for v in base], name=f"icosahedron {letter}")
        for letter, chosen in zip("XY", arrangements, strict=True)
    )
    return one, other
