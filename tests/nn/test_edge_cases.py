"""Graphs and bags with next to nothing in them, and requests that cannot be met."""

import pytest
import torch
from torch_geometric.data import Batch, Data

from osan import bags, nn
from osan.errors import OsanError
from osan.nn.encoders import OGB_ATOM_FEATURES, OGB_BOND_FEATURES, EdgeMLP
from osan.nn.mlp import dropout

WIDTH = 8
NO_EDGES = torch.empty(2, 0, dtype=torch.long)
POOLS = ["sum", "mean", "max", "attention", "set2set"]


def point():
    return Data(num_nodes=1, edge_index=NO_EDGES)


def triangle():
    return Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]))


def train_once(model, batch, bag):
    model.train()
    out = model(batch, bag)
    assert bool(out.isfinite().all())
    out.sum().backward()
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in model.parameters())
    return out


@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("level", ["graph", "vertex"])
def test_nothing_left_of_a_graph(pool, aggregation, level):
    """Deleting all of a vertex's graph leaves an empty subgraph beside full ones."""
    batch = Batch.from_data_list([point(), triangle(), point()])
    model = nn.osan(WIDTH, 2, 2, sagg=pool, readout=pool, aggregation=aggregation, level=level)
    for bag in (
        bags.all_subsets(batch, 1),
        bags.all_subsets(batch, 3),
        bags.all_subsets(batch, 5),
        bags.from_choice(batch, torch.zeros(5, 2)),
        bags.from_choice(batch, torch.zeros(5, 2, requires_grad=True)),
        bags.from_choice(batch, torch.ones(5, 0)),
        bags.all_edges(batch, 1),
        bags.all_edges(batch, 1, operation="select"),
        bags.all_egos(batch, 0),
    ):
        out = train_once(model, batch, bag)
        assert out.shape == ((5, 2) if level == "vertex" else (3, 2))


@pytest.mark.parametrize("conv", ["gin", "gcn", "pna"])
def test_one_vertex_trains(conv):
    options = {"degrees": torch.tensor([1, 2, 1])} if conv == "pna" else {}
    model = nn.osan(WIDTH, 2, 1, conv=conv, k=1, atomic="ordered", **options)
    out = train_once(model, point(), bags.all_tuples(point(), 1))
    assert out.shape == (1, 1)
    # Twice the point is twice the same prediction: nothing is divided by a number of neighbors or by n - 1.
    pair = Batch.from_data_list([point(), point()])
    model.eval()
    alone, both = model(point(), bags.all_tuples(point(), 1)), model(pair, bags.all_tuples(pair, 1))
    assert torch.allclose(both, alone.expand(2, 1), atol=1e-6)


def test_empty_trailing_graphs_are_predicted():
    empty = Data(num_nodes=0, edge_index=NO_EDGES)
    batch = Batch.from_data_list([triangle(), empty])
    for aggregation in ("per-vertex", "per-subgraph"):
        model = nn.osan(WIDTH, 1, 1, aggregation=aggregation)
        assert model(batch, bags.all_subsets(batch, 1)).shape == (2, 1)
        assert model(batch, bags.random_egos(batch, 1, 2, generator=torch.Generator())).shape == (2, 1)


def test_batch_norm_needs_two_copies_and_forgets_removed_ones():
    norm = nn.BagBatchNorm(2)
    alone = torch.tensor([[3.0, 4.0]])
    assert torch.allclose(norm(alone), alone, atol=1e-4)
    assert norm.running_mean.tolist() == [0, 0]
    h, kept = torch.randn(6, 2), torch.tensor([1, 1, 0, 1, 0, 1]).bool()
    plain = torch.nn.BatchNorm1d(2)
    assert torch.allclose(norm(h, kept)[kept], plain(h[kept]), atol=1e-6)
    assert torch.allclose(norm.running_var, plain.running_var)
    assert torch.allclose(norm.running_mean, plain.running_mean)


