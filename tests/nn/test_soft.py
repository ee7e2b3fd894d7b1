"""Weights and marks between 0 and 1, and gradients of gradients."""

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GINConv, SAGEConv

from osan import bags, nn
from osan.nn.encoders import EdgeMLP
from osan.nn.messages import sum_of_messages
from osan.nn.view import View

WIDTH = 6


def make_batch():
    torch.manual_seed(0)
    graphs = []
    for n, pairs in ((5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]), (3, [(0, 1), (1, 2)])):
        columns = pairs + [(v, u) for u, v in pairs]
        arcs = torch.tensor(columns, dtype=torch.long).t()
        edges = torch.randint(0, 2, (arcs.size(1), 1))
        graphs.append(Data(x=torch.randint(0, 3, (n, 1)), edge_index=arcs, edge_attr=edges))
    return Batch.from_data_list(graphs)


BATCH = make_batch()


def soft_bag(marks=False):
    """Two whole graphs of each, with weights strictly between 0 and 1, some 0 and some 1."""
    bag = bags.from_choice(BATCH, torch.ones(BATCH.num_nodes, 2))
    generator = torch.Generator().manual_seed(1)

    def values(size):
        some = torch.rand(size, generator=generator, dtype=torch.double)
        return torch.where(some < 0.2, 0.0, torch.where(some > 0.8, 1.0, some))

    bag = replace(bag, weight=values(bag.num_copies), edge_weight=values(bag.num_copied_edges))
    return replace(bag, mark=values(bag.num_copies)) if marks else bag


LAYERS = {
    "gin": {},
    "gine": {"conv": "gine", "edge_encoder": lambda: EdgeMLP([2], WIDTH)},
    "gcn": {"conv": "gcn"},
    "pna": {"conv": "pna", "degrees": torch.tensor([2, 3, 4])},
    "all": {"neighborhood": "all"},
    "marked": {"marked": True, "atomic": "unordered"},
    "sage": {"conv": lambda w: SAGEConv(w, w, aggr="sum")},
    "gat": {"conv": lambda w: GATConv(w, w)},
    "gin of PyG": {"conv": lambda w: GINConv(torch.nn.Linear(w, w))},
}


@pytest.mark.parametrize("name", LAYERS)
def test_soft_weights_have_true_derivatives(name):
    """Every layer is smooth in weights and marks other than 0, and so is what comes after it."""
    torch.manual_seed(0)
    model = nn.osan(
        WIDTH,
        2,
        1,
        vertex_encoder=nn.Categorical([3], WIDTH),
        norm=False,
        activation=torch.nn.functional.softplus,
        **LAYERS[name],
    ).double()
    bag = soft_bag(name == "marked")
    names = ["weight", "edge_weight", *(["mark"] if name == "marked" else [])]
    given = {each: getattr(bag, each).clone() for each in names}

    def value(values):
        return model(BATCH, replace(bag, **values)).sum()

    variables = {each: values.clone().requires_grad_() for each, values in given.items()}
    inputs = list(variables.values())
    found = torch.autograd.grad(value(variables), inputs, materialize_grads=True)
    step = 1e-6
    for (each, original), gradient in zip(given.items(), found, strict=True):
        inside = ((original > 0) & (original < 1)).nonzero().flatten().tolist()
        assert inside
        for i in inside[::3]:
            values = []
            for sign in (1, -1):
                moved = {key: tensor.clone() for key, tensor in given.items()}
                moved[each][i] += sign * step
                values.append(value(moved).item())
            difference = (values[0] - values[1]) / (2 * step)
            assert abs(gradient[i].item() - difference) < 1e-6 * max(1, abs(difference)), each


@pytest.mark.parametrize("name", ["gin", "gine", "gcn", "all", "gin of PyG"])
def test_a_layer_with_soft_weights_is_its_formula(name):
    torch.manual_seed(0)
    options = {key: value for key, value in LAYERS[name].items() if key != "atomic"}
    layer = nn.Stack(WIDTH, 1, norm=False, activation=torch.sin, **options).double().layers[0]
    bag = soft_bag()
    h = torch.randn(bag.num_copies, WIDTH, dtype=torch.double)
    view = nn.views(BATCH, bag, 1, edges=True)[0]
    found = layer(h, view)
    rows = []
    for v in range(bag.num_copies):
        into = [(e, int(u)) for e, (u, w) in enumerate(bag.edge_index.t().tolist()) if w == v]
        weights = bag.edge_weight.tolist()
        if name == "gcn":
            degree = [1.0] * bag.num_copies
            for e, (_, w) in enumerate(bag.edge_index.t().tolist()):
                degree[w] += weights[e]
            total = h[v] / degree[v]
            total = total + sum(weights[e] * h[u] / (degree[u] * degree[v]) ** 0.5 for e, u in into)
            rows.append(layer.conv.lin(total) + layer.conv.bias)
            continue
        total = h[v]
        if name == "all":
            same = [u for u in range(bag.num_copies) if bag.subgraph[u] == bag.subgraph[v]]
            total = total + sum(bag.weight[u] * h[u] for u in same)
            rows.append(layer.conv.mlp(total[None])[0])
            continue
        for e, u in into:
            message = h[u]
            if name == "gine":
                message = torch.relu(h[u] + layer.edge_encoder(BATCH.edge_attr[bag.edge[e]][None])[0])
            total = total + weights[e] * message
        inner = layer.conv.conv if name == "gin of PyG" else layer.conv
        rows.append(inner.nn(total[None])[0])
    assert torch.allclose(found, torch.sin(torch.stack(rows)), atol=1e-10)


