"""The custom parts of this folder, used in Python: each against its definition."""

from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from my_architecture import Gated, egos
from my_data import trees
from my_estimator import Fading
from my_layer import MeanLayer
from my_loss import crowding
from my_noise import logistic
from my_pooling import RootMeanSquare
from my_scores import fourth, mean
from rings import Ring
from sklearn import metrics
from torch_geometric.data import Batch, Data
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import from_networkx

from osan import bags, nn
from osan.data import AddEncodings, load, task_from_graphs
from osan.errors import OsanError
from osan.selection import GroundSet, Policy, Selection, auxiliary_loss, problem_for
from osan.training.scores import losses_per_graph, score

WIDTH = 8


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("[!tc]*.py")), ids=lambda path: path.name)
def test_a_part_is_one_short_file(path):
    assert len(path.read_text().splitlines()) <= 40


def some_graphs():
    """Two rings that share an edge, a graph with many rings, and a tree."""
    fused = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (4, 5), (5, 3), (5, 6)])
    return [fused, nx.gnm_random_graph(8, 13, seed=3), nx.path_graph(4)]


def as_batch(graphs):
    made = [from_networkx(nx.Graph(graph.edges)) for graph in graphs]
    for one in made:
        one.x = torch.randn(one.num_nodes, 3, generator=torch.Generator().manual_seed(one.num_nodes))
    return Batch.from_data_list(made)


def rings_by_definition(graph):
    """All sets of vertices that induce a connected graph with two neighbors each."""
    for size in range(3, len(graph) + 1):
        for vertices in combinations(sorted(graph), size):
            inside = graph.subgraph(vertices)
            if nx.is_connected(inside) and all(degree == 2 for _, degree in inside.degree):
                yield set(vertices)


def test_the_best_ring_is_chosen():
    graphs, batch = some_graphs(), as_batch(some_graphs())
    torch.manual_seed(0)
    weights = torch.randn(batch.num_nodes, 5)
    select = Selection("select rings:Ring x 5", noise="none")
    assert select.policy == Policy("select", Ring, count=5)
    assert str(select.policy) == "select rings:Ring x 5"
    choice = select(batch, weights).choice
    for number, graph in enumerate(graphs):
        rows = (batch.batch == number).nonzero().flatten()
        # Vertices are numbered in the order in which the edges name them.
        names = list(nx.Graph(graph.edges))
        rings = list(rings_by_definition(graph)) or [set(graph)]
        for column in range(5):
            weight = {name: weights[row, column].item() for name, row in zip(names, rows, strict=True)}
            best = max(rings, key=lambda ring: sum(weight[v] for v in ring) / len(ring))
            chosen = {name for name, row in zip(names, rows, strict=True) if choice[row, column] == 1}
            assert chosen == best
    bag = problem_for(select.policy, batch).bag(batch, choice)
    assert bag.num_copies == int(choice.sum())


def test_equal_rings_are_chosen_equally_often():
    """Ties are broken at random: no numbering of the vertices is better than another."""
    batch = as_batch([nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)])])
    choice = Selection("select rings:Ring x 400", noise="none")(batch, torch.zeros(6, 400)).choice
    assert 140 < choice[0].sum() < 260
    assert torch.equal(choice.sum(0), torch.full((400,), 3.0))


@pytest.mark.parametrize("policy", ["select 2 vertices", "tree", "select rings:Ring"])
def test_the_gradient_of_the_estimator(policy):
    batch = as_batch(some_graphs())
    rows = problem_for(Policy.parse(policy), batch).ground.num_rows
    weights = torch.randn(rows, 3, requires_grad=True)
    toward = torch.randn(rows, 3)
    if "tree" in policy:  # the two directions of an edge are one element
        ground = GroundSet.edges(batch)
        weights = ground.spread(torch.randn(ground.num_elements, 3)).requires_grad_()
    estimator = Fading(decay=0.5)
    select = Selection(policy, estimator, "none", temperature=2.0)
    for step in range(3):
        weights.grad = None
        (select(batch, weights).choice * toward).sum().backward()
        expected = toward * 0.5**step / 2.0  # of theta / tau
        if "tree" in policy:
            expected = ground.spread(ground.gather(expected))
        assert torch.allclose(weights.grad, expected)
    estimator.eval()
    select(batch, weights)
    assert estimator.factor == 0.5**3


