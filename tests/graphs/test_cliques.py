"""Distance-two cliques against all subsets, and the lemma they are there for."""

from itertools import combinations
from math import comb

import networkx as nx
import pytest

from osan.errors import OsanError
from osan.graphs import Graph, backbone_pair, cfi_pair, distance_two_cliques, fuerer_graph, to_networkx


def brute_force(graph: Graph, size: int) -> set[frozenset[int]]:
    distance = dict(nx.all_pairs_shortest_path_length(to_networkx(graph)))
    labels = graph.vertex_labels
    vertices = [v for v, label in enumerate(labels) if label[0] == "vertex"]
    return {
        frozenset(s)
        for s in combinations(vertices, size)
        if all(distance[a].get(b) == 2 and labels[a] != labels[b] for a, b in combinations(s, 2))
    }


@pytest.mark.parametrize(("k", "size"), [(1, 2), (2, 1), (2, 2), (2, 3), (2, 4), (3, 3), (3, 4)])
def test_all_subsets(k, size):
    for graph in cfi_pair(k):
        found = list(distance_two_cliques(graph, size))
        assert len(set(map(frozenset, found))) == len(found)
        assert set(map(frozenset, found)) == brute_force(graph, size)


def test_backbone_vertices_bring_gadget_vertices_to_distance_two():
    x, _ = backbone_pair(1)
    assert set(map(frozenset, distance_two_cliques(x, 2))) == brute_force(x, 2)


@pytest.mark.parametrize("size", [2, 3])
def test_adjacent_vertices_are_not_at_distance_two(size):
    """Over Fürer's graphs, whose clouds are joined directly and may share neighbors."""
    graph = fuerer_graph(nx.complete_graph(4))
    assert set(map(frozenset, distance_two_cliques(graph, size))) == brute_force(graph, size)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_lemma_dtc(k):
    """One clique for each element of the cycle space of K_{k+1} in G_k, none in H_k."""
    g, h = cfi_pair(k)
    assert sum(1 for _ in distance_two_cliques(g, k + 1)) == 2 ** (comb(k + 1, 2) - k)
    assert not any(distance_two_cliques(h, k + 1))


def test_bad_requests():
    g = cfi_pair(2, colors=False)[0]
    with pytest.raises(OsanError, match="expected vertex labels"):
        next(distance_two_cliques(g, 3))
    with pytest.raises(OsanError, match="at least 1, got 0"):
        next(distance_two_cliques(g, 0))
