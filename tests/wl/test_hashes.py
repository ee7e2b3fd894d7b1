"""Hashes: equal if and only if the test gives equal colors, whatever the numbering, process and seed."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from osan.errors import OsanError
from osan.graphs import Graph, cfi_pair, cycle_pair, rook_4x4, shrikhande
from osan.wl import WLTest, color_hash, refine, vertex_hashes
from osan.wl.terms import literal

TESTS = [
    WLTest("wl", 2),
    WLTest("oswl"),
    WLTest("vs-oswl", operation="delete"),
    WLTest("sswl"),
    WLTest("dss"),
]
LABELED = Graph(4, [(0, 1), (1, 2), (2, 3)], vertex_labels=["C", 6, (1.5, None), "C"], edge_labels="aba")


def random_graph(rng: np.random.Generator, directed: bool, labels: bool, edge_labels: bool) -> Graph:
    """A small graph; many are cycles, or two of them, or have several components."""
    n = int(rng.integers(0, 9))
    edges = rng.integers(0, max(n, 1), (int(rng.integers(0, n + 1)), 2))
    kind = rng.random()
    if kind < 0.3 and n > 2:
        edges = np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)
    elif kind < 0.6 and n > 5:
        rest = np.arange(n - 3)
        edges = np.stack([np.arange(3), (np.arange(3) + 1) % 3], axis=1)
        edges = np.concatenate([edges, 3 + np.stack([rest, (rest + 1) % (n - 3)], axis=1)])
    return Graph(
        n, edges, directed=directed,
        vertex_labels=[("a", 2)[i] for i in rng.integers(0, 2, n)] if labels else None,
        edge_labels=_edge_labels(rng, len(edges)) if edge_labels else None,
    )  # fmt: skip


def _edge_labels(rng: np.random.Generator, m: int) -> list[object] | None:
    """Labels, some or all of which may be missing: no label is a label, too."""
    kinds = [[0, 1], [0, None], [None], None][rng.integers(0, 4)]
    return None if kinds is None else [kinds[i] for i in rng.integers(0, len(kinds), m)]


def graphs_to_compare(rng: np.random.Generator) -> list[Graph]:
    kinds = (rng.random(3) < 0.3).tolist()
    graphs = [random_graph(rng, *kinds) for _ in range(12)]
    return [*graphs, *(graph.permuted(rng.permutation(graph.num_vertices)) for graph in graphs[:4])]


@pytest.mark.parametrize("seed", range(8))
def test_color_refinement(seed):
    """Also for vertices of different graphs: covers have the same unfoldings."""
    graphs = graphs_to_compare(np.random.default_rng(seed))
    coloring = refine(graphs)
    hashes = np.array([color_hash(graph) for graph in graphs])
    same = coloring.graph_colors[:, None] == coloring.graph_colors
    assert ((hashes[:, None] == hashes) == same).all()
    assert same.sum() > len(graphs)
    words = np.concatenate([vertex_hashes(graph) for graph in graphs])
    colors = np.concatenate(coloring.vertex_colors)
    both = np.column_stack((words, colors.astype(np.uint64)))
    kinds = len(np.unique(colors))
    assert len(np.unique(both, axis=0)) == len(np.unique(words, axis=0)) == kinds


@pytest.mark.parametrize("test", TESTS, ids=str)
@pytest.mark.parametrize("seed", [1, 4])
def test_other_tests(test, seed):
    graphs = graphs_to_compare(np.random.default_rng(seed))
    coloring = refine(graphs, test)
    hashes = np.array([color_hash(graph, test) for graph in graphs])
    assert ((hashes[:, None] == hashes) == (coloring.graph_colors[:, None] == coloring.graph_colors)).all()


@pytest.mark.parametrize("test", [WLTest("wl"), *TESTS], ids=str)
def test_no_label_is_a_label(test):
    """Hashes of edges with the label None are those of edges without labels."""
    path, plain = Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1), (1, 2)], edge_labels=[None, None])
    assert color_hash(path, test) == color_hash(plain, test)
    half = Graph(3, [(0, 1), (1, 2)], edge_labels=["double", None])
    assert color_hash(path, test) != color_hash(half, test)
    if test == WLTest("wl"):  # a component of a graph in which other edges have labels
        both = Graph(5, [(0, 1), (1, 2), (3, 4)], edge_labels=[None, None, "double"])
        assert (vertex_hashes(both)[:3] == vertex_hashes(path)).all()


def test_what_is_not_separated():
    assert color_hash(rook_4x4()) == color_hash(shrikhande())
    assert color_hash(rook_4x4(), "wl", 2) == color_hash(shrikhande(), "wl", 2)
    one, other = cfi_pair(2)
    assert color_hash(one) == color_hash(other)
    assert color_hash(one, "vs-oswl") != color_hash(other, "vs-oswl")
    assert color_hash(one, "vs-oswl") != color_hash(one, "oswl")


@pytest.mark.parametrize(
    "test",
    [
        WLTest("vs-oswl", 2, operation="delete"),
        WLTest("vs-oswl", what="edge", operation="select"),
        WLTest("vs-oswl", 1, ordered=False),
        WLTest("oswl", 2, operation="delete"),
        WLTest("dss", 2, operation="delete"),
    ],
    ids=str,
)
def test_graphs_of_different_sizes_that_are_not_separated(test):
    """Of two vertices, none is left when both are deleted; an edge does not show the vertices beside it."""
    graphs = [Graph(n, [(0, 1)] * (n > 1)) for n in range(5)]
    colors = refine(graphs, test).graph_colors
    hashes = np.array([color_hash(graph, test) for graph in graphs])
    assert ((hashes[:, None] == hashes) == (colors[:, None] == colors)).all()


def all_hashes() -> list[str]:
    graphs = [Graph(0), Graph(1), Graph(5, [(0, 1), (1, 2), (2, 0), (3, 3)]), LABELED]
    directed = Graph(3, [(0, 1), (1, 2), (0, 2)], directed=True)
    told = [color_hash(graph, test) for graph in [*graphs, directed] for test in (WLTest("wl"), *TESTS[:2])]
    return [*told, vertex_hashes(LABELED).tobytes().hex()]


def test_other_processes_and_versions():
    """Another process with another seed of hash(), and values of the first version."""
    code = "import json, test_hashes; print(json.dumps(test_hashes.all_hashes()))"
    env = {**os.environ, "PYTHONHASHSEED": "12345", "NUMBA_NUM_THREADS": "1"}
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env={**env, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip().replace('"', "'") == str(all_hashes())
    assert color_hash(cycle_pair(3)[0]) == "d509aaa0543fc623a18da3e6271bfd55"
    assert color_hash(LABELED) == "bd01b6d23836232f5803d1274a318e6c"
    assert color_hash(cycle_pair(3)[0], "oswl") == "dbf21d701e5a8dbc58301ddd96a8cf44"


def test_labels():
    """Labels that are equal in Python have equal hashes; others must have a portable text."""
    assert color_hash(Graph(1, vertex_labels=[1])) == color_hash(Graph(1, vertex_labels=[1.0]))
    assert color_hash(Graph(1, vertex_labels=[1])) != color_hash(Graph(1, vertex_labels=["1"]))
    assert color_hash(Graph(1, vertex_labels=[None])) == color_hash(Graph(1))
    infinite = [
        color_hash(Graph(1, vertex_labels=[label])) for label in (np.inf, float("inf"), -np.inf, 1e308)
    ]
    assert len(set(infinite)) == 3
    thirds = [
        color_hash(Graph(1, vertex_labels=[label])) for label in (Fraction(1, 3), 1 / 3, Fraction(1, 2), 0.5)
    ]
    assert [thirds.index(value) for value in thirds] == [0, 1, 2, 2]
    # A new letter is printable in new versions of Python only.
    assert literal("\U0001fae8") == "'\\U0001fae8'"
    with pytest.raises(
        OsanError, match="label: expected None, a number, a text or a tuple of them, got frozen"
    ):
        color_hash(Graph(1, vertex_labels=[frozenset()]))


def test_what_is_refused():
    with pytest.raises(OsanError, match="expected one whose colors can be hashed, got GNN-as-kernel"):
        color_hash(Graph(2), "kernel")
    with pytest.raises(OsanError, match="expected one that forms colors of vertices, got vertex-subgraph"):
        vertex_hashes(Graph(2), "vs-oswl")
