"""Conversions carry vertex labels, edge labels and direction, there and back."""

import subprocess
import sys
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data, HeteroData
from torch_geometric.utils import from_networkx as pyg_from_networkx

from osan.errors import OsanError
from osan.graphs import Graph, as_graph, from_edge_list, from_smiles, to_networkx, to_pyg

NUMBERS = st.integers(-3, 3)
LABELS = st.sampled_from(
    [
        NUMBERS,
        st.tuples(NUMBERS, NUMBERS),
        st.floats(allow_nan=False),
        st.one_of(
            st.none(), NUMBERS, st.text(max_size=1), st.tuples(NUMBERS), st.booleans(), st.just(1 << 70)
        ),
    ]
)


@st.composite
def graphs(draw):
    n = draw(st.integers(0, 6))
    vertices = st.integers(0, max(0, n - 1))
    edges = draw(st.lists(st.tuples(vertices, vertices), max_size=12 if n else 0))

    def labels(size):
        kind = draw(LABELS)
        return draw(st.one_of(st.none(), st.lists(kind, min_size=size, max_size=size)))

    return Graph(
        n, edges, directed=draw(st.booleans()), vertex_labels=labels(n), edge_labels=labels(len(edges))
    )


def content(graph, empty_is_none=False):
    """Everything a graph says, without the order of its edges."""
    ends = graph.edges.tolist() if graph.directed else np.sort(graph.edges, axis=1).tolist()
    labels = graph.edge_labels if graph.edge_labels is not None else [None] * graph.num_edges
    none = [graph.vertex_labels is None, graph.edge_labels is None]
    if empty_is_none:
        none = [not graph.vertex_labels, not graph.edge_labels]
    edges = Counter((*pair, label) for pair, label in zip(ends, labels, strict=True))
    return graph.num_vertices, graph.directed, graph.vertex_labels or (), edges, none


@given(graphs())
def test_networkx_round_trip(graph):
    assert content(as_graph(to_networkx(graph)), True) == content(graph, True)


@given(graphs())
def test_pyg_round_trip(graph):
    assert content(as_graph(to_pyg(graph), directed=graph.directed)) == content(graph)


@given(graphs())
def test_pyg_direction_is_told_from_the_arcs(graph):
    """Without a hint the arcs decide, by the multiset of labeled arcs against that of their reverses."""
    labels = graph.edge_labels or [None] * graph.num_edges
    arcs = Counter((u, v, x) for (u, v), x in zip(graph.edges.tolist(), labels, strict=True))
    reverses = Counter((v, u, x) for u, v, x in arcs.elements())
    assert as_graph(to_pyg(graph)).directed == (graph.directed and arcs != reverses)


@given(graphs())
def test_a_graph_is_itself(graph):
    assert as_graph(graph) is graph


@given(graphs())
def test_pyg_agrees_with_its_own_conversion_from_networkx(graph):
    ours, theirs = to_pyg(graph.without_labels()), pyg_from_networkx(to_networkx(graph.without_labels()))
    arcs = [Counter(map(tuple, data.edge_index.t().tolist())) for data in (ours, theirs)]
    if not graph.directed:  # PyG lists a loop of an undirected multigraph twice
        arcs = [Counter({k: c for k, c in each.items() if k[0] != k[1]}) for each in arcs]
    assert arcs[0] == arcs[1]
    assert ours.num_nodes == theirs.num_nodes


def test_networkx_labels_directions_and_multiplicity():
    multi = nx.MultiDiGraph()
    multi.add_node("a", label=("x", 1))
    multi.add_edges_from([("a", "b", {"label": "s"}), ("a", "b", {"label": "t"}), ("b", "b", {})])
    graph = as_graph(multi)
    assert graph.directed
    assert graph.vertex_labels == (("x", 1), None)
    assert Counter(zip(map(tuple, graph.edges.tolist()), graph.edge_labels, strict=True)) == Counter(
        [((0, 1), "s"), ((0, 1), "t"), ((1, 1), None)]
    )
    assert as_graph(nx.path_graph(3)).vertex_labels is None
    bad = nx.path_graph(2)
    bad.nodes[1]["label"] = [1]
    with pytest.raises(OsanError, match="vertex labels: expected hashable labels"):
        as_graph(bad)


def test_pyg_labels_are_rows():
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = Data(
        x=torch.tensor([[1.0, 2.0], [1.0, 2.5], [0.0, 0.0]]),
        edge_index=edge_index,
        edge_attr=torch.tensor([4, 4, 5, 5]),
    )
    graph = as_graph(data)
    assert not graph.directed
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.vertex_labels == ((1.0, 2.0), (1.0, 2.5), (0.0, 0.0))
    assert graph.edge_labels == (4, 5)
    assert as_graph(data, directed=True).edges.tolist() == edge_index.t().tolist()
    data.edge_attr = torch.tensor([4, 6, 5, 5])
    assert as_graph(data).directed
    with pytest.raises(OsanError, match=r"got none for 0 -> 1 \(column 0 of edge_index\)"):
        as_graph(data, directed=False)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.uint8, torch.bool])
