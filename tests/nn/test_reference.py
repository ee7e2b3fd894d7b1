"""Every policy and architecture against the obvious slow way of ``slow.py``.

Predictions and the gradients of all parameters are compared.
"""

from functools import partial

import pytest
import torch
from slow import (
    BATCH,
    GRAPHS,
    WIDTH,
    Sub,
    columns_within,
    each_graph,
    slow_edges,
    slow_ego_network,
    slow_egos,
    slow_osan,
    slow_random,
    slow_subsets,
    slow_tuples,
    slow_walks,
    whole,
)
from torch_geometric.nn import GATConv, SAGEConv

from osan import bags, nn
from osan.nn.encoders import EdgeMLP
from osan.nn.layers import as_layer


def compare(make_model, bag, subs, dtype, train=True):
    """Predictions and parameter gradients of both ways."""
    torch.manual_seed(0)
    model = make_model().to(dtype)
    if not train:
        randomize_statistics(model)
    model.train(train)
    network = model.network if isinstance(model, nn.FixedBags) else model
    state = {name: value.clone() for name, value in network.state_dict().items()}
    found = network(BATCH, bag)
    target = torch.randn(found.shape, generator=torch.Generator().manual_seed(1), dtype=dtype)
    ((found - target) ** 2).sum().backward()
    gradients = {name: p.grad for name, p in network.named_parameters()}
    network.load_state_dict(state)
    network.zero_grad(set_to_none=True)
    slow = slow_ego_network if isinstance(network, nn.EgoNetwork) else slow_osan
    expected = slow(network, subs)
    ((expected - target) ** 2).sum().backward()
    close(found, expected, dtype, "prediction")
    for name, parameter in network.named_parameters():
        mine, theirs = gradients[name], parameter.grad
        zero = torch.zeros_like(parameter)
        close(zero if mine is None else mine, zero if theirs is None else theirs, dtype, name)
    used = [g for g in gradients.values() if g is not None and bool((g != 0).any())]
    assert len(used) > 4, "the comparison would be empty"


def close(found, expected, dtype, what):
    tolerance = 1e-10 if dtype == torch.float64 else 1e-5
    scale = max(1.0, float(expected.detach().abs().max())) if expected.numel() else 1.0
    error = float((found - expected).detach().abs().max()) / scale if expected.numel() else 0.0
    assert error < tolerance, f"{what}: {error:.1e}"


def randomize_statistics(model):
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)


def vertex_encoder():
    return nn.Categorical([3], WIDTH)


def edge_encoder():
    return EdgeMLP([3], WIDTH)


def osan(**options):
    base = {"vertex_encoder": vertex_encoder(), "conv": "gine", "edge_encoder": edge_encoder, "norm": False}
    return nn.osan(WIDTH, 2, 2, **{**base, **options})


