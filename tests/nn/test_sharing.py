"""Exact sharing: the same predictions and gradients as with a row for every copy."""

from functools import partial

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import Phase, given, settings
from torch.nn import BatchNorm1d, Linear, Sequential
from torch_geometric.data import Batch, Data
from torch_geometric.nn import ChebConv, GATv2Conv, GINConv, SAGEConv
from torch_geometric.nn.aggr import MedianAggregation, SortAggregation

from osan import bags, nn
from osan.colors import signatures
from osan.data import flatten
from osan.nn.encoders import EdgeMLP, encoder
from osan.nn.sharing import shared_rows

WIDTH = 6


def graph(size, arcs, kinds=2, directed=False):
    """A graph with integer features; arcs may be loops, repeated, or missing."""
    ends = torch.tensor(arcs, dtype=torch.long).reshape(-1, 2).T
    attributes = (ends[0] + ends[1]) % 3
    if not directed:
        proper = ends[0] != ends[1]
        ends = torch.cat((ends, ends[:, proper].flip(0)), dim=1)
        attributes = torch.cat((attributes, attributes[proper]))
    return Data(x=(torch.arange(size) % kinds)[:, None], edge_index=ends, edge_attr=attributes[:, None])


PATH = [(0, 1), (1, 2), (2, 3)]
# A path, a cycle with a loop and a parallel edge, an isolated vertex beside an edge, and a single vertex.
BATCH = Batch.from_data_list(
    [
        graph(4, PATH),
        graph(6, [(i, (i + 1) % 6) for i in range(6)] + [(2, 2), (0, 1)]),
        graph(3, [(0, 1)]),
        graph(1, []),
        graph(5, [(0, 1), (1, 2), (2, 0), (3, 4)], kinds=1),
    ]
)
BAGS = {
    "deleted": partial(bags.all_subsets, k=1),
    "isolated": partial(bags.all_subsets, k=1, deleted="isolated"),
    "unpooled": partial(bags.all_subsets, k=1, deleted="unpooled"),
    "selected": partial(bags.all_subsets, k=2, operation="select"),
    "edges": partial(bags.all_edges, whole_graph=True),
    "whole": bags.whole_graphs,
}
MARKED = {
    "marked": partial(bags.all_subsets, k=1, operation="mark"),
    "ego+": partial(bags.all_egos, hops=1, mark_center=True, whole_graph=True),
}
EDGES = {"edge_encoder": partial(EdgeMLP, (3,), WIDTH)}
LAYERS = {
    "gin": {},
    "residual": {"residual": True, "train_eps": True, "activation": torch.nn.functional.silu},
    "gine": {"conv": "gine", **EDGES},
    "gcn": {"conv": "gcn"},
    "pna": {"conv": "pna", "degrees": torch.tensor([1, 4, 4, 1]), **EDGES},
    "all": {"neighborhood": ["edges", "all", "edges"]},
    "custom": {"conv": lambda w: GINConv(Sequential(Linear(w, w), BatchNorm1d(w)))},
    "sage": {"conv": lambda w: SAGEConv(w, w, aggr="max")},
    "gat": {"conv": lambda w: GATv2Conv(w, w, edge_dim=w), **EDGES},
}


def network(make=nn.osan, out=2, **options):
    torch.manual_seed(3)
    return make(WIDTH, 3, out, vertex_encoder=encoder((2,), WIDTH), **options).double()


def found(model, batch, bag, sharing):
    """Outputs and gradients in training mode, the state of batch norms, and outputs in evaluation mode."""
    nn.set_sharing(model, sharing)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.train().zero_grad()
    out = model(batch, bag)
    weights = torch.linspace(-1, 2, out.numel(), dtype=out.dtype).view_as(out)
    (out * weights + out.sin()).sum().backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    state = [value.clone().double() for value in model.buffers()]
    with torch.no_grad():
        quiet = model.eval()(batch, bag)
    model.load_state_dict(before)
    return [out.detach(), quiet, *state, *grads]


def assert_equal(model, batch, bag, shares=True, tolerance=1e-10):
    torch.set_default_dtype(torch.float64)
    try:
        if shares is not None and hasattr(model, "stack"):
            assert (shared_rows(model.initial, model.stack, batch, bag) is not None) == shares
        one, other = (found(model, batch, bag, sharing) for sharing in ("auto", "off"))
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.fixture(autouse=True)
def _everywhere(monkeypatch):
    """Share also where little is gained."""
    monkeypatch.setattr("osan.nn.sharing.MOST", 1.0)
    monkeypatch.setattr("osan.nn.sharing.LEAST", 0)