def test_the_value_and_the_gradient_of_the_loss():
    ground = GroundSet(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0]), torch.tensor([2, 1]))
    choice = torch.tensor([[1.0, 1, 1], [0, 1, 0], [0, 0, 1]], requires_grad=True)
    losses = auxiliary_loss("my_loss:crowding", choice, ground)
    assert losses.tolist() == [(3**2 + 1**2) / 2, 1.0]
    assert crowding(choice, ground, power=3.0).tolist() == [(3**3 + 1) / 2, 1.0]
    losses.sum().backward()
    assert choice.grad[:, 0].tolist() == [2 * 3 / 2, 2 * 1 / 2, 2 * 1]


@pytest.mark.parametrize("learned", [False, True])
def test_the_layer_is_graphsage_on_every_subgraph(learned):
    """With gradients, removed vertices stay with weight 0; the others do not notice."""
    batch = as_batch(some_graphs())
    torch.manual_seed(0)
    layer, reference = MeanLayer(3), SAGEConv(3, 3)
    reference.lin_r.weight, reference.lin_r.bias = layer.own.weight, None
    reference.lin_l.weight = layer.neighbors.weight
    reference.lin_l.bias = torch.nn.Parameter(layer.own.bias + layer.neighbors.bias)
    choice = (torch.rand(batch.num_nodes, 2) < 0.7).float()
    bag = bags.from_choice(batch, choice.clone().requires_grad_(learned))
    found = nn.convolve(layer, batch.x[bag.vertex], bag)
    for subgraph in range(bag.num_subgraphs):
        copies = (bag.subgraph == subgraph) & (True if bag.weight is None else bag.weight != 0)
        vertices = bag.vertex[copies]
        edges = nx.Graph(batch.edge_index.t().tolist()).subgraph(vertices.tolist()).edges
        place = {vertex: row for row, vertex in enumerate(vertices.tolist())}
        arcs = [(place[u], place[v]) for a, b in edges for u, v in ((a, b), (b, a))]
        expected = reference(batch.x[vertices], torch.tensor(arcs, dtype=torch.long).view(-1, 2).t())
        assert torch.allclose(found[copies], expected, atol=1e-6)


def test_the_architecture_joins_subgraphs_by_its_gate():
    batch = as_batch(some_graphs())
    torch.manual_seed(0)
    network = Gated(WIDTH, 2, 2, vertex_encoder=nn.Numerical(3, WIDTH), conv=MeanLayer, sharpness=3.0).eval()
    bag = bags.all_subsets(batch, 1)
    kept = {}
    network.pool.register_forward_hook(lambda module, inputs, out: kept.update(out=out))
    found = network(batch, bag)
    weight = torch.exp(3.0 * torch.tanh(network.gate(kept["out"])))
    for graph in range(3):
        mine = bag.graph == graph
        share = weight[mine] / weight[mine].sum()
        assert torch.allclose(found[graph], (share * network.head(kept["out"])[mine]).sum(0), atol=1e-6)


def test_all_parts_in_one_model():
    batch = as_batch(some_graphs())
    torch.manual_seed(0)
    network = Gated(
        WIDTH, 2, 1, vertex_encoder=nn.Numerical(3, WIDTH), conv=MeanLayer, readout=RootMeanSquare
    )
    upstream = nn.Upstream(count=2, width=WIDTH, vertex_encoder=nn.Numerical(3, WIDTH))
    model = nn.DataDrivenOSAN(
        upstream, network, "select rings:Ring x 2", estimator=Fading, noise=logistic, auxiliary=crowding
    )
    out = model(batch)
    out.objective(out.prediction.square().squeeze(1)).backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    assert sum(parameter.grad.abs().sum() for parameter in upstream.parameters()) > 0


def test_bags_of_the_other_architecture():
    graph = Data(edge_index=torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]), num_nodes=4)
    out = egos(WIDTH, 2, 1, hops=2)(graph)
    sizes = torch.bincount(out.bag.subgraph)
    assert sizes.tolist() == [3, 4, 4, 3]


def test_noise_and_pooling_by_their_formulas():
    uniform = torch.tensor([[0.5], [0.75]])
    assert logistic(None, None, lambda part: uniform).flatten().tolist() == pytest.approx([0, 1.0986123])
    rows, group = torch.tensor([[3.0], [4.0], [7.0]]), torch.tensor([0, 0, 2])
    pooled = nn.Pool(RootMeanSquare, 1)(rows, group, 3, torch.tensor([1.0, 3.0, 1.0]))
    assert pooled.flatten().tolist() == pytest.approx([((9 + 3 * 16) / 4) ** 0.5, 0, 7.0], abs=1e-5)


