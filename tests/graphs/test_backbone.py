"""The backbone pair: what hangs on the four-cycle, and in which order."""

from collections import Counter

import networkx as nx
import pytest

from osan.graphs import Graph, as_graph, backbone_pair, cfi_pair, to_networkx


def gadgets_in_cyclic_order(graph: Graph) -> list[Graph]:
    """Walk along the red cycle and cut off the gadget at each vertex."""
    whole = to_networkx(graph)
    red = [v for v, label in enumerate(graph.vertex_labels) if label == "red"]
    assert nx.is_isomorphic(whole.subgraph(red), nx.cycle_graph(4))
    walk = [red[0]]
    while len(walk) < 4:
        walk.append(next(v for v in red if whole.has_edge(walk[-1], v) and v not in walk))
    rest = whole.subgraph(set(whole) - set(red))
    pieces = [set(whole[u]) - set(red) for u in walk]
    assert sum(map(len, pieces)) == len(rest)
    assert all(a in piece for piece in pieces for v in piece for a in rest[v])
    return [as_graph(nx.Graph(rest.subgraph(piece))) for piece in pieces]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_gadgets_on_the_cycle(k, isomorphic):
    g, h = cfi_pair(k)
    patterns = []
    for graph in backbone_pair(k):
        assert graph.num_vertices == 4 + 4 * g.num_vertices
        assert graph.num_edges == 4 + 2 * (g.num_edges + h.num_edges) + 2 * (g.num_vertices + h.num_vertices)
        patterns.append("".join("GH"[isomorphic(piece, h)] for piece in gadgets_in_cyclic_order(graph)))
    assert patterns[0] in ("GHGH", "HGHG")
    assert patterns[1] in ("GGHH", "GHHG", "HHGG", "HGGH")


def test_the_pair_is_not_isomorphic_and_equal_under_color_refinement(isomorphic, wl_equal):
    x, y = backbone_pair(2)
    assert not isomorphic(x, y)
    assert wl_equal(x, y)
    assert Counter(x.vertex_labels) == Counter(y.vertex_labels)


def test_without_colors(wl_equal):
    x, y = backbone_pair(2, colors=False)
    assert x.vertex_labels is None
    assert wl_equal(x, y)
