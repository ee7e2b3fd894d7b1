"""Subgraphs that are chosen in turn: each draw sees the earlier ones."""

import itertools

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GIN

from osan.data.generated.planted import planted_motif
from osan.errors import OsanError
from osan.nn import CentralityWeigher, DataDrivenOSAN, Normalized, Numerical, Prior, Upstream, osan
from osan.selection import Noise


def circles(skips, n=8):
    """Disjoint circular skip links, the (n, l)-CSL graphs of POLICY-LEARN; the target counts skips of 3."""
    steps = [(c * n + v, c * n + (v + d) % n) for c, s in enumerate(skips) for v in range(n) for d in (1, s)]
    one = torch.tensor(steps).t()
    three = torch.tensor([float(s == 3) for s in skips])
    return Data(
        num_nodes=n * len(skips),
        edge_index=torch.cat([one, one.flip(0)], dim=1),
        three=three.repeat_interleave(n),
        y=three.sum().view(1),
    )


class Skips(nn.Module):
    """How many subgraphs have a mark in a circle of skip 3, which one mark tells from one of skip 2."""

    def forward(self, batch, bag):
        seen = bag.mark.flatten() * batch.three[bag.vertex]
        return torch.zeros(bag.num_graphs).index_add(0, bag.graph[bag.subgraph], seen)


def circle_model(channels, estimator="straight-through"):
    upstream = Upstream(
        1 if channels else 3, 16, model=GIN(16, 16, 2, jk="last"), in_turn=channels == " in turn"
    )
    policy = "mark 1 vertex x 3" + channels
    return DataDrivenOSAN(upstream, Skips(), policy, estimator=estimator, evaluation_noise="none", samples=1)


CIRCLES = Batch.from_data_list([circles(skips) for skips in itertools.product((2, 3), repeat=3)] * 3)


def circles_marked(model, batch):
    """The share of graphs with a mark in each of their three circles, in evaluation."""
    with torch.no_grad():
        choice = model.eval()(batch).selected[0].choice
    return (choice.view(-1, 3, 8, 3).sum((2, 3)) == 1).all(1).double().mean().item()


@pytest.mark.parametrize("estimator", ["straight-through", "simple", "imle", "score-function"])
def test_marks_in_turn_learn_to_visit_every_circle(estimator):
    """All vertices look alike, so only what was marked before tells where to look next."""
    torch.manual_seed(0)
    model = circle_model(" in turn", estimator)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(30):
        out = model(CIRCLES)
        optimizer.zero_grad()
        out.objective((out.prediction - CIRCLES.y).square()).backward()
        optimizer.step()
    assert circles_marked(model, CIRCLES) == 1
    assert model(CIRCLES).prediction.equal(CIRCLES.y)


@pytest.mark.parametrize(
    ("channels", "share"), [("", 24 / 24 * 16 / 24 * 8 / 24), (" distinct", 24 / 24 * 16 / 23 * 8 / 22)]
)
def test_other_marks_collide(channels, share):
    """Equal weights leave the choice to chance: the probability that three marks hit three circles."""
    many = Batch.from_data_list([circles((2, 2, 2))] * 1500)
    assert circles_marked(circle_model(channels), many) == pytest.approx(share, abs=0.04)


class Recording(nn.Module):
    """Weights of a linear map of the degree, and what it was called with."""

    def __init__(self, rows):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(rows, 1))
        self.calls = []

    def forward(self, batch, so_far=None):
        self.calls.append(so_far)
        if so_far is None:
            return self.weights
        return self.weights + so_far.sum(1, keepdim=True)


@pytest.mark.parametrize(
    "text", ["mark 1 vertex x 3 in turn", "select 2 edges x 3 in turn", "delete 1 edge x 3 in turn"]
)
def test_each_draw_sees_the_earlier_ones_with_gradients(text):
    torch.manual_seed(0)
    batch = Batch.from_data_list(planted_motif(3, 0))
    upstream = Recording(batch.num_nodes if "vertex" in text else batch.num_edges)
    downstream = osan(8, 1, 1, vertex_encoder=Numerical(1, 8), atomic="unordered" if "mark" in text else None)
    model = DataDrivenOSAN(upstream, downstream, text, estimator="straight-through", samples=4)
    out = model(batch)
    choice = out.selected[0].choice
    assert [None if c is None else c.size(1) for c in upstream.calls] == [None, 1, 2]
    for seen in upstream.calls[1:]:
        expected = choice[:, : seen.size(1)]
        assert seen.equal(1 - expected if "delete" in text else expected)
        assert seen.requires_grad
    assert out.weights.shape == choice.shape
    assert len(out.selected[0].weights) == 3
    # The weights of the last draw depend on the first choice.
    (gradient,) = torch.autograd.grad(out.selected[0].weights[2].sum(), upstream.calls[1])
    assert gradient.abs().sum() > 0
    # The first weights are shared by all samples of evaluation.
    upstream.calls.clear()
    out = model.eval()(batch)
    assert sum(seen is None for seen in upstream.calls) == 1
    assert len(upstream.calls) == 1 + 4 * 2
    assert model.explain(batch, samples=2).frequency.shape == choice.shape
    model.evaluation_noise = Noise("none")
    excess, most = model.agreement(batch, out)
    assert -most < excess < most


@pytest.mark.parametrize("wrap", [Normalized, lambda upstream: Prior(upstream, CentralityWeigher())])
def test_predictions_do_not_depend_on_the_numbering(wrap):
    torch.manual_seed(0)
    graph = planted_motif(1, 3)[0]
    upstream = Upstream(1, 8, vertex_encoder=Numerical(1, 8), in_turn=True)
    downstream = osan(8, 2, 1, vertex_encoder=Numerical(1, 8), atomic="unordered")
    text = "mark 1 vertex x 3 in turn"
    model = DataDrivenOSAN(wrap(upstream), downstream, text, evaluation_noise="none", samples=1).double()
    n = graph.num_nodes
    x = torch.randn(n, 1, dtype=torch.double)  # no two vertices look alike
    order = torch.randperm(n)
    place = torch.empty(n, dtype=torch.long).scatter_(0, order, torch.arange(n))
    original, relabeled = (
        Data(x=x, edge_index=graph.edge_index),
        Data(x=x[order], edge_index=place[graph.edge_index]),
    )
    ours, theirs = model.eval()(original), model(relabeled)
    assert theirs.selected[0].choice.equal(ours.selected[0].choice[order])
    assert torch.allclose(ours.prediction, theirs.prediction, atol=1e-10)


def test_what_cannot_see_the_earlier_draws_is_named():
    class Blind(nn.Module):
        def forward(self, batch):
            return torch.zeros(batch.num_nodes, 1)

    batch, text = Batch.from_data_list(planted_motif(2, 0)), "mark 1 vertex x 2 in turn"
    with pytest.raises(
        OsanError, match=r"upstream: expected a module .* the choices so far .* got Blind; use"
    ):
        DataDrivenOSAN(Blind(), Skips(), text)
    downstream = osan(8, 1, 1, vertex_encoder=Numerical(1, 8), atomic="unordered")
    model = DataDrivenOSAN(Upstream(1, 8, vertex_encoder=Numerical(1, 8)), downstream, text)
    with pytest.raises(OsanError, match=r"upstream: expected in_turn=True .* got in_turn=False"):
        model(batch)
    model = DataDrivenOSAN(Upstream(1, 8, model=GIN(1, 8, 1), in_turn=True), downstream, text)
    with pytest.raises(OsanError, match=r"features of width 8 .* got features of width 1; pass a vertex_enc"):
        model(batch)