def test_dropout_leaves_removed_copies_out():
    """With everything dropped but the residual, removed copies still change nothing."""
    batch = triangle()
    model = nn.osan(WIDTH, 2, 1, dropout=1.0, residual=True).train()
    choice = torch.tensor([[1.0], [1.0], [0.0]])
    thin = model(batch, bags.from_choice(batch, choice))
    thick = model(batch, bags.from_choice(batch, choice, keep_removed=True))
    assert torch.allclose(thin, thick)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_entries_independently_with_its_probability(p):
    torch.manual_seed(0)
    h = torch.ones(401, 503, requires_grad=True)
    out = dropout(h, p, training=True)
    kept = (out != 0).double()
    n = kept.numel()
    assert abs(kept.mean().item() - (1 - p)) < 4 * (p * (1 - p) / n) ** 0.5
    assert torch.allclose(out[out != 0], torch.tensor(1 / (1 - p)), rtol=1e-3)
    assert abs(out.double().mean().item() - 1) < 4 * (p / (1 - p) / n) ** 0.5
    flat = kept.flatten() - (1 - p)
    for lag in (1, 2, 3, 4):
        assert abs((flat[lag:] * flat[:-lag]).mean().item()) < 4 * p * (1 - p) / n**0.5
    out.sum().backward()
    assert torch.equal(h.grad, out.detach())
    small = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    dropped = dropout(small, p, training=True)
    (first,) = torch.autograd.grad(dropped, small, dropped, create_graph=True)  # small * factor^2
    (second,) = torch.autograd.grad(first.sum(), small)
    assert torch.allclose(second * small, first)
    assert dropout(h, p, training=False) is h
    assert not bool(dropout(h, 1.0, training=True).any())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.osan(8, 1, 1, aggregation="sum"), "aggregation: expected 'per-vertex' or 'per-subgraph'"),
        (lambda: nn.osan(8, 1, 1, level="edge"), "level: expected 'graph' or 'vertex'"),
        (lambda: nn.osan(8, 1, 1, sagg="median"), "pooling: expected 'sum'"),
        (lambda: nn.osan(8, 1, 1, conv="gat"), "conv: expected 'gin'"),
        (lambda: nn.osan(8, 1, 1, conv="pna"), "degrees: expected the histogram"),
        (lambda: nn.osan(8, 2, 1, neighborhood=["edges"]), "for each of 2 layers"),
        (lambda: nn.osan(8, 1, 1, atomic="both"), "atomic: expected"),
        (lambda: nn.osan(8, 1, 1, atomic="distance", reach=-1), "reach: expected the largest distance"),
        (lambda: nn.osan(8, 1, 1, rank="embedding"), "num_ranks: expected the largest rank"),
        (lambda: nn.osan(8, 1, 1, admission="learned"), "admission: expected an atomic type"),
        (lambda: nn.MLP([]), "widths: expected positive integers"),
        (lambda: nn.ds_gnn(8, 1, 1, policy="all"), "policy: expected 'vertex-deleted'"),
        (lambda: nn.dropout_gnn(8, 1, 1, m=1, generator=None, p=0.1, k=1), "got both"),
        (lambda: nn.dropout_gnn(8, 1, 1, m=1), "got neither"),
        (lambda: nn.paper_network("cora", 1, vertex_features=3), "dataset: expected one of 'zinc'"),
        (
            lambda: nn.paper_network("zinc", 1, vertex_features=3),
            "edge_features: expected some",
        ),
    ],
)
def test_wrong_requests_are_named(make, message):
    with pytest.raises(OsanError, match=message):
        make()


