"""Networks from parts, parts by name, options that do not exist, and the architectures by name."""

import sys

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import SAGEConv, aggr

from osan import bags, nn
from osan.errors import OsanError
from osan.nn.encoders import EdgeMLP

WIDTH = 8


def make_batch():
    torch.manual_seed(0)
    graphs = []
    for n, pairs in ((5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]), (3, [(0, 1), (1, 2)]), (1, [])):
        columns = pairs + [(v, u) for u, v in pairs]
        arcs = torch.tensor(columns, dtype=torch.long).reshape(-1, 2).t()
        edges = torch.randint(0, 2, (arcs.size(1), 1))
        graphs.append(Data(x=torch.randint(0, 3, (n, 1)), edge_index=arcs, edge_attr=edges))
    return Batch.from_data_list(graphs)


BATCH = make_batch()


def encoder():
    return nn.Categorical([3], WIDTH)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.osan(16, 2, 1, readot="sum"), "readot: unknown option; did you mean 'readout'?"),
        (lambda: nn.osan(16, 2, 1, edge_encode=None), "edge_encode: unknown option; did you mean 'edge_enc"),
        (lambda: nn.Stack(16, 2, residal=True), "residal: unknown option; did you mean 'residual'"),
        (lambda: nn.k_osan(16, 2, 1, k=1, droput=0.1), "droput: unknown option; did you mean 'dropout'"),
        (lambda: nn.nested_gnn(16, 2, 1, hops=1, sagg="sum"), "sagg: unknown option of nested_gnn; expected"),
        (lambda: nn.dss_network(16, 2, 1, shar="sum"), "shar: unknown option; did you mean 'share'"),
        (lambda: nn.dss_gnn(16, 2, 1, policy="ego", hop=1), "hop: unknown option; did you mean 'hops'"),
        (lambda: nn.paper_network("exp", 1, vertex_features=3, droput=0.1), "did you mean 'dropout'"),
        (lambda: nn.k_osan(16, 2, 1), "k_osan: missing a required argument: 'k'"),
        (lambda: nn.marked_gnn(16, 2, 1, k=1, marked=False), "marked: marked_gnn sets this option itself"),
        (lambda: nn.osan(16, 2, 1, conv="ginn"), "conv: expected 'gin', .*, got 'ginn'; did you mean 'gin"),
        (lambda: nn.osan(16, 2, 1, conv="no_such:Layer"), "conv: cannot import 'no_such:Layer'"),
        (lambda: nn.Pool("men", 8), "pooling: expected 'sum', .* got 'men'; did you mean 'mean'"),
        (lambda: nn.Pool(3, 8), "pooling: expected a name, a module or a function"),
        (lambda: nn.Pool(torch.nn.Linear(8, 8), 8), "pooling: Linear fails on two rows of width 8"),
        (lambda: nn.osan(16, 2, 1, vertex_encoder=3), "vertex_encoder: expected a module or a function"),
    ],
)
def test_wrong_options_name_what_was_meant(make, message):
    with pytest.raises(OsanError, match=message):
        make()


def test_a_network_from_parts_is_the_one_that_options_make():
    torch.manual_seed(0)
    whole = nn.osan(WIDTH, 2, 3, vertex_encoder=encoder(), sagg="sum", readout="max")
    torch.manual_seed(0)
    parts = nn.OSAN(
        nn.InitialFeatures(WIDTH, encoder()),
        nn.Stack(WIDTH, 2),
        nn.Pool("max", WIDTH),
        nn.Pool("sum", WIDTH),
        phi=nn.MLP([WIDTH, WIDTH, WIDTH]),
        head=nn.MLP([WIDTH, 3]),
    )
    bag = bags.all_subsets(BATCH, 1)
    assert whole.state_dict().keys() == parts.state_dict().keys()
    assert whole(BATCH, bag).equal(parts(BATCH, bag))
    assert whole.width == WIDTH
    with pytest.raises(OsanError, match="outer: expected a second pooling for level='graph'"):
        nn.OSAN(parts.initial, parts.stack, parts.inner, None, parts.head)
    with pytest.raises(OsanError, match="outer: expected None, since vertices are pooled once"):
        nn.OSAN(
            parts.initial,
            parts.stack,
            parts.inner,
            parts.outer,
            parts.head,
            aggregation="per-vertex",
            level="vertex",
        )


