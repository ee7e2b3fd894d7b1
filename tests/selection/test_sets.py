"""Choices on sets without a graph: against brute force, and against graphs without edges."""

import itertools

import pytest
import torch
from torch_geometric.data import Batch, Data

from osan.errors import OsanError
from osan.selection import ESTIMATORS, GroundSet, Policy, Randomness, Selection, problem_for

SIZES = (5, 0, 3, 1)


def normal(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_sets_lie_one_after_another():
    ground = GroundSet.of_sizes(torch.tensor(SIZES))
    assert ground.graph.tolist() == [number for number, size in enumerate(SIZES) for _ in range(size)]
    assert ground.position.tolist() == [place for size in SIZES for place in range(size)]
    assert ground.sizes.tolist() == list(SIZES)
    assert (ground.num_graphs, ground.num_rows) == (len(SIZES), sum(SIZES))
    assert GroundSet.of_sizes([]).num_graphs == 0


@pytest.mark.parametrize("text", ["select 2 elements", "delete 2 elements", "select 2 elements ordered"])
def test_the_choice_is_the_best_of_all(text):
    policy, weights = Policy.parse(text), normal(sum(SIZES), 3)
    assert str(policy) == text
    choice = Selection(policy, noise="none")(GroundSet.of_sizes(SIZES), weights).choice
    for theirs, mine, n in zip(weights.split(SIZES), choice.split(SIZES), SIZES, strict=True):
        size = max(n - 2, 0) if policy.operation == "delete" else min(2, n)
        states = []
        for ranked in itertools.permutations(range(n), size):
            state = torch.zeros(n, dtype=torch.float64)
            state[list(ranked)] = torch.arange(size, 0, -1).double() if policy.ordered else 1.0
            states.append(state)
        for channel in range(3):
            best = max(states, key=lambda state: float(state @ theirs[:, channel]))
            assert mine[:, channel].equal(best)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_set_is_a_graph_without_edges(name):
    """The same choices, probabilities and gradients as for vertices, for every estimator."""
    sizes = [5, 4, 3]
    edgeless = Batch.from_data_list(
        [Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=n) for n in sizes]
    )
    weights, slope = normal(12, 2), normal(12, 2)
    found = []
    for noun, batch in (("elements", GroundSet.of_sizes(sizes)), ("vertices", edgeless)):
        theta = weights.clone().requires_grad_()
        select = Selection(f"select 2 {noun}", name)
        drawn = select(batch, theta, Randomness.of(batch, seed=3))
        losses = torch.arange(3.0, dtype=torch.float64)
        goal = (drawn.choice * slope).sum() + select.estimator.surrogate(losses, drawn.log_prob)
        if goal.requires_grad:
            goal.backward()
        found.append((drawn.choice.detach(), theta.grad))
    (choice, gradient), (others, same) = found
    assert choice.equal(others)
    assert (gradient is None) == (same is None) == (name in ("random", "fixed"))
    assert gradient is None or gradient.equal(same)


def test_the_exact_gradient_of_one_set():
    """The marginals of SIMPLE by enumeration: the gradient of E<c, z> under p(z) ~ exp <z, theta>."""
    theta, slope = normal(5, 1).requires_grad_(), normal(5)
    drawn = Selection("select 2 elements", "simple")(GroundSet.of_sizes([5]), theta).choice
    (drawn.squeeze(1) * slope).sum().backward()
    exact = theta.detach().squeeze(1).requires_grad_()
    pairs = torch.tensor(list(itertools.combinations(range(5), 2)))
    probability = torch.softmax(exact[pairs].sum(1), 0)
    (probability * slope[pairs].sum(1)).sum().backward()
    torch.testing.assert_close(theta.grad.squeeze(1), exact.grad)


@pytest.mark.parametrize("sizes", [3, [[1, 2]], [0.5], [True], [2, -1]])
def test_wrong_sizes_are_named(sizes):
    with pytest.raises(OsanError, match="sizes: expected"):
        GroundSet.of_sizes(sizes)


def test_sets_are_no_graphs_and_graphs_are_no_sets():
    graph = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    with pytest.raises(OsanError, match="expected a GroundSet for policy 'select 1 element', got a Data"):
        problem_for(Policy.parse("select 1 element"), graph)
    for text in ("select 1 vertex", "delete 1 edge", "select 1-ego", "tree", "cover select 1 vertex"):
        with pytest.raises(OsanError, match="GroundSet without one; choose elements"):
            problem_for(Policy.parse(text), GroundSet.of_sizes([2]))
