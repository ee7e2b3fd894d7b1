"""Weights that are no numbers: errors for NaN and infinity, masks for minus infinity."""

import itertools
import math

import networkx as nx
import pytest
import torch
from enumeration import data
from scipy import stats
from torch_geometric.data import Batch, Data

from osan.errors import OsanError
from osan.selection import (
    IMLE,
    SIMPLE,
    AdaptiveIMLE,
    Noise,
    Random,
    Randomness,
    ScoreFunction,
    Selection,
    StraightThrough,
)

NAN, INF = math.nan, math.inf


def paths(*sizes):
    return Batch.from_data_list([data(nx.path_graph(n)) for n in sizes])


@pytest.mark.parametrize(
    "text", ["delete 1 vertex", "select 2 vertices ordered", "select 1-ego", "cover select 2 vertices"]
)
@pytest.mark.parametrize("value", [NAN, INF])
def test_weights_that_are_no_numbers_name_their_graph(text, value):
    weights = torch.zeros(12, 2)
    weights[8, 1] = value
    with pytest.raises(
        OsanError, match=rf"weights: expected finite numbers, got {value:g} in graph 2 .*subgraph 1"
    ):
        Selection(text)(paths(4, 3, 5), weights)


@pytest.mark.parametrize("text", ["delete 1 edge", "tree"])
def test_weights_of_edges_that_are_no_numbers(text):
    batch = paths(4, 3, 5)
    weights = torch.zeros(batch.num_edges, 1)
    weights[batch.num_edges - 1] = NAN
    with pytest.raises(OsanError, match="got nan in graph 2"):
        Selection(text)(batch, weights)
    # The two directions of an edge have no mean.
    weights = torch.zeros(batch.num_edges, 1)
    weights[0], weights[3] = INF, -INF
    with pytest.raises(OsanError, match="got nan in graph 0"):
        Selection(text)(batch, weights)


@pytest.mark.parametrize("text", ["delete 2-ego", "cover delete 1 vertex"])
def test_kinds_that_cannot_mask_refuse(text):
    with pytest.raises(OsanError, match=f"got -inf in graph 1 .*{text}.* cannot mask elements, use IMLE"):
        Selection(text)(paths(4, 3), torch.tensor([0.0, 0, 0, 0, 0, -INF, 0])[:, None])
    with pytest.raises(OsanError, match=r"StraightThrough with policy .* cannot mask"):
        Selection("select 1 vertex", StraightThrough())(paths(2), torch.tensor([[0.0], [-INF]]))


MASKED = torch.tensor([0.0, -INF, 1.0, -INF, 2.0, -INF, -INF, -INF])  # graphs of 5 and 3 vertices


ESTIMATORS = [IMLE(samples=2), AdaptiveIMLE(), SIMPLE(), Random()]
CASES = [*itertools.product(ESTIMATORS, ("gumbel", "gaussian", "sum-of-gamma")), (ScoreFunction(), "gumbel")]


@pytest.mark.parametrize(("estimator", "noise"), CASES)
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("select 2 vertices", 2), ("delete 2 vertices", 3), ("select 4 vertices", 4), ("delete 1 vertex", 4),
        ("mark 3 vertices", 3), ("select 7 vertices", 5),
    ],
)  # fmt: skip
def test_masked_elements_are_chosen_only_if_they_must(text, kept, noise, estimator):
    batch = paths(5, 3)
    weights = MASKED.repeat(6, 1).T.contiguous().requires_grad_()
    selected = Selection(text, estimator, noise)(batch, weights)
    chosen = selected.choice[:5]
    assert (chosen.sum(0) == kept).all()
    finite = MASKED[:5].isfinite()
    assert (chosen[finite].sum(0) == min(kept, 3)).all()
    loss = (selected.choice * torch.linspace(-1, 1, 48).view(8, 6)).sum()
    if selected.log_prob is not None:
        assert selected.log_prob.isfinite().all()
        loss = loss + selected.log_prob.sum()
    if loss.requires_grad:
        loss.backward()
        assert weights.grad.isfinite().all()


