"""Identified graphs: the known small cases, and isomorphism with labels."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from osan.errors import OsanError
from osan.graphs import Graph, all_graphs, from_networkx, read_graphs, rook_4x4, shrikhande
from osan.wl import WLTest, dimension, identifies, lookalikes, refine


def test_all_graphs_with_six_vertices():
    """1-WL fails for two pairs and their complements: 6-cycle and triangles, and both with an edge more."""
    graphs = all_graphs(6)
    cycle, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.complete_graph(3), nx.complete_graph(3))
    chord, bridge = nx.Graph([*cycle.edges, (0, 3)]), nx.Graph([*triangles.edges, (0, 3)])
    assert len(set(refine(graphs).graph_colors.tolist())) == len(graphs) - 4
    for one, other in ((cycle, triangles), (chord, bridge)):
        for change in (nx.Graph, nx.complement):
            (found,) = lookalikes(change(one), among=graphs)
            assert nx.is_isomorphic(nx.Graph(found.edges.tolist()), change(other))
            assert dimension(change(other), among=graphs) == 2
    assert all(identifies(graph, among=graphs) for graph in graphs[::40])


def test_eight_vertices(osan_data):
    """12,346 graphs; the cube is one of six 3-regular graphs, of which 1-WL separates none."""
    graphs = all_graphs(8, read_graphs(osan_data / "graph8c" / "graph8c.g6"))
    assert len(graphs) == 12_346
    cube = from_networkx(nx.hypercube_graph(3))
    cubic = [g for g in graphs if np.bincount(g.edges.ravel(), minlength=8).tolist() == [3] * 8]
    assert len(cubic) == 6
    assert len(lookalikes(cube, among=cubic)) == 5
    assert dimension(cube, among=cubic) == 2
    with pytest.raises(OsanError, match="connected: expected all connected graphs with 8 vertices, got none"):
        all_graphs(8)


def test_strongly_regular_graphs_have_dimension_above_two():
    assert dimension(rook_4x4(), max_k=2, among=[shrikhande()]) is None
    assert (
        dimension(rook_4x4(), max_k=3, among=[shrikhande(), rook_4x4().permuted(list(range(15, -1, -1)))])
        == 3
    )
    assert identifies(rook_4x4(), WLTest("oswl", 2), among=[shrikhande()])


def test_isomorphism_knows_labels_and_parallel_edges():
    one = Graph(4, [(0, 1), (2, 3)], edge_labels="ab")
    assert identifies(one, among=[Graph(4, [(3, 2), (1, 0)], edge_labels="ab")])
    twice = Graph(6, [(0, 1), (0, 1), (1, 2), (2, 3), (2, 3), (3, 0)], edge_labels="abcabc")
    assert identifies(twice, among=[twice.permuted([1, 0, 3, 2, 5, 4])])


@pytest.mark.parametrize(
    "graph",
    [Graph(8), Graph(3, [(0, 1)], directed=True), Graph(2, [(0, 0)]), Graph(2, [(0, 1), (1, 0)]),
     Graph(2, vertex_labels="ab")],
)  # fmt: skip
def test_what_cannot_be_listed_needs_graphs_to_compare_with(graph):
    with pytest.raises(OsanError, match="among: expected graphs to compare with"):
        identifies(graph)
    assert identifies(graph, among=[graph])
    with pytest.raises(OsanError, match="max_k: expected at least 1, got 0"):
        dimension(graph, max_k=0)