def test_a_loss_of_every_kind():
    """One loss per graph, the mean over its targets; missing ones are left out, also if they are infinite."""
    numbers = torch.tensor([[1.0, 3.0], [2.0, float("inf")]])
    y = torch.tensor([[0.0, 1.0], [2.0, float("nan")]])
    for kind in ("regression", "binary"):
        assert losses_per_graph(numbers, y, kind, fourth).tolist() == [(1 + 2**4) / 2, 0]
    logits = torch.tensor([[0.0, 0.0], [5.0, 1.0]])
    given = losses_per_graph(logits, torch.tensor([1, -1]), "multiclass", fourth)
    assert given.tolist() == pytest.approx([0.5**4, 0])
    with pytest.raises(
        OsanError, match=r"training.loss: expected losses of shape \[2, 2\], .* 'mean', got \[\]"
    ):
        losses_per_graph(numbers.nan_to_num(), y, "regression", mean)


def test_metrics_by_their_definition():
    rng = np.random.default_rng(0)
    predicted, y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    y[:5, 1] = np.nan
    known = [(predicted[:, 0], y[:, 0]), (predicted[5:, 1], y[5:, 1])]
    given = torch.tensor(predicted), torch.tensor(y)
    worst = np.mean([np.abs(p - t).max() for p, t in known])
    assert float(score(*given, "regression", "my_scores:worst")) == pytest.approx(worst)
    pearson = np.mean([np.corrcoef(p, t)[0, 1] for p, t in known])
    assert float(score(*given, "regression", "my_scores:Pearson")) == pytest.approx(pearson, abs=1e-6)

    # Probabilities for classes, and their number for torchmetrics.
    classes = rng.integers(0, 3, 20)
    logits = rng.normal(size=(20, 3))
    f1 = metrics.f1_score(classes, logits.argmax(1), average="macro")
    name = "torchmetrics.classification:MulticlassF1Score"
    found = score(torch.tensor(logits), torch.tensor(classes), "multiclass", name)
    assert float(found) == pytest.approx(f1, abs=1e-6)
    binary = score(torch.tensor(logits[:, :1]), torch.tensor(classes[:, None] > 0).float(), "binary", F1)
    assert float(binary) == pytest.approx(metrics.f1_score(classes > 0, logits[:, 0] > 0), abs=1e-6)


F1 = "torchmetrics.classification:BinaryF1Score"


def test_a_task_with_a_metric_of_its_own():
    task = load("my_data:trees", graphs=40, metric="my_scores:worst", seed=3)
    assert (task.metric, task.direction, len(task.whole)) == ("my_scores:worst", "min", 40)
    assert torch.equal(task.train.y, trees(seed=3, graphs=40).train.y)
    graphs = [task.whole[i] for i in range(10)]
    assert task_from_graphs(graphs, metric="my_scores:Pearson").direction == "max"
    for metric, told in (
        ("my_scores:fourth", "expected True or False as attribute higher_is_better of 'my_scores:fourth'"),
        ("my_scores:nobody", "cannot import 'my_scores:nobody'"),
    ):
        with pytest.raises(OsanError, match=told):
            task_from_graphs(graphs, metric=metric)
    for dataset, options, told in (
        ("my_data:trees", {"size": 3}, "expected one of the options graphs, got 'size'"),
        ("my_data:nobody", {}, "dataset: cannot import 'my_data:nobody'"),
        ("my_scores:Pearson", {}, "dataset: 'my_scores:Pearson' failed .*`seed`"),
        ("my_data:make", {}, "dataset: expected an osan.data.Task from 'my_data:make', got list"),
    ):
        with pytest.raises(OsanError, match=told):
            load(dataset, **options)


def test_an_encoding_of_ones_own():
    batch = as_batch(some_graphs())
    sizes = batch.batch.bincount()[batch.batch].float()
    given = AddEncodings(["my_data:sizes:2", "cse:1"])(batch).encoding
    assert torch.equal(given[:, :2], sizes[:, None].expand(-1, 2))
    for name, told in (
        ("my_data:sizes", "expected .* or 'module:name:K' with K from 1 to 64, got 'my_data:sizes'"),
        ("my_data:nobody:3", "cannot import 'my_data:nobody'"),
        ("torch:add:3", r"encodings: 'torch:add' failed \(TypeError"),
        ("my_data:double:2", r"encodings: expected shape \[19, 2\], .* from 'my_data:double', got \[19, 4\]"),
    ):
        with pytest.raises(OsanError, match=told):
            AddEncodings([name])(batch)
