"""Centrality and prior as weighers: what they choose, ties, and independence of the numbering."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import Linear
from torch_geometric.utils import to_undirected

from osan import nn
from osan.errors import OsanError
from osan.nn.weighers import standardized


def lollipop() -> Data:
    """A triangle with a path of three vertices."""
    edges = torch.tensor([[0, 1, 2, 2, 3, 4], [1, 2, 0, 3, 4, 5]])
    return Data(num_nodes=6, edge_index=to_undirected(edges))


def model(weigher, policy: str = "mark 1 vertex", **options) -> nn.DataDrivenOSAN:
    network = nn.few_marks(8, 2, 1, conv="gin", atomic="unordered")
    return nn.DataDrivenOSAN(weigher, network, policy, whole_graph=True, **options).eval()


def learn_the_last(network: nn.DataDrivenOSAN) -> None:
    """Train for marks on the end of the path of a lollipop."""
    network.train()
    graph, optimizer = lollipop(), torch.optim.Adam(network.parameters(), 0.05)
    for _ in range(60):
        out = network(graph)
        loss = (out.selected[0].choice.flatten() - torch.eye(6)[5]).square().sum() + 0 * out.prediction.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    network.eval()


@pytest.mark.parametrize("name", ["centrality", "degree", "pagerank"])
def test_the_most_central_vertex_is_marked(name):
    out = model(nn.CentralityWeigher(name), estimator="fixed", samples=3)(lollipop())
    for one in out.selected:
        assert one.choice.flatten().tolist() == [0, 0, 1, 0, 0, 0]


def test_edges_have_the_weight_of_their_ends():
    graph = lollipop()
    edges = nn.CentralityWeigher("degree", edges=True)(graph).flatten()
    vertices = nn.CentralityWeigher("degree")(graph).flatten()
    torch.testing.assert_close(edges, vertices[graph.edge_index[0]] + vertices[graph.edge_index[1]])


def test_a_stored_score_is_used_as_it_is():
    graph = lollipop()
    graph.score = torch.arange(6.0).unsqueeze(1)
    assert nn.CentralityWeigher()(graph).argmax() == 5


def test_ties_are_broken_at_random_and_not_by_number():
    """On a cycle all vertices are alike: each is marked about equally often (chi-square test, 0.1 %)."""
    cycle = torch.arange(6)
    edges = to_undirected(torch.stack([cycle, cycle.roll(1)]))
    batch = Batch.from_data_list([Data(num_nodes=6, edge_index=edges)] * 600)
    out = model(nn.CentralityWeigher(), estimator="fixed", samples=1)(batch)
    counts = out.selected[0].choice.view(600, 6).sum(0)
    assert counts.sum() == 600
    assert ((counts - 100) ** 2 / 100).sum() < 20.5


def test_a_prior_starts_as_the_centrality_and_can_learn_to_differ():
    torch.manual_seed(0)
    upstream = nn.Upstream(1, 8)
    prior = nn.Prior(upstream, nn.CentralityWeigher())
    graph = lollipop()
    torch.testing.assert_close(prior(graph), nn.CentralityWeigher()(graph))
    network = model(prior, estimator="straight-through", evaluation_noise="none", samples=1)
    learn_the_last(network)
    assert network(graph).selected[0].choice.argmax() == 5


def test_vertices_that_are_equally_central_share_a_soft_mark():
    """The two ends of a path of four are alike, and so are the two in the middle, which are more central."""
    path = Data(num_nodes=4, edge_index=to_undirected(torch.tensor([[0, 1, 2], [1, 2, 3]])))
    soft = model(nn.CentralityWeigher(), estimator="sparsemap", temperature=0.1, samples=1)
    torch.testing.assert_close(soft(path).selected[0].choice.flatten(), torch.tensor([0.0, 0.5, 0.5, 0.0]))
    assert not soft.learns
    assert model(nn.Prior(nn.Upstream(1, 8), nn.CentralityWeigher()), estimator="sparsemap").learns


def test_predictions_do_not_depend_on_the_numbering():
    torch.manual_seed(1)
    graph = lollipop()
    order = torch.randperm(6)
    place = torch.empty_like(order)
    place[order] = torch.arange(6)
    renumbered = Data(num_nodes=6, edge_index=place[graph.edge_index][:, torch.randperm(12)])
    for weigher in (nn.CentralityWeigher(), nn.Prior(nn.Upstream(1, 8), nn.CentralityWeigher())):
        network = model(weigher, estimator="straight-through", evaluation_noise="none", samples=1).double()
        torch.testing.assert_close(network(graph).prediction, network(renumbered).prediction)


def test_equal_values_are_standardized_to_zero():
    values = torch.full((7,), 0.1, dtype=torch.float64)
    assert standardized(values, torch.zeros(7, dtype=torch.long), 1).eq(0).all()


def test_encodings_stand_beside_the_features_and_signs_flip_in_training_only():
    encoder = nn.WithEncoding(lambda width: nn.Numerical(1, width), ["lap:2", "cse:2"], 16)
    graph = lollipop()
    graph.x = torch.ones(6, 1)
    encoder.eval()
    assert torch.equal(encoder(graph), encoder(graph))
    assert torch.equal(encoder(graph)[:, :11], encoder.features(graph.x))
    encoder.train()
    torch.manual_seed(0)
    assert len({tuple(encoder(graph)[0, 11:].tolist()) for _ in range(30)}) == 4  # two signs


def test_encodings_far_from_those_of_training_are_compressed():
    encoding = nn.Encoding(["cse:2"], 3).eval()
    encoding.norm.module.running_mean.copy_(torch.tensor([1.0, -2.0]))
    encoding.norm.module.running_var.copy_(torch.tensor([4.0, 0.25]))
    columns = torch.tensor([[1.0, -2.0], [2.0, -2.1], [151.0, 40.0]])
    seen = torch.tensor([[0.0, 0.0], [0.5, -0.2], [75.0, 84.0]]).asinh()
    batch = Data(num_nodes=3, edge_index=torch.zeros(2, 0, dtype=torch.long), encoding=columns)
    torch.testing.assert_close(encoding(batch), encoding.linear(seen), rtol=1e-4, atol=1e-4)
    assert seen.max() < 5.2


def test_a_neutral_network_prefers_nothing_at_first_and_can_learn_to():
    """Ties decide: on a lollipop each vertex is marked about equally often (chi-square test, 0.1 %)."""
    torch.manual_seed(0)
    upstream = nn.Upstream(1, 8)
    assert upstream(lollipop()).std() > 0
    assert nn.neutral(upstream) is upstream
    network = model(upstream, estimator="straight-through", evaluation_noise="none", samples=1)
    batch = Batch.from_data_list([lollipop()] * 600)
    counts = network(batch).selected[0].choice.view(600, 6).sum(0)
    assert ((counts - 100) ** 2 / 100).sum() < 20.5
    learn_the_last(network)
    assert network(batch).selected[0].choice.view(600, 6)[:, 5].all()


class Backwards(torch.nn.Module):
    """Its output map is defined before its body."""

    def __init__(self, out: torch.nn.Module):
        super().__init__()
        self.out, self.body = out, torch.nn.Linear(1, 4)

    def forward(self, batch: Data) -> torch.Tensor:
        return self.out(self.body(torch.ones(batch.num_nodes, 1)))


@pytest.mark.parametrize("kind", [torch.nn.Linear, Linear])
def test_neutral_is_about_the_output_map_wherever_it_is_defined(kind):
    upstream = nn.neutral(Backwards(kind(4, 1)))
    assert upstream(lollipop()).eq(0).all()
    assert upstream.body.weight.ne(0).all()


@pytest.mark.parametrize(
    "wrong", [Backwards(torch.nn.Identity()), torch.nn.Identity(), torch.nn.Linear(1, 1)]
)
def test_only_a_network_with_a_last_linear_map_can_start_neutral(wrong):
    with pytest.raises(
        OsanError, match="expected an upstream network with a last linear map 'out', got none"
    ):
        nn.neutral(wrong)
