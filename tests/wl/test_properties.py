"""What must hold of every test: invariance, monotonicity, and the paper's inclusions."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osan.errors import OsanError, TooLarge
from osan.graphs import Graph, cycle_pair, from_networkx, rook_4x4, shrikhande
from osan.wl import Test, distinguishes, refine
from osan.wl.ladder import separates_more

TESTS = [
    Test("wl"),
    Test("wl", 2),
    Test("wl", 3, oblivious=True),
    Test("oswl", 1),
    Test("oswl", 2, ordered=False),
    Test("vs-oswl", 1),
    Test("vs-oswl", 1, operation="delete"),
    Test("vs-oswl", 1, what="edge"),
    Test("vs-oswl", what="ego", hops=1, mark_center=True),
    Test("id", hops=2),
    Test("nested", hops=1),
    Test("kernel", hops=1),
    Test("dss", 1),
]


@st.composite
def graphs(draw, directed=None):
    """Labeled graphs on up to six vertices, with loops and parallel edges."""
    n = draw(st.integers(1, 6))
    arrow = draw(st.booleans()) if directed is None else directed
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=9))
    labels = draw(st.none() | st.lists(st.sampled_from("ab"), min_size=n, max_size=n))
    edge_labels = draw(st.none() | st.lists(st.integers(0, 1), min_size=len(edges), max_size=len(edges)))
    return Graph(n, edges, directed=arrow, vertex_labels=labels, edge_labels=edge_labels)


def permutations_of(graph: Graph) -> st.SearchStrategy[list[int]]:
    return st.permutations(range(graph.num_vertices))


@pytest.mark.parametrize("test", TESTS, ids=str)
@settings(max_examples=25)
@given(data=st.data())
def test_isomorphic_graphs_get_the_same_colors(test, data):
    graph = data.draw(graphs())
    order = data.draw(permutations_of(graph))
    coloring = refine([graph, graph.permuted(order)], test)
    assert coloring.same(0, 1)
    if coloring.vertex_colors is not None:
        ours, theirs = coloring.vertex_colors
        assert (theirs[order] == ours).all()


@pytest.mark.parametrize("test", TESTS, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_refinement_only_splits(test, data):
    coloring = refine([data.draw(graphs(directed=False)) for _ in range(2)], test, history=True)
    assert len(coloring.history) == coloring.rounds + 1
    flat = [np.concatenate([part.ravel() for part in step]) for step in coloring.history]
    for coarse, fine in pairwise(flat):
        pairs = set(zip(fine.tolist(), coarse.tolist(), strict=True))
        assert len(pairs) == len(set(fine.tolist()))  # every fine class lies in one coarse class
        assert len(set(fine.tolist())) > len(set(coarse.tolist()))


@pytest.mark.parametrize("test", TESTS, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_verdicts_do_not_depend_on_company_or_order(test, data):
    three = [data.draw(graphs(directed=False)) for _ in range(3)]
    order = data.draw(st.permutations(range(3)))
    joint = refine(three, test)
    shuffled = refine([three[i] for i in order], test)
    for i in range(3):
        for j in range(3):
            assert joint.same(i, j) == shuffled.same(order.index(i), order.index(j))
            assert joint.same(i, j) != distinguishes(three[i], three[j], test)


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        (Test("wl"), Test("wl", 2)),
        (Test("wl", 2), Test("wl", 3)),
        (Test("oswl", 0), Test("oswl", 1)),
        (Test("oswl", 1), Test("oswl", 2)),
        (Test("vs-oswl", 0), Test("vs-oswl", 1)),
        (Test("vs-oswl", 1), Test("vs-oswl", 2)),
        (Test("oswl", 1), Test("wl", 2)),
        (Test("vs-oswl", 1), Test("wl", 2)),
        (Test("oswl", 2), Test("wl", 3)),
        (Test("oswl", 1, ordered=False), Test("oswl", 1)),
        (Test("oswl", 2, ordered=False), Test("oswl", 2)),
        (Test("wl", 2, oblivious=True), Test("wl", 2)),
        (Test("wl"), Test("wl", 2, oblivious=True)),
        (Test("wl", 2, oblivious=True), Test("wl")),
        (Test("wl", 2), Test("wl", 3, oblivious=True)),
        (Test("wl", 3, oblivious=True), Test("wl", 2)),
        (Test("id", hops=2), Test("wl", 2)),
        (Test("kernel", hops=1), Test("wl", 2)),
    ],
    ids=str,
)
def test_inclusions(weaker, stronger):
    """(k+1) refines k, k-OSWL is bounded by (k+1)-WL, oblivious (k+1)-WL is folklore k-WL."""
    assert separates_more(small_and_hard(), weaker, stronger) == 0


def small_and_hard() -> list[Graph]:
    rng = np.random.default_rng(5)
    atlas = [from_networkx(g) for g in nx.graph_atlas_g() if 4 <= len(g) <= 6]
    labeled = [
        Graph(5, g.edges, vertex_labels=rng.integers(0, 2, 5).tolist()) for g in atlas if g.num_vertices == 5
    ]
    return [*atlas, *labeled, *cycle_pair(3), *cycle_pair(4), rook_4x4(), shrikhande()]


def test_unordered_marks_form_no_hierarchy():
    """The smallest example, by exhaustive search: C_6 and 2 C_3, five against six marked vertices.

    Marking all n vertices is marking none. On fewer vertices 1-WL separates all non-isomorphic graphs.
    """
    found = []
    for n in range(1, 7):
        same_size = [from_networkx(g) for g in nx.graph_atlas_g() if len(g) == n]
        for k in range(n):
            one, other = (Test("vs-oswl", size, ordered=False) for size in (k, k + 1))
            if separates_more(same_size, one, other):
                found.append((n, k))
    assert found == [(6, 5)]
    hexagon, triangles = cycle_pair(3)
    assert distinguishes(hexagon, triangles, "vs-oswl", k=5, ordered=False)
    assert not distinguishes(hexagon, triangles, "vs-oswl", k=6, ordered=False)
    assert distinguishes(hexagon, triangles, "vs-oswl", k=2)


def test_sizes_without_subgraphs():
    """More chosen vertices than there are: no subgraphs, so nothing is seen of them."""
    one, two = Graph(1), Graph(2)
    coloring = refine([one, two], "vs-oswl", k=3, ordered=False)
    assert coloring.same(0, 1)
    assert [len(part) for part in coloring.subgraphs] == [0, 0]
    assert distinguishes(one, two, "oswl", k=3, ordered=False)  # per vertex: one against two empty multisets
    assert not distinguishes(Graph(0), Graph(0), "oswl", k=2)
    assert distinguishes(Graph(0), one, "wl", k=2)


def test_labels_are_compared_not_printed():
    one = nx.path_graph(2)
    nx.set_node_attributes(one, {0: "1", 1: 1}, "label")
    other = nx.path_graph(2)
    nx.set_node_attributes(other, {0: 1, 1: 1}, "label")
    assert distinguishes(one, other)
    assert not distinguishes(one, one.copy(), "wl", k=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"test": "wl", "k": 0}, "k is 0; it must be at least 1"),
        ({"test": "oswl", "k": -2}, "k is -2; it must be at least 0"),
        ({"test": "oswl", "k": 1.5}, "whole number"),
        ({"test": "owl"}, "did you mean 'oswl'"),
        ({"test": "oswl", "operation": "remove"}, "choose from mark, delete, select"),
        ({"test": "oswl", "ordering": True}, "did you mean 'ordered'"),
        ({"test": "oswl", "ordered": True, "operation": "delete"}, "ordered tuples can only be marked"),
        ({"test": "wl", "rounds": -1}, "rounds is -1"),
        ({"test": "wl", "neighborhood": "all"}, "'wl' takes no neighborhood.* it takes k and oblivious"),
        ({"test": "wl", "what": "edge", "operation": "delete"}, "'wl' takes no operation"),
        ({"test": "wl", "k": 2, "ordered": False}, "'wl' takes no ordered"),
        ({"test": "kernel", "operation": "delete", "hops": 1}, "'kernel' takes no operation.* it takes hops"),
        ({"test": "id", "operation": "delete", "hops": 1}, "'id' takes no operation.* it takes k and hops"),
        ({"test": "nested", "what": "edge"}, "'nested' takes no what"),
        ({"test": "nested", "mark_center": True}, "'nested' takes no mark_center"),
        ({"test": "nested", "k": 2}, "'nested' takes no k"),
        ({"test": "dss", "neighborhood": "all"}, "'dss' takes no neighborhood"),
        ({"test": "oswl", "oblivious": True}, "'oswl' takes no oblivious"),
        ({"test": "nested", "hops": "2"}, "hops is '2'; it must be a whole number"),
        ({"test": "nested", "hops": -1}, "hops is -1; it must be at least 0"),
        ({"test": "vs-oswl", "what": "ego", "k": 0}, "an ego-net has one center"),
        (
            {"test": "vs-oswl", "what": "ego", "operation": "delete", "mark_center": True},
            "mark_center needs ego-nets that keep their center",
        ),
        ({"test": "vs-oswl", "hops": 2}, "hops needs ego-nets"),
    ],
)
def test_wrong_settings_are_named(arguments, message):
    with pytest.raises(OsanError, match=message):
        refine([Graph(2, [(0, 1)])], **arguments)


def test_mixed_and_missing_graphs_are_named():
    with pytest.raises(OsanError, match="graph 0 is undirected and graph 1 is directed"):
        refine([Graph(2, [(0, 1)]), Graph(2, [(0, 1)], directed=True)])
    with pytest.raises(OsanError, match="at least one"):
        refine([])


def test_one_graph_alone_is_refused():
    for one in (nx.cycle_graph(4), Graph(2, [(0, 1)])):
        with pytest.raises(OsanError, match=r"expected a list of graphs, got Graph\(.*\) alone"):
            refine(one)
    assert len(refine(g for g in (nx.cycle_graph(4), nx.path_graph(2))).graph_colors) == 2


def test_numbers_of_numpy_are_numbers():
    test = Test("oswl", np.int64(2))
    assert (str(test), type(test.k)) == ("2-OSWL", int)
    assert str(Test("nested", hops=np.int64(2))) == "nested GNN test, 2-ego"
    for k in (2.0, "2", True):
        with pytest.raises(OsanError, match="it must be a whole number"):
            Test("oswl", k)


def test_small_graphs_have_no_large_subsets():
    """Of the three vertices of a graph no four are marked: there is nothing to see but how many there are."""
    path, triangle, edge = nx.path_graph(3), nx.complete_graph(3), nx.path_graph(2)
    for name in ("oswl", "vs-oswl"):
        test = Test(name, 4, ordered=False)
        assert refine([path], test).subgraphs[0].shape == (0, 4)
        assert not distinguishes(path, triangle, test)
        assert distinguishes(path, triangle, Test(name, 3, ordered=False))
    assert distinguishes(path, edge, Test("oswl", 4, ordered=False))
    assert not distinguishes(path, edge, Test("vs-oswl", 4, ordered=False))


@pytest.mark.parametrize("test", [Test("wl", 4), Test("oswl", 3), Test("vs-oswl", 2, what="edge")], ids=str)
def test_memory_is_refused_before_it_is_taken(test):
    graph = from_networkx(nx.gnm_random_graph(200, 3000, seed=0))
    with pytest.raises(OsanError, match=r"needs about .* the limit is 1\.0 GB; n up to about \d+ would fit"):
        refine([graph], test, max_memory=10**9)


def test_a_large_sparse_graph_needs_little_memory():
    n = 30_000
    path = Graph(n, [(v, v + 1) for v in range(n - 1)])
    coloring = refine([path], rounds=3, max_memory=10**8)
    assert len(set(coloring.vertex_colors[0].tolist())) == 4  # distance to the nearer end: 0, 1, 2, more


@pytest.mark.parametrize("test", TESTS, ids=str)
def test_a_test_takes_its_own_settings(test):
    assert replace(test) == test


def test_numbers_beyond_floats_are_refused_in_words():
    graph = from_networkx(nx.cycle_graph(12))
    with pytest.raises(TooLarge, match=r"needs about \de\+\d{3} TB"):
        distinguishes(graph, graph, "oswl", k=300)