def test_pyg_feature_types(dtype):
    data = Data(x=torch.tensor([[1], [0]]).to(dtype), edge_index=torch.empty(2, 0, dtype=torch.long))
    assert as_graph(data).vertex_labels == (1, 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Data(num_nodes=2), r"edge_index: expected shape \(2, m\), got None"),
        (Data(edge_index=torch.zeros(3, 2, dtype=torch.long)), r"edge_index: expected shape \(2, m\)"),
        (Data(edge_index=torch.zeros(2, 2), num_nodes=1), "edge_index: expected integers, got float64"),
        (
            Data(edge_index=torch.tensor([[0], [5]]), num_nodes=2),
            "expected vertices from 0 to 1, got 0 and 5",
        ),
        (
            Data(x=torch.tensor([[float("nan")]]), edge_index=torch.zeros(2, 0, dtype=torch.long)),
            "attribute x: expected values that equal themselves, got NaN",
        ),
        (
            Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), edge_attr=torch.ones(2, 1)),
            r"edge_attr: expected one row for each of the 1 arcs, got shape \(2, 1\)",
        ),
        (Data(x=torch.ones(2, 1, 1), edge_index=torch.tensor([[0], [1]])), "attribute x: expected one row"),
        (Data(x=[1, 2], edge_index=torch.tensor([[0], [1]]), num_nodes=2), "x: expected a dense tensor"),
        (HeteroData(), "got torch_geometric.data.hetero_data.HeteroData"),
        ("graph", "expected an osan Graph, a networkx graph or a torch_geometric Data, got builtins.str"),
        (None, "got builtins.NoneType"),
    ],
)
def test_what_is_no_graph(data, message):
    with pytest.raises(OsanError, match=message):
        as_graph(data)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("EhEG", "decode_graph6 for graph6"),
        ([(0, 1)], "from_edge_list for edges"),
        (np.eye(2), "networkx.from_numpy_array"),
        (None, r"got builtins\.NoneType$"),
    ],
)
def test_what_could_be_made_a_graph(given, hint):
    with pytest.raises(OsanError, match=hint):
        as_graph(given)


def test_changed_codes_are_not_misread():
    data = to_pyg(Graph(2, vertex_labels=["C", "O"]))
    data.x = data.x + 1
    with pytest.raises(OsanError, match="delete vertex_label_names"):
        as_graph(data)


def test_direction_must_agree():
    with pytest.raises(OsanError, match="expected a directed graph"):
        as_graph(nx.path_graph(2), directed=True)
    with pytest.raises(OsanError, match="expected an undirected graph"):
        as_graph(Graph(1, directed=True), directed=False)


def test_edge_list_numbering():
    assert from_edge_list([(5, 3), (3, 9)]).edges.tolist() == [[0, 1], [1, 2]]
    assert from_edge_list([("b", "a")], 3).num_vertices == 3
    assert from_edge_list([], 2).num_vertices == 2
    for edges, message in [
        ([(0, 4)], "edge 0: expected one of the 2 vertices, got 4"),
        ([(-1, 0)], "edge 0: .* got -1"),
        ([("a", "b"), ("b", "c")], "edge 1: .* got 'c'"),
        ([(0, 1, "x", "y")], "expected"),
    ]:
        with pytest.raises(OsanError, match=message):
            from_edge_list(edges, 2)


def test_smiles_of_a_charged_aromatic_molecule():
    graph = from_smiles("[O-]c1ccccc1")
    assert graph.vertex_labels[:3] == (("O", -1, 0, False), ("C", 0, 0, True), ("C", 0, 1, True))
    assert Counter(graph.edge_labels) == {"AROMATIC": 6, "SINGLE": 1}
    for smiles, message in [("C(", "that RDKit reads"), ("  ", "expected a SMILES"), (None, "got None")]:
        with pytest.raises(OsanError, match=message):
            from_smiles(smiles)


def test_missing_rdkit_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(OsanError, match=r"pip install 'osan\[molecules\]'"):
        from_smiles("C")


def test_importing_graphs_needs_neither_torch_nor_networkx():
    code = (
        "import sys, osan.graphs; print({'torch', 'torch_geometric', 'networkx', 'rdkit'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_numbers_of_numpy_are_vertices_and_labels():
    assert from_edge_list(np.array([[3, 1]]), 4).edges.tolist() == [[3, 1]]
    assert from_edge_list([(np.uint8(2), 0)], 3).edges.tolist() == [[2, 0]]
    # True is a name like any other.
    assert from_edge_list([(True, False)], 2).edges.tolist() == [[0, 1]]
    for labels in (np.array([7, 5]), np.array([0.5, 2.0], dtype=np.float32)):
        data = to_pyg(Graph(2, vertex_labels=labels))
        assert data.x.tolist() == [[label] for label in labels.tolist()]
        assert "vertex_label_names" not in data
