"""Bags with gradients: the same numbers as without, and true derivatives in the weights."""

from dataclasses import replace

import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, SAGEConv
from torch_geometric.utils import from_networkx, subgraph

from osan import bags, nn
from osan.errors import OsanError
from osan.nn.encoders import EdgeMLP
from osan.nn.layers import PNA
from osan.nn.messages import sum_of_messages
from osan.nn.view import View

WIDTH = 6
DEGREES = torch.tensor([2, 3, 4, 3])
CONVS = {
    "gin": {"conv": "gin", "train_eps": True, "edge_encoder": None},
    "gine": {"conv": "gine"},
    "gcn": {"conv": "gcn", "edge_encoder": None},
    "pna": {"conv": "pna", "degrees": DEGREES},
    "sage": {"conv": lambda width: SAGEConv(width, width), "edge_encoder": None},
    "gat": {"conv": lambda width: GATConv(width, width)},
    "all": {"neighborhood": "all", "edge_encoder": None},
}


def make_batch():
    torch.manual_seed(0)
    graphs = [nx.cycle_graph(5), nx.star_graph(4), nx.empty_graph(2), nx.gnp_random_graph(6, 0.5, seed=2)]
    data = [from_networkx(g) for g in graphs]
    for d in data:
        d.x = torch.randint(0, 3, (d.num_nodes, 1))
        d.edge_attr = torch.randint(0, 3, (d.num_edges, 1))
        d.edge_index = d.edge_index if d.num_edges else torch.empty(2, 0, dtype=torch.long)
    return Batch.from_data_list(data)


BATCH = make_batch()


def make_choice(what, m=3, ordered=False):
    generator = torch.Generator().manual_seed(4)
    if what == "edge":
        edge, columns = bags.undirected_edges(BATCH.edge_index)
        return torch.randint(0, 2, (len(columns), m), generator=generator).double()[edge]
    choice = torch.randint(0, 2, (BATCH.num_nodes, m), generator=generator).double()
    if ordered:
        for g in range(BATCH.num_graphs):
            for i in range(m):
                inside = ((BATCH.batch == g) & (choice[:, i] != 0)).nonzero().flatten()
                ranks = 1 + torch.randperm(len(inside), generator=generator)
                choice[inside, i] = ranks.double()
    return choice


def make_model(**options):
    torch.manual_seed(1)
    base = {
        "vertex_encoder": nn.Categorical([3], WIDTH),
        "edge_encoder": lambda: EdgeMLP([3], WIDTH),
        "conv": "gine",
    }
    return nn.osan(WIDTH, 2, 2, **{**base, **options}).double()


def run(model, bag):
    """Prediction, parameter gradients and running statistics of one training step."""
    model.zero_grad(set_to_none=True)
    model.train()
    out = model(BATCH, bag)
    (out * torch.arange(out.numel()).view(out.shape).double().cos()).sum().backward()
    gradients = [p.grad for p in model.parameters()]
    return out, gradients, [b.clone() for b in model.buffers()]


def assert_same(first, second):
    for mine, theirs in zip(first, second, strict=True):
        if mine is None or theirs is None:
            assert mine is theirs or not bool((mine if theirs is None else theirs).any())
        else:
            assert torch.allclose(mine.double(), theirs.double(), rtol=0, atol=1e-10)


def check_same(options, **choice_options):
    what = choice_options.get("what", "vertex")
    choice = make_choice(what, ordered=choice_options.get("ordered", False))
    model = make_model(**options)
    state = {k: v.clone() for k, v in model.state_dict().items()}
    thin = run(model, bags.from_choice(BATCH, choice, **choice_options))
    model.load_state_dict(state)
    learned = choice.clone().requires_grad_()
    thick = run(model, bags.from_choice(BATCH, learned, **choice_options))
    assert torch.allclose(thin[0], thick[0], rtol=0, atol=1e-10)
    assert_same(thin[1], thick[1])
    assert_same(thin[2], thick[2])
    assert learned.grad is not None
    return learned.grad


@pytest.mark.parametrize(
    ("name", "what"),
    # The layer over all vertices looks at no edge.
    [(name, what) for name in CONVS for what in ("vertex", "edge") if (name, what) != ("all", "edge")],
)
def test_layers_give_the_same_numbers_with_gradients(name, what):
    assert bool((check_same(CONVS[name], what=what, operation="delete") != 0).any())


