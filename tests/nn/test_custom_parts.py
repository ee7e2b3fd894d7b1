"""Layers, encoders and precision that users bring along."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import ARMAConv, GATConv, GCNConv, GINConv, GINEConv, SAGEConv
from torch_geometric.nn.aggr import Aggregation

from osan import bags, nn
from osan.errors import OsanError
from osan.nn.layers import looks_at_edges
from osan.selection import Noise

WIDTH = 8


def some_batch() -> Batch:
    """A triangle with a tail, and a path."""
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for ends in ([(0, 1), (1, 2), (2, 0), (2, 3)], [(0, 1), (1, 2)]):
        arcs = torch.tensor(ends + [(v, u) for u, v in ends]).t()
        x = torch.randn(int(arcs.max()) + 1, 4, generator=generator)
        graphs.append(Data(x=x, edge_index=arcs, edge_attr=torch.randn(arcs.size(1), 3, generator=generator)))
    return Batch.from_data_list(graphs)


def network(conv="gin", **options):
    return nn.osan(WIDTH, 2, 1, vertex_encoder=nn.Numerical(4, WIDTH), conv=conv, **options)


@pytest.mark.parametrize(
    "conv",
    [
        lambda width: GATConv(width, width // 2, heads=2),
        lambda width: SAGEConv(width, width, aggr=["mean", "max"]),
        # Messages of shape [stacks, edges, width].
        lambda width: ARMAConv(width, width, num_stacks=3),
    ],
    ids=["gat", "sage", "arma"],
)
def test_layers_of_all_shapes_do_not_see_what_is_removed(conv):
    """With gradients removed copies stay with weight 0; the predictions are those of the smaller graphs."""
    batch = some_batch()
    torch.manual_seed(0)
    model = network(conv).eval()
    choice = torch.tensor([[1, 1, 0, 1, 1, 0, 1.0], [1, 1, 1, 0, 0, 1, 1]]).t().contiguous()
    plain = model(batch, bags.from_choice(batch, choice))
    choice.requires_grad_()
    learned = model(batch, bags.from_choice(batch, choice))
    assert torch.allclose(learned, plain, atol=1e-6)
    learned.sum().backward()
    assert choice.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: network(GATConv),
            "got GATConv, which cannot be called .*'out_channels'",
        ),
        (lambda: network(lambda width, more: GCNConv(width, width)), "cannot be called with .*'more'"),
        (lambda: network(lambda width: 1 / 0), "conv: <lambda> fails for the width 8 .ZeroDivisionError"),
        (lambda: network(readout=lambda width: 1 / 0), "pooling: .*<lambda>, which fails for 8 .ZeroDiv"),
        (lambda: network(GCNConv(WIDTH, WIDTH)), "got a GCNConv, but each layer"),
        (lambda: network(lambda width: width), "a function that returns int"),
        (lambda: network("gine", edge_encoder=nn.Numerical(3, WIDTH)), "edge_encoder: expected a function"),
        (
            lambda: network(edge_encoder=lambda: nn.Numerical(3, WIDTH)),
            "edge_encoder: no layer .*'gin'.*'gine'.* a layer with looks_at_edges = True",
        ),
        (
            lambda: network("gine", edge_encoder=lambda: nn.Numerical(3, WIDTH), neighborhood="all"),
            "edge_encoder: no layer .*neighborhood='all'",
        ),
    ],
)
def test_what_is_no_layer_is_refused_when_the_network_is_built(make, message):
    with pytest.raises(OsanError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: network(lambda width: GATConv(width, width, heads=2)),
            r"conv: expected GATConv to return shape \[14, 8\], \[rows, width\], got \[14, 16\]",
        ),
        (
            lambda: nn.osan(WIDTH, 2, 1, vertex_encoder=nn.Numerical(4, 5)),
            r"vertex_encoder: expected shape \[7, 8\] for features of shape \[7, 4\], got \[7, 5\]",
        ),
        (
            lambda: network("gine", edge_encoder=lambda: nn.Numerical(3, 5)),
            r"edge_encoder: expected shape \[\d+, 8\] .* got \[\d+, 5\]",
        ),
    ],
)
def test_widths_that_do_not_fit_are_named(make, message):
    batch = some_batch()
    with pytest.raises(OsanError, match=message):
        make()(batch, bags.from_choice(batch, torch.ones(7, 2)))


class Looking(torch.nn.Module):
    """Keeps the edge features that it is shown."""

    looks_at_edges = True

    def __init__(self, width):
        super().__init__()

    def forward(self, h, view):
        self.seen = None if view.edges is None else view.edges.full()
        return view.own(h)


def test_a_layer_that_looks_at_edges_sees_the_encoded_features_of_its_edges():
    batch = some_batch()
    model = network(Looking, edge_encoder=lambda: nn.Numerical(3, WIDTH))
    bag = bags.all_subsets(batch, 1)
    model(batch, bag)
    for layer in model.stack.layers:
        view = model.stack.views(batch, bag)[0]
        assert layer.conv.seen.shape == (view.edge_index.size(1), WIDTH)
        expected = layer.edge_encoder(batch.edge_attr)[bag.edge]
        assert torch.allclose(layer.conv.seen, expected)
    assert looks_at_edges(Looking, WIDTH)
    blind = type("Blind", (Looking,), {"looks_at_edges": False})
    assert not looks_at_edges(blind, WIDTH)


class ManyRows(torch.nn.Module):
    """A pooling that pools nothing."""

    def __init__(self, width):
        super().__init__()
        self.out_width = width

    def forward(self, rows, group, groups, weight=None):
        return rows


class ManyGroups(Aggregation):
    """An aggregation that does not look at the number of groups."""

    def forward(self, x, index=None, ptr=None, dim_size=None, dim=-2):
        return x[:1]


@pytest.mark.parametrize(
    ("pooling", "message"),
    [
        (
            ManyRows,
            r"pooling: expected ManyRows to return shape \[2, width\], a row for each group, got \[4, 8",
        ),
        (ManyGroups(), r"pooling: expected ManyGroups to return shape \[2, width\], .* got \[1, 8\]"),
    ],
)
def test_a_pooling_returns_a_row_for_each_group(pooling, message):
    with pytest.raises(OsanError, match=message):
        network(sagg=pooling)(some_batch(), bags.from_choice(some_batch(), torch.ones(7, 2)))


def test_a_checked_pooling_is_the_same_module():
    """With the same names of parameters, copied and stored as before."""
    pool = AttentionLike(WIDTH)
    assert nn.Pool(pool, WIDTH) is pool
    nn.Pool(pool, WIDTH)
    assert len(pool._forward_hooks) == 1
    assert list(pool.state_dict()) == ["gate.weight", "gate.bias"]
    copied = copy.deepcopy(pool)
    rows, group = torch.randn(5, WIDTH), torch.tensor([0, 0, 1, 1, 1])
    assert copied(rows, group, groups=2).equal(pool(rows, group, 2))


class AttentionLike(nn.pooling.AttentionPool):
    """A custom pooling with parameters."""


def test_an_upstream_network_that_returns_no_weights():
    class Two(torch.nn.Module):
        def forward(self, batch):
            return torch.zeros(batch.num_nodes, 2), None

    model = nn.DataDrivenOSAN(Two(), network(), "delete 1 vertex x 2")
    with pytest.raises(OsanError, match="upstream: expected Two to return a tensor of weights, got tuple"):
        model(some_batch())


def test_an_upstream_network_for_the_wrong_parts():
    upstream = nn.Upstream(count=2, width=WIDTH, vertex_encoder=nn.Numerical(4, WIDTH))
    model = nn.DataDrivenOSAN(upstream, network(), "delete 1 edge x 2")
    with pytest.raises(OsanError, match=r"weights of 12 edges .*, got weights of 7 vertices; .* edges=True"):
        model(some_batch())
    upstream = nn.Upstream(count=2, width=WIDTH, vertex_encoder=nn.Numerical(4, 3))
    with pytest.raises(OsanError, match=r"upstream: vertex_encoder: expected shape \[7, 8\]"):
        upstream(some_batch())


def test_samples_of_an_explanation():
    upstream = nn.Upstream(count=2, width=WIDTH)
    model = nn.DataDrivenOSAN(upstream, network(), "delete 1 vertex x 2")
    with pytest.raises(OsanError, match="samples: expected at least 1, got 0"):
        model.explain(some_batch(), samples=0)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize(
    "conv",
    [GINEConv(torch.nn.Linear(4, 4), edge_dim=3), GATConv(4, 4, edge_dim=3), GINEConv(torch.nn.Linear(4, 4))],
    ids=["gine", "gat", "gine without edge_dim"],
)
def test_plain_edge_features_of_copied_edges(conv, learned):
    """As on the union of the subgraphs, which PyG's layer runs on by itself."""
    batch = some_batch()
    attributes = batch.edge_attr
    if isinstance(conv, GINEConv) and conv.lin is None:
        attributes = torch.nn.functional.pad(attributes, (0, 1), value=0.5)  # as wide as the vertices
    choice = torch.tensor([[1, 1, 0, 1, 1, 0, 1.0], [1, 1, 1, 0, 0, 1, 1]]).t().contiguous()
    bag = bags.from_choice(batch, choice.requires_grad_(learned))
    thin = bags.from_choice(batch, choice.detach())
    found = nn.convolve(conv, batch.x[bag.vertex], bag, attributes[bag.edge])
    expected = conv(batch.x[thin.vertex], thin.edge_index, attributes[thin.edge])
    kept = torch.ones(bag.num_copies).bool() if bag.weight is None else bag.weight != 0
    assert torch.allclose(found[kept], expected, atol=1e-6)


