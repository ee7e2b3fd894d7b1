"""Structural encodings against PyG's transforms, matrix powers and networkx."""

import math

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE
from torch_geometric.utils import from_networkx, get_laplacian, to_dense_adj

from osan.data import encodings
from osan.data.encodings import AddEncodings, centrality, encode, flip_signs, num_columns
from osan.data.naming import parse_encoding
from osan.errors import OsanError


def _graphs(seed: int, count: int, largest: int) -> list[Data]:
    generator = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        n = int(generator.integers(1, largest + 1))
        graph = nx.gnp_random_graph(n, 3 / n, seed=int(generator.integers(2**31)))
        data = from_networkx(graph)
        out.append(Data(num_nodes=n, edge_index=data.edge_index.view(2, -1).long()))
    return out


@pytest.fixture(params=["dense", "sparse"])
def both_ways(request, monkeypatch):
    """Every graph as a dense matrix, or by sparse products in blocks of three columns."""
    if request.param == "sparse":
        monkeypatch.setattr(encodings, "DENSE", 3)


@pytest.mark.usefixtures("both_ways")
@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_closed_walks_are_the_diagonals_of_matrix_powers(seed):
    graphs = _graphs(seed, 6, 12)
    batch = Batch.from_data_list(graphs)
    found = encode(batch.edge_index, batch.ptr, ["cse:7", "rwse:5"])
    expected = []
    for graph in graphs:
        matrix = to_dense_adj(graph.edge_index, max_num_nodes=graph.num_nodes)[0].double().numpy()
        walks = [np.linalg.matrix_power(matrix, k).diagonal() / math.factorial(k) for k in range(1, 8)]
        step = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
        walks += [np.linalg.matrix_power(step, k).diagonal() for k in range(1, 6)]
        expected.append(np.stack(walks, axis=1))
    np.testing.assert_allclose(found.numpy(), np.concatenate(expected), rtol=1e-6, atol=1e-7)


@pytest.mark.usefixtures("both_ways")
@given(st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_distances_are_those_of_networkx(seed, reach):
    graphs = _graphs(seed, 6, 12)
    batch = Batch.from_data_list(graphs)
    expected = []
    for graph in graphs:
        known = nx.Graph(graph.edge_index.t().tolist())
        known.add_nodes_from(range(graph.num_nodes))
        for vertex in range(graph.num_nodes):
            steps = list(nx.single_source_shortest_path_length(known, vertex).values())
            expected.append([steps.count(step) for step in range(1, reach + 1)])
    assert encode(batch.edge_index, batch.ptr, [f"distance:{reach}"]).tolist() == expected


@pytest.mark.usefixtures("both_ways")
def test_random_walks_are_those_of_pyg():
    graphs = _graphs(3, 20, 30)
    batch = Batch.from_data_list(graphs)
    expected = torch.cat([AddRandomWalkPE(8)(graph.clone()).random_walk_pe for graph in graphs])
    torch.testing.assert_close(encode(batch.edge_index, batch.ptr, ["rwse:8"]), expected)


def test_laplacian_columns_are_eigenvectors_of_the_eigenvalues_of_pyg(monkeypatch):
    graphs = [graph for graph in _graphs(5, 20, 30) if graph.num_nodes > 6]
    batch = Batch.from_data_list(graphs)
    for dense in (256, 6):
        monkeypatch.setattr(encodings, "DENSE", dense)
        found = encode(batch.edge_index, batch.ptr, ["lap:4"]).double()
        for i, graph in enumerate(graphs):
            vectors = found[batch.ptr[i] : batch.ptr[i + 1]]
            index, weight = get_laplacian(graph.edge_index, normalization="sym", num_nodes=graph.num_nodes)
            matrix = to_dense_adj(index, edge_attr=weight, max_num_nodes=graph.num_nodes)[0].double()
            values = torch.linalg.eigvalsh(matrix)[1:5]
            torch.testing.assert_close(matrix @ vectors, vectors * values, atol=1e-5, rtol=0)
            torch.testing.assert_close(vectors.T @ vectors, torch.eye(4).double(), atol=1e-5, rtol=0)


def test_laplacian_is_that_of_pyg_up_to_signs_where_eigenvalues_differ():
    graph = from_networkx(nx.path_graph(9))
    found = encode(graph.edge_index, torch.tensor([0, 9]), ["lap:3"]).abs()
    expected = AddLaplacianEigenvectorPE(3, is_undirected=True)(graph).laplacian_eigenvector_pe.abs()
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_small_graphs_have_columns_of_zeros():
    edges = torch.tensor([[0, 1, 3, 4], [1, 0, 4, 3]])
    found = encode(edges, torch.tensor([0, 2, 3, 3, 5]), ["lap:3"])
    assert found[:, 1:].eq(0).all()
    assert found[2].eq(0).all()
    assert found[[0, 1, 3, 4], 0].abs().allclose(torch.tensor(0.5**0.5))


def test_centrality_is_that_of_networkx_and_exactly_equal_on_alike_vertices():
    graph = nx.random_regular_graph(3, 20, seed=1)
    graph.add_edges_from([(20, 21), (21, 22)])
    data = from_networkx(graph)
    found = centrality(data.edge_index, torch.tensor([0, 23]), 40)
    expected = nx.subgraph_centrality(graph)
    np.testing.assert_allclose(found + 1, [expected[v] for v in graph], rtol=1e-9)
    petersen = from_networkx(nx.petersen_graph())
    order = torch.randperm(10, generator=torch.Generator().manual_seed(0))
    for edges in (petersen.edge_index, order[petersen.edge_index]):
        assert len(centrality(edges, torch.tensor([0, 10])).unique()) == 1


def test_loops_and_parallel_edges_count_as_walks():
    edges = torch.tensor([[0, 0, 1, 0, 1], [0, 1, 0, 1, 0]])
    matrix = np.array([[1, 2], [2, 0]])
    found = encode(edges, torch.tensor([0, 2]), ["cse:3"])
    expected = [np.linalg.matrix_power(matrix, k).diagonal() / math.factorial(k) for k in (1, 2, 3)]
    np.testing.assert_allclose(found.numpy(), np.stack(expected, 1), rtol=1e-6)


def test_signs_flip_per_graph_and_column():
    torch.manual_seed(0)
    columns, batch = torch.ones(200, 3), torch.arange(200) // 2
    flipped = flip_signs(columns, batch, 100)
    assert torch.equal(flipped[0::2], flipped[1::2])
    assert flipped.abs().eq(1).all()
    assert (flipped.mean(0).abs() < 0.4).all()


def test_the_transform_works_on_graphs_and_batches():
    graphs = _graphs(0, 4, 9)
    batch = AddEncodings(["cse:3", "rwse"])(Batch.from_data_list(graphs))
    alone = torch.cat([AddEncodings(["cse:3", "rwse"])(graph).encoding for graph in graphs])
    torch.testing.assert_close(batch.encoding, alone)
    assert batch.encoding.shape == (sum(graph.num_nodes for graph in graphs), num_columns(["cse:3", "rwse"]))


@pytest.mark.parametrize("text", ["", "cse:", "cse:0", "cse:65", "cse:x", "pe:3", "cse:-1"])
def test_a_wrong_name_is_an_error(text):
    with pytest.raises(OsanError, match="encodings: expected 'cse:K', 'rwse:K', 'lap:K'"):
        parse_encoding(text)


def test_no_encodings_are_no_columns():
    assert encode(torch.empty(2, 0, dtype=torch.long), torch.tensor([0, 2]), []).shape == (2, 0)
