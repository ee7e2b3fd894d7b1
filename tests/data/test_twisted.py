"""Twisted pairs: every family is where it claims to be in the hierarchy of k-OSWL."""

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from osan import wl
from osan.data import load, twisted_pairs
from osan.data.generated.twisted import feedback_vertex_number, num_colors, twisted_bases
from osan.errors import OsanError
from osan.graphs import Graph


@pytest.mark.parametrize("k", [1, 2, 3])
def test_bases_are_biconnected_with_the_exact_feedback_vertex_number(k):
    bases = twisted_bases(k, 30, seed=3)
    for base in bases:
        assert nx.is_biconnected(base)
        assert max(degree for _, degree in base.degree) <= 4

        # Deleting k vertices can leave a forest, deleting k - 1 cannot: every cycle basis is empty or not.
        def acyclic(removed, base=base):
            return not nx.cycle_basis(base.subgraph(set(base) - set(removed)))

        assert any(acyclic(removed) for removed in combinations(base, k))
        assert not any(acyclic(removed) for removed in combinations(base, k - 1))
    assert len({tuple(sorted(degree for _, degree in base.degree)) for base in bases}) > 1


def test_feedback_vertex_number_of_known_graphs():
    assert feedback_vertex_number(nx.path_graph(5)) == 0
    assert feedback_vertex_number(nx.cycle_graph(5)) == 1
    assert feedback_vertex_number(nx.petersen_graph()) == 3
    assert feedback_vertex_number(nx.complete_bipartite_graph(3, 3)) == 2


@pytest.mark.parametrize("test", ["oswl", "vs-oswl"])
@pytest.mark.parametrize("k", [1, 2])
def test_k_separates_and_k_minus_one_does_not(k, test):
    for pair in twisted_pairs(k, 3, seed=1):
        assert wl.distinguishes(pair.a, pair.b, test, k=k)
        if k == 1:
            assert not wl.distinguishes(pair.a, pair.b, "wl")
        else:
            assert not wl.distinguishes(pair.a, pair.b, test, k=k - 1)


@pytest.mark.parametrize("test", ["oswl", "vs-oswl"])
def test_two_does_not_separate_the_third_family(test):
    for pair in twisted_pairs(3, 2, seed=1):
        assert not wl.distinguishes(pair.a, pair.b, test, k=2)


def test_three_separates_the_third_family():
    """For one triple t of one graph, no triple of the other with the same labels looks like it to 1-WL.

    Then the multisets over subgraphs differ (vertex-subgraph 3-OSWL), and as each vertex sees all of them,
    so do those over vertices.
    """
    pair = twisted_pairs(3, 1, seed=1)[0]
    labels_a, labels_b = np.array(pair.a.vertex_labels), np.array(pair.b.vertex_labels)
    places = [label for label in sorted(set(labels_a.tolist())) if label < 7]
    base = nx.Graph()
    clouds = {label: np.flatnonzero(labels_a == label) for label in places}
    adjacency = nx.Graph(pair.a.edges.tolist())
    near = {p: {labels_a[w] for v in clouds[p] for w in adjacency[v]} for p in places}
    base.add_edges_from((p, q) for p, q in combinations(places, 2) if near[p] & near[q])
    hit = next(c for c in combinations(places, 3) if nx.is_forest(base.subgraph(set(places) - set(c))))

    def marked(graph: Graph, triple: tuple[int, ...]) -> Graph:
        labels = [
            (label, triple.index(v) if v in triple else -1) for v, label in enumerate(graph.vertex_labels)
        ]
        return Graph(graph.num_vertices, graph.edges, vertex_labels=labels)

    first = marked(pair.a, tuple(int(np.flatnonzero(labels_a == p)[0]) for p in hit))
    others = product(*(np.flatnonzero(labels_b == p).tolist() for p in hit))
    coloring = wl.refine([first, *(marked(pair.b, triple) for triple in others)], "wl")
    count = int(np.prod([(labels_b == p).sum() for p in hit]))
    assert count >= 64
    assert not any(coloring.same(0, i) for i in range(1, count + 1))


def test_two_joined_triangles_show_why_the_base_must_be_biconnected():
    from osan.graphs import cfi_pair

    base = nx.Graph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)])
    assert feedback_vertex_number(base) == 2
    assert wl.distinguishes(*cfi_pair(base), "oswl", k=1)


def test_equal_seeds_give_equal_pairs_and_colors_stay_in_range():
    for k in (1, 2, 3):
        first, again, other = (twisted_pairs(k, 5, seed) for seed in (7, 7, 8))
        assert all(np.array_equal(p.a.edges, q.a.edges) for p, q in zip(first, again, strict=True))
        assert any(p.a.edges.tolist() != q.a.edges.tolist() for p, q in zip(first, other, strict=True))
        for pair in first:
            assert sorted(pair.a.vertex_labels) == sorted(pair.b.vertex_labels)
            assert pair.a.num_edges == pair.b.num_edges
            assert max(pair.a.vertex_labels) < num_colors(k)


def test_task_has_every_graph_in_every_split():
    task = load("twisted-pairs", k=1, num_pairs=3, copies=10, seed=2)
    for part, copies in (("train", 8), ("val", 1), ("test", 1)):
        graphs = task.splits[part]
        assert len(graphs) == 6 * copies
        assert graphs.y.sum() == 3 * copies
        originals = sorted((graphs.ids // 10).tolist())
        assert originals == sorted(list(range(6)) * copies)
    pairs = twisted_pairs(1, 3, seed=2)
    for i, graph in enumerate(g for pair in pairs for g in (pair.a, pair.b)):
        copy = task.train.subset(task.train.ids[task.train.ids // 10 == i][:1])[0]
        ours = nx.Graph(copy.edge_index.t().tolist())
        nx.set_node_attributes(ours, dict(enumerate(copy.x[:, 0].tolist())), "label")
        theirs = nx.Graph(graph.edges.tolist())
        nx.set_node_attributes(theirs, dict(enumerate(graph.vertex_labels)), "label")
        assert nx.is_isomorphic(ours, theirs, node_match=lambda a, b: a["label"] == b["label"])
        assert copy.y.item() == i % 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k: expected 1 to 3, got 0"),
        ({"k": 4}, "got 4"),
        ({"copies": 2}, "at least 3"),
        ({"num_pairs": 0}, "at least 1"),
    ],
)
def test_wrong_requests(options, message):
    with pytest.raises(OsanError, match=message):
        load("twisted-pairs", **options)