def test_pools_with_soft_weights_are_their_formulas():
    torch.manual_seed(0)
    rows, group = torch.randn(9, 3), torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2])
    weight = torch.tensor([0.5, 0, 1, 0.25, 0.1, 1, 0, 0, 0])
    expected = {"sum": [], "mean": [], "max": [], "attention": []}
    attention = nn.Pool("attention", 3)
    for g in range(3):
        some = (group == g) & (weight != 0)
        scaled = rows[some] * weight[some, None]
        empty = not bool(some.any())
        expected["sum"].append(scaled.sum(0))
        expected["mean"].append(scaled.sum(0) if empty else scaled.sum(0) / weight[some].sum())
        expected["max"].append(torch.zeros(3) if empty else scaled.amax(0))
        terms = weight[some] * torch.exp(attention.gate(rows[some]).flatten())
        expected["attention"].append((rows[some] * (terms / terms.sum())[:, None]).sum(0))
    for name, each in expected.items():
        pool = attention if name == "attention" else nn.Pool(name, 3)
        assert torch.allclose(pool(rows, group, 3, weight), torch.stack(each), atol=1e-6), name
    # A row of weight 1/2 has half the share of a whole one in set2set: two halves are one.
    set2set = nn.Pool("set2set", 3)
    doubled = set2set(rows[[0, 0, 2]], torch.zeros(3).long(), 1, torch.tensor([0.5, 0.5, 1.0]))
    assert torch.allclose(doubled, set2set(rows[[0, 2]], torch.zeros(2).long(), 1), atol=1e-6)


def test_soft_marks_scale_the_mark_and_both_aggregations():
    torch.manual_seed(0)
    bag = soft_bag(marks=True)
    bag = replace(bag, weight=None, edge_weight=None)
    initial = nn.InitialFeatures(WIDTH, nn.Categorical([3], WIDTH), atomic="unordered").double()
    plain = initial.vertices(BATCH)[bag.vertex]
    assert torch.allclose(initial(BATCH, bag), plain + bag.mark[:, None] * initial.mark)
    conv = nn.Stack(WIDTH, 1, marked=True, norm=False).double().layers[0].conv
    h = torch.randn(bag.num_copies, WIDTH, dtype=torch.double)
    view = nn.views(BATCH, bag, 1)[0]
    of_edges = bag.mark[bag.edge_index[0]]
    parts = [
        layer(h, View(bag.edge_index, bag.subgraph, bag.num_subgraphs, weight=weight))
        for layer, weight in ((conv.marked, of_edges), (conv.unmarked, 1 - of_edges))
    ]
    assert torch.allclose(conv(h, view), parts[0] + parts[1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("featured", [False, True])
@pytest.mark.parametrize("continued", [False, True])
def test_sums_of_messages_have_gradients_of_gradients(featured, weighted, continued):
    torch.manual_seed(0)
    edge_index = torch.stack((torch.randint(0, 5, (9,)), torch.randint(0, 4, (9,))))
    index = torch.randint(0, 3, (9,)) if featured else None
    row = torch.tensor([2, 0, 0, 4]) if continued else None
    inputs = [torch.randn(5, 3), torch.randn(3, 3), torch.rand(9), torch.tensor([0.7])]
    used = [True, featured, weighted, True]
    given = [t.double().requires_grad_() for t, use in zip(inputs, used, strict=True) if use]

    def total(*tensors):
        rest = iter(tensors)
        h, feature, weight, own = (next(rest) if use else None for use in used)
        return sum_of_messages(h, edge_index, feature=feature, index=index, weight=weight, own=own, row=row)

    assert torch.autograd.gradcheck(total, given)
    assert torch.autograd.gradgradcheck(total, given)


@pytest.mark.parametrize("conv", ["gin", "gine"])
def test_a_gradient_penalty_has_a_gradient(conv):
    """As for forces: the loss holds the gradient of the prediction in the features of vertices."""
    torch.manual_seed(0)
    edges = {"edge_encoder": lambda: EdgeMLP([2], WIDTH)} if conv == "gine" else {}
    network = nn.osan(WIDTH, 2, 1, vertex_encoder=nn.Numerical(2, WIDTH), conv=conv, **edges).double()
    batch = BATCH.clone()
    batch.x = torch.randn(batch.num_nodes, 2, dtype=torch.double, requires_grad=True)
    bag = bags.all_subsets(batch, 1)
    weight = network.stack.layers[0].conv.nn.linears[0].weight

    def penalty(create):
        network.load_state_dict(state, strict=False)
        out = network(batch, bag).square().sum()
        (force,) = torch.autograd.grad(out, batch.x, create_graph=create)
        return force.square().sum()

    state = {key: value.clone() for key, value in network.state_dict().items() if "running" in key}
    (found,) = torch.autograd.grad(penalty(True), weight)
    for place in ((0, 0), (3, 2)):
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                weight[place] += sign * 1e-5
            values.append(penalty(False).item())
            with torch.no_grad():
                weight[place] -= sign * 1e-5
        difference = (values[0] - values[1]) / 2e-5
        assert abs(found[place].item() - difference) < 1e-5 * max(1, abs(difference))