def test_edge_features_that_do_not_fit_a_bag():
    batch = some_batch()
    bag = bags.all_subsets(batch, 1)
    conv = GINEConv(torch.nn.Linear(4, 4), edge_dim=3)
    with pytest.raises(OsanError, match=r"edges: expected shape \[\d+, d\].*bag.edge.*got \[12, 3\]"):
        nn.convolve(conv, batch.x[bag.vertex], bag, batch.edge_attr)
    with pytest.raises(OsanError, match=r"expected edge features for GINE.*batch.edge_attr\[bag.edge\]"):
        nn.convolve(conv, batch.x[bag.vertex], bag)


@pytest.mark.parametrize("options", [{"aggr": "max"}, {"aggr": "mean"}, {"flow": "target_to_source"}, {}])
def test_gin_layers_of_any_aggregation(options):
    """On the subgraphs as plain graphs PyG's own layer says what is right; some edges go one way only."""
    batch = some_batch()
    batch.edge_index = batch.edge_index[:, 2:]
    batch.edge_attr = batch.edge_attr[2:]
    bag = bags.all_subsets(batch, 1)
    conv = GINConv(torch.nn.Identity(), **options)
    expected = conv(batch.x[bag.vertex], bag.edge_index)
    assert torch.allclose(nn.convolve(conv, batch.x[bag.vertex], bag), expected)


