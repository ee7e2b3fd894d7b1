"""Sharing in learned training: the same predictions and gradients, also those of the choice."""

from functools import partial

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import Phase, given, settings
from torch_geometric.data import Batch, Data

from osan import bags, nn
from osan.nn import learned, network
from osan.nn.encoders import EdgeMLP, encoder
from osan.nn.learned import learned_layers

WIDTH = 6
EDGES = {"conv": "gine", "edge_encoder": partial(EdgeMLP, (3,), WIDTH)}
OPTIONS = {
    "gin": {},
    "gine": EDGES,
    "residual": {**EDGES, "residual": True, "train_eps": True, "last_activation": False},
    "eps": {"train_eps": True, "hidden": 4},
}


@pytest.fixture(autouse=True)
def double(monkeypatch):
    """Double precision, and classes for bags and layers of any size."""
    for name, value in (("MOST", 1.0), ("LEAST", 0), ("NARROW", 0)):
        monkeypatch.setattr(learned, name, value)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def batch_of(sizes):
    """Random graphs with features."""
    graphs = []
    for size in sizes:
        half = torch.randint(size, (2, size))
        ends = torch.cat((half, half.flip(0)), dim=1)
        attributes = torch.randint(3, (size, 1)).repeat(2, 1)
        graphs.append(Data(x=torch.randint(2, (size, 1)), edge_index=ends, edge_attr=attributes))
    return Batch.from_data_list(graphs)


def condition(model):
    """Let rounding stay rounding where a column is equal in all rows, as it often is in tiny graphs.

    A batch norm makes it zero up to rounding, where ReLU has a kink, and multiplies rounding by eps^(-1/2).
    """
    for norm in model.modules():
        if isinstance(norm, torch.nn.BatchNorm1d):
            norm.eps = 0.1
            torch.nn.init.normal_(norm.bias)


def gradients(model, batch, choice, look, sharing):
    """Prediction, gradients of the choice and of all parameters, and the running statistics."""
    nn.set_sharing(model, sharing)
    for name, buffer in model.named_buffers():
        if "running" in name or "tracked" in name:
            buffer.fill_(1.0 if name.endswith("var") else 0)
    bag = bags.from_choice(batch, choice, **look)
    out = model(batch, bag)
    leaves = [choice, *model.parameters()]
    found = torch.autograd.grad(out.square().sum(), leaves, allow_unused=True)
    return [out, *found, *(buffer.clone() for buffer in model.buffers())]


def same(left, right):
    for a, b in zip(left, right, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    seed=st.integers(0, 10**6),
    option=st.sampled_from(sorted(OPTIONS)),
    operation=st.sampled_from(["delete", "mark"]),
    atomic=st.sampled_from(["unordered", "distance"]),
    deleted=st.sampled_from(["masked", "isolated", "unpooled"]),
    aggregation=st.sampled_from(["per-vertex", "per-subgraph"]),
    whole_graph=st.booleans(),
)
def test_gradients(sizes, seed, option, operation, atomic, deleted, aggregation, whole_graph):
    torch.manual_seed(seed)
    batch = batch_of(sizes)
    more = {"atomic": atomic, "k": 1} if operation == "mark" else {}
    vertices = encoder((2,), WIDTH)
    model = nn.osan(WIDTH, 3, 1, vertex_encoder=vertices, aggregation=aggregation, **more, **OPTIONS[option])
    condition(model)
    choice = torch.randint(2, (batch.num_nodes, 3)).double().requires_grad_()
    look = {"operation": operation, "deleted": deleted, "whole_graph": whole_graph}
    same(*(gradients(model, batch, choice, look, sharing) for sharing in ("auto", "off")))


@pytest.mark.parametrize("estimator", ["imle", "simple", "straight-through"])
@pytest.mark.parametrize("policy", ["delete 1 vertex x 3", "delete 1 edge x 2"])
def test_estimators(estimator, policy, monkeypatch):
    """The gradients of both networks, in a learned step; and rows are shared indeed."""
    torch.manual_seed(0)
    batch = batch_of([5, 6, 4])
    edges, used = "edge" in policy, []
    upstream = nn.Upstream(int(policy[-1]), WIDTH, vertex_encoder=encoder((2,), WIDTH), edges=edges)
    downstream = nn.osan(WIDTH, 2, 1, vertex_encoder=encoder((2,), WIDTH), **EDGES)
    model = nn.DataDrivenOSAN(upstream, downstream, policy, estimator=estimator)

    def layers(*given):
        used.append(learned_layers(*given))
        return used[-1]

    monkeypatch.setattr(network, "learned_layers", layers)
    found = []
    for sharing in ("auto", "off"):
        nn.set_sharing(model, sharing)
        torch.manual_seed(1)
        out = model(batch)
        loss = out.objective(out.prediction.square().sum(1))
        found.append(
            [out.prediction, *torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)]
        )
    same(*found)
    (one,) = used
    assert sum(layer.view.num_rows for layer in one) < 2 * out.bag.num_copies


def test_where_every_copy_is_computed(monkeypatch):
    """Dropout, soft weights, other or narrow layers, choices without gradients, and too few equal rows."""
    torch.manual_seed(0)
    batch = batch_of([5, 6])
    choice = torch.randint(2, (batch.num_nodes, 2)).double().requires_grad_()
    bag = bags.from_choice(batch, choice)

    def classes(bag=bag, **options):
        model = nn.osan(WIDTH, 2, 1, vertex_encoder=encoder((2,), WIDTH), **options)
        return learned_layers(model.initial, model.stack, batch, bag)

    assert classes() is not None
    assert classes(dropout=0.5) is None
    assert classes(conv="gcn") is None
    assert classes(activation=torch.tanh) is None
    assert classes(bag=bags.from_choice(batch, choice.detach())) is None
    assert classes(bag=bags.from_choice(batch, (choice * 0.5).detach().requires_grad_())) is None
    model = nn.osan(WIDTH, 2, 1, vertex_encoder=encoder((2,), WIDTH))
    assert learned_layers(model.initial, model.stack, batch, bag, most=0.01) is None
    assert learned_layers(model.initial, model.stack, batch, bag, least=10**6) is None
    assert learned_layers(model.initial, model.stack.eval(), batch, bag) is None
    monkeypatch.setattr(learned, "NARROW", 7)
    assert classes() is None
