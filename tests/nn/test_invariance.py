"""Renaming vertices and reordering edges changes nothing (graphs) or moves with the vertices (vertices)."""

from functools import partial

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from osan import bags, nn
from osan.nn.encoders import EdgeMLP

WIDTH = 8


@st.composite
def graphs(draw):
    """A random multigraph of one to six vertices with features, and a renamed, reordered copy of it."""
    n = draw(st.integers(1, 6))
    pairs = [(u, v) for u in range(n) for v in range(u, n)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=9))
    x = torch.tensor(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))).view(-1, 1)
    kinds = draw(st.lists(st.integers(0, 1), min_size=len(edges), max_size=len(edges)))
    columns, attributes = [], []
    for (u, v), kind in zip(edges, kinds, strict=True):
        directions = [(u, v)] if u == v else [(u, v), (v, u)]
        columns += directions
        attributes += [kind] * len(directions)
    edge_index = torch.tensor(columns, dtype=torch.long).reshape(-1, 2).t()
    edge_attr = torch.tensor(attributes, dtype=torch.long)
    order = torch.tensor(draw(st.permutations(range(n))))
    shuffle = torch.tensor(draw(st.permutations(range(len(columns)))), dtype=torch.long)
    renamed = torch.empty_like(x)
    renamed[order] = x
    first = Data(x=x, edge_index=edge_index, edge_attr=edge_attr)
    second = Data(x=renamed, edge_index=order[edge_index][:, shuffle], edge_attr=edge_attr[shuffle])
    return first, second, order


NETWORKS = {
    "1-OSAN": partial(nn.k_osan, k=1),
    "vertex-subgraph 2-OSAN": partial(nn.k_osan, k=2, aggregation="per-subgraph"),
    "marked": partial(nn.marked_gnn, k=2, alongside=True),
    "reconstruction": partial(nn.reconstruction_gnn, k=3),
    "2-identity": partial(nn.identity_gnn, k=2, hops=1),
    "nested": partial(nn.nested_gnn, hops=1),
    "kernel": partial(nn.kernel_gnn, hops=2, starts=2),
    "DS, vertex-deleted": partial(nn.ds_gnn, policy="vertex-deleted"),
    "DS, edge-deleted": partial(nn.ds_gnn, policy="edge-deleted"),
    "DSS, ego+": partial(nn.dss_gnn, policy="ego+"),
}


@pytest.mark.parametrize("level", ["graph", "vertex"])
@pytest.mark.parametrize("name", NETWORKS)
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_permutation(name, level, data):
    first, second, order = data.draw(graphs())
    torch.manual_seed(0)
    model = NETWORKS[name](
        WIDTH,
        2,
        3,
        vertex_encoder=nn.Categorical([3], WIDTH),
        conv="gine",
        edge_encoder=lambda: EdgeMLP([2], WIDTH),
        level=level,
    )
    model = model.double().eval()
    found, expected = model(second).prediction, model(first).prediction
    if level == "vertex":
        found = found[order]
    assert torch.allclose(found, expected, rtol=0, atol=1e-9 * max(1, float(expected.detach().abs().max())))


@settings(max_examples=25, deadline=None)
@given(st.lists(graphs(), min_size=2, max_size=3))
def test_graphs_do_not_see_each_other(several):
    """In evaluation a batch gives what its graphs give alone."""
    torch.manual_seed(0)
    model = nn.k_osan(WIDTH, 2, 3, k=1, vertex_encoder=nn.Categorical([3], WIDTH)).double().eval()
    alone = torch.cat([model(first).prediction for first, _, _ in several])
    together = model(Batch.from_data_list([first for first, _, _ in several])).prediction
    assert torch.allclose(alone, together, rtol=0, atol=1e-10 * max(1, float(alone.detach().abs().max())))


def test_the_order_of_a_tuple_matters():
    """Ordered networks tell (u, v) from (v, u), unordered ones do not."""
    path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    bag = bags.all_tuples(path, 2)
    tuples = [tuple(t) for t in bag.tuples.tolist()]
    one, other = tuples.index((0, 1)), tuples.index((1, 0))
    for atomic, same in (("ordered", False), ("unordered", True)):
        torch.manual_seed(0)
        model = nn.osan(WIDTH, 1, 1, atomic=atomic, k=2)
        start = model.initial(path, bag)
        rows = [start[bag.subgraph == s] for s in (one, other)]
        assert torch.allclose(*rows) == same


def test_both_orders_agree_without_a_perceptron_between():
    """Sum of sums does not depend on the order; with the perceptron it does."""
    data = Data(num_nodes=4, edge_index=torch.tensor(list(nx.star_graph(3).to_directed().edges())).t())
    for between, same in ((0, True), (2, False)):
        rows = []
        for aggregation in ("per-vertex", "per-subgraph"):
            torch.manual_seed(0)
            options = {"sagg": "sum", "readout": "sum", "norm": False, "between": between}
            model = nn.osan(WIDTH, 2, 1, aggregation=aggregation, **options).double()
            rows.append(model.embed(data, bags.all_subsets(data, 1)))
        assert torch.allclose(*rows) == same
