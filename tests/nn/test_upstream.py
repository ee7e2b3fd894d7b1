"""The upstream network."""

import warnings

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GIN, BatchNorm, GCNConv

from osan.errors import OsanError
from osan.nn import Upstream


def path(n=4):
    pairs = torch.tensor([[v, v + 1] for v in range(n - 1)]).t()
    index = torch.cat([pairs, pairs.flip(0)], dim=1)
    return Data(x=torch.rand(n, 3), edge_index=index, edge_attr=torch.rand(index.size(1), 2))


def test_it_is_the_network_of_the_paper():
    """Three GCN layers, batch norm and ReLU after each, one linear map: recomputed layer by layer."""
    torch.manual_seed(0)
    upstream = Upstream(2, 8, vertex_encoder=nn.Linear(3, 8))
    batch = Batch.from_data_list([path(4), path(6)])
    layers = [m for m in upstream.modules() if isinstance(m, GCNConv)]
    norms = [m for m in upstream.modules() if isinstance(m, BatchNorm)]
    assert len(layers) == len(norms) == 3
    h = upstream.vertex_encoder(batch.x)
    for conv, norm in zip(layers, norms, strict=True):
        # The formula of a GCN layer: D^-1/2 (A + I) D^-1/2 X W + b.
        adjacency = torch.zeros(10, 10)
        adjacency[batch.edge_index[1], batch.edge_index[0]] = 1
        adjacency += torch.eye(10)
        scale = adjacency.sum(1).rsqrt().diag()
        h = scale @ adjacency @ scale @ conv.lin(h) + conv.bias
        mean, variance = h.mean(0), h.var(0, unbiased=False)
        h = torch.relu((h - mean) / torch.sqrt(variance + norm.module.eps))
    assert torch.allclose(upstream(batch), upstream.out(h), atol=1e-4)


def test_edges_are_weighed_from_their_ends_and_attributes():
    torch.manual_seed(0)
    upstream = Upstream(3, 8, edges=True, vertex_encoder=nn.Linear(3, 8), edge_encoder=nn.Linear(2, 8)).eval()
    graph = path()
    weights = upstream(graph)
    assert weights.shape == (6, 3)
    changed = graph.clone()
    changed.edge_attr[0] += 1
    difference = (upstream(changed) - weights).abs().sum(1)
    assert difference[0] > 0
    assert difference[1:].max() == 0


@pytest.mark.parametrize("edges", [False, True])
def test_weights_move_with_the_numbering(edges):
    torch.manual_seed(1)
    upstream = Upstream(2, 8, edges=edges, vertex_encoder=nn.Linear(3, 8)).eval()
    graph = path(5)
    order = torch.randperm(5)
    moved = Data(x=graph.x[order], edge_index=torch.argsort(order)[graph.edge_index])
    expected = upstream(graph) if edges else upstream(graph)[order]
    assert torch.allclose(upstream(moved), expected, atol=1e-5)


def test_any_pyg_model_will_do_and_features_are_not_needed():
    bare = Data(edge_index=path().edge_index, num_nodes=4)
    assert Upstream(2, 8, model=GIN(8, 16, 2))(bare).shape == (4, 2)
    assert Upstream(1, 8)(bare).shape == (4, 1)


def test_a_model_of_ones_own_gets_the_features():
    torch.manual_seed(0)
    model, graph = GIN(3, 16, 2), path()
    upstream = Upstream(2, 8, model=model)
    assert torch.equal(upstream(graph), upstream.out(model(graph.x, graph.edge_index)))
    with pytest.raises(OsanError, match=r"batch.x: expected 8 columns .* got shape \[4, 3\].*Linear\(3, 8\)"):
        Upstream(2, 8, model=GIN(8, 16, 2))(graph)


def test_features_that_are_not_looked_at_are_said_once():
    upstream = Upstream(1, 8)
    with pytest.warns(
        UserWarning, match=r"batch.x of shape \[4, 3\] .* no vertex_encoder.*Numerical\(3, 8\)"
    ):
        upstream(path())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        upstream(path())
        Upstream(1, 8)(Data(x=torch.empty(4, 0), edge_index=path().edge_index))


def test_errors():
    with pytest.raises(OsanError, match="at least 1"):
        Upstream(0, 8)
    with pytest.raises(OsanError, match=r"edge_encoder: expected none.*edges=True"):
        Upstream(1, 8, vertex_encoder=nn.Linear(3, 8), edge_encoder=nn.Linear(2, 8))
    bare = Data(edge_index=path().edge_index, num_nodes=4)
    with pytest.raises(OsanError, match=r"upstream: batch\.x: expected vertex features"):
        Upstream(1, 8, vertex_encoder=nn.Linear(3, 8))(bare)
    with pytest.raises(OsanError, match=r"batch\.edge_attr: expected a tensor"):
        Upstream(1, 8, edges=True, edge_encoder=nn.Linear(3, 8))(bare)