@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
@pytest.mark.parametrize("pool", ["sum", "mean", "max", "attention", "set2set"])
def test_pooling_gives_the_same_numbers_with_gradients(pool, aggregation):
    check_same({"sagg": pool, "readout": pool, "aggregation": aggregation})


@pytest.mark.parametrize("level", ["graph", "vertex"])
@pytest.mark.parametrize("deleted", ["masked", "isolated", "unpooled"])
@pytest.mark.parametrize("whole_graph", [False, True])
def test_every_way_to_delete_gives_the_same_numbers(deleted, whole_graph, level):
    check_same({"level": level}, deleted=deleted, whole_graph=whole_graph)


@pytest.mark.parametrize("rank", ["adjacency", "embedding"])
def test_ordered_choices_give_the_same_numbers(rank):
    check_same({"rank": rank, "num_ranks": 6}, ordered=True)


def test_marks_carry_gradients():
    grad = check_same({"atomic": "unordered"}, operation="mark")
    assert bool((grad != 0).all())
    check_same({"atomic": "unordered", "marked": True}, operation="mark")
    check_same({"edge_mark": True}, what="edge", operation="mark")


def test_dss_ignores_removed_copies():
    choice = make_choice("vertex")
    torch.manual_seed(1)
    model = nn.dss_network(WIDTH, 2, 2, vertex_encoder=nn.Categorical([3], WIDTH)).double()
    state = {k: v.clone() for k, v in model.state_dict().items()}
    thin = run(model, bags.from_choice(BATCH, choice))
    model.load_state_dict(state)
    thick = run(model, bags.from_choice(BATCH, choice.clone().requires_grad_()))
    assert torch.allclose(thin[0], thick[0], rtol=0, atol=1e-10)
    assert_same(thin[1], thick[1])


@pytest.mark.parametrize("conv", ["gin", "gine"])
@pytest.mark.parametrize("thick", [False, True])
def test_dss_on_a_vertex_that_no_subgraph_has_is_dss_on_the_graph_without_it(conv, thick):
    torch.manual_seed(1)
    options = {"vertex_encoder": nn.Categorical([3], WIDTH), "conv": conv}
    if conv == "gine":
        options["edge_encoder"] = lambda: EdgeMLP([3], WIDTH)
    model = nn.dss_network(WIDTH, 2, 2, **options).double()
    graph = BATCH[3]  # six vertices
    rest = torch.tensor([0, 1, 2, 3, 5])
    edge_index, edge_attr = subgraph(rest, graph.edge_index, graph.edge_attr, relabel_nodes=True)
    smaller = Data(x=graph.x[rest], edge_index=edge_index, edge_attr=edge_attr)
    choice = torch.tensor([[1.0, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]])
    choice = choice.double().requires_grad_(thick)
    found = model(graph, bags.from_choice(graph, choice))
    expected = model(smaller, bags.from_choice(smaller, choice.detach()[rest]))
    assert torch.allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["gin", "gine", "gcn", "pna", "all"])
def test_the_gradient_of_every_weight_is_a_derivative(name):
    """Central differences in the weights of copies and copied edges, removed ones included."""
    choice = make_choice("vertex")
    choice[BATCH.ptr[:-1]] = 1  # the mean over no vertex has no derivative
    bag = bags.from_choice(BATCH, choice.requires_grad_())
    model = make_model(**CONVS[name], norm=False, activation=torch.nn.functional.softplus).eval()
    weights = [bag.edge_weight.detach(), bag.weight.detach()]

    def value(edges, copies):
        out = model(BATCH, replace(bag, edge_weight=edges, weight=copies))
        return (out * torch.arange(out.numel()).view(out.shape).double().cos()).sum()

    variables = [w.clone().requires_grad_() for w in weights]
    found = torch.autograd.grad(value(*variables), variables, materialize_grads=True)
    assert bool((found[1][weights[1] == 0] != 0).any())
    assert name in ("all", "pna") or bool((found[0][weights[0] == 0] != 0).any())
    step = 1e-6
    for which, original in enumerate(weights):
        for i in range(0, original.numel(), 5):
            if name == "pna" and which == 0 and original[i] == 0:
                continue  # minimum and maximum jump there; see the next test
            values = []
            for sign in (1, -1):
                moved = [w.clone() for w in weights]
                moved[which][i] += sign * step
                values.append(value(*moved).item())
            difference = (values[0] - values[1]) / (2 * step)
            assert abs(found[which][i].item() - difference) < 1e-6 * max(1, abs(difference))