def test_features_of_vertices_instead_of_copies_are_refused():
    batch = some_batch()
    bag = bags.all_subsets(batch, 1)
    with pytest.raises(OsanError, match=rf"h: expected {bag.num_copies} rows, one per copy"):
        nn.convolve(GINConv(torch.nn.Identity()), batch.x, bag)


def test_features_that_are_not_looked_at_are_said_once():
    batch = some_batch()
    for blind in (nn.osan(WIDTH, 2, 1), nn.nested_gnn(WIDTH, 1, 1, hops=1)):
        bag = bags.all_egos(batch, 1)
        with pytest.warns(
            UserWarning, match=r"batch.x of shape \[7, 4\] .* vertex_encoder=osan.nn.Numerical\(4, 8"
        ):
            blind(batch, bag)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            blind(batch, bag)
            network()(batch, bag)
    whole = Batch.from_data_list([Data(x=torch.zeros(2, 1).long(), edge_index=torch.tensor([[0], [1]]))])
    with pytest.warns(UserWarning, match=r"vertex_encoder=osan.nn.Categorical\(sizes, 8\)"):
        nn.k_osan(WIDTH, 1, 1, k=1)(whole)


@pytest.mark.parametrize("conv", ["gin", "gine", "gcn", "pna"])
@pytest.mark.parametrize("pool", ["mean", "max", "attention", "set2set"])
@pytest.mark.parametrize("norm", [True, False])
def test_mixed_precision(conv, pool, norm):
    """What Lightning's ``precision="bf16-mixed"`` does: the same up to the digits that bfloat16 has."""
    torch.manual_seed(0)
    edges = (lambda: nn.Numerical(3, WIDTH)) if conv in ("gine", "pna") else None
    downstream = network(
        conv,
        edge_encoder=edges,
        sagg=pool,
        readout=pool,
        norm=norm,
        **({"degrees": torch.tensor([0, 2, 2, 1])} if conv == "pna" else {}),
    )
    upstream = nn.Upstream(count=2, width=WIDTH, vertex_encoder=nn.Numerical(4, WIDTH))
    model = nn.DataDrivenOSAN(upstream, downstream, "delete 1 vertex x 2", noise=Noise("none"))
    batch = some_batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(batch)
        loss = out.objective(out.prediction.square().squeeze(1))
    loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    model.zero_grad()
    bag = bags.from_choice(batch, out.selected[0].choice.detach().requires_grad_())
    exact = downstream.eval()(batch, bag)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = downstream(batch, bag)
    assert rounded.dtype == torch.bfloat16
    assert torch.allclose(rounded.float(), exact, rtol=0.05, atol=0.05)
