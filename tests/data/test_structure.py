"""Centralities against networkx, and structural columns of a dataset with their cache."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch_geometric.utils import from_networkx

from osan.data import CENTRALITIES, load, task_from_graphs, with_structure
from osan.data.centralities import score
from osan.data.encodings import encode
from osan.errors import OsanError


def graphs() -> list[nx.Graph]:
    lonely = nx.path_graph(4)
    lonely.add_node(9)
    return [nx.gnp_random_graph(n, 0.4, seed=n) for n in (1, 2, 7, 12)] + [nx.star_graph(5), lonely]


def joined(many: list[nx.Graph]) -> tuple[torch.Tensor, torch.Tensor]:
    ptr = torch.tensor([0] + [len(graph) for graph in many]).cumsum(0)
    parts = [from_networkx(graph).edge_index + ptr[i] for i, graph in enumerate(many)]
    return torch.cat(parts, dim=1).long(), ptr


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("degree", lambda graph: dict(graph.degree)),
        ("core", nx.core_number),
        ("pagerank", lambda graph: nx.pagerank(graph, tol=1e-13, max_iter=1000)),
        # networkx sums all walks, also that of length 0.
        ("centrality", lambda graph: {v: c - 1 for v, c in nx.subgraph_centrality(graph).items()}),
    ],
)
def test_centralities_are_those_of_networkx(name, reference):
    many = graphs()
    found = score(*joined(many), name)
    values = [value for graph in many for value in reference(graph).values()]
    expected = torch.tensor(values, dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=1e-4 if name == "centrality" else 1e-9, atol=1e-8)


@pytest.mark.parametrize("name", CENTRALITIES)
def test_vertices_that_look_alike_have_equal_values(name):
    for graph in (nx.petersen_graph(), nx.cycle_graph(7), nx.hypercube_graph(4)):
        assert len(score(*joined([nx.convert_node_labels_to_integers(graph)]), name).unique()) == 1


def test_a_dataset_gets_the_columns_of_its_graphs(tmp_path):
    task = load("planted-motif", num_graphs=60)
    found = with_structure(task, ["cse:4", "rwse:3"], scored="core", cache=tmp_path)
    for part in found.splits.values():
        graph = part[3]
        expected = encode(graph.edge_index, torch.tensor([0, graph.num_nodes]), ["cse:4", "rwse:3"])
        torch.testing.assert_close(graph.encoding, expected)
        assert part.batch(torch.tensor([3])).score.shape == (graph.num_nodes, 1)
    assert found.fingerprint == task.fingerprint


def test_columns_come_from_the_cache_and_damaged_ones_are_made_again(tmp_path, monkeypatch):
    task = load("planted-motif", num_graphs=60)
    first = with_structure(task, ["cse"], cache=tmp_path).train.tensors["encoding"]
    (file,) = (tmp_path / "structure").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr("osan.data.structure.encode", None)
        again = with_structure(task, ["cse"], cache=tmp_path).train.tensors["encoding"]
    assert torch.equal(first, again)
    file.write_bytes(file.read_bytes()[:100])
    rebuilt = with_structure(task, ["cse"], cache=tmp_path).train.tensors["encoding"]
    assert torch.equal(first, rebuilt)
    other = task_from_graphs([load("planted-motif", num_graphs=60).train[i] for i in range(30)])
    assert len(with_structure(other, ["cse"], cache=tmp_path).train.tensors["encoding"]) != len(first)


def test_a_wrong_name_is_an_error():
    with pytest.raises(OsanError, match=r"encodings: expected 'cse:K'"):
        with_structure(load("planted-motif", num_graphs=60), ["cs"])