@pytest.mark.parametrize("kind", BAGS)
@pytest.mark.parametrize("layer", LAYERS)
def test_layers(layer, kind):
    assert_equal(network(**LAYERS[layer]), BATCH, BAGS[kind](BATCH))


@pytest.mark.parametrize("kind", MARKED)
@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("atomic", ["unordered", "distance"])
def test_marks(kind, marked, atomic):
    options = {"atomic": atomic, "marked": marked, "conv": "gine", **EDGES}
    assert_equal(network(**options), BATCH, MARKED[kind](BATCH))


@pytest.mark.parametrize("pool", ["sum", "max", "attention", "set2set"])
@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
def test_pooling(pool, aggregation):
    options = {"sagg": pool, "readout": pool, "aggregation": aggregation}
    assert_equal(network(**options), BATCH, BAGS["deleted"](BATCH))
    assert_equal(network(**options), BATCH, BAGS["unpooled"](BATCH))


def test_pooling_in_order():
    """An aggregation that may look at the order of rows gets one row for every copy, in order."""
    assert_equal(network(readout=SortAggregation(k=2)), BATCH, BAGS["deleted"](BATCH))
    assert_equal(network(readout=MedianAggregation()), BATCH, BAGS["unpooled"](BATCH))


@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
@pytest.mark.parametrize("level", ["vertex", "graph"])
def test_levels(level, aggregation):
    options = {"level": level, "aggregation": aggregation, "alongside": True}
    assert_equal(network(**options), BATCH, BAGS["deleted"](BATCH))


def test_ordered():
    assert_equal(network(atomic="ordered", k=2), BATCH, bags.all_tuples(BATCH, 2))
    bag = bags.random_tuples(BATCH, 2, 3, operation="select", generator=torch.Generator().manual_seed(0))
    for rank in ("adjacency", "embedding"):
        assert_equal(network(rank=rank, num_ranks=2), BATCH, bag)


@pytest.mark.parametrize("kind", BAGS)
@pytest.mark.parametrize("options", [{}, {"residual": True, "conv": "gine", "share": "max", **EDGES}])
def test_dss(kind, options):
    shares = kind != "unpooled"
    assert_equal(network(nn.dss_network, **options), BATCH, BAGS[kind](BATCH), shares=shares)


def test_edge_marks():
    bag = bags.all_edges(BATCH, operation="mark")
    assert_equal(network(conv="gine", edge_mark=True, **EDGES), BATCH, bag)


def test_choices_without_gradients():
    choice = (torch.rand(BATCH.num_nodes, 3, generator=torch.Generator().manual_seed(0)) > 0.3).double()
    for removed in (True, False):
        bag = bags.from_choice(BATCH, choice, keep_removed=removed)
        assert_equal(network(), BATCH, bag)


def test_real_features():
    batch = BATCH.clone()
    batch.x, batch.edge_attr = torch.randn(batch.num_nodes, 2), torch.randn(batch.num_edges, 2)
    torch.manual_seed(0)
    model = nn.osan(
        WIDTH, 3, 2, vertex_encoder=encoder(2, WIDTH), conv="gine", edge_encoder=partial(EdgeMLP, 2, WIDTH)
    ).double()
    batch.x, batch.edge_attr = batch.x.double(), batch.edge_attr.double()
    assert_equal(model, batch, bags.all_subsets(batch, 1))


def test_single_precision():
    model = network().float()
    bag = bags.all_subsets(BATCH, 1)
    one, other = (found(model, BATCH, bag, sharing) for sharing in ("auto", "off"))
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


@settings(deadline=None, max_examples=15, phases=[Phase.generate])
@given(
    data=st.data(), name=st.sampled_from(["gin", "gine", "gcn", "all"]), kind=st.sampled_from(sorted(BAGS))
)
def test_random_graphs(data, name, kind):
    graphs = []
    for _ in range(data.draw(st.integers(1, 3))):
        size = data.draw(st.integers(1, 6))
        ends = st.tuples(*[st.integers(0, size - 1)] * 2)
        graphs.append(graph(size, data.draw(st.lists(ends, max_size=8)), directed=kind != "edges"))
    batch = Batch.from_data_list(graphs)
    # Without norms: the variance of two rows can be so small that it magnifies rounding a million times.
    assert_equal(network(**LAYERS[name], norm=False), batch, BAGS[kind](batch), shares=None)