def test_pna_counts_weights():
    """Where they are smooth, the weighted aggregators have true derivatives at removed edges too."""
    torch.manual_seed(0)
    scalers = ["identity", "amplification", "attenuation", "linear", "inverse_linear"]
    conv = PNA(4, 4, ["mean", "sum", "std"], scalers, DEGREES).double()
    edge_index = torch.tensor([[0, 1, 2, 3, 0, 1], [3, 3, 3, 1, 1, 1]])
    weight = torch.tensor([1.0, 0.0, 1.0, 1.0, 1.0, 0.0], dtype=torch.double, requires_grad=True)
    h = torch.randn(4, 4, dtype=torch.double, requires_grad=True)
    group = torch.zeros(4).long()
    assert torch.autograd.gradcheck(lambda x, w: conv(x, View(edge_index, group, 1, weight=w)), (h, weight))
    kept = View(edge_index[:, weight.detach() != 0], group, 1)
    found = conv(h, View(edge_index, group, 1, weight=weight))
    assert torch.allclose(found, conv(h, kept), rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("featured", [False, True])
def test_sum_of_messages_against_plain_torch(featured, weighted, dtype):
    torch.manual_seed(0)
    edge_index = torch.randint(0, 7, (2, 20))
    h = torch.randn(7, 5, dtype=dtype, requires_grad=True)
    # By columns, not by rows, and every other one of many: strides of any kind.
    feature = torch.randn(5, 4, dtype=dtype).t().requires_grad_() if featured else None
    index = torch.randint(0, 4, (20,)) if featured else None
    weight = torch.rand(40, dtype=dtype)[::2].requires_grad_() if weighted else None
    own = torch.tensor([0.7], dtype=dtype, requires_grad=True)
    found = sum_of_messages(h, edge_index, feature=feature, index=index, weight=weight, own=own)
    message = h[edge_index[0]]
    message = torch.relu(message + feature[index]) if featured else message
    message = message * weight[:, None] if weighted else message
    expected = h * own + torch.zeros_like(h).index_add(0, edge_index[1], message)
    inputs = [t for t in (h, feature, weight, own) if t is not None]
    gradient = torch.randn(7, 5, dtype=dtype)
    mine = torch.autograd.grad(found, inputs, gradient)
    theirs = torch.autograd.grad(expected, inputs, gradient)
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    for a, b in zip((found, *mine), (expected, *theirs), strict=True):
        assert torch.allclose(a, b, rtol=0, atol=tolerance)


def test_sum_of_messages_elsewhere_takes_the_plain_way():
    """Half precision stands for other devices, which the compiled loop does not serve."""
    h = torch.tensor([[1.0], [10.0]], dtype=torch.bfloat16)
    out = sum_of_messages(
        h,
        torch.tensor([[0], [1]]),
        feature=torch.tensor([[-3.0]]).bfloat16(),
        index=torch.tensor([0]),
        own=1.0,
    )
    assert out.flatten().tolist() == [1.0, 10.0]


def test_marks_and_ranks_that_nobody_sees_are_refused():
    marked = bags.all_subsets(BATCH, 1, operation="mark")
    with pytest.raises(OsanError, match=r"bag.mark: expected no marks"):
        make_model()(BATCH, marked)
    ranked = bags.random_subsets(BATCH, 1, 2, generator=torch.Generator(), ordered=True)
    with pytest.raises(OsanError, match=r"bag.rank: expected no ranks"):
        make_model()(BATCH, ranked)
    edges = bags.all_edges(BATCH, 1, operation="mark")
    with pytest.raises(OsanError, match=r"bag.edge_mark: expected no edge marks"):
        make_model(conv="gin", edge_encoder=None)(BATCH, edges)