def test_what_is_missing_is_named():
    batch = triangle()
    bag = bags.whole_graphs(batch)
    with pytest.raises(
        OsanError, match=r"batch.x: expected vertex features of shape \[3, columns\], got none"
    ):
        nn.osan(8, 1, 1, vertex_encoder=nn.Categorical([3], 8))(batch, bag)
    edges = {"conv": "gine", "edge_encoder": lambda: EdgeMLP([3], 8)}
    with pytest.raises(OsanError, match=r"batch.edge_attr: expected one row of features for each of 6 edges"):
        nn.osan(8, 1, 1, **edges)(batch, bag)
    batch.edge_attr = torch.zeros(5, dtype=torch.long)
    with pytest.raises(OsanError, match=r"batch.edge_attr: expected 6 rows, one per edge, got shape \[5\]"):
        nn.osan(8, 1, 1, **edges)(batch, bag)
    with pytest.raises(OsanError, match="expected edge features for GINE, got none"):
        nn.osan(8, 1, 1, conv="gine")(batch, bag)
    with pytest.raises(OsanError, match=r"bag.tuples: expected shape \[subgraphs, k\], got none"):
        nn.osan(8, 1, 1, atomic="ordered", k=1)(batch, bag)
    with pytest.raises(OsanError, match=r"bag.tuples: expected shape \[subgraphs, 1\], got \[9, 2\]"):
        nn.osan(8, 1, 1, atomic="ordered", k=1)(batch, bags.all_tuples(batch, 2))
    with pytest.raises(OsanError, match=r"bag.rank: expected shape \[3\], got none"):
        nn.osan(8, 1, 1, rank="adjacency", num_ranks=3)(batch, bag)
    ranked = bags.random_subsets(batch, 0, 1, generator=torch.Generator(), ordered=True)
    with pytest.raises(OsanError, match="expected ranks up to num_ranks = 2, got 3"):
        nn.osan(8, 1, 1, rank="adjacency", num_ranks=2)(batch, ranked)
    with pytest.raises(OsanError, match="the ego-net of every vertex once"):
        nn.ego_network(8, 1, 1)(batch, bags.all_subsets(batch, 2))
    with pytest.raises(OsanError, match="batch: expected the 3 vertices of the bag, got 1"):
        nn.osan(8, 1, 1)(point(), bag)
    with pytest.raises(OsanError, match=r"admission: expected shape \[3\], got \[1\]"):
        nn.osan(8, 1, 1, admission=lambda bag: torch.ones(1))(batch, bag)
    with pytest.raises(OsanError, match=r"bag\.mark"):
        nn.osan(8, 1, 1, marked=True)(batch, bag)


def test_features_out_of_range_are_named():
    with pytest.raises(OsanError, match="expected values 0 to 1 in column 1, got 0 to 5"):
        nn.Categorical([3, 2], 4)(torch.tensor([[0, 0], [1, 5]]))
    with pytest.raises(
        OsanError, match=r"expected integers of shape \[rows, 2\], got torch.int64 of shape \[4, 1\]"
    ):
        nn.Categorical([3, 2], 4)(torch.zeros(4, dtype=torch.long))
    with pytest.raises(OsanError, match=r"expected shape \[rows, 3\], got \[2, 2\]"):
        nn.Numerical(3, 4)(torch.zeros(2, 2))


def test_ogb_features_are_those_of_ogb():
    features = pytest.importorskip("ogb.utils.features")
    assert list(OGB_ATOM_FEATURES) == features.get_atom_feature_dims()
    assert list(OGB_BOND_FEATURES) == features.get_bond_feature_dims()


def test_the_ogb_encoder_is_that_of_ogb():
    encoders = pytest.importorskip("ogb.graphproppred.mol_encoder")
    theirs = encoders.AtomEncoder(5)
    mine = nn.Categorical(OGB_ATOM_FEATURES, 5)
    for a, b in zip(mine.embeddings, theirs.atom_embedding_list, strict=True):
        a.load_state_dict(b.state_dict())
    x = torch.stack([torch.randint(0, size, (20,)) for size in OGB_ATOM_FEATURES], dim=1)
    assert torch.allclose(mine(x), theirs(x), atol=1e-6)
