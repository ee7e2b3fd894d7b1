"""Views with rows that stand for several copies: the same numbers as with one row per copy."""

from dataclasses import replace

import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.nn import ChebConv, GCNConv, GINConv
from torch_geometric.utils import from_networkx

from osan import bags, nn
from osan.errors import OsanError
from osan.nn.edges import EdgeRows
from osan.nn.encoders import EdgeMLP
from osan.nn.view import View, view_of

WIDTH, KINDS = 6, 3


def make_batch():
    torch.manual_seed(0)
    shapes = [nx.cycle_graph(6), nx.star_graph(4), nx.empty_graph(2), nx.gnp_random_graph(6, 0.5, seed=2)]
    data = [from_networkx(g) for g in shapes]
    for d in data:
        d.x = torch.randint(0, 2, (d.num_nodes, 1))
        d.edge_index = d.edge_index if d.num_edges else torch.empty(2, 0, dtype=torch.long)
        # Both directions of an edge have the same kind.
        low, high = d.edge_index.min(0).values, d.edge_index.max(0).values
        d.edge_attr = ((low + 2 * high) % KINDS)[:, None]
    return Batch.from_data_list(data)


BATCH = make_batch()


def numbered(keys):
    """Numbers of keys, equal ones alike, and the first place of each."""
    numbers = {}
    which = [numbers.setdefault(key, len(numbers)) for key in keys]
    first = [which.index(number) for number in range(len(numbers))]
    return torch.tensor(which, dtype=torch.long), first


def shared(bag, layers, everywhere=False):
    """Classes of copies with the same features after 0, 1, ... layers, by the definition, and the views."""
    copies = range(bag.num_copies)
    incoming = [[] for _ in copies]
    for e, (u, v) in enumerate(bag.edge_index.t().tolist()):
        incoming[v].append((u, int(BATCH.edge_attr[bag.edge[e]])))
    degree = [1 + len(edges) for edges in incoming]
    mark = [0] * bag.num_copies if bag.mark is None else bag.mark.tolist()
    subgraph = bag.subgraph.tolist()
    start, first = numbered((int(BATCH.x[bag.vertex[i]]), mark[i], degree[i]) for i in copies)
    of, views, initial = start, [], first
    for _ in range(layers):
        rows_in, before = first, of.tolist()
        inside = [sorted(before[j] for j in copies if subgraph[j] == s) for s in range(bag.num_subgraphs)]
        kind, some = numbered(tuple(rows) for rows in inside)
        if everywhere:
            keys = ((before[i], int(kind[subgraph[i]])) for i in copies)
        else:
            keys = ((before[i], tuple(sorted((k, before[u]) for u, k in incoming[i]))) for i in copies)
        of, first = numbered(keys)
        edges = [(before[u], row, k) for row, i in enumerate(first) for u, k in incoming[i]]
        ends = torch.tensor([e[:2] for e in edges], dtype=torch.long).reshape(-1, 2).t()
        members = [(row, g) for g, s in enumerate(some) for row in inside[s]]
        view = View(
            edge_index=ends,
            group=torch.tensor([int(kind[subgraph[i]]) for i in first]),
            num_groups=len(some),
            row=torch.tensor([before[i] for i in first]),
            edges=EdgeRows(
                torch.arange(KINDS)[:, None], torch.tensor([e[2] for e in edges], dtype=torch.long)
            ),
            count=torch.bincount(of),
            mark=torch.tensor([mark[i] for i in rows_in]),
            members=torch.tensor(members, dtype=torch.long).reshape(-1, 2).t(),
            degree=torch.tensor([degree[i] for i in rows_in]),
        )
        views.append(view)
    return initial, views, of


LAYERS = {
    "gin": {"train_eps": True},
    "gine": {"conv": "gine", "edge_encoder": lambda: EdgeMLP([KINDS], WIDTH)},
    "gcn": {"conv": "gcn"},
    "gcn of PyG": {"conv": lambda width: GCNConv(width, width)},
    "pna": {"conv": "pna", "degrees": torch.tensor([2, 3, 4]), "towers": 2},
    "pna with edges": {
        "conv": "pna",
        "degrees": torch.tensor([2, 3, 4]),
        "edge_encoder": lambda: EdgeMLP([KINDS], WIDTH),
    },
    "all": {"neighborhood": "all"},
    "marked": {"marked": True},
    "marked gine": {"marked": True, "conv": "gine", "edge_encoder": lambda: EdgeMLP([KINDS], WIDTH)},
    "gin of PyG": {"conv": lambda width: GINConv(torch.nn.Linear(width, width))},
    "gin of PyG with a norm": {
        "conv": lambda width: GINConv(
            torch.nn.Sequential(
                torch.nn.Linear(width, 9), torch.nn.BatchNorm1d(9), torch.nn.Tanh(), torch.nn.Linear(9, width)
            )
        )
    },
}


