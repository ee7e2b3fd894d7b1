"""The graph type refuses what is no graph and says why."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from osan.errors import OsanError
from osan.graphs import Graph, from_networkx
from osan.wl import distinguishes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_vertices": -1}, "at least 0"),
        ({"num_vertices": 1.5}, "num_vertices: expected an integer, got 1.5"),
        ({"num_vertices": 2, "edges": [(0, 2)]}, "edge 0: expected vertices from 0 to 1, got 0 and 2"),
        ({"num_vertices": 2, "edges": [(0, 1), (-1, 0)]}, "edge 1: .* got -1 and 0"),
        ({"num_vertices": 2, "edges": [(0, 1, 1)]}, r"shape \(m, 2\), got \(1, 3\)"),
        ({"num_vertices": 2, "edges": [(0, 1), (0,)]}, r"shape \(m, 2\)"),
        ({"num_vertices": 2, "edges": 7}, r"shape \(m, 2\), got int"),
        ({"num_vertices": 2, "edges": [(0.0, 1.0)]}, "edges: expected integers, got float64"),
        ({"num_vertices": 2, "vertex_labels": "abc"}, "vertex labels: expected 2, got 3"),
        ({"num_vertices": 2, "edges": [(0, 1)], "edge_labels": []}, "edge labels: expected 1, got 0"),
        ({"num_vertices": 1, "vertex_labels": [[1]]}, "vertex labels: expected hashable labels"),
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
    with pytest.raises(OsanError, match="expected a permutation of 0 to 1"):
        Graph(2).permuted(order)


def test_labels_may_be_an_array():
    assert Graph(3, vertex_labels=np.array([1, 2, 3])).vertex_labels == (1, 2, 3)
    with pytest.raises(OsanError, match="vertex labels: expected hashable labels"):
        Graph(3, vertex_labels=np.zeros((3, 2)))


def test_labels_may_be_tensors():
    """Tensors equal only themselves; their numbers are what is meant."""
    graph = Graph(2, [(0, 1)], vertex_labels=torch.tensor([6, 8]), edge_labels=[torch.tensor(1.5)])
    assert (graph.vertex_labels, graph.edge_labels) == ((6, 8), (1.5,))
    assert Graph(2, vertex_labels=torch.tensor([[1, 2], [3, 4]])).vertex_labels == ((1, 2), (3, 4))
    assert Graph(1, vertex_labels=[(torch.tensor(1), "a")]).vertex_labels == ((1, "a"),)
    one, other = (Graph(2, [(0, 1)], vertex_labels=list(torch.ones(2))) for _ in range(2))
    assert not distinguishes(one, other)
    path = nx.path_graph(2)
    nx.set_node_attributes(path, {0: torch.tensor(1), 1: torch.tensor([2, 3])}, "label")
    assert from_networkx(path).vertex_labels == (1, (2, 3))


@pytest.mark.parametrize(
    "label", [float("nan"), np.float32("nan"), (1, float("nan")), torch.tensor(float("nan"))]
)
def test_labels_that_differ_from_themselves_are_rejected(label):
    with pytest.raises(OsanError, match=r"vertex labels: expected values that equal themselves, .*entry 1"):
        Graph(2, vertex_labels=[1, label])
    path = nx.path_graph(2)
    path.edges[0, 1]["label"] = label
    with pytest.raises(OsanError, match="edge labels: expected values that equal themselves"):
        from_networkx(path)


@pytest.mark.parametrize("labels", [{0: "a", 1: "b"}, {"a", "b"}, (c for c in "ab"), torch.tensor(1), 7])
def test_labels_are_a_sequence(labels):
    with pytest.raises(OsanError, match="vertex labels: expected a sequence of 2 labels"):
        Graph(2, vertex_labels=labels)


def test_a_permutation_holds_integers():
    with pytest.raises(OsanError, match="expected a permutation"):
        Graph(2).permuted([1.0, 0.0])
