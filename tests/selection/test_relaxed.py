"""SIMPLE, straight-through and score function against enumeration."""

import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from enumeration import data
from scipy import stats
from torch_geometric.data import Batch

from osan.errors import OsanError
from osan.selection import (
    SIMPLE,
    Noise,
    Policy,
    Randomness,
    ScoreFunction,
    Selection,
    StraightThrough,
    problem_for,
)
from osan.selection.ground import GroundSet
from osan.selection.subsets import _composed, drawn, log_partitions, marginals


def subsets(n, k):
    return [
        torch.tensor([float(v in s) for v in range(n)], dtype=torch.float64)
        for s in itertools.combinations(range(n), k)
    ]


def enumerated_marginals(theta, k):
    """Marginals of p(z; theta) ~ exp <z, theta> over k-subsets, differentiable."""
    states = torch.stack(subsets(len(theta), k))
    return torch.softmax(states @ theta, 0) @ states


@pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 2), (6, 1), (6, 3), (6, 5), (7, 7)])
def test_marginals_equal_enumeration(n, k):
    torch.manual_seed(n)
    theta = 2 * torch.randn(n, dtype=torch.float64)
    dense = theta.view(1, n, 1)
    mine = marginals(dense, torch.tensor([k]), log_partitions(dense, k))
    assert torch.allclose(mine.flatten(), enumerated_marginals(theta, k), atol=1e-6)


def test_log_partitions_count_subsets():
    tables = log_partitions(torch.zeros(1, 6, 1, dtype=torch.float64), 4)
    assert torch.allclose(tables[0].exp().flatten(), torch.tensor([1.0, 6, 15, 20, 15], dtype=torch.float64))
    assert torch.allclose(tables[4].exp().flatten()[:3], torch.tensor([1.0, 2, 1], dtype=torch.float64))


@pytest.mark.parametrize(
    "text", ["select 2 vertices", "delete 2 vertices", "mark 3 vertices", "select 9 vertices"]
)
def test_simple_gradient_is_that_of_the_marginals_in_a_ragged_batch(text):
    torch.manual_seed(0)
    sizes = (5, 1, 4, 6)
    batch = Batch.from_data_list([data(nx.path_graph(n)) for n in sizes])
    weights = torch.randn(sum(sizes), 2, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(sum(sizes), 2, dtype=torch.float64)
    select = Selection(text, SIMPLE(reduction="sum"))
    choice = select(batch, weights).choice
    choice.backward(upstream)
    policy = select.policy
    first = 0
    for n in sizes:
        k = max(n - policy.size, 1) if policy.operation == "delete" else min(policy.size, n)
        assert (choice[first : first + n].sum(0) == k).all()
        for channel in range(2):
            theta = weights[first : first + n, channel].detach().requires_grad_()
            (enumerated_marginals(theta, k) @ upstream[first : first + n, channel]).backward()
            assert torch.allclose(weights.grad[first : first + n, channel], theta.grad, atol=1e-6)
        first += n


def enumerated_draw(theta, uniform, k):
    """Element j is taken if its number is below its probability given the elements before it."""
    states = torch.stack(subsets(len(theta), k))
    logits = states @ theta
    possible = torch.ones(len(states), dtype=torch.bool)
    for j in range(len(theta)):
        probability = torch.softmax(logits[possible], 0) @ states[possible, j]
        possible &= states[:, j] == (uniform[j] < probability)
    return states[possible][0]


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_drawn_subsets_and_their_gradients_equal_enumeration(scale):
    """Ground sets and subsets of every size in one ragged batch, compiled and of ordinary operations."""
    pairs = [(n, k) for n in range(1, 8) for k in range(n + 1)]
    graph = torch.repeat_interleave(torch.tensor([n for n, _ in pairs]))
    position = torch.cat([torch.arange(n) for n, _ in pairs])
    ground = GroundSet(graph, position, torch.tensor([n for n, _ in pairs]))
    torch.manual_seed(3)
    theta = scale * torch.randn(len(graph), 2, dtype=torch.float64)
    uniform, slope = torch.rand_like(theta), torch.randn_like(theta)
    k = torch.tensor([k for _, k in pairs])
    found = []
    for function in (drawn, _composed):
        leaf = theta.clone().requires_grad_()
        out = function(leaf, uniform, ground, k, 7)
        out.backward(slope)
        found.append((out.detach(), leaf.grad))
    for g, (n, size) in enumerate(pairs):
        for i in range(2):
            mine, numbers = theta[graph == g, i].requires_grad_(), uniform[graph == g, i]
            (enumerated_marginals(mine, size) @ slope[graph == g, i]).backward()
            for z, gradient in found:
                assert torch.equal(z[graph == g, i], enumerated_draw(mine.detach(), numbers, size)), (n, size)
                assert torch.allclose(gradient[graph == g, i], mine.grad, rtol=1e-9, atol=1e-9), (n, size)


def test_drawn_subsets_have_gradients_of_gradients():
    ground = GroundSet(torch.zeros(5).long(), torch.arange(5), torch.tensor([5]))
    theta = torch.randn(5, 1, dtype=torch.float64, requires_grad=True)
    slope, uniform = torch.randn(5, 1, dtype=torch.float64), torch.rand(5, 1, dtype=torch.float64)
    out = drawn(theta, uniform, ground, torch.tensor([2]), 2)
    (first,) = torch.autograd.grad(out, theta, slope, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), theta)
    other = theta.detach().flatten().requires_grad_()
    (true,) = torch.autograd.grad(enumerated_marginals(other, 2) @ slope[:, 0], other, create_graph=True)
    (wanted,) = torch.autograd.grad(true.square().sum(), other)
    assert torch.allclose(second.flatten(), wanted, atol=1e-9)


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_drawn_subsets_refuse_infinity(value):
    problem = problem_for(Policy.parse("select 1 vertex"), data(nx.path_graph(3)))
    weights = torch.tensor([[0.0, 0.0], [0.0, value], [0.0, 0.0]])
    with pytest.raises(OsanError, match=rf"below infinity, got {value:g} in graph 0 .*, subgraph 1"):
        SIMPLE()(problem, weights, Noise(), Randomness.of(data(nx.path_graph(3)), 0))


