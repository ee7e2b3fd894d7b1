"""Models that know nothing of bags, compared with the same models on subgraphs built one by one."""

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import (
    GAT,
    GCN,
    GIN,
    GATConv,
    GINConv,
    GINEConv,
    MessagePassing,
    TopKPooling,
    global_add_pool,
)
from torch_geometric.utils import scatter, subgraph

from osan import bags, nn
from osan.errors import OsanError
from osan.nn.hooks import scaled_messages
from osan.selection import IMLE, Noise

COLUMNS = 3


def some_graph(n, pairs, seed, loop=None):
    generator = torch.Generator().manual_seed(seed)
    columns = pairs + [(v, u) for u, v in pairs] + ([(loop, loop)] if loop is not None else [])
    index = torch.tensor(columns, dtype=torch.long).reshape(-1, 2).t()
    index = index[:, torch.randperm(index.size(1), generator=generator)]
    return Data(
        x=torch.randn(n, COLUMNS, generator=generator, dtype=torch.double),
        edge_index=index,
        edge_attr=torch.randn(index.size(1), 2, generator=generator, dtype=torch.double),
        shade=torch.randn(n, generator=generator, dtype=torch.double),
        mark=torch.randn(n, generator=generator, dtype=torch.double),
        surface_knowledge=torch.randn(n, generator=generator, dtype=torch.double),
        u=torch.randn(1, 2, generator=generator, dtype=torch.double),
    )


GRAPHS = [
    some_graph(5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)], 0, loop=1),
    some_graph(1, [], 1),
    some_graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)], 2),
    some_graph(3, [(0, 1), (1, 2)], 3),
    some_graph(1, [], 4),  # trailing, and empty where edges are selected
]
BATCH = Batch.from_data_list(GRAPHS)


class Whole(torch.nn.Module):
    """Takes a batch: edge features, two further attributes, one prediction for each graph."""

    def __init__(self):
        super().__init__()
        self.first = GINEConv(torch.nn.Linear(COLUMNS, 6), edge_dim=2)
        self.second = GATConv(6, 6, edge_dim=2)
        self.head = torch.nn.Linear(6 + 2, 2)

    def forward(self, batch):
        h = torch.relu(self.first(batch.x, batch.edge_index, batch.edge_attr)) + batch.shade[:, None]
        h = self.second(h, batch.edge_index, batch.edge_attr)
        return self.head(torch.cat((global_add_pool(h, batch.batch), batch.u), dim=1))


def pooled(model, batch):
    return global_add_pool(model(batch.x, batch.edge_index), batch.batch)


MODELS = {
    "gin": (lambda: GIN(COLUMNS, 6, 2, 2, norm="batch_norm"), pooled, "mean"),
    "gcn": (lambda: GCN(COLUMNS, 6, 2, 2), pooled, "max"),
    "gat": (lambda: GAT(COLUMNS, 6, 2, 2, heads=2), pooled, "sum"),
    "gine, a batch alone": (Whole, None, "mean"),
}
TEXTS = [
    "delete 1 vertex x 2", "select 2 vertices x 2", "delete 2 edges x 2", "select 2 edges x 3", "tree x 2",
    "delete 1-ego x 2", "select 1-ego x 2", "select 3 vertices ordered x 2", "cover delete 1 vertex x 3",
]  # fmt: skip


def one_by_one(graph, choice, text):
    """The subgraph that a column of a choice names, as a graph of its own."""
    n = graph.num_nodes
    if "edge" in text or "tree" in text:
        columns = choice != 0
        left = torch.ones(n, dtype=torch.bool)
        if text.startswith("select"):
            left = torch.zeros(n, dtype=torch.bool)
            left[graph.edge_index[:, columns].flatten()] = True
    else:
        left = choice != 0
        columns = left[graph.edge_index[0]] & left[graph.edge_index[1]]
    index, attributes = subgraph(
        left, graph.edge_index[:, columns], graph.edge_attr[columns], relabel_nodes=True, num_nodes=n
    )
    own = {"x": graph.x[left], "shade": graph.shade[left], "u": graph.u}
    return Data(edge_index=index, edge_attr=attributes, **own)