def test_masked_edges_of_a_tree():
    cycle = data(nx.cycle_graph(5))
    weights = torch.randn(10, 8)
    pair = (cycle.edge_index.sort(0).values == torch.tensor([[1], [2]])).all(0)
    weights[pair] = -INF
    assert Selection("tree")(cycle, weights).choice[pair].eq(0).all()
    path = data(nx.path_graph(4))  # every edge is needed
    assert Selection("tree")(path, torch.full((6, 2), -INF)).choice.eq(1).all()


def log_limit(theta, order, gap=600.0):
    """Log-probability of an order under Plackett-Luce as masked weights go to minus infinity, in double."""
    theta = torch.where(theta.isinf(), -gap, theta.double())
    total, left = 0.0, list(range(len(theta)))
    for vertex in order:
        total += float(theta[vertex] - torch.logsumexp(theta[left], 0))
        left.remove(vertex)
    return total


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_log_probabilities_with_masks_equal_enumeration(k):
    theta = torch.tensor([0.5, -INF, 0.8, -INF, -0.3])
    number = 3000
    batch = paths(*[5] * number)
    weights = theta.repeat(number)[:, None].requires_grad_()
    selection = Selection(f"select {k} vertices ordered", ScoreFunction())
    selected = selection(batch, weights, Randomness.of(batch, 1))
    orders = [
        tuple(torch.argsort(z, descending=True)[:k].tolist())
        for z in selected.choice.detach().view(number, 5)
    ]
    table = {order: log_limit(theta, order) for order in itertools.permutations(range(5), k)}
    assert sum(map(math.exp, table.values())) == pytest.approx(1)
    for order, found in zip(orders[:200], selected.log_prob[:200, 0].tolist(), strict=True):
        assert found == pytest.approx(table[order], abs=1e-5)
    possible = {order: math.exp(value) for order, value in table.items() if value > -100}
    assert set(orders) <= set(possible)
    if len(possible) > 1:
        counts = [orders.count(order) for order in possible]
        assert stats.chisquare(counts, [number * p for p in possible.values()]).pvalue > 0.001


@pytest.mark.parametrize(
    "text", ["select 2 vertices", "delete 2 vertices", "select 4 vertices", "delete 1 vertex"]
)
def test_simple_with_masks_has_the_marginals_of_the_limit(text):
    theta = torch.tensor([0.5, -INF, 0.8, -INF, -0.3], dtype=torch.float64)
    weights = theta[:, None].clone().requires_grad_()
    slope = torch.tensor([1.0, 2.0, -1.0, 0.5, 3.0], dtype=torch.float64)
    selected = Selection(text, SIMPLE())(paths(5), weights)
    (selected.choice[:, 0] @ slope).backward()
    kept = int(selected.choice.sum())
    free = torch.where(theta.isinf(), 0.0, theta).requires_grad_()
    states = torch.tensor(
        [[float(v in s) for v in range(5)] for s in itertools.combinations(range(5), kept)]
    ).double()
    masked = theta.isinf().double()
    least = (states @ masked).min()
    states = states[states @ masked == least]  # all others have probability 0
    probability = torch.softmax(states @ (free * (1 - masked)), 0)
    (probability @ states @ slope).backward()
    assert torch.allclose(weights.grad[~theta.isinf(), 0], free.grad[~theta.isinf()], atol=1e-9)


def test_a_hand_made_batch_vector_is_accepted():
    graph = Data(edge_index=torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]), num_nodes=4)
    graph.batch = torch.tensor([0, 0, 1, 1])
    choice = Selection("select 1 vertex", noise=Noise("none"))(
        graph, torch.tensor([[1.0], [2], [4], [3]])
    ).choice
    assert choice.flatten().tolist() == [0, 1, 1, 0]