def test_empty_bag():
    bag = bags.random_dropout(BATCH, p=1.0, m=2)
    assert bag.num_copies == 0
    assert_equal(network(), BATCH, bag, shares=False)


def test_where_copies_differ():
    bag = bags.all_subsets(BATCH, 1)

    def shares(model, bag=bag, batch=BATCH):
        return shared_rows(model.initial, model.stack, batch, bag, most=1.0) is not None

    assert shares(network())
    dropping = network(dropout=0.5)
    assert not shares(dropping)
    assert shares(dropping.eval())
    assert shares(network(dropout=0.5, shared_dropout=True))
    assert not shares(network(activation=lambda h: h / h.sum()))
    assert not shares(network(conv=lambda w: ChebConv(w, w, 2)))
    assert not shares(network(conv=lambda w: SAGEConv(w, w, aggr="lstm")))
    assert not shares(network(), bags.from_choice(BATCH, torch.full((BATCH.num_nodes, 1), 0.5)))
    choice = torch.ones(BATCH.num_nodes, 1, requires_grad=True)
    assert not shares(network(), bags.from_choice(BATCH, choice))


def test_it_gives_up():
    bag = bags.all_subsets(BATCH, 1)
    model = network()
    assert shared_rows(model.initial, model.stack, BATCH, bag, most=0.1) is None
    classes = bags.share(BATCH, bag, 3)
    assert classes is not None
    assert max(classes.num_rows) < bag.num_copies


@pytest.mark.parametrize("bits", [64, 2])
def test_classes_by_definition(bits, monkeypatch):
    """Classes against nested multisets of features; equal hashes never decide."""
    monkeypatch.setattr(signatures, "HASH_MASK", signatures.np.uint64(2**bits - 1))
    bag = bags.all_subsets(BATCH, 1, deleted="isolated")
    incoming = [[] for _ in range(bag.num_copies)]
    for (u, v), e in zip(bag.edge_index.T.tolist(), bag.edge.tolist(), strict=True):
        incoming[v].append((u, int(BATCH.edge_attr[e])))
    color = [(int(BATCH.x[v]),) for v in bag.vertex]
    for layers in range(4):
        classes = bags.share(BATCH, bag, layers)
        of = classes.of.tolist()
        assert len(set(zip(of, color, strict=True))) == len(set(of)) == len(set(color))
        color = [(color[i], tuple(sorted((k, color[u]) for u, k in incoming[i]))) for i in range(len(color))]


@pytest.mark.parametrize(("most", "least"), [(1.0, 0), (0.0, 10**6)])
def test_shared_dropout(most, least, monkeypatch):
    """One mask for each class: copies that are equal stay equal, also where it saves nothing."""
    monkeypatch.setattr("osan.nn.sharing.MOST", most)
    monkeypatch.setattr("osan.nn.sharing.LEAST", least)
    cycle = Batch.from_data_list([graph(6, [(i, (i + 1) % 6) for i in range(6)], kinds=1)])
    bag = bags.all_subsets(cycle, 1, operation="mark")
    options = {"atomic": "unordered", "norm": False, "dropout": 0.5, "readout": "max", "between": 0}
    model = network(sagg=MedianAggregation(), shared_dropout=True, **options)
    largest = network(sagg="max", shared_dropout=True, **options)
    torch.manual_seed(0)
    median = model.train()(cycle, bag)
    torch.manual_seed(0)
    # All marked cycles are alike, so they share all masks: the median over subgraphs is the maximum.
    torch.testing.assert_close(median, largest.train()(cycle, bag))
    apart = network(sagg=MedianAggregation(), **options).train()(cycle, bag)
    assert not torch.allclose(apart, network(sagg="max", **options).train()(cycle, bag))