def test_the_keys_of_stored_networks():
    network = nn.paper_network("qm9", 1, vertex_features=[3], edge_features=[2], width=WIDTH, layers=1)
    assert set(network.state_dict()) == {
        "initial.vertex_encoder.embeddings.0.weight",
        "stack.layers.0.conv.eps",
        *(f"stack.layers.0.conv.nn.linears.{i}.{kind}" for i in (0, 1) for kind in ("weight", "bias")),
        *(
            f"stack.layers.0.{norm}.{kind}"
            for norm in ("conv.nn.norms.0", "norm")
            for kind in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
        ),
        "stack.layers.0.edge_encoder.first.embeddings.0.weight",
        *(f"stack.layers.0.edge_encoder.second.linears.0.{kind}" for kind in ("weight", "bias")),
        *(f"inner.set2set.lstm.{kind}_l0" for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")),
        *(f"head.linears.{i}.{kind}" for i in (0, 1) for kind in ("weight", "bias")),
    }


def test_marks_of_edges_are_learned_on_request():
    edges = {"conv": "gine", "edge_encoder": lambda: EdgeMLP([2], WIDTH)}
    bag = bags.all_edges(BATCH, 1, operation="mark")
    with pytest.raises(OsanError, match=r"bag.edge_mark: expected no edge marks.*edge_mark=True"):
        nn.osan(WIDTH, 2, 1, vertex_encoder=encoder(), **edges)(BATCH, bag)
    network = nn.osan(WIDTH, 2, 1, vertex_encoder=encoder(), edge_mark=True, **edges)
    network(BATCH, bag).sum().backward()
    assert all(bool(p.grad.any()) for name, p in network.named_parameters() if "edge_mark" in name)
    plain = nn.osan(WIDTH, 2, 1, vertex_encoder=encoder(), **edges)
    plain(BATCH, bags.all_subsets(BATCH, 1)).sum().backward()
    assert all(p.grad is not None for p in plain.parameters())


AGGREGATIONS = {
    "median": aggr.MedianAggregation,
    "several": lambda: aggr.MultiAggregation(["mean", "max", "std"]),
    "softmax": lambda: aggr.SoftmaxAggregation(learn=True),
    "set2set": lambda: aggr.Set2Set(WIDTH, 3),
    "sets": lambda: aggr.DeepSetsAggregation(torch.nn.Linear(WIDTH, 5), torch.nn.Linear(5, 4)),
}


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_aggregations_of_pyg_pool_what_is_there(name):
    torch.manual_seed(0)
    pool = nn.Pool(AGGREGATIONS[name](), WIDTH).eval()
    rows, group = torch.randn(12, WIDTH), torch.randint(0, 4, (12,))
    group[group == 2] = 1
    weight = torch.tensor([0, 1, 0.5] * 4)
    found = pool(rows, group, 5, weight)
    assert found.shape == (5, pool.out_width)
    for g in (0, 1, 3):
        some = ((group == g) & (weight != 0)).nonzero().flatten()
        alone = pool.aggregation(rows[some] * weight[some, None], torch.zeros_like(some), dim_size=1)
        assert torch.allclose(found[g], alone[0], atol=1e-6)


@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
@pytest.mark.parametrize("name", AGGREGATIONS)
def test_networks_with_aggregations_of_pyg(name, aggregation):
    torch.manual_seed(0)
    options = {"sagg": lambda width: aggr.MedianAggregation(), "readout": AGGREGATIONS[name]()}
    network = nn.osan(WIDTH, 2, 1, vertex_encoder=encoder, aggregation=aggregation, **options)
    choice = torch.randint(0, 2, (BATCH.num_nodes, 3)).float()
    thin = network(BATCH, bags.from_choice(BATCH, choice))
    thick = network(BATCH, bags.from_choice(BATCH, choice.requires_grad_()))
    assert torch.allclose(thin, thick, atol=1e-5)
    thick.sum().backward()
    assert choice.grad.abs().sum() > 0


CUSTOM = """
import torch
from osan import nn

class Spread(torch.nn.Module):
    def forward(self, rows, group, groups, weight=None):
        mean = nn.Pool("mean", rows.size(1))
        center = mean(rows, group, groups, weight)
        return torch.cat((center, mean((rows - center[group]) ** 2, group, groups, weight)), 1)

def spread(width):
    return Spread()

class Double(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
    def forward(self, h, view):
        source, target = view.edge_index
        weight = torch.ones(len(source)) if view.weight is None else view.weight
        messages = torch.zeros(view.num_rows, h.size(1)).index_add(0, target, weight[:, None] * h[source])
        return self.linear(view.own(h) + 2 * messages)
"""


def test_layers_and_pooling_from_a_file(tmp_path, monkeypatch):
    (tmp_path / "custom_parts_of_nn.py").write_text(CUSTOM)
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    try:
        network = nn.osan(
            WIDTH,
            2,
            1,
            vertex_encoder=encoder,
            conv="custom_parts_of_nn:Double",
            readout="custom_parts_of_nn:spread",
        )
    finally:
        sys.modules.pop("custom_parts_of_nn", None)
    assert network.inner.out_width == 2 * WIDTH
    choice = torch.randint(0, 2, (BATCH.num_nodes, 3)).float()
    thin = network(BATCH, bags.from_choice(BATCH, choice))
    thick = network(BATCH, bags.from_choice(BATCH, choice.requires_grad_()))
    assert torch.allclose(thin, thick, atol=1e-5)
    thick.sum().backward()
    assert choice.grad.abs().sum() > 0


OWN = {
    "osan": {},
    "k-osan": {"k": 1, "aggregation": "per-subgraph"},
    "marked": {"k": 1, "alongside": True},
    "sswl": {"aggregation": "per-subgraph"},
    "dropout": {"m": 3, "p": 0.2},
    "reconstruction": {"k": 3},
    "identity": {"hops": 2},
    "nested": {"hops": 1},
    "kernel": {"hops": 1, "starts": 2},
    "ds": {},
    "dss": {"share": "sum"},
    "few-marks": {},
    "few-marks-500k": {},
}


@pytest.mark.parametrize("level", ["graph", "vertex"])
@pytest.mark.parametrize("name", nn.ARCHITECTURES)
def test_every_architecture_takes_the_same_arguments(name, level):
    torch.manual_seed(0)
    model = nn.ARCHITECTURES[name](
        WIDTH,
        2,
        3,
        vertex_encoder=encoder,
        edge_encoder=lambda: EdgeMLP([2], WIDTH),
        conv="gine",
        readout="sum",
        norm=False,
        dropout=0.1,
        residual=True,
        head=2,
        level=level,
        **OWN[name],
    )
    assert model.width == WIDTH
    assert nn.brings_bags(model) == (name not in ("osan", "ds", "dss", "few-marks", "few-marks-500k"))
    model = model if nn.brings_bags(model) else nn.FixedBags(bags.whole_graphs, model)
    out = model(BATCH)
    assert out.prediction.shape == ((9, 3) if level == "vertex" else (3, 3))
    assert not model.learns
    assert out.weights is None
    assert out.bag.num_graphs == 3
    losses = out.prediction.square().sum(1)
    if level == "vertex":
        losses = torch.zeros(3).index_add(0, BATCH.batch, losses)
    assert torch.allclose(out.objective(losses), losses.mean())
    out.objective(losses).backward()
    assert any(bool(p.grad.any()) for p in model.parameters())


def test_encoders_are_modules_or_functions():
    torch.manual_seed(0)
    one = nn.osan(WIDTH, 1, 1, vertex_encoder=encoder())
    torch.manual_seed(0)
    other = nn.osan(WIDTH, 1, 1, vertex_encoder=encoder)
    assert all(a.equal(b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    upstream = nn.Upstream(
        2, WIDTH, edges=True, vertex_encoder=encoder, edge_encoder=lambda: nn.Categorical([2], WIDTH)
    )
    assert upstream(BATCH).shape == (BATCH.num_edges, 2)


def test_a_custom_layer_may_look_at_edges():
    from osan.nn.layers import looks_at_edges

    before = torch.random.get_rng_state()
    assert [looks_at_edges(name, WIDTH) for name in ("gin", "gine", "gcn", "pna")] == [
        False,
        True,
        False,
        True,
    ]
    assert not looks_at_edges(lambda width: SAGEConv(width, width), WIDTH)
    assert before.equal(torch.random.get_rng_state())
