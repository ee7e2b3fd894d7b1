"""I-MLE gradients by hand, on literal graphs of three to five vertices."""

import networkx as nx
import pytest
import torch
from enumeration import data
from torch_geometric.data import Batch

from osan.errors import OsanError
from osan.selection import IMLE, AdaptiveIMLE, Noise, Randomness, Selection

QUIET = Noise("none")


def gradient(text, graph, weights, upstream, lam=1.0, **options):
    """Gradient of the weights when ``upstream`` reaches the choice, without noise unless asked for."""
    weights = torch.tensor(weights, requires_grad=True)
    noise = options.pop("noise", QUIET)
    select = Selection(text, IMLE(lam, reduction="sum", **options), noise)
    choice = select(graph, weights).choice
    choice.backward(torch.tensor(upstream))
    return choice.detach(), weights.grad


def column(*values):
    return [[float(value)] for value in values]


def test_three_vertices_unordered():
    # theta = (3, 2, 1), select 1: z* = (1, 0, 0). The gradient (1, 0, -1.5) with lambda 1 gives the target
    # weights (2, 2, 2.5) and z = (0, 0, 1): the difference is (1, 0, -1).
    choice, grad = gradient("select 1 vertex", data(nx.path_graph(3)), column(3, 2, 1), column(1, 0, -1.5))
    assert choice.T.tolist() == [[1, 0, 0]]
    assert grad.T.tolist() == [[1, 0, -1]]


def test_the_estimate_carries_one_over_lambda():
    # lambda 4, gradient (0.5, 0, 0): target weights (1, 2, 1), so vertex 1 takes over; 1/4 of (1, -1, 0).
    _, grad = gradient("select 1 vertex", data(nx.path_graph(3)), column(3, 2, 1), column(0.5, 0, 0), lam=4.0)
    assert grad.T.tolist() == [[0.25, -0.25, 0]]
    # lambda 1 changes nothing: (2.5, 2, 1).
    _, grad = gradient("select 1 vertex", data(nx.path_graph(3)), column(3, 2, 1), column(0.5, 0, 0), lam=1.0)
    assert grad.T.tolist() == [[0, 0, 0]]


def test_four_vertices_deleting_one():
    # theta = (4, 3, 2, 1), delete 1: (1, 1, 1, 0). Target weights (4 - 5, 3, 2, 1): (0, 1, 1, 1).
    choice, grad = gradient(
        "delete 1 vertex", data(nx.cycle_graph(4)), column(4, 3, 2, 1), column(5, 0, 0, 0)
    )
    assert choice.T.tolist() == [[1, 1, 1, 0]]
    assert grad.T.tolist() == [[1, 0, 0, -1]]


def test_remark_of_the_paper_rank_one_that_should_be_rank_five():
    # All five vertices ranked; the gradient pushes the first behind the others: 5 - 1 = 4.
    choice, grad = gradient(
        "select 5 vertices ordered", data(nx.cycle_graph(5)), column(5, 4, 3, 2, 1), column(10, 0, 0, 0, 0)
    )
    assert choice.T.tolist() == [[5, 4, 3, 2, 1]]
    assert grad.T.tolist() == [[4, -1, -1, -1, -1]]


def test_remark_of_the_paper_absent_that_should_be_first():
    # Vertex 5 is not among the five and should be first: 0 - 5; the others lose one rank each.
    choice, grad = gradient(
        "select 5 vertices ordered",
        data(nx.path_graph(6)),
        column(6, 5, 4, 3, 2, 1),
        column(0, 0, 0, 0, 0, -9),
    )
    assert choice.T.tolist() == [[5, 4, 3, 2, 1, 0]]
    assert grad.T.tolist() == [[1, 1, 1, 1, 1, -5]]


def test_deleting_in_order_ranks_what_is_kept():
    # The top three of four have the values 3, 2, 1; vertex 1 falls behind vertex 3: (3, 1, 0, 2) after.
    choice, grad = gradient(
        "delete 1 vertex ordered", data(nx.path_graph(4)), column(4, 3, 1, 2), column(0, 1.5, 0, 0)
    )
    assert choice.T.tolist() == [[3, 2, 0, 1]]
    assert grad.T.tolist() == [[0, 1, 0, -1]]


def test_both_directions_of_an_edge_count_once():
    # Path 0-1-2-3 with columns (0,1), (1,2), (2,3), then the reverse ones. Weights of the edges: 3, 2, 1.
    path = data(nx.path_graph(4))
    weights = column(3.5, 2, 1, 2.5, 2, 1)
    # The gradients of the two directions add up to (2, 0, -1): target weights (1, 2, 2 + tiny).
    choice, grad = gradient("select 1 edge", path, weights, column(1.5, 0, -0.5, 0.75, 0, -0.75))
    assert choice.T.tolist() == [[1, 0, 0, 1, 0, 0]]
    # z = (1, 0, 0) - (0, 0, 1) per edge, and half of it for each direction, whose mean the weight is.
    assert grad.T.tolist() == [[0.5, 0, -0.5, 0.5, 0, -0.5]]