@pytest.mark.parametrize("text", ["select 2 vertices", "delete 2 vertices"])
def test_simple_samples_the_paper_distribution(text):
    theta = torch.tensor([0.7, -0.4, 0.1, 1.2], dtype=torch.float64)
    number = 6000
    batch = Batch.from_data_list([data(nx.path_graph(4))] * number)
    choice = Selection(text, SIMPLE())(
        batch, theta.repeat(number).unsqueeze(1), Randomness.of(batch, 2)
    ).choice
    seen = [tuple(row) for row in choice.view(number, 4).tolist()]
    states = subsets(4, 2)
    probability = torch.softmax(torch.stack(states) @ theta, 0)
    counts = [seen.count(tuple(state.tolist())) for state in states]
    assert stats.chisquare(counts, number * probability.numpy()).pvalue > 0.001


def test_simple_stays_finite_at_extreme_weights():
    weights = torch.tensor([[80.0], [-80.0], [79.0], [0.0]], requires_grad=True)
    choice = Selection("select 2 vertices", SIMPLE())(data(nx.path_graph(4)), weights).choice
    choice.backward(torch.tensor([[1.0], [2.0], [3.0], [4.0]]))
    assert choice.flatten().tolist() == [1, 0, 1, 0]
    assert weights.grad.isfinite().all()


@pytest.mark.parametrize(
    "text", ["select 2 vertices", "delete 1 vertex", "select 2 edges", "select 8 vertices"]
)
def test_straight_through_has_the_gradient_of_repeated_softmaxes(text):
    torch.manual_seed(1)
    batch = Batch.from_data_list([data(nx.cycle_graph(5)), data(nx.path_graph(3))])
    select = Selection(text, StraightThrough(tau=0.7), Noise("none"))
    edges = select.policy.weighs_edges
    rows = batch.num_edges if edges else batch.num_nodes
    weights = torch.randn(rows, 1, requires_grad=True)
    selected = select(batch, weights)
    hard = Selection(text, noise=Noise("none"))(batch, weights.detach()).choice
    assert torch.allclose(selected.choice, hard)
    upstream = torch.randn(rows, 1)
    selected.choice.backward(upstream)
    other = weights.detach().clone().requires_grad_()
    ground = selected.problem.ground
    gathered, soft = ground.gather(other), []
    sign = -1 if select.policy.operation == "delete" else 1
    for graph in range(2):
        left = sign * gathered[ground.graph == graph, 0] / 0.7
        total = torch.zeros_like(left)
        for _ in range(min(select.policy.size, len(left))):
            share = torch.softmax(left, 0)
            total, left = total + share, left + torch.log((1 - share).clamp(min=torch.finfo(left.dtype).eps))
        soft.append(sign * total)
    ground.spread(torch.cat(soft).unsqueeze(1)).backward(upstream)
    assert torch.allclose(weights.grad, other.grad, atol=1e-5)