@pytest.mark.parametrize("name", LAYERS)
def test_rows_that_several_copies_share(name):
    """Features, parameter gradients and running statistics, batch norms in training mode."""
    operation = "mark" if "marked" in name else "delete"
    bag = bags.all_subsets(BATCH, 1, operation=operation)
    torch.manual_seed(1)
    stack = nn.Stack(WIDTH, 3, residual=True, **LAYERS[name]).double()
    state = {key: value.clone() for key, value in stack.state_dict().items()}
    rows, views, of = shared(bag, 3, everywhere=name == "all")
    sizes = [len(rows), *(view.num_rows for view in views)]
    assert sizes[0] < sizes[1] <= sizes[2] <= sizes[3] < bag.num_copies
    start = torch.randn(2, 2, 8, WIDTH, dtype=torch.double, requires_grad=True)  # of label, mark and degree
    degree = torch.bincount(bag.edge_index[1], minlength=bag.num_copies)
    mark = torch.zeros_like(degree) if bag.mark is None else bag.mark.long()
    h = start[BATCH.x[bag.vertex, 0], mark, degree]
    factor = torch.randn(bag.num_copies, WIDTH, dtype=torch.double)
    found = []
    for run in (lambda: stack(h, BATCH, bag), lambda: stack.run(h[rows], views)[of]):
        stack.load_state_dict(state)
        stack.zero_grad(set_to_none=True)
        out = run()
        (out.sin() * factor).sum().backward(retain_graph=True)
        gradients = {key: p.grad for key, p in stack.named_parameters()}
        found.append({"out": out, "start": start.grad, **gradients, **stack.state_dict()})
        found[-1] = {key: value.clone() for key, value in found[-1].items() if value is not None}
        start.grad = None
    assert found[0].keys() == found[1].keys()
    for key, value in found[0].items():
        assert torch.allclose(value, found[1][key], rtol=0, atol=1e-10), key


def test_layers_of_pyg_refuse_rows_that_are_no_copies():
    bag = bags.all_subsets(BATCH, 1)
    _, views, _ = shared(bag, 1)
    h = torch.randn(int(views[0].row.max()) + 1, WIDTH)
    with pytest.raises(OsanError, match=r"view.row: expected as many rows out as in for ChebConv"):
        nn.make_layer(lambda width: ChebConv(width, width, 2), WIDTH)(h, views[0])
    with pytest.raises(OsanError, match=r"view.degree: expected"):
        nn.make_layer("gcn", WIDTH)(h, replace(views[0], degree=None))
    mixing = GINConv(torch.nn.GroupNorm(2, WIDTH))
    with pytest.raises(OsanError, match=r"view.count: expected one row per copy for GroupNorm"):
        nn.make_layer(lambda width: mixing, WIDTH)(h, views[0])


def test_the_view_of_a_bag():
    """The removed count 0, and all layers have the same view."""
    choice = torch.randint(0, 2, (BATCH.num_nodes, 2)).float().requires_grad_()
    bag = bags.from_choice(BATCH, choice)
    first, second = nn.views(BATCH, bag, 2)
    assert first is second
    assert first.edges is None
    assert first.count.tolist() == [bool(w) for w in bag.weight.tolist()]
    assert first.num_rows == bag.num_copies
    assert first.vertex is bag.vertex
    assert nn.views(BATCH, bag, 1, edges=True)[0].edges.full().equal(BATCH.edge_attr[bag.edge])
    unpooled = view_of(bags.from_choice(BATCH, choice, deleted="unpooled"))
    assert unpooled.count is None


def test_a_custom_layer_that_looks_across_subgraphs():
    """One class, called with (h, view): the mean over all copies of a vertex, beside its neighbors."""

    class Across(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.gin = nn.make_layer("gin", width)
            self.pool = nn.Pool("mean", width)

        def forward(self, h, view):
            shared = self.pool(h, view.vertex, view.num_vertices, view.member_weight)
            return self.gin(h, view) + shared[view.vertex]

    torch.manual_seed(0)
    network = nn.osan(WIDTH, 2, 1, vertex_encoder=nn.Categorical([2], WIDTH), conv=Across)
    choice = torch.randint(0, 2, (BATCH.num_nodes, 3)).float()
    thin = network(BATCH, bags.from_choice(BATCH, choice))
    thick = network(BATCH, bags.from_choice(BATCH, choice.requires_grad_()))
    assert torch.allclose(thin, thick, atol=1e-5)
    thick.sum().backward()
    assert choice.grad.abs().sum() > 0
