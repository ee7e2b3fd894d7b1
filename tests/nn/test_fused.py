"""The fused layer: what its parts give one by one, with all gradients."""

from functools import partial

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import Phase, assume, given, settings
from torch.nn import Linear
from torch_geometric.data import Batch, Data

from osan import bags
from osan.nn import stack as stacks
from osan.nn.atomic import InitialFeatures
from osan.nn.encoders import EdgeMLP
from osan.nn.fused import fused
from osan.nn.messages import composed_sum
from osan.nn.norm import composed_norm
from osan.nn.sharing import shared_rows
from osan.nn.stack import Stack
from osan.nn.view import View

WIDTH = 5


@pytest.fixture(autouse=True)
def double():
    """Double precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def batch_of(sizes, generator):
    """Random graphs with integer features of edges, some without edges."""
    graphs = []
    for size in sizes:
        ends = torch.randint(size, (2, int(torch.randint(2 * size + 1, (1,), generator=generator))))
        attributes = torch.randint(3, (ends.size(1), 1), generator=generator)
        graphs.append(Data(x=torch.zeros(size, 1).long(), edge_index=ends, edge_attr=attributes))
    return Batch.from_data_list(graphs)


def gradients(layer, h, view, weight, together, monkeypatch):
    """Result, gradients and running statistics of a layer, as one operation or in parts."""
    with monkeypatch.context() as patch:
        if not together:
            patch.setattr(stacks, "fused", lambda *given: None)
        leaves = [h, *([] if weight is None else [weight]), *layer.parameters()]
        for leaf in leaves:
            leaf.grad = None
        for name, buffer in layer.named_buffers():
            buffer.fill_(1.0 if name.endswith("var") else 0)
        out = layer(h, view)
        factor = torch.arange(out.numel()).view_as(out).sin()
        found = torch.autograd.grad((out * factor).sum(), leaves, allow_unused=True)
        return [out, *found, *(b.clone() for b in layer.buffers())]


def same(left, right):
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


OPTIONS = {
    "gin": {},
    "last": {"last_activation": False},
    "residual": {"residual": True, "train_eps": True, "hidden": 7},
    "gine": {"conv": "gine", "edge_encoder": lambda: EdgeMLP((3,), WIDTH), "train_eps": True},
}


@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=5),
    seed=st.integers(0, 10**6),
    option=st.sampled_from(sorted(OPTIONS)),
    weighted=st.booleans(),
    removed=st.booleans(),
)
def test_every_copy(sizes, seed, option, weighted, removed):
    """A row for each copy: with weights of edges, and removed copies that count 0."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    batch = batch_of(sizes, generator)
    stack = Stack(WIDTH, 1, **OPTIONS[option])
    view = stack.views(batch, bags.whole_graphs(batch))[0]
    rows = view.num_rows
    weight = torch.randint(2, (view.edge_index.size(1),)).double().requires_grad_() if weighted else None
    count = torch.randint(2, (rows,)).bool() if removed else None
    view = View(view.edge_index, view.group, view.num_groups, weight=weight, edges=view.edges, count=count)
    h = torch.randn(rows, WIDTH, requires_grad=True)
    with pytest.MonkeyPatch.context() as patch:
        both = [gradients(stack.layers[0], h, view, weight, way, patch) for way in (True, False)]
    # Norms of rows that are almost equal have huge gradients, whose rounding errors are as large.
    assume(all(each is None or bool((each.abs() < 1e4).all()) for each in both[0]))
    same(*both)


@pytest.mark.parametrize("option", sorted(OPTIONS))
@pytest.mark.parametrize("make", [partial(bags.all_subsets, k=1), bags.whole_graphs])
def test_shared_rows(option, make, monkeypatch):
    """Fewer rows in than out, and rows that stand for several copies."""
    torch.manual_seed(0)
    batch = batch_of([5, 6, 6, 4, 1], torch.Generator().manual_seed(3))
    stack = Stack(WIDTH, 3, **OPTIONS[option])
    shared = shared_rows(InitialFeatures(WIDTH), stack, batch, make(batch), most=9.0, least=1)
    h = torch.randn(len(shared.classes.first), WIDTH)
    for layer, view in zip(stack.layers, shared.views, strict=True):
        h = h.detach().requires_grad_()
        both = [gradients(layer, h, view, None, way, monkeypatch) for way in (True, False)]
        same(*both)
        h = both[0][0]