def log_plackett_luce(theta, order):
    total, left = theta.new_zeros(()), list(range(len(theta)))
    for vertex in order:
        total = total + theta[vertex] - torch.logsumexp(theta[left], 0)
        left.remove(vertex)
    return total


@pytest.mark.parametrize(
    "text", ["select 2 vertices ordered", "delete 2 vertices ordered", "select 9 vertices ordered"]
)
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_score_function_log_probabilities(text, scale):
    torch.manual_seed(2)
    sizes = (5, 3, 1)
    batch = Batch.from_data_list([data(nx.path_graph(n)) for n in sizes])
    weights = torch.randn(9, 2, dtype=torch.float64, requires_grad=True)
    selected = Selection(text, ScoreFunction(), Noise(scale=scale))(batch, weights)
    first = 0
    for graph, n in enumerate(sizes):
        for channel in range(2):
            z = selected.choice[first : first + n, channel]
            order = [int(v) for v in torch.argsort(z, descending=True) if z[v] > 0]
            expected = log_plackett_luce(weights[first : first + n, channel] / scale, order)
            assert selected.log_prob[graph, channel].item() == pytest.approx(expected.item(), abs=1e-9)
        first += n
    selected.log_prob.sum().backward()
    assert weights.grad.isfinite().all()


def test_score_function_is_unbiased_and_its_baseline_follows_the_loss():
    """The mean over many draws equals the enumerated gradient of the expected loss under Plackett-Luce."""
    theta = torch.tensor([0.5, -0.3, 0.8, 0.1], dtype=torch.float64, requires_grad=True)
    table = {
        frozenset(s): value
        for s, value in zip(itertools.combinations(range(4), 2), [3.0, -1, 2, 0, 5, 1], strict=True)
    }
    expected = sum(
        log_plackett_luce(theta, order).exp() * table[frozenset(order)]
        for order in itertools.permutations(range(4), 2)
    )
    (true,) = torch.autograd.grad(expected, theta)
    number = 40000
    batch = Batch.from_data_list([data(nx.path_graph(4))] * number)
    weights = theta.detach().repeat(number).unsqueeze(1).requires_grad_()
    estimator = ScoreFunction(reduction="sum")
    estimator.baseline.fill_(1.5)
    selected = Selection("select 2 vertices", estimator)(batch, weights, Randomness.of(batch, 3))
    losses = torch.tensor(
        [table[frozenset(row.nonzero().flatten().tolist())] for row in selected.choice.view(number, 4)],
        dtype=torch.float64,
    )
    estimator.surrogate(losses, selected.log_prob).backward()
    each = weights.grad.view(number, 4)
    error = each.std(0) / np.sqrt(number)
    assert ((each.mean(0) - true).abs() < 4 * error).all()
    assert estimator.baseline.item() == pytest.approx(losses.mean().item(), abs=1e-4)


@pytest.mark.parametrize("estimator", [SIMPLE(), StraightThrough()])
@pytest.mark.parametrize(
    "text", ["select 2 vertices ordered", "select 1-ego", "tree", "cover delete 1 vertex"]
)
def test_subset_estimators_refuse_other_policies(estimator, text):
    path = data(nx.path_graph(4))
    rows = 6 if text == "tree" else 4
    with pytest.raises(OsanError, match=r"expected a policy 'delete', 'select' or 'mark'.*use IMLE"):
        Selection(text, estimator)(path, torch.rand(rows, 1))


def test_score_function_refuses_what_has_no_probability():
    path = data(nx.path_graph(4))
    with pytest.raises(OsanError, match="use IMLE"):
        Selection("tree", ScoreFunction())(path, torch.rand(6, 1))
    with pytest.raises(OsanError, match="Gumbel noise"):
        Selection("select 1 vertex", ScoreFunction(), Noise("none"))(path, torch.rand(4, 1))
    with pytest.raises(OsanError, match="log_prob"):
        ScoreFunction().surrogate(torch.ones(2), None)


def test_score_function_looks_without_noise_when_it_does_not_learn():
    path = data(nx.path_graph(4))
    weights = torch.tensor([[0.0], [2.0], [1.0], [3.0]])
    selection = Selection("select 2 vertices", ScoreFunction()).eval()
    selected = selection(path, weights, noise=Noise("none"))
    assert selected.choice.flatten().tolist() == [0, 1, 0, 1]
    assert selected.log_prob is None


@pytest.mark.parametrize("make", [lambda: StraightThrough(tau=0), lambda: ScoreFunction(momentum=1.0)])
def test_bad_settings(make):
    with pytest.raises(OsanError, match=r"above 0|below 1"):
        make()
