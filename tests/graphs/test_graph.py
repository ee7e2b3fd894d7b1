"""The graph type refuses what is no graph and says why."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from osan.errors import OsanError
from osan.graphs import Graph


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_vertices": -1}, "at least 0"),
        ({"num_vertices": 1.5}, "must be an integer, got 1.5"),
        ({"num_vertices": 2, "edges": [(0, 2)]}, "edge 0 joins 0 and 2, but the vertices are 0 to 1"),
        ({"num_vertices": 2, "edges": [(0, 1), (-1, 0)]}, "edge 1 joins -1 and 0"),
        ({"num_vertices": 2, "edges": [(0, 1, 1)]}, r"shape \(m, 2\), got \(1, 3\)"),
        ({"num_vertices": 2, "edges": [(0, 1), (0,)]}, r"shape \(m, 2\)"),
        ({"num_vertices": 2, "edges": 7}, r"shape \(m, 2\), got int"),
        ({"num_vertices": 2, "edges": [(0.0, 1.0)]}, "must hold integers, got float64"),
        ({"num_vertices": 2, "vertex_labels": "abc"}, "3 vertex labels for 2"),
        ({"num_vertices": 2, "edges": [(0, 1)], "edge_labels": []}, "0 edge labels for 1"),
        ({"num_vertices": 1, "vertex_labels": [[1]]}, "every vertex label must be hashable"),
    ],
)
def test_bad_graphs(arguments, message):
    with pytest.raises(OsanError, match=message):
        Graph(**arguments)


def test_edges_are_a_copy_that_cannot_be_changed():
    edges = np.array([[0, 1]])
    graph = Graph(2, edges)
    edges[0] = 1
    assert graph.edges.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        graph.edges[0] = 1


@given(st.permutations(range(5)))
def test_permuted_moves_labels_and_edges_alike(order):
    graph = Graph(5, [(0, 1), (1, 2), (4, 4)], vertex_labels="abcde", edge_labels="xyz", directed=True)
    moved = graph.permuted(order)
    assert all(moved.vertex_labels[order[v]] == graph.vertex_labels[v] for v in range(5))
    assert moved.edges.tolist() == [[order[u], order[v]] for u, v in graph.edges]
    assert moved.edge_labels == graph.edge_labels
    assert moved.directed


@pytest.mark.parametrize("order", [[0, 0], [0], [0, 2]])
def test_permuted_refuses_what_is_no_permutation(order):
    with pytest.raises(OsanError, match="not a permutation of 0 to 1"):
        Graph(2).permuted(order)


def test_labels_may_be_an_array():
    assert Graph(3, vertex_labels=np.array([1, 2, 3])).vertex_labels == (1, 2, 3)
    with pytest.raises(OsanError, match="every vertex label must be hashable"):
        Graph(3, vertex_labels=np.zeros((3, 2)))