@pytest.mark.parametrize("option", sorted(OPTIONS))
@pytest.mark.parametrize("make", [partial(bags.all_subsets, k=1), bags.whole_graphs])
def test_evaluation(option, make, monkeypatch):
    """Running statistics, without gradients."""
    torch.manual_seed(0)
    batch = batch_of([5, 6, 6, 4, 1], torch.Generator().manual_seed(3))
    stack = Stack(WIDTH, 3, **OPTIONS[option]).eval()
    for name, buffer in stack.named_buffers():
        if "running" in name:
            buffer.uniform_(0.5, 1.5)
    shared = shared_rows(InitialFeatures(WIDTH), stack, batch, make(batch), most=9.0, least=1)
    h = torch.randn(len(shared.classes.first), WIDTH)
    with torch.no_grad():
        together = stack.run(h, shared.views)
        monkeypatch.setattr(stacks, "fused", lambda *given: None)
        same([together], [stack.run(h, shared.views)])


def test_gradients_of_gradients(monkeypatch):
    """With ``create_graph`` the layer is composed of ordinary operations."""
    torch.manual_seed(0)
    batch = batch_of([4, 5], torch.Generator().manual_seed(1))
    stack = Stack(3, 1, conv="gine", edge_encoder=lambda: EdgeMLP((3,), 3))
    view = stack.views(batch, bags.whole_graphs(batch))[0]
    h, seconds = torch.randn(view.num_rows, 3, requires_grad=True), []
    for way in (True, False):
        with monkeypatch.context() as patch:
            if not way:
                patch.setattr(stacks, "fused", lambda *given: None)
            out = stack.layers[0](h, view)
            (first,) = torch.autograd.grad(out.square().sum(), h, create_graph=True)
            seconds.append(torch.autograd.grad(first.square().sum(), [h, *stack.parameters()][:5]))
    same(*map(list, seconds))


def runs(layer, h, view, monkeypatch):
    """Whether the layer runs as one operation."""
    asked = []
    with monkeypatch.context() as patch:
        patch.setattr(stacks, "fused", lambda *given: asked.append(fused(*given)) or asked[-1])
        layer(h, view)
    return asked[-1] is not None


def test_where_parts_run_one_by_one(monkeypatch):
    """Hooks, other parts, evaluation and single rows."""
    batch = batch_of([4, 5], torch.Generator().manual_seed(1))
    view = Stack(WIDTH, 1).views(batch, bags.whole_graphs(batch))[0]
    h = torch.randn(view.num_rows, WIDTH)
    make, seen = partial(Stack, WIDTH, 1), []
    assert runs(make().layers[0], h, view, monkeypatch)
    assert not runs(make().eval().layers[0], h, view, monkeypatch)
    with torch.no_grad():
        assert runs(make().eval().layers[0], h, view, monkeypatch)
    assert not runs(make(norm=False).layers[0], h, view, monkeypatch)
    assert not runs(make(activation=torch.tanh).layers[0], h, view, monkeypatch)
    assert not runs(make(conv="gcn").layers[0], h, view, monkeypatch)
    for part in ("conv", "conv.nn", "conv.nn.linears.1", "conv.nn.norms.0", "norm"):
        layer = make().layers[0]
        layer.get_submodule(part).register_forward_hook(lambda *given: seen.append(1))
        assert not runs(layer, h, view, monkeypatch)
    assert len(seen) == 5
    layer = make().layers[0]
    layer.conv.nn.linears[0] = torch.nn.utils.parametrizations.weight_norm(Linear(WIDTH, WIDTH))
    assert not runs(layer, h, view, monkeypatch)
    alone = Data(num_nodes=1, edge_index=torch.empty(2, 0).long())
    single = Stack(WIDTH, 1).views(alone, bags.whole_graphs(alone))[0]
    assert not runs(make().layers[0], h[:1], single, monkeypatch)


@pytest.mark.parametrize("option", sorted(OPTIONS))
def test_ordinary_operations_take_shared_rows(option, monkeypatch):
    """What other devices run, on views in which a row stands for several copies."""
    torch.manual_seed(0)
    batch = batch_of([5, 6, 6, 4, 1], torch.Generator().manual_seed(3))
    stack = Stack(WIDTH, 3, **OPTIONS[option])
    bag = bags.all_subsets(batch, k=1)
    shared = shared_rows(InitialFeatures(WIDTH), stack, batch, bag, most=9.0, least=1)
    h = torch.randn(len(shared.classes.first), WIDTH)
    monkeypatch.setattr(stacks, "fused", lambda *given: None)
    expected = stack.run(h, shared.views)

    def ordinary(h, edge_index, *, feature=None, index=None, weight=None, own=0.0, row=None):
        return composed_sum(h, feature, weight, torch.as_tensor(own), edge_index, index, row)

    monkeypatch.setattr("osan.nn.layers.gin.sum_of_messages", ordinary)

    def norm(module, h, count=None, activation=None):
        out = composed_norm(h, module.weight, module.bias, count, module.eps, False)
        return out if activation is None else activation(out)

    monkeypatch.setattr("osan.nn.norm.normalized", norm)
    same([expected], [stack.run(h, shared.views)])
