"""What must hold of every test: invariance, monotonicity, and the paper's inclusions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osan.errors import OsanError, TooLarge
from osan.graphs import Graph, cycle_pair, from_networkx, rook_4x4, shrikhande
from osan.wl import WLTest, distinguishes, refine
from osan.wl.ladder import separates_more

TESTS = [
    WLTest("wl"),
    WLTest("wl", 2),
    WLTest("wl", 3, oblivious=True),
    WLTest("oswl", 1),
    WLTest("oswl", 2, ordered=False),
    WLTest("vs-oswl", 1),
    WLTest("vs-oswl", 1, operation="delete"),
    WLTest("vs-oswl", 1, what="edge"),
    WLTest("vs-oswl", what="ego", hops=1, mark_center=True),
    WLTest("id", hops=2),
    WLTest("nested", hops=1),
    WLTest("kernel", hops=1),
    WLTest("dss", 1),
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
    "test", [WLTest("oswl", 0), WLTest("oswl", 0, ordered=False), WLTest("vs-oswl", 0)], ids=str
)
@settings(max_examples=60)
@given(data=st.data())
def test_no_marks_are_color_refinement(test, data):
    """Also with loops, parallel edges, directions and labels."""
    directed = data.draw(st.booleans())
    some = [data.draw(graphs(directed=directed)) for _ in range(3)]
    some += [Graph(2, [(0, 1)], directed=directed), Graph(2, [(0, 0), (1, 1)], directed=directed)]
    marked, plain = (refine(some, each).graph_colors for each in (test, WLTest("wl")))
    assert ((marked[:, None] == marked) == (plain[:, None] == plain)).all()


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        (WLTest("wl"), WLTest("wl", 2)),
        (WLTest("wl", 2), WLTest("wl", 3)),
        (WLTest("oswl", 0), WLTest("oswl", 1)),
        (WLTest("oswl", 1), WLTest("oswl", 2)),
        (WLTest("vs-oswl", 0), WLTest("vs-oswl", 1)),
        (WLTest("vs-oswl", 1), WLTest("vs-oswl", 2)),
        (WLTest("oswl", 1), WLTest("wl", 2)),
        (WLTest("vs-oswl", 1), WLTest("wl", 2)),
        (WLTest("oswl", 2), WLTest("wl", 3)),
        (WLTest("oswl", 1, ordered=False), WLTest("oswl", 1)),
        (WLTest("oswl", 2, ordered=False), WLTest("oswl", 2)),
        (WLTest("wl", 2, oblivious=True), WLTest("wl", 2)),
        (WLTest("wl"), WLTest("wl", 2, oblivious=True)),
        (WLTest("wl", 2, oblivious=True), WLTest("wl")),
        (WLTest("wl", 2), WLTest("wl", 3, oblivious=True)),
        (WLTest("wl", 3, oblivious=True), WLTest("wl", 2)),
        (WLTest("id", hops=2), WLTest("wl", 2)),
        (WLTest("kernel", hops=1), WLTest("wl", 2)),
    ],
    ids=str,
)
def test_inclusions(weaker, stronger):
    """(k+1) refines k, k-OSWL is bounded by (k+1)-WL, oblivious (k+1)-WL is folklore k-WL."""
    assert separates_more(small_and_hard(), weaker, stronger) == 0


@cache
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
            one, other = (WLTest("vs-oswl", size, ordered=False) for size in (k, k + 1))
            if separates_more(same_size, one, other):
                found.append((n, k))
    assert found == [(6, 5)]
    hexagon, triangles = cycle_pair(3)
    assert distinguishes(hexagon, triangles, "vs-oswl", k=5, ordered=False)
    assert not distinguishes(hexagon, triangles, "vs-oswl", k=6, ordered=False)
    assert distinguishes(hexagon, triangles, "vs-oswl", k=2)


def test_sizes_with_few_vertices():
    """A graph with fewer than k vertices has one k-subset, all of them; an empty graph has no tuple."""
    one, two = Graph(1), Graph(2)
    coloring = refine([one, two], "vs-oswl", k=3, ordered=False)
    assert not coloring.same(0, 1)
    assert [part.tolist() for part in coloring.subgraphs] == [[[0, -1, -1]], [[0, 1, -1]]]
    assert distinguishes(one, two, "oswl", k=3, ordered=False)
    # Deleting the only vertex leaves what deleting a vertex of the empty graph leaves: nothing.
    assert not distinguishes(Graph(0), one, "vs-oswl", k=1, operation="delete")
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
        ({"test": "wl", "k": 0}, "k: expected at least 1 for test 'wl', got 0"),
        ({"test": "oswl", "k": -2}, "k: expected at least 0 for test 'oswl', got -2"),
        ({"test": "oswl", "k": 1.5}, "k: expected an integer, got 1.5"),
        ({"test": "owl"}, "did you mean 'oswl'"),
        ({"test": "oswl", "operation": "remove"}, "operation: expected delete, select or mark, got 'remove'"),
        ({"test": "oswl", "ordering": True}, "did you mean 'ordered'"),
        ({"test": "oswl", "ordered": True, "operation": "delete"}, "ordered tuples can only be marked"),
        ({"test": "wl", "rounds": -1}, "rounds: expected at least 0, got -1"),
        (
            {"test": "wl", "neighborhood": "all"},
            "neighborhood: expected no value for test 'wl'.* it takes k and oblivious",
        ),
        ({"test": "wl", "what": "edge", "operation": "delete"}, "operation: expected no value for test 'wl'"),
        ({"test": "wl", "k": 2, "ordered": False}, "ordered: expected no value for test 'wl'"),
        ({"test": "kernel", "operation": "delete", "hops": 1}, "operation: .* 'kernel'.* it takes hops"),
        ({"test": "id", "operation": "delete", "hops": 1}, "operation: .* 'id'.* it takes k and hops"),
        ({"test": "nested", "what": "edge"}, "what: expected no value for test 'nested'"),
        ({"test": "nested", "mark_center": True}, "mark_center: expected no value for test 'nested'"),
        ({"test": "nested", "k": 2}, "k: expected no value for test 'nested'"),
        ({"test": "dss", "neighborhood": "all"}, "neighborhood: expected no value for test 'dss'"),
        ({"test": "oswl", "oblivious": True}, "oblivious: expected no value for test 'oswl'"),
        ({"test": "nested", "hops": "2"}, "hops: expected an integer, got '2'"),
        ({"test": "nested", "hops": -1}, "hops: expected at least 0 for test 'nested', got -1"),
        ({"test": "vs-oswl", "what": "ego", "k": 0}, "an ego-net has one center"),
        (
            {"test": "vs-oswl", "what": "ego", "operation": "delete", "mark_center": True},
            "mark_center: expected what='ego' with operation='select'",
        ),
        ({"test": "vs-oswl", "hops": 2}, "hops: expected what='ego', got what='vertex'"),
    ],
)
def test_wrong_settings_are_named(arguments, message):
    with pytest.raises(OsanError, match=message):
        refine([Graph(2, [(0, 1)])], **arguments)


def test_mixed_and_missing_graphs_are_named():
    with pytest.raises(OsanError, match="got graph 0 undirected and graph 1 directed"):
        refine([Graph(2, [(0, 1)]), Graph(2, [(0, 1)], directed=True)])
    with pytest.raises(OsanError, match="expected at least one"):
        refine([])


def test_one_graph_alone_is_refused():
    for one in (nx.cycle_graph(4), Graph(2, [(0, 1)])):
        with pytest.raises(OsanError, match=r"expected a list of graphs, got Graph\(.*\) alone"):
            refine(one)
    assert len(refine(g for g in (nx.cycle_graph(4), nx.path_graph(2))).graph_colors) == 2


def test_numbers_of_numpy_are_numbers():
    test = WLTest("oswl", np.int64(2))
    assert (str(test), type(test.k)) == ("2-OSWL", int)
    assert str(WLTest("nested", hops=np.int64(2))) == "nested GNN test, 2-ego"
    for k in (2.0, "2", True):
        with pytest.raises(OsanError, match="k: expected an integer"):
            WLTest("oswl", k)


def test_large_subsets_of_small_graphs_are_all_vertices():
    """Choosing four of three vertices is choosing all three, whatever is done with them."""
    path, triangle = nx.path_graph(3), nx.complete_graph(3)
    for name in ("oswl", "vs-oswl", "dss"):
        for operation in ("mark", "delete", "select"):
            three, four = (WLTest(name, k, ordered=False, operation=operation) for k in (3, 4))
            assert refine([path], four).subgraphs[0].tolist() == [[0, 1, 2, -1]]
            assert distinguishes(path, triangle, three) == distinguishes(path, triangle, four)
            assert distinguishes(path, triangle, four) == (operation != "delete")


def test_selected_edges_bring_their_ends_only():
    """Vertices that no selected edge touches are not in the subgraph, as in the bags."""
    path = nx.path_graph(4)
    coloring = refine([path], "vs-oswl", k=1, what="edge", operation="select")
    assert (coloring.colors[0] >= 0).tolist() == [
        [True, True, False, False],
        [False, True, True, False],
        [False, False, True, True],
    ]
    isolated = nx.disjoint_union(path, nx.empty_graph(2))
    assert not distinguishes(path, isolated, "vs-oswl", k=1, what="edge", operation="select")
    assert distinguishes(path, isolated, "vs-oswl", k=1, what="edge")


@pytest.mark.parametrize(
    "test", [WLTest("wl", 4), WLTest("oswl", 3), WLTest("vs-oswl", 2, what="edge")], ids=str
)
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
    with pytest.raises(TooLarge, match=r"needs about \de\+\d+ TB"):
        distinguishes(graph, graph, "oswl", k=64)