def data_driven(downstream, text, **options):
    edges = "edge" in text or "tree" in text
    count = int(text[-1])
    upstream = nn.Upstream(count, 4, edges=edges, vertex_encoder=torch.nn.Linear(COLUMNS, 4)).double()
    return nn.DataDrivenOSAN(upstream, downstream, text, noise=Noise("gumbel"), samples=1, **options)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_those_of_the_subgraphs_one_by_one(name, text):
    torch.manual_seed(0)
    make, call, sagg = MODELS[name]
    model = make().double()
    together = data_driven(nn.OnSubgraphs(model, sagg=sagg, call=call), text).eval()
    out = together(BATCH)
    assert out.prediction.requires_grad
    with torch.no_grad():
        assert together(BATCH).prediction.equal(out.prediction)
    choice = out.selected[0].choice.detach()
    of_rows = BATCH.batch if len(choice) == BATCH.num_nodes else BATCH.batch[BATCH.edge_index[0]]
    for g, graph in enumerate(GRAPHS):
        found = [one_by_one(graph, column, text) for column in choice[of_rows == g].t()]
        single = [Batch.from_data_list([each]) for each in found if each.num_nodes]
        if not single:
            assert out.prediction[g].tolist() == [0, 0]
            continue
        each = torch.cat([model(one) if call is None else call(model, one) for one in single])
        expected = {"mean": each.mean(0), "sum": each.sum(0), "max": each.amax(0)}[sagg]
        assert torch.allclose(out.prediction[g], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("text", [text for text in TEXTS if "ordered" not in text])
def test_batch_norms_see_the_same_with_gradients_and_without(text):
    """In training mode, where removed copies would count in means and variances."""
    torch.manual_seed(0)
    make, call, _ = MODELS["gin"]
    model = nn.OnSubgraphs(make().double(), call=call).train()
    out = data_driven(model, text)(BATCH)
    choice = out.selected[0].choice.detach()
    edges = len(choice) != BATCH.num_nodes
    operation = "select" if text.startswith("select") else "delete"
    thin = bags.from_choice(BATCH, choice, what="edge" if edges else "vertex", operation=operation)
    assert model(BATCH, thin).equal(out.prediction)


def test_the_gradient_of_a_choice_is_that_of_weights_on_messages_and_features():
    """Two GIN layers written with matrices; the paper's mean over the edges of a vertex by a loop."""
    torch.manual_seed(0)
    first, second = torch.nn.Linear(COLUMNS, 4).double(), torch.nn.Linear(4, 1).double()
    layers = torch.nn.ModuleList([GINConv(first, eps=0.5), GINConv(second)])

    def call(layers, b):
        return global_add_pool(
            layers[1](torch.tanh(layers[0](b.x, b.edge_index)), b.edge_index), b.batch
        ).tanh()

    graph = GRAPHS[0]
    choice = torch.tensor([[1.0], [1], [1], [1], [0]]).double().requires_grad_()
    prediction = nn.OnSubgraphs(layers, call=call)(graph, bags.from_choice(graph, choice))
    prediction.sum().backward()

    left = choice.detach().flatten()
    source, target = graph.edge_index
    edges = (left[source] * left[target]).requires_grad_()
    vertices = left.clone().requires_grad_()
    adjacency = torch.zeros(5, 5).double().index_put((target, source), edges, accumulate=True)
    h = torch.tanh(first(1.5 * graph.x * vertices[:, None] + adjacency @ (graph.x * vertices[:, None])))
    h = second(h + adjacency @ h)
    expected = h[left != 0].sum().tanh()
    expected.backward()
    assert torch.allclose(prediction.flatten(), expected)
    there = edges.detach() != 0
    for v in range(5):
        of_edges = [float(edges.grad[e]) if there[e] else 0.0 for e in (target == v).nonzero().flatten()]
        wanted = sum(of_edges) / len(of_edges) + float(vertices.grad[v] * left[v])
        assert choice.grad[v, 0].item() == pytest.approx(wanted, abs=1e-12)
    assert choice.grad[4] == 0  # removed
    assert choice.grad[:4].abs().min() > 0


@pytest.mark.parametrize("text", TEXTS)
def test_the_upstream_network_learns(text):
    torch.manual_seed(0)
    model = data_driven(nn.OnSubgraphs(Whole().double()), text, estimator=IMLE(lam=1000.0))
    out = model(BATCH)
    out.objective(out.prediction.square().sum(1)).backward()
    assert model.upstream.vertex_encoder.weight.grad.abs().sum() > 0
    assert not model.downstream.model.first._message_forward_hooks  # left as it was


def test_marks_and_ranks_are_attributes():
    class Marks(torch.nn.Module):
        def forward(self, batch):
            return scatter(batch.mark[:, None] * batch.x, batch.batch, dim_size=batch.num_graphs)

    model = data_driven(nn.OnSubgraphs(Marks(), sagg="sum"), "mark 1 vertex x 2", estimator=IMLE(lam=1000.0))
    out = model(BATCH)
    marked = out.selected[0].choice.detach().t() @ BATCH.x
    assert torch.allclose(out.prediction.sum(0), marked.sum(0))
    out.objective(out.prediction.square().sum(1)).backward()
    assert model.upstream.vertex_encoder.weight.grad.abs().sum() > 0
    choice = torch.tensor([[3.0], [0], [1], [0], [2]])
    assert bags.as_batch(GRAPHS[0], bags.from_choice(GRAPHS[0], choice, ordered=True)).rank.tolist() == [
        1,
        3,
        2,
    ]
    edges = bags.from_choice(GRAPHS[3], torch.tensor([[1.0], [0], [0], [1]]), what="edge", operation="mark")
    assert bags.as_batch(GRAPHS[3], edges).edge_mark.equal(edges.edge_mark)


def test_a_batch_of_subgraphs_has_what_pyg_would_give_it():
    """Isolated vertices stay, empty subgraphs keep their number, attributes go with their rows."""
    bag = bags.all_subsets(BATCH, 1, operation="delete", whole_graph=True)
    found = bags.as_batch(BATCH, bag)
    expected = []
    for graph in GRAPHS:
        every = torch.ones(graph.num_nodes, graph.num_nodes + 1) - torch.eye(
            graph.num_nodes, graph.num_nodes + 1
        )
        expected += [one_by_one(graph, column, "delete 1 vertex") for column in every.t()]
    wanted = Batch.from_data_list(expected)
    assert found.num_graphs == wanted.num_graphs == bag.num_subgraphs
    assert found.num_nodes == wanted.num_nodes
    for name in ("x", "shade", "u", "batch", "ptr"):
        assert found[name].equal(wanted[name]), name
    for name in ("mark", "surface_knowledge"):  # a bag that marks nothing has no say in it
        assert found[name].equal(BATCH[name][bag.vertex]), name
    ours = torch.cat((found.edge_index, found.edge_attr.t()))
    theirs = torch.cat((wanted.edge_index, wanted.edge_attr.t()))
    assert sorted(ours.t().tolist()) == sorted(theirs.t().tolist())
    isolated = bags.as_batch(BATCH, bags.all_subsets(BATCH, 1, deleted="isolated"))
    assert isolated.num_nodes == sum(graph.num_nodes**2 for graph in GRAPHS)


def test_layers_with_self_loops_of_their_own_and_layers_on_other_edges():
    torch.manual_seed(0)
    graph, conv = GRAPHS[0], GATConv(COLUMNS, 2).double()
    loop = graph.edge_index[0] == graph.edge_index[1]
    gradients = []
    for kept in (torch.ones_like(loop), ~loop):  # GAT drops the loop and adds one to every vertex
        edges = graph.edge_index[:, kept].contiguous()
        weight = torch.ones(edges.size(1), dtype=torch.double, requires_grad=True)
        with scaled_messages(conv, edges, weight):
            conv(graph.x, edges).tanh().sum().backward()
        gradients.append(weight.grad)
    assert torch.allclose(gradients[0][~loop], gradients[1])
    assert gradients[0][loop].item() == 0
    assert gradients[1].abs().min() > 0

    class Thinned(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = GATConv(COLUMNS, 4), GINConv(torch.nn.Linear(4, 1))
            self.pool = TopKPooling(4, ratio=2)

        def forward(self, b):
            h = self.first(b.x, b.edge_index)
            h, edge_index, _, batch, _, _ = self.pool(h, b.edge_index, batch=b.batch)
            return global_add_pool(self.second(h, edge_index), batch)

    model = nn.OnSubgraphs(Thinned().double())
    choice = torch.ones(BATCH.num_nodes, 2).double()
    plain = model(BATCH, bags.from_choice(BATCH, choice))
    learned = model(BATCH, bags.from_choice(BATCH, choice.clone().requires_grad_()))
    assert learned.equal(plain)
    assert learned.requires_grad


def test_predictions_of_other_shapes_and_nothing_at_all():
    class Number(torch.nn.Module):
        def forward(self, b):
            return scatter(b.x[:, 0], b.batch, dim_size=b.num_graphs)

    model = nn.OnSubgraphs(Number(), sagg="sum")
    bag = bags.all_subsets(BATCH, 1)
    total = torch.stack([graph.x[:, 0].sum() * (graph.num_nodes - 1) for graph in GRAPHS])
    assert torch.allclose(model(BATCH, bag), total)
    points = Batch.from_data_list([GRAPHS[1], GRAPHS[4]])
    assert model(points, bags.all_subsets(points, 1)).tolist() == [0, 0]
    both = nn.OnSubgraphs(GIN(COLUMNS, 4, 1, 2).double(), call=pooled)
    assert both(points, bags.all_subsets(points, 1)).tolist() == [[0, 0], [0, 0]]


def test_votes_of_a_model_with_one_number_per_graph():
    """Every sample of every graph says no, whatever the other graphs of the batch."""

    class No(torch.nn.Module):
        def forward(self, b):
            return -1 - scatter(b.x[:, 0].abs(), b.batch, dim_size=b.num_graphs)

    upstream = nn.Upstream(count=2, width=4, vertex_encoder=nn.Numerical(COLUMNS, 4)).double()
    model = nn.DataDrivenOSAN(upstream, nn.OnSubgraphs(No()), "mark 1 vertex x 2", combine="vote").eval()
    assert model(BATCH).prediction.tolist() == [-0.5] * len(GRAPHS)


def test_messages_in_several_parts():
    class Two(MessagePassing):
        def forward(self, x, edge_index):
            return self.propagate(edge_index, x=x)

        def message(self, x_j):
            return x_j, 2 * x_j

        def aggregate(self, messages, index, dim_size=None):
            return sum(scatter(part, index, dim_size=dim_size) for part in messages)

    conv, edges = Two(), torch.tensor([[0, 1], [2, 2]])
    with scaled_messages(conv, edges, torch.tensor([1.0, 10.0])):
        assert conv(torch.ones(3, 1), edges).flatten().tolist() == [0, 0, 33]


def test_what_will_not_do_is_said():
    gin = GIN(COLUMNS, 4, 2, 2).double()
    with pytest.raises(OsanError, match=r"model: expected .* a batch alone, got GIN \(forward\(x.*call"):
        nn.OnSubgraphs(gin)
    with pytest.raises(OsanError, match="sagg: expected 'mean', 'sum' or 'max', got 'attention'"):
        nn.OnSubgraphs(Whole(), sagg="attention")
    unpooled = nn.OnSubgraphs(gin, call=lambda model, b: model(b.x, b.edge_index))
    with pytest.raises(
        OsanError, match=r"one row for each of 4 subgraphs with 12 vertices, got shape \[12, 2\]"
    ):
        unpooled(GRAPHS[2], bags.all_subsets(GRAPHS[2], 1))
    kept = bags.all_subsets(GRAPHS[2], 1, deleted="unpooled")
    with pytest.raises(OsanError, match=r"expected deleted='masked'.*got deleted='unpooled'"):
        unpooled(GRAPHS[2], kept)
    with pytest.raises(OsanError, match="expected the 4 vertices of the bag"):
        nn.OnSubgraphs(gin, call=pooled)(GRAPHS[0], bags.all_subsets(GRAPHS[2], 1))


@pytest.mark.parametrize("sagg", ["mean", "sum", "max"])
def test_predictions_of_vertices_are_joined_over_the_subgraphs_that_have_them(sagg):
    torch.manual_seed(0)
    gin = GIN(COLUMNS, 6, 2, 2, norm="batch_norm").double().eval()
    call = lambda gin, b: gin(b.x, b.edge_index)  # noqa: E731
    model = nn.OnSubgraphs(gin, sagg=sagg, level="vertex", call=call)
    choice = torch.randint(0, 2, (BATCH.num_nodes, 3), generator=torch.Generator().manual_seed(0)).double()
    found = model(BATCH, bags.from_choice(BATCH, choice.clone().requires_grad_()))
    assert found.requires_grad
    assert found.shape == (BATCH.num_nodes, 2)
    for g, graph in enumerate(GRAPHS):
        first = int(BATCH.ptr[g])
        each = [[] for _ in range(graph.num_nodes)]
        for column in choice[BATCH.batch == g].t():
            left = column.nonzero().flatten().tolist()
            if left:
                rows = call(gin, one_by_one(graph, column, "select vertices"))
                for v, row in zip(left, rows, strict=True):
                    each[v].append(row)
        for v, rows in enumerate(each):
            rows = torch.stack(rows) if rows else torch.zeros(1, 2).double()
            expected = {"mean": rows.mean(0), "sum": rows.sum(0), "max": rows.amax(0)}[sagg]
            assert torch.allclose(found[first + v], expected, rtol=0, atol=1e-12)


def test_soft_weights_of_vertices_weight_their_predictions():
    model = nn.OnSubgraphs(torch.nn.Identity(), level="vertex", call=lambda model, b: b.shade)
    bag = bags.from_choice(BATCH, torch.ones(BATCH.num_nodes, 2).double())
    weight = torch.rand(bag.num_copies, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    ones = torch.ones(bag.num_copied_edges).double()
    bag = replace(bag, weight=weight, edge_weight=ones)
    assert torch.allclose(model(BATCH, bag), BATCH.shade)  # a mean of equal values
    total = nn.OnSubgraphs(torch.nn.Identity(), sagg="sum", level="vertex", call=lambda model, b: b.shade)
    expected = BATCH.shade * torch.zeros(BATCH.num_nodes).double().index_add(0, bag.vertex, weight)
    assert torch.allclose(total(BATCH, bag), expected)
    with pytest.raises(OsanError, match=r"one row for each of 28 vertices of 10 subgraphs, got shape \[10"):
        nn.OnSubgraphs(Whole().double(), level="vertex")(BATCH, bag)
    with pytest.raises(OsanError, match="level: expected 'graph' or 'vertex', got 'edge'"):
        nn.OnSubgraphs(Whole(), level="edge")