def test_ego_nets_and_trees():
    # Star with center 0; the 1-ego nets of the leaves are {0, leaf}. Mean weights of the nets: 1.5 (center),
    # 3.5, 2, -1.5; with the target weights (1, 2, 3, -4): 0.5, 1.5, 2, -1.5.
    star = data(nx.star_graph(3))
    choice, grad = gradient("select 1-ego", star, column(1, 6, 3, -4), column(0, 4, 0, 0))
    assert choice.T.tolist() == [[1, 1, 0, 0]]
    assert grad.T.tolist() == [[0, 1, -1, 0]]
    triangle = data(nx.cycle_graph(3))  # columns (0,1), (0,2), (1,2), then the reverse ones
    choice, grad = gradient("tree", triangle, column(1, 2, 3, 1, 2, 3), column(0, 1, 0, 0, 1, 0))
    assert choice.T.tolist() == [[0, 1, 1, 0, 1, 1]]
    assert grad.T.tolist() == [[-0.5, 0.5, 0, -0.5, 0.5, 0]]


def test_channels_are_separate():
    weights = [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]]
    _, grad = gradient(
        "select 1 vertex", data(nx.path_graph(3)), weights, [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    )
    assert grad.tolist() == [[1, 0], [-1, 0], [0, 0]]


@pytest.mark.parametrize("graphs", [1, 4, 50])
def test_each_graph_has_its_own_loss(graphs):
    """With the mean over a batch the estimate is that of each graph alone, divided by their number."""
    single = data(nx.path_graph(3))
    _, alone = gradient("select 1 vertex", single, column(3, 2, 1), column(1, 0, -1.5))
    batch = Batch.from_data_list([single] * graphs)
    weights = torch.tensor(column(3, 2, 1) * graphs, requires_grad=True)
    target = torch.tensor(column(1, 0, -1.5) * graphs)
    select = Selection("select 1 vertex", IMLE(1.0, reduction="mean"), QUIET)
    losses = (select(batch, weights).choice * target).view(graphs, 3).sum(1)
    losses.mean().backward()
    assert torch.allclose(weights.grad.view(graphs, 3), alone.T.expand(graphs, 3) / graphs)
    # Perturbing with the gradient of the mean itself, as lambda 1 and "sum" do, changes no choice.
    if graphs == 50:
        weights.grad = None
        select = Selection("select 1 vertex", IMLE(1.0, reduction="sum"), QUIET)
        (select(batch, weights).choice * target).view(graphs, 3).sum(1).mean().backward()
        assert weights.grad.eq(0).all()


def test_both_states_see_the_same_noise():
    """A gradient of zero gives an estimate of exactly zero, whatever the noise and the ties."""
    graph = data(nx.cycle_graph(5))
    for noise in (QUIET, Noise(), Noise("sum-of-gamma"), Noise("gaussian")):
        _, grad = gradient(
            "select 2 vertices", graph, column(0, 0, 0, 0, 0), column(0, 0, 0, 0, 0), noise=noise, samples=3
        )
        assert grad.eq(0).all()


def test_samples_average_the_formula():
    """The mean over draws, each recomputed here from the same noise."""
    graph = data(nx.cycle_graph(5))
    torch.manual_seed(3)
    theta, upstream = torch.randn(5, 2), torch.randn(5, 2)
    select = Selection("select 2 vertices", IMLE(2.0, samples=4, reduction="sum"))
    randomness = Randomness.of(graph, seed=11)
    weights = theta.clone().requires_grad_()
    selected = select(graph, weights, randomness)
    selected.choice.backward(upstream)
    total = torch.zeros(5, 2)
    for draw in range(4):
        eps = Noise().draw(selected.problem, theta, randomness, draw)
        for channel in range(2):
            before = (theta + eps)[:, channel].topk(2).indices
            after = (theta + eps - 2.0 * upstream)[:, channel].topk(2).indices
            total[before, channel] += 1
            total[after, channel] -= 1
    assert torch.allclose(weights.grad, total / 8)


def test_adaptive_step_reaches_its_target():
    torch.manual_seed(0)
    batch = Batch.from_data_list([data(nx.cycle_graph(8))] * 40)
    estimator = AdaptiveIMLE(target=1.0, rate=0.1)
    estimator.alpha.fill_(1e-4)
    select = Selection("select 2 vertices", estimator)
    weights = torch.randn(320, 2, requires_grad=True)
    direction = torch.randn(320, 2)
    shares = []
    for step in range(200):
        weights.grad = None
        select(batch, weights).choice.backward(direction)
        if step >= 150:
            shares.append(float((weights.grad != 0).sum()) / 80)
    assert sum(shares) / len(shares) == pytest.approx(1.0, abs=0.25)
    # The step does not depend on the scale of the loss.
    state = {name: value.clone() for name, value in estimator.state_dict().items()}
    randomness = Randomness.of(batch, seed=1)
    grads = []
    for factor in (1.0, 1000.0):
        estimator.load_state_dict(state)
        weights.grad = None
        select(batch, weights, randomness).choice.backward(factor * direction)
        grads.append(weights.grad / factor)
    assert torch.allclose(grads[0], grads[1])
    assert "alpha" in state


@pytest.mark.parametrize("options", [{"lam": 0}, {"lam": -1.0}, {"samples": 0}, {"reduction": "max"}])
def test_bad_settings(options):
    with pytest.raises(OsanError, match=r"above 0|at least 1|'mean' or 'sum'"):
        IMLE(**options)


@pytest.mark.parametrize("options", [{"target": 0}, {"rate": 1.0}, {"momentum": 1.0}])
def test_bad_adaptive_settings(options):
    with pytest.raises(OsanError, match="expected target above 0"):
        AdaptiveIMLE(**options)