@pytest.mark.parametrize(
    "policy",
    ["delete 1 vertex x 3", "mark 1 vertex x 2", "select 2 vertices ordered x 2", "delete 1 edge x 3"],
)
@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
def test_samples_of_evaluation(policy, aggregation):
    """All samples together, or one after the other."""
    options = {"atomic": "unordered"} if "mark" in policy else {}
    options |= {"rank": "adjacency", "num_ranks": 6} if "ordered" in policy else {}
    downstream = network(aggregation=aggregation, alongside=True, **options).float()
    model = nn.DataDrivenOSAN(
        nn.Upstream(int(policy[-1]), WIDTH, edges="edge" in policy),
        downstream,
        policy,
        samples=4,
        whole_graph="mark" in policy,
    )
    out = {}
    for sharing in ("auto", "off"):
        nn.set_sharing(model, sharing)
        out[sharing] = model.eval()(BATCH)
    torch.testing.assert_close(out["auto"].each, out["off"].each, atol=1e-5, rtol=1e-5)
    for one, other in zip(out["auto"].bags, out["off"].bags, strict=True):
        assert one.vertex.equal(other.vertex)
        assert one.edge_index.equal(other.edge_index)


def test_few_copies_of_samples_are_computed_together(monkeypatch):
    """Even where no rows are shared."""
    monkeypatch.setattr("osan.nn.sharing.LEAST", 10**6)
    test_samples_of_evaluation("delete 1 vertex x 3", "per-vertex")
    test_samples_of_evaluation("mark 1 vertex x 2", "per-subgraph")


def test_layers_across_subgraphs_keep_samples_apart():
    downstream = network(nn.dss_network).float()
    model = nn.DataDrivenOSAN(None, downstream, "delete 1 vertex x 2", estimator="random", samples=3).eval()
    together = model(BATCH).each
    nn.set_sharing(model, "off")
    torch.testing.assert_close(together, model(BATCH).each, atol=1e-5, rtol=1e-5)


def test_only_in_training_do_copies_have_gradients():
    """I-MLE needs the gradient of every copy, random choices do not."""
    bags_of = {}
    for estimator in ("imle", "random"):
        downstream = network().float()
        upstream = nn.Upstream(2, WIDTH)
        model = nn.DataDrivenOSAN(upstream, downstream, "delete 1 vertex x 2", estimator=estimator)
        bags_of[estimator] = model(BATCH).bag
    model = network().float()
    assert shared_rows(model.initial, model.stack, BATCH, bags_of["imle"]) is None
    assert shared_rows(model.initial, model.stack, BATCH, bags_of["random"]) is not None


@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
@pytest.mark.parametrize("layer", ["gin", "gine", "gcn", "pna", "residual"])
def test_cache_of_classes(layer, aggregation):
    """Batches of a dataset whose classes are known, against those of a model without a cache."""
    graphs = flatten([data for data in BATCH.to_data_list() for _ in range(2)])
    make = partial(bags.all_subsets, k=1, operation="mark")
    options = {"atomic": "unordered", "aggregation": aggregation, "alongside": True, **LAYERS[layer]}
    model = nn.FixedBags(make, network(**options))
    assert nn.remember(model, graphs) is None
    batch = graphs.batch(torch.tensor([5, 0, 8, 3, 6]))
    out = model(batch)
    torch.testing.assert_close(out.prediction, model.network(batch, make(batch)), atol=1e-10, rtol=1e-10)
    assert out.num_graphs == 5
    assert out.bag.num_subgraphs == batch.num_nodes
    out.prediction.sum().backward()
    known = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    nn.set_sharing(model, "off")
    model(batch).prediction.sum().backward()
    for a, b in zip(known, [p.grad for p in model.parameters() if p.grad is not None], strict=True):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-10)


def test_cache_knows_its_graphs():
    graphs = flatten(BATCH.to_data_list())
    model = nn.ds_gnn(WIDTH, 2, 1, policy="vertex-deleted", vertex_encoder=encoder((2,), WIDTH))
    assert nn.remember(model, graphs[:3]) is None
    assert model.cache.rows(graphs.batch(torch.tensor([0, 2]))) is not None
    assert model.cache.rows(graphs.batch(torch.tensor([0, 3]))) is None
    other = graphs.batch(torch.tensor([0, 2]))
    other.x = 1 - other.x
    assert model.cache.rows(other) is None
    moved = graphs.batch(torch.tensor([0, 2]))
    moved.edge_index = moved.edge_index.flip(1)
    assert model.cache.rows(moved) is None
    assert model.cache.rows(BATCH) is None
    random = nn.dropout_gnn(WIDTH, 2, 1, m=2, k=1, vertex_encoder=encoder((2,), WIDTH))
    assert "every time" in nn.remember(random, graphs)
