"""Noise that gets out of the way: normalized weights, fading noise, one pass without it, and agreement."""

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data

from osan.data.generated.planted import planted_motif
from osan.nn import DataDrivenOSAN, Normalized, Numerical, Upstream, osan
from osan.selection import SIMPLE, Noise, Random, Selection, agreement


class Given(nn.Module):
    """Weights that are given."""

    def __init__(self, weights):
        super().__init__()
        self.weights = nn.Parameter(weights)

    def forward(self, batch):
        return self.weights


class Counting(nn.Module):
    """The number of marks, and how often it was called."""

    calls = 0

    def forward(self, batch, bag):
        self.calls += 1
        return torch.zeros(bag.num_graphs, 1)


def batch_of(number=4):
    return Batch.from_data_list(planted_motif(number, 0))


@pytest.mark.parametrize("edges", [False, True])
def test_normalized_weights_have_one_spread_in_every_graph(edges):
    alone = Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0, dtype=torch.long))
    graphs = [Data(x=graph.x, edge_index=graph.edge_index) for graph in planted_motif(3, 0)]
    batch = Batch.from_data_list([*graphs, alone])
    torch.manual_seed(0)
    rows = batch.num_edges if edges else batch.num_nodes
    given = Given(5 + 3 * torch.randn(rows, 2, dtype=torch.double))
    weigher = Normalized(given, edges=edges).double()
    with torch.no_grad():
        weigher.log_scale.fill_(0.7)
    graph = batch.batch[batch.edge_index[0]] if edges else batch.batch
    out = weigher(batch)
    for number in range(4):
        here, before = out[graph == number], given.weights[graph == number]
        if len(here) > 1:
            expected = (before - before.mean(0)) / (before.var(0, correction=0) + 1e-5).sqrt()
            assert torch.allclose(here, torch.tensor(0.7).double().exp() * expected)
        else:
            assert (here == 0).all()
    (out * torch.randn_like(out)).sum().backward()
    assert given.weights.grad.isfinite().all()
    assert weigher.log_scale.grad.abs() > 0


def test_equal_weights_stay_equal_when_normalized():
    weigher = Normalized(Given(torch.full((9, 1), 1 / 3)))
    ring = torch.arange(9)
    cycle = Data(num_nodes=9, edge_index=torch.stack([ring, ring.roll(1)]))
    out = weigher(cycle)
    assert (out == out[0]).all()
    out.sum().backward()
    assert weigher.weigher.weights.grad.isfinite().all()


@pytest.mark.parametrize(("weights", "calls"), [([0.1, 0.2, 0.3], 1), ([0.2, 0.2, 0.1], 2)])
def test_without_noise_equal_samples_are_computed_once(weights, calls):
    path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    downstream = Counting()
    weigher = Given(torch.tensor(weights).unsqueeze(1))
    model = DataDrivenOSAN(
        weigher,
        downstream,
        "mark 1 vertex",
        samples=20,
        evaluation_noise="none",
        estimator="straight-through",
    )
    out = model.eval()(path)
    assert len(out.bags) == len(out.each) == 20
    assert downstream.calls == calls  # a tie of two vertices has two choices
    assert {int(one.choice.argmax()) for one in out.selected} == ({2} if calls == 1 else {0, 1})
    model.evaluation_noise = Noise()
    model(path)
    assert downstream.calls == calls + 20


@pytest.mark.parametrize("text", ["select 2 vertices", "delete 2 vertices x 2 distinct"])
def test_simple_without_noise_takes_the_most_probable_choice_in_evaluation(text):
    batch = batch_of()
    weights = torch.randn(batch.num_nodes, 1)
    select = Selection(text, SIMPLE(), "none")
    best = Selection(text, noise="none")(batch, weights).choice
    assert not select(batch, weights).choice.equal(best)
    assert select.eval()(batch, weights).choice.equal(best)


def test_the_noise_fades_with_its_factor():
    batch = batch_of()
    torch.manual_seed(0)
    weigher = Given(torch.randn(batch.num_nodes, 2))
    downstream = osan(8, 1, 1, vertex_encoder=Numerical(1, 8), atomic="unordered")
    model = DataDrivenOSAN(weigher, downstream, "mark 2 vertices x 2")
    assert model.training_noise is model.selection.noise
    best = Selection("mark 2 vertices", noise="none")(batch, weigher.weights).choice
    assert not model(batch).selected[0].choice.equal(best)
    model.noise_factor = 0.0
    assert model(batch).selected[0].choice.equal(best)
    assert model.evaluation_noise == Noise()


@pytest.mark.parametrize("text", ["mark 1 vertex x 2", "delete 1 vertex x 2 distinct"])
def test_agreement_is_that_of_the_noise_of_training(text):
    batch = batch_of()
    torch.manual_seed(0)
    upstream = Upstream(1 if "distinct" in text else 2, 8, vertex_encoder=Numerical(1, 8))
    model = DataDrivenOSAN(upstream, Counting(), text, samples=3).eval()
    out = model(batch)
    ours = [part.item() for part in model.agreement(batch, out)]
    touched = [one.choice for one in out.selected]
    if "distinct" in text:
        touched = [(choice == 0).any(1, keepdim=True).float() for choice in touched]
    exact = agreement(touched, out.selected[0].problem.ground)
    assert ours == [part.sum().item() for part in exact]
    # The noise of evaluation does not matter.
    model.samples, model.evaluation_noise = 1, Noise("none")
    excess, most = model.agreement(batch, model(batch))
    assert excess < 0.9 * most
    model.noise_factor = 0.0
    excess, most = model.agreement(batch, model(batch))
    assert excess > 0.9 * most


def test_random_choices_are_barred_and_distinct_as_well():
    batch = batch_of()
    downstream = osan(8, 1, 1, vertex_encoder=Numerical(1, 8), atomic="unordered")
    model = DataDrivenOSAN(None, downstream, "mark 1 vertex x 3 distinct", estimator=Random(), bar=0.5)
    assert model(batch).selected[0].choice.sum(1).max() == 1


@pytest.mark.parametrize("channels", ["distinct", "in turn"])
def test_a_settled_choice_trains_as_it_evaluates(channels):
    batch = batch_of()
    batch.x = torch.randn(batch.num_nodes, 1)  # no two vertices look alike
    upstream = Upstream(1, 8, vertex_encoder=Numerical(1, 8), in_turn=channels == "in turn")
    downstream = osan(8, 2, 1, vertex_encoder=Numerical(1, 8), atomic="unordered")
    options = {"estimator": "straight-through", "bar": 0.5, "evaluation_noise": "none", "samples": 1}
    model = DataDrivenOSAN(upstream, downstream, f"mark 1 vertex x 2 {channels}", **options)
    drawn = [model(batch).selected[0].choice for _ in range(5)]
    assert not all(choice.equal(drawn[0]) for choice in drawn)
    model.eval()
    wanted = model(batch).selected[0].choice
    model.train()
    model.settled, norms = True, [buffer.clone() for buffer in upstream.buffers()]
    for _ in range(3):
        out = model(batch)
        assert out.selected[0].choice.equal(wanted)
        out.prediction.sum().backward()
    assert all(parameter.grad is None for parameter in upstream.parameters())
    assert any(parameter.grad is not None for parameter in downstream.parameters())
    assert all(map(torch.equal, upstream.buffers(), norms))
