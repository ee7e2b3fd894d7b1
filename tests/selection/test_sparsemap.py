"""SparseMAP against brute force over faces, finite differences, and what its page promises."""

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import torch
from enumeration import data
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from osan import nn
from osan.errors import OsanError
from osan.selection import GroundSet, Noise, Randomness, Selection
from osan.selection.sparsemap import projection


def closest(weights: list[float], size: int) -> np.ndarray:
    """The closest point of the hypersimplex: the best over all faces, each solved by its formula.

    With fractions: distances to weights near 1000 differ in digits that floats do not have.
    """
    theta, best, found = [Fraction(weight) for weight in weights], None, None
    for face in itertools.product((0, 1, None), repeat=len(theta)):
        free = [v for v, place in enumerate(face) if place is None]
        left = size - sum(place for place in face if place is not None)
        if left and not free:
            continue
        shift = (sum(theta[v] for v in free) - left) / len(free) if free else 0
        point = [theta[v] - shift if place is None else Fraction(place) for v, place in enumerate(face)]
        if min(point, default=0) < 0 or max(point, default=0) > 1:
            continue
        distance = sum((p - w) ** 2 for p, w in zip(point, theta, strict=True))
        if best is None or distance < best:
            best, found = distance, point
    return np.array([float(p) for p in found])


numbers = st.one_of(st.integers(-2, 2).map(float), st.floats(-3, 3), st.floats(999, 1001))
sets = st.lists(numbers, max_size=5).flatmap(lambda w: st.tuples(st.just(w), st.integers(0, len(w))))


@settings(max_examples=60, deadline=None)
@given(st.lists(sets, min_size=1, max_size=3))
@example([([0.0, -0.99999, 999.0], 2)])
def test_the_closest_point_by_brute_force(given):
    """Empty sets, sums of 0 and of all, ties, and weights far from 0."""
    ground = GroundSet.of_sizes([len(weights) for weights, _ in given])
    size = torch.tensor([size for _, size in given])
    theta = torch.tensor([w for weights, _ in given for w in weights], dtype=torch.double)[:, None]
    ours = projection(torch.cat((theta, -theta), dim=1), ground, size)
    for number, (weights, total) in enumerate(given):
        for column, sign in enumerate((1, -1)):
            mine = ours[ground.graph == number, column].numpy()
            np.testing.assert_allclose(mine, closest([sign * w for w in weights], total), atol=1e-9)


def test_the_gradient_is_the_derivative():
    torch.manual_seed(0)
    ground, size = GroundSet.of_sizes([5, 1, 4]), torch.tensor([2, 1, 1])
    weights = torch.randn(10, 3, dtype=torch.double, requires_grad=True)

    def z(theta):
        return projection(theta, ground, size)

    assert torch.autograd.gradcheck(z, weights)
    assert (torch.autograd.grad(z(weights)[0].sum(), weights)[0] != 0).any()


@pytest.mark.parametrize("text", ["delete 2 vertices", "select 2 vertices", "mark 2 vertices"])
def test_weights_far_apart_give_the_best_choice(text):
    path = data(nx.path_graph(6))
    weights = torch.tensor([[3.0], [-1.0], [8.0], [0.5], [5.0], [6.5]])
    best = Selection(text, noise="none")(path, weights).choice
    assert Selection(text, "sparsemap")(path, weights).choice.equal(best)


def test_nothing_is_random_and_equals_are_equal():
    cycle = data(nx.cycle_graph(5))
    select = Selection("mark 2 vertices", "sparsemap")
    assert select(cycle, torch.zeros(5, 1)).choice.flatten().tolist() == pytest.approx([0.4] * 5)
    weights = torch.randn(5, 1)
    for seed in range(3):
        other = select(cycle, weights, Randomness.of(cycle, seed), Noise("gumbel", 100.0)).choice
        assert other.equal(select.eval()(cycle, weights).choice)


def test_temperature_says_how_close_is_close():
    path, weights = data(nx.path_graph(3)), torch.tensor([[0.5], [0.1], [-1.0]])
    for temperature, expected in ((0.4, [1.0, 0.0, 0.0]), (1.0, [0.7, 0.3, 0.0]), (2.0, [0.6, 0.4, 0.0])):
        choice = Selection("mark 1 vertex", "sparsemap", temperature=temperature)(path, weights).choice
        torch.testing.assert_close(choice.flatten(), torch.tensor(expected))


@pytest.mark.parametrize("text", ["mark 1 vertex ordered", "select 1-ego", "select tree"])
def test_other_policies_are_refused(text):
    with pytest.raises(OsanError, match=r"unordered, for SparseMAP, got"):
        Selection(text, "sparsemap")(data(nx.path_graph(3)), torch.zeros(3, 1))


def test_which_of_two_equals_is_taken_first_is_random():
    """In a star with marks on two leaves, no leaf is preferred for its number."""
    pairs = Batch.from_data_list([data(nx.star_graph(2))] * 400)
    weights = torch.tensor([[0.0], [1.0], [1.0]]).repeat(400, 1)
    select = Selection("mark 1 vertex x 2 distinct", "sparsemap")
    first, second = select(pairs, weights, Randomness.of(pairs, 0)).choice.T.view(2, 400, 3)
    assert first.tolist() == [[0.0, 0.5, 0.5]] * 400
    assert second[:, 0].eq(0).all()
    assert second[:, 1:].sum(1).eq(1).all()
    assert 150 < second[:, 1].sum() < 250


def test_predictions_do_not_depend_on_the_numbering():
    """Ties included: vertices that look alike share the mark instead of drawing lots."""
    torch.manual_seed(0)
    graph = nx.circular_ladder_graph(4)
    order = [3, 6, 0, 5, 1, 7, 2, 4]
    moved = nx.relabel_nodes(graph, dict(enumerate(order)))
    encoder, upstream = nn.Numerical(1, 8), nn.Upstream(1, 8, vertex_encoder=nn.Numerical(1, 8))
    network = nn.few_marks(8, 2, 1, conv="gin", vertex_encoder=encoder, atomic="distance")
    model = nn.DataDrivenOSAN(upstream, network, "mark 1 vertex", estimator="sparsemap", samples=1).eval()
    predictions = []
    for each in (graph, moved):
        one = data(nx.Graph(sorted(each.edges)))
        one.x = torch.ones(8, 1)
        predictions.append(model(one).prediction)
    torch.testing.assert_close(*predictions)
