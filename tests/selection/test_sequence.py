"""Subgraphs that are drawn one after another, and barred elements, against enumeration."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
import torch
from enumeration import data, random_batch
from scipy.stats import chisquare
from torch_geometric.data import Batch, Data

from osan.errors import OsanError
from osan.selection import (
    IMLE,
    SIMPLE,
    AdaptiveIMLE,
    Policy,
    Random,
    Randomness,
    ScoreFunction,
    Selection,
    StraightThrough,
)

ESTIMATORS = [IMLE(), AdaptiveIMLE(), SIMPLE(), StraightThrough(), ScoreFunction(), Random()]
COPIES = 20_000


def copies_of(n: int, number: int = COPIES) -> Batch:
    """Many graphs of n vertices without edges in one batch: as many samples in one call."""
    edges = torch.empty(2, 0, dtype=torch.long)
    return Batch(num_nodes=n * number, batch=torch.arange(number).repeat_interleave(n), edge_index=edges,
                 ptr=torch.arange(number + 1) * n, _num_graphs=number)  # fmt: skip


def plackett_luce(theta: dict[int, float], order: tuple[int, ...]) -> float:
    """The probability that draws without replacement give the elements in this order."""
    left, total = dict(theta), 1.0
    for element in order:
        total *= math.exp(left[element]) / sum(map(math.exp, left.values()))
        del left[element]
    return total


def probability(kind: str, theta: dict[int, float], chosen: frozenset, delete: bool) -> float:
    """The probability of one set among the elements of theta."""
    k = len(chosen)
    if kind == "uniform":
        return 1 / math.comb(len(theta), k)
    if kind == "energy":
        sign = -1 if delete else 1
        energy = {s: math.exp(sign * sum(theta[e] for e in s)) for s in itertools.combinations(theta, k)}
        return energy[tuple(sorted(chosen))] / sum(energy.values())
    kept = set(theta) - chosen if delete else chosen
    return sum(plackett_luce(theta, order) for order in itertools.permutations(kept))


@pytest.mark.parametrize(
    "text",
    [
        "mark 1 vertex x 3 distinct",
        "select 2 vertices x 2 distinct",
        "delete 1 vertex x 2 distinct",
        "delete 2 vertices x 2 in turn",
    ],
)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_draws_follow_the_product_of_conditional_probabilities(text, estimator):
    policy, theta = Policy.parse(text), [0.8, -0.5, 0.0, 0.3, -1.0]
    kind = {"SIMPLE": "energy", "Random": "uniform"}.get(type(estimator).__name__, "plackett-luce")
    batch = copies_of(5)
    weights = torch.tensor(theta, dtype=torch.double).repeat(COPIES).unsqueeze(1)
    choice = Selection(policy, estimator)(batch, weights, Randomness.of(batch, seed=3)).choice
    delete = policy.operation == "delete"
    changed = ((choice == 0) if delete else (choice != 0)).view(COPIES, 5, policy.count)
    code = (changed * torch.tensor([1, 2, 4, 8, 16]).view(1, 5, 1)).sum(1)
    code = (code * 32 ** torch.arange(policy.count)).sum(1)
    found = torch.bincount(code, minlength=32**policy.count).double() / COPIES
    exact = torch.zeros_like(found)
    sets = [frozenset(s) for s in itertools.combinations(range(5), policy.size)]
    for sequence in itertools.permutations(sets, policy.count):
        if len(frozenset().union(*sequence)) < policy.size * policy.count:
            continue
        left, p, place = dict(enumerate(theta)), 1.0, 0
        for number, chosen in enumerate(sequence):
            p *= probability(kind, left, chosen, delete)
            left = {e: t for e, t in left.items() if e not in chosen}
            place += sum(2**e for e in chosen) * 32**number
        exact[place] = p
    assert exact.sum().item() == pytest.approx(1)
    assert found[exact == 0].sum() == 0
    possible = exact > 0
    assert chisquare(COPIES * found[possible], COPIES * exact[possible]).pvalue > 1e-3


def test_log_probabilities_are_those_of_each_draw_given_the_earlier_ones():
    theta = torch.tensor([0.8, -0.5, 0.0, 0.3], dtype=torch.double, requires_grad=True)
    batch = copies_of(4, 50)
    selected = Selection("mark 1 vertex x 3 distinct", ScoreFunction())(batch, theta.repeat(50).unsqueeze(1))
    order = selected.choice.view(50, 4, 3).argmax(1)
    expected = []
    for first, second, third in order.tolist():
        left = [theta.logsumexp(0), theta[[e for e in range(4) if e != first]].logsumexp(0)]
        left.append(theta[[e for e in range(4) if e not in (first, second)]].logsumexp(0))
        expected.append(torch.stack([theta[first], theta[second], theta[third]]) - torch.stack(left))
    expected = torch.stack(expected)
    assert torch.allclose(selected.log_prob, expected)
    coefficient = torch.randn(50, 3, dtype=torch.double)
    ours, theirs = (torch.autograd.grad((p * coefficient).sum(), theta, retain_graph=True)[0]
                    for p in (selected.log_prob, expected))  # fmt: skip
    assert torch.allclose(ours, theirs)


@pytest.mark.parametrize(
    ("operation", "channels"),
    [
        ("delete 1 vertex", "in turn"),
        ("delete 2 vertices", "distinct"),
        ("select 2 vertices", "in turn"),
        ("mark 3 vertices ordered", "distinct"),
        ("delete 2 edges", "distinct"),
        ("select 1 edge", "in turn"),
    ],
)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_sets_are_disjoint_as_long_as_there_is_room_and_sizes_are_exact(operation, channels, estimator):
    """Graphs of one to nine vertices, so some run out of elements; gradients are finite."""
    policy = Policy.parse(f"{operation} x 4 {channels}")
    if policy.ordered and isinstance(estimator, SIMPLE | StraightThrough):
        with pytest.raises(OsanError, match="unordered"):
            Selection(policy, estimator)(random_batch(0, (3,))[1], torch.zeros(3, 1))
        return
    _, batch = random_batch(1, (1, 2, 3, 5, 9))
    torch.manual_seed(0)
    rows = batch.num_edges if policy.weighs_edges else batch.num_nodes
    weights = torch.randn(rows, 1, requires_grad=True)
    weigh = (lambda so_far: weights + so_far.sum(1, keepdim=True)) if channels == "in turn" else weights
    selected = Selection(policy, estimator)(batch, weigh)
    ground, choice = selected.problem.ground, selected.choice
    assert choice.shape == (rows, 4)
    elements = ground.pick(choice.detach().T).T
    touched = elements == 0 if policy.operation == "delete" else elements != 0
    size = selected.problem.changed
    assert (ground.sum_per_graph(touched.long()) == size.unsqueeze(1)).all()
    for graph in range(5):
        times = touched[ground.graph == graph].long()
        room = int(ground.sizes[graph]) // max(int(size[graph]), 1)
        for first in range(0, 4, max(room, 1)):
            assert (times[:, first : first + max(room, 1)].sum(1) <= 1).all() or room == 0
    if estimator.learns:
        score, log_prob = isinstance(estimator, ScoreFunction), selected.log_prob
        assert log_prob.shape == (5, 4) if score else log_prob is None
        (log_prob if score else choice * torch.randn_like(choice)).sum().backward()
        assert weights.grad.isfinite().all()


def test_without_noise_the_best_come_in_order_and_ties_are_broken_at_random():
    batch = copies_of(4)
    weights = torch.tensor([0.5, 0.5, 0.9, 0.1]).repeat(COPIES).unsqueeze(1)
    choice = Selection("mark 1 vertex x 3 distinct", noise="none")(batch, weights).choice
    order = choice.view(COPIES, 4, 3).argmax(1)
    assert (order[:, 0] == 2).all()
    assert set(map(tuple, order[:, 1:].tolist())) == {(0, 1), (1, 0)}
    assert (order[:, 1] == 0).double().mean().item() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("text", ["mark 2 vertices x 2 in turn", "delete 1 edge x 3 in turn"])
def test_choices_follow_the_numbering(text):
    """Without noise and ties, relabeled graphs have relabeled choices; the weights see the earlier draws."""
    graph = nx.gnp_random_graph(8, 0.5, seed=4)
    order = np.random.default_rng(0).permutation(8)
    scores = {frozenset(e): torch.rand(()).item() for e in graph.edges} | {
        v: torch.rand(()).item() for v in graph
    }
    sets = []
    for relabel in (dict(enumerate(range(8))), dict(enumerate(order.tolist()))):
        pyg = data(nx.relabel_nodes(graph, relabel))
        pyg.num_nodes, back = 8, {new: old for old, new in relabel.items()}
        select = Selection(text, noise="none")
        names = ([frozenset((back[u], back[v])) for u, v in pyg.edge_index.t().tolist()]
                 if select.policy.weighs_edges else [back[v] for v in range(8)])  # fmt: skip
        base = torch.tensor([[scores[name]] for name in names])

        def weigh(so_far, base=base, names=names):
            taken = [names[row] for row in so_far.sum(1).nonzero().flatten().tolist()]
            shift = sum(scores[name] for name in set(taken))
            return ((base + shift) * 7.3).sin()

        choice = select(pyg, weigh).choice
        wanted = choice == 0 if select.policy.operation == "delete" else choice != 0
        sets.append([{names[row] for row in column.nonzero().flatten().tolist()} for column in wanted.T])
    assert sets[0] == sets[1]


@pytest.mark.parametrize(("text", "best"), [("mark 1 vertex", 3), ("delete 1 vertex", 0)])
def test_barred_elements_are_left_alone_in_training_only(text, best):
    """One of four is barred: the best of all is touched in three cases of four, else the second best."""
    batch, weights = copies_of(4), torch.arange(4.0).repeat(COPIES).unsqueeze(1).double()
    for channels, second in (("", None), (" x 2 distinct", 1)):
        select = Selection(text + channels, noise="none", bar=0.25)
        for training, share in ((True, 0.75), (False, 1.0)):
            choice = select.train(training)(batch, weights, Randomness.of(batch, 1)).choice
            touched = (choice == 0 if text.startswith("delete") else choice != 0).view(COPIES, 4, -1)
            first = touched[:, :, 0].long().argmax(1)
            near = abs(best - 1)  # the second best
            assert (first == best).double().mean().item() == pytest.approx(share, abs=0.015)
            assert ((first == best) | (first == near)).all()
            if second is not None:
                assert touched.any(2).sum(1).eq(2).all()


def test_bars_leave_what_is_needed_and_are_drawn_anew():
    _, batch = random_batch(0, (1, 2, 3, 4, 8))
    select = Selection("mark 1 vertex x 2 distinct", Random(), bar=0.9)
    sizes, seen = torch.tensor([1, 2, 3, 4, 8]), set()
    for _ in range(40):
        choice = select(batch, torch.zeros(18, 1)).choice
        assert (select(batch, torch.zeros(18, 1)).problem.ground.sum_per_graph(choice) == 1).all()
        assert choice[sizes[0] :].sum(1).max() == 1  # two disjoint marks wherever there are two vertices
        seen.update(choice.sum(1).nonzero().flatten().tolist())
    assert seen == set(range(18))
    with pytest.raises(OsanError, match=r"bar: expected a share of at least 0 and below 1, got 1"):
        Selection("mark 1 vertex", bar=1)
    with pytest.raises(OsanError, match=r"bar: expected a policy of vertices or edges .* got 'tree'"):
        Selection("tree", bar=0.1)


def test_weights_of_the_wrong_shape_are_named():
    path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    with pytest.raises(OsanError, match=r"expected shape \[3, 1\] .* policy 'mark 1 vertex x 2 distinct'"):
        Selection("mark 1 vertex x 2 distinct")(path, torch.zeros(3, 2))
    with pytest.raises(OsanError, match="expected a tensor for policy 'mark 1 vertex x 2', got a function"):
        Selection("mark 1 vertex x 2")(path, lambda so_far: torch.zeros(3, 2))