DTYPES = [torch.float64, torch.float32]
MARKED = {"atomic": "unordered"}
POLICIES = {
    "none": (bags.whole_graphs, lambda: each_graph(lambda g, data, _: [whole(g, data)]), {}),
    "delete 1": (partial(bags.all_subsets, k=1), partial(slow_subsets, 1, "delete"), {}),
    "delete 2, whole graph": (
        partial(bags.all_subsets, k=2, whole_graph=True),
        partial(slow_subsets, 2, "delete", whole_graph=True),
        {},
    ),
    "delete 1, isolated": (
        partial(bags.all_subsets, k=1, deleted="isolated"),
        partial(slow_subsets, 1, "delete", "isolated"),
        {},
    ),
    "delete 1, unpooled": (
        partial(bags.all_subsets, k=1, deleted="unpooled"),
        partial(slow_subsets, 1, "delete", "unpooled"),
        {},
    ),
    "select 3": (partial(bags.all_subsets, k=3, operation="select"), partial(slow_subsets, 3, "select"), {}),
    "mark 2": (partial(bags.all_subsets, k=2, operation="mark"), partial(slow_subsets, 2, "mark"), MARKED),
    "tuples 1": (partial(bags.all_tuples, k=1), partial(slow_tuples, 1), {"atomic": "ordered", "k": 1}),
    "tuples 2": (partial(bags.all_tuples, k=2), partial(slow_tuples, 2), {"atomic": "ordered", "k": 2}),
    "delete 1 edge": (partial(bags.all_edges, k=1), partial(slow_edges, 1, "delete"), {}),
    "delete 2 edges": (partial(bags.all_edges, k=2), partial(slow_edges, 2, "delete"), {}),
    "select 2 edges": (
        partial(bags.all_edges, k=2, operation="select"),
        partial(slow_edges, 2, "select"),
        {},
    ),
    "mark 1 edge": (
        partial(bags.all_edges, k=1, operation="mark"),
        partial(slow_edges, 1, "mark"),
        {"edge_mark": True},
    ),
    "ego": (partial(bags.all_egos, hops=1), partial(slow_egos, 1), {}),
    "ego+": (partial(bags.all_egos, hops=2, mark_center=True), partial(slow_egos, 2, True), MARKED),
    "walks": (partial(bags.all_walks, k=2, hops=1), partial(slow_walks, 2, 1), MARKED),
    "mark 1, across, beside the whole graph": (
        partial(bags.all_subsets, k=1, operation="mark", whole_graph=True),
        partial(slow_subsets, 1, "mark", whole_graph=True),
        {**MARKED, "across": True},
    ),
    "mark 2, across": (
        partial(bags.all_subsets, k=2, operation="mark"),
        partial(slow_subsets, 2, "mark"),
        {**MARKED, "across": True},
    ),
    "ego+, across": (
        partial(bags.all_egos, hops=1, mark_center=True),
        partial(slow_egos, 1, True),
        {**MARKED, "across": True},
    ),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
@pytest.mark.parametrize("name", POLICIES)
def test_policies(name, aggregation, dtype):
    policy, slow, options = POLICIES[name]
    compare(lambda: osan(aggregation=aggregation, **options), policy(BATCH), slow(), dtype)


ARCHITECTURES = {
    "1-OSAN": (partial(nn.k_osan, k=1), partial(slow_tuples, 1)),
    "vertex-subgraph 2-OSAN": (partial(nn.k_osan, k=2, aggregation="per-subgraph"), partial(slow_tuples, 2)),
    "0-OSAN": (partial(nn.k_osan, k=0), partial(slow_tuples, 0)),
    "marked": (partial(nn.marked_gnn, k=2), partial(slow_subsets, 2, "mark")),
    "marked, plain alongside": (
        partial(nn.marked_gnn, k=1, alongside=True),
        partial(slow_subsets, 1, "mark"),
    ),
    "reconstruction": (partial(nn.reconstruction_gnn, k=3), partial(slow_subsets, 3, "select")),
    "SSWL": (nn.sswl_gnn, partial(slow_subsets, 1, "mark")),
    "SSWL, plain alongside": (
        partial(nn.sswl_gnn, aggregation="per-subgraph", alongside=True),
        partial(slow_subsets, 1, "mark"),
    ),
    "identity": (nn.identity_gnn, partial(slow_walks, 1, 2)),
    "2-identity": (partial(nn.identity_gnn, k=2, hops=1), partial(slow_walks, 2, 1)),
    "nested": (partial(nn.nested_gnn, hops=1), partial(slow_egos, 1)),
    "kernel": (partial(nn.kernel_gnn, hops=1, starts=2), partial(slow_egos, 1)),
    "DS, vertex-deleted": (
        partial(nn.ds_gnn, policy="vertex-deleted"),
        partial(slow_subsets, 1, "delete", "isolated"),
    ),
    "DS, edge-deleted": (partial(nn.ds_gnn, policy="edge-deleted"), partial(slow_edges, 1, "delete")),
    "DS, ego": (partial(nn.ds_gnn, policy="ego"), partial(slow_egos, 2, False, "isolated")),
    "DS, ego+": (partial(nn.ds_gnn, policy="ego+", hops=1), partial(slow_egos, 1, True, "isolated")),
    "DSS, vertex-deleted": (
        partial(nn.dss_gnn, policy="vertex-deleted"),
        partial(slow_subsets, 1, "delete", "isolated"),
    ),
    "DSS, edge-deleted": (partial(nn.dss_gnn, policy="edge-deleted"), partial(slow_edges, 1, "delete")),
    "DSS, ego+": (partial(nn.dss_gnn, policy="ego+"), partial(slow_egos, 2, True, "isolated")),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("level", ["graph", "vertex"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architectures(name, level, dtype):
    make, slow = ARCHITECTURES[name]

    def model():
        options = {"conv": "gine", "edge_encoder": edge_encoder, "norm": False, "level": level}
        return make(WIDTH, 2, 2, vertex_encoder=vertex_encoder(), **options)

    compare(model, model().make_bag(BATCH), slow(), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("level", ["graph", "vertex"])
@pytest.mark.parametrize("choice", [{"k": 1}, {"p": 0.3}])
def test_dropout_gnn(choice, level, dtype):
    generator = torch.Generator().manual_seed(0)

    def model():
        return nn.dropout_gnn(
            WIDTH,
            2,
            2,
            m=4,
            generator=generator,
            norm=False,
            vertex_encoder=vertex_encoder(),
            level=level,
            **choice,
        )

    bag = model().make_bag(BATCH)
    subs = []
    for s, g in enumerate(bag.graph.tolist()):
        kept = [v - int(BATCH.ptr[g]) for v in bag.vertex[bag.subgraph == s].tolist()]
        subs.append(Sub(g, kept, columns_within(GRAPHS[g], kept)))
    compare(model, bag, subs, dtype)


LAYERS = {
    "gin": {"conv": "gin", "edge_encoder": None},
    "gin, learned epsilon": {"conv": "gin", "train_eps": True, "edge_encoder": None},
    "gine": {"conv": "gine", "hidden": 9},
    "gcn": {"conv": "gcn", "edge_encoder": None},
    "pna": {"conv": "pna", "degrees": torch.tensor([3, 4, 5, 2])},
    "pna, towers, no edge features": {
        "conv": "pna",
        "degrees": torch.tensor([3, 4, 5, 2]),
        "towers": 2,
        "edge_encoder": None,
    },
    "sage": {"conv": lambda width: SAGEConv(width, width), "edge_encoder": None},
    "gat": {"conv": lambda width: GATConv(width, width, edge_dim=width)},
    "residual": {"residual": True},
    "V(G)": {"neighborhood": "all", "edge_encoder": None},
    "N(v), then V(G)": {"neighborhood": ["edges", "all"]},
    "marked": {"marked": True, "atomic": "unordered"},
    "across": {"across": True, "atomic": "unordered", "train_eps": True},
}


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, norm, train):
    options = {"norm": norm, **LAYERS[name]}
    operation = "mark" if {"marked", "across"} & set(options) else "delete"
    bag = bags.all_subsets(BATCH, 1, operation=operation)
    compare(lambda: osan(**options), bag, slow_subsets(1, operation), torch.float64, train)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("neighborhood", ["edges", "all"])
def test_vertices_that_are_only_left_out_of_the_pooling(neighborhood, norm):
    """They send messages, to all vertices too, and count in batch norms, like all others."""
    make = partial(osan, neighborhood=neighborhood, norm=norm)
    if neighborhood == "all":
        make = partial(make, edge_encoder=None)
    subs = slow_subsets(1, "delete", "unpooled")
    compare(make, bags.all_subsets(BATCH, 1, deleted="unpooled"), subs, torch.float64)


@pytest.mark.parametrize("level", ["graph", "vertex"])
@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
@pytest.mark.parametrize("pool", ["sum", "mean", "max", "attention", "set2set"])
def test_pooling(pool, aggregation, level):
    options = {"aggregation": aggregation, "level": level, "sagg": pool, "readout": pool}
    bag = bags.all_subsets(BATCH, 1, deleted="unpooled")
    compare(lambda: osan(**options), bag, slow_subsets(1, "delete", "unpooled"), torch.float64)


@pytest.mark.parametrize("between", [0, 1, 3])
@pytest.mark.parametrize("head", [1, 4])
def test_heads(between, head):
    bag = bags.all_subsets(BATCH, 1)
    make = partial(osan, between=between, head=head, readout="set2set")
    compare(make, bag, slow_subsets(1, "delete"), torch.float64)


@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
@pytest.mark.parametrize("atomic", ["ordered", "unordered"])
def test_learned_admission(atomic, aggregation):
    """Predictions only: the admission's own gradient has no counterpart in a hard choice."""
    bag = bags.all_tuples(BATCH, 2)
    for seed in range(100):
        torch.manual_seed(seed)
        model = osan(atomic=atomic, k=2, aggregation=aggregation, admission="learned", sagg="sum").double()
        if 0 < int(model.admission(BATCH, bag, model.initial.vertices(BATCH)).sum()) < bag.num_copies:
            break
    else:
        pytest.fail("nothing or everything admitted shows nothing")
    close(model(BATCH, bag), slow_osan(model, slow_tuples(2)), torch.float64, "prediction")
    model(BATCH, bag).sum().backward()
    assert all(bool((p.grad != 0).any()) for p in model.admission.parameters())


@pytest.mark.parametrize("rank", ["adjacency", "embedding"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ranks(rank, dtype):
    generator = torch.Generator().manual_seed(2)
    bag = bags.random_subsets(BATCH, 1, 3, generator=generator, ordered=True)
    subs = slow_random(bag, "masked")
    for s, sub in enumerate(subs):
        ranks = bag.rank[bag.subgraph == s].tolist()
        assert sorted(ranks) == list(range(1, len(sub.vertices) + 1))
        sub.ranks = dict(zip(sub.vertices, ranks, strict=True))
    compare(lambda: osan(rank=rank, num_ranks=5), bag, subs, dtype)


@pytest.mark.parametrize(
    "dataset", ["zinc", "zinc-pna", "zinc-esan", "alchemy", "qm9", "ogbg-molesol", "exp", "proteins"]
)
@pytest.mark.parametrize("as_in_code", [False, True])
def test_networks_of_the_paper(dataset, as_in_code):
    """The named downstream networks, batch norms in training mode."""

    def model():
        smaller = {"width": WIDTH, "dropout": 0.0}
        if dataset.startswith("ogbg"):
            smaller["hidden"] = 2 * WIDTH
        if dataset == "zinc-pna":
            smaller |= {"towers": 2, "degrees": torch.tensor([3, 4, 5, 2])}
        return nn.paper_network(
            dataset, 2, vertex_features=[3], edge_features=[3], as_in_code=as_in_code, **smaller
        )

    compare(model, bags.all_subsets(BATCH, 1), slow_subsets(1, "delete"), torch.float64)


def test_custom_layers_are_asked_what_they_take():
    assert as_layer(GATConv(4, 4)).looks_at_edges
    assert not as_layer(SAGEConv(4, 4)).looks_at_edges
