"""Orbits against all automorphisms, found by trying; answers by orbits against those from all tuples."""

from itertools import permutations, product

import networkx as nx
import numpy as np
import pytest

from osan.errors import OsanError, TooLarge
from osan.graphs import Graph, backbone_pair, cfi_pair, cycle_pair, rook_4x4, shrikhande
from osan.wl import WLTest, automorphisms, distinguishes, distinguishes_by_orbits, orbits, relabel
from osan.wl.encode import encode
from osan.wl.symmetry import is_automorphism, tuple_orbits

TESTS = [
    WLTest("wl", 2),
    WLTest("wl", 3),
    WLTest("wl", 2, oblivious=True),
    WLTest("oswl", 1),
    WLTest("oswl", 2),
    WLTest("vs-oswl", 2),
    WLTest("vs-oswl", 2, neighborhood="all"),
]


def random_graph(rng: np.random.Generator) -> Graph:
    """Few vertices, some labels; at times directed, with loops and parallel edges."""
    n, directed = int(rng.integers(1, 6)), bool(rng.random() < 0.3)
    edges = rng.integers(0, n, (int(rng.integers(0, 2 * n)), 2))
    labels = rng.integers(0, 2, n).tolist() if rng.random() < 0.4 else None
    kinds = rng.integers(0, 2, len(edges)).tolist() if rng.random() < 0.3 else None
    return Graph(n, edges, vertex_labels=labels, edge_labels=kinds, directed=directed)


def maps_onto_itself(graph: Graph, image: tuple[int, ...]) -> bool:
    """By the definition, without the package."""
    labels = graph.vertex_labels or [None] * graph.num_vertices
    kinds = graph.edge_labels or [None] * graph.num_edges

    def ends(u, v):
        return (u, v) if graph.directed else tuple(sorted((u, v)))

    here = sorted((*ends(u, v), k) for (u, v), k in zip(graph.edges.tolist(), kinds, strict=True))
    there = sorted(
        (*ends(image[u], image[v]), k) for (u, v), k in zip(graph.edges.tolist(), kinds, strict=True)
    )
    return here == there and all(labels[image[v]] == labels[v] for v in range(graph.num_vertices))


def test_automorphisms_and_orbits_are_all_there():
    rng = np.random.default_rng(0)
    for _ in range(60):
        graph = random_graph(rng)
        n = graph.num_vertices
        every = [image for image in permutations(range(n)) if maps_onto_itself(graph, image)]
        for image in permutations(range(n)):
            assert is_automorphism(np.array(image), encode([graph])) == (image in every)
        found = tuple_orbits(automorphisms(graph), n, 2)
        expected = {}
        for t in product(range(n), repeat=2):
            expected.setdefault(min(tuple(image[v] for v in t) for image in every), []).append(t)
        classes = [np.flatnonzero(found.of_tuple == o).tolist() for o in range(len(found.first))]
        assert sorted(classes) == sorted([[n * a + b for a, b in each] for each in expected.values()])
        assert [c[0] for c in classes] == found.first.tolist()
        assert [len(c) for c in classes] == found.size.tolist()


@pytest.mark.parametrize("test", TESTS, ids=str)
def test_the_answer_is_that_of_all_tuples(test, monkeypatch):
    rng = np.random.default_rng(1)
    pairs = [(one, random_graph(rng)) for one in (random_graph(rng) for _ in range(25))]
    pairs = [(g, h) for g, h in pairs if g.directed == h.directed]
    pairs += [(g, g.permuted(rng.permutation(g.num_vertices))) for g, _ in pairs[:5]]
    pairs += [cycle_pair(3), cfi_pair(2, colors=False), (rook_4x4(), shrikhande()), backbone_pair(1)]
    for mask in (relabel.HASH_MASK, np.uint64(3)):
        monkeypatch.setattr(relabel, "HASH_MASK", mask)
        for g, h in pairs:
            assert distinguishes_by_orbits(g, h, test) == distinguishes(g, h, test)


@pytest.mark.parametrize("test", [WLTest("wl", 2), WLTest("oswl", 1), WLTest("vs-oswl", 1)], ids=str)
def test_any_group_gives_the_answer(test):
    g, h = cfi_pair(3)
    whole = automorphisms(g)
    for group in ([], whole[:1], whole):
        assert distinguishes_by_orbits(g, h, test, groups=[group, []]) == distinguishes(g, h, test)


def test_a_pair_that_is_separated_per_vertex_only():
    """Both orders of aggregation from one of each orbit: docs/theory.md, the backbone for k = 2."""
    pair = backbone_pair(2)
    assert [distinguishes_by_orbits(*pair, name, 1) for name in ("oswl", "vs-oswl")] == [True, False]
    assert [distinguishes(*pair, name, 1) for name in ("oswl", "vs-oswl")] == [True, False]


def test_a_search_that_gives_up_is_no_error(monkeypatch):
    monkeypatch.setattr("osan.wl.symmetry.BUDGET", 1)
    assert len(automorphisms(nx.petersen_graph())) < 3
    assert not distinguishes_by_orbits(nx.petersen_graph(), nx.petersen_graph(), "wl", 2)


def test_wrong_arguments():
    g, h = cycle_pair(3)
    with pytest.raises(OsanError, match=r"groups: expected automorphisms of graph 1, got \[1, 0"):
        distinguishes_by_orbits(g, h, "wl", 2, groups=[[], [[1, 0, 3, 2, 4, 5]]])
    with pytest.raises(OsanError, match=r"groups: expected permutations for each of the 2 graphs, got 1"):
        distinguishes_by_orbits(g, h, "wl", 2, groups=[[]])
    edge = nx.path_graph(2)
    for groups in ([[[1.0, 0.0]], []], [[["a", "b"]], []], [[[-1, -2]], []], [[1, 0], []]):
        with pytest.raises(OsanError, match="groups: expected automorphisms of graph 0, got"):
            distinguishes_by_orbits(edge, edge, "wl", 2, groups=groups)
    for groups in ([None, None], 3, [[[[1, 0], [1]]], []]):
        with pytest.raises(OsanError, match="groups: expected a list of permutations for each graph, got"):
            distinguishes_by_orbits(edge, edge, "wl", 2, groups=groups)
    for test in (WLTest("wl"), WLTest("sswl"), WLTest("oswl", 1, operation="delete"), WLTest("oswl", 0)):
        with pytest.raises(OsanError, match="expected k-WL with k > 1, or k-OSWL"):
            distinguishes_by_orbits(g, h, test)


def test_memory_is_stated_before_and_after_orbits_are_counted(monkeypatch):
    g, h = cfi_pair(3)
    with pytest.raises(TooLarge, match="one value per tuple"):
        distinguishes_by_orbits(g, h, "wl", 3, max_memory=10**5)
    monkeypatch.setattr(orbits, "_tuples_differ", lambda *_: pytest.fail("too late"))
    with pytest.raises(TooLarge, match=r"[0-9]+ orbits of tuples"):
        distinguishes_by_orbits(g, h, "wl", 3, max_memory=36 * 10**4)


@pytest.mark.parametrize("test", TESTS, ids=str)
def test_graphs_without_vertices(test):
    empty, edge = nx.Graph(), nx.path_graph(2)
    assert tuple_orbits([], 0, 2).of_tuple.shape == (0,)
    for groups in (None, [[], []], [[[]], []]):
        assert distinguishes_by_orbits(empty, edge, test, groups=groups)
        assert not distinguishes_by_orbits(empty, empty, test, groups=groups)
