"""Graphs that carry a gadget at every vertex: what is seen locally against how it is arranged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from osan.errors import OsanError
from osan.graphs.graph import Graph
from osan.graphs.networkx import from_networkx

if TYPE_CHECKING:
    import networkx as nx


def decorate(base: nx.Graph, gadgets: Sequence[nx.Graph], name: str = "") -> Graph:
    """Attach the i-th gadget to the i-th vertex of ``base``: each of its vertices is joined to that vertex.

    This is how the paper attaches CFI gadgets to a backbone (appendix, "Construction of the graphs X_k and
    Y_k"), for any base and any gadgets, without colors.

    >>> import networkx as nx
    >>> decorate(nx.path_graph(2), [nx.empty_graph(1), nx.empty_graph(2)]).num_edges
    4
    """
    import networkx as nx

    vertices = list(base)
    if len(gadgets) != len(vertices):
        raise OsanError(f"{len(gadgets)} gadgets for {len(vertices)} vertices; one for each is needed")
    whole = nx.Graph(base)
    for vertex, gadget in zip(vertices, gadgets, strict=True):
        whole.add_edges_from((vertex, (vertex, inner)) for inner in gadget)
        whole.add_edges_from(((vertex, u), (vertex, v)) for u, v in gadget.edges)
    plain = from_networkx(whole)
    return Graph(plain.num_vertices, plain.edges, name=name)


def icosahedral_pair() -> tuple[Graph, Graph]:
    """Two icosahedra decorated with hexagons and pairs of triangles, arranged differently (n = 84).

    One marked vertex tells what the gadget at its own place is, and how far it is from there; the icosahedron
    being distance-regular, that is all that 1-OSWL learns about the arrangement, and the two arrangements
    agree in it: at each vertex, the number of hexagons at every distance. They differ under color refinement
    of the icosahedron colored by its gadgets, which a network that shares what it saw between subgraphs
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
