"""Auxiliary losses against their definitions."""

from itertools import combinations, product

import networkx as nx
import pytest
import torch
from enumeration import data
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from osan.selection import IMLE, GroundSet, Noise, Selection, cosine_similarity, uniform_divergence


@settings(deadline=None, max_examples=30)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4), m=st.integers(1, 4), seed=st.integers(0, 999)
)
def test_losses_equal_their_definitions_graph_by_graph(sizes, m, seed):
    batch = Batch.from_data_list([data(nx.path_graph(n)) for n in sizes])
    ranks = torch.randint(0, 3, (sum(sizes), m), generator=torch.Generator().manual_seed(seed)).double()
    ground = GroundSet.vertices(batch)
    cosine, divergence = cosine_similarity(ranks, ground), uniform_divergence(ranks, ground)
    for graph, n in enumerate(sizes):
        mask = (ranks[batch.batch == graph] != 0).double()
        pairs = [
            torch.nn.functional.cosine_similarity(mask[:, i], mask[:, j], dim=0).item()
            for i in range(m)
            for j in range(i)
        ]
        assert cosine[graph].item() == pytest.approx(sum(pairs) / max(len(pairs), 1), abs=1e-9)
        log_q = torch.log_softmax(mask.sum(1), 0)
        uniform = torch.full((n,), 1 / n, dtype=torch.float64)
        kl = torch.nn.functional.kl_div(log_q, uniform, reduction="sum").item()
        assert divergence[graph].item() == pytest.approx(kl, abs=1e-9)


@pytest.mark.parametrize("m", [100, 1000])
def test_many_subgraphs_in_single_precision(m):
    """Sums of masks from 0 to m, beside graphs whose sums are all equal or all 0, and an empty one."""
    batch = Batch.from_data_list([data(nx.empty_graph(n)) for n in (5, 4, 3, 0)])
    choice = torch.zeros(12, m)
    for vertex in range(5):
        choice[vertex, : vertex * m // 4] = 1
    choice[5:9, : m // 50] = 1
    choice.requires_grad_()
    divergence = uniform_divergence(choice, GroundSet.vertices(batch))
    divergence.sum().backward()
    total = choice.detach()[:5].sum(1).double()
    expected = torch.logsumexp(total, 0) - total.mean() - torch.log(torch.tensor(5.0).double())
    assert divergence.tolist() == pytest.approx([expected.item(), 0.0, 0.0, 0.0], rel=1e-6, abs=1e-5)
    slope = torch.softmax(total, 0) - 1 / 5
    assert torch.allclose(choice.grad[:5].double(), slope[:, None].expand(5, m), rtol=0, atol=1e-6)
    assert torch.allclose(choice.grad[5:], torch.zeros(7, m), rtol=0, atol=1e-6)


def test_gradients_go_through_the_estimator():
    """Two channels choose the same vertex; the similarity's gradient drives them apart."""
    path = data(nx.path_graph(3))
    weights = torch.tensor([[1.0, 1.0], [0.0, 0.5], [-1.0, -1.0]], requires_grad=True)
    for loss in (cosine_similarity, uniform_divergence):
        weights.grad = None
        selected = Selection("select 1 vertex", IMLE(lam=10.0), Noise("none"))(path, weights)
        loss(selected.choice, selected.problem.ground).sum().backward()
        # The first vertex, chosen twice, is to be chosen less.
        assert weights.grad[0].min() > 0
        assert weights.grad[1:].sum() < 0


def test_diversity_is_told_apart():
    ground = GroundSet.vertices(data(nx.path_graph(4)))
    same = torch.tensor([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    apart = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    for loss in (cosine_similarity, uniform_divergence):
        assert loss(same, ground) > loss(apart, ground)
        assert loss(apart, ground).item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("ground_of", "rows"), [(GroundSet.vertices, 7), (GroundSet.edges, 14)])
def test_weight_of_the_sum_of_divergences_over_sizes(ground_of, rows):
    """w times the sum over graphs of KL / n is a mean with weight w * B / n, gradients included.

    For edges n counts both directions, over which that KL is taken, too.
    """
    graphs, w = 4, 10.0
    batch = Batch.from_data_list([data(nx.cycle_graph(7)) for _ in range(graphs)])
    ground = ground_of(batch)
    mask = torch.randint(0, 2, (ground.num_elements, 3), generator=torch.Generator().manual_seed(0)).double()
    choice = ground.spread(mask).requires_grad_()
    graph = batch.batch[batch.edge_index[0]] if rows == 14 else batch.batch
    uniform = torch.full((rows,), 1 / rows, dtype=torch.float64)
    expected = w * sum(
        torch.nn.functional.kl_div(
            torch.log_softmax(choice[graph == each].sum(1), 0), uniform, reduction="batchmean"
        )
        for each in range(graphs)
    )
    found = w * graphs / rows * IMLE().join(uniform_divergence(ground.gather(choice), ground))
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)
    slopes = [torch.autograd.grad(each, choice)[0] for each in (found, expected)]
    assert torch.allclose(*slopes, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n", "k"), [(5, 1), (6, 2), (7, 3)])
def test_cosines_of_masks_that_leave_out_k_of_n(n, k):
    """They fill [(n - 2k) / (n - k), 1]: with one vertex deleted the loss can change by 1 / (n - 1)."""
    ground = GroundSet.vertices(data(nx.empty_graph(n)))
    masks = [[float(vertex not in left_out) for vertex in range(n)] for left_out in combinations(range(n), k)]
    found = [
        cosine_similarity(torch.tensor(pair, dtype=torch.float64).T, ground).item()
        for pair in product(masks, masks)
    ]
    assert (min(found), max(found)) == pytest.approx(((n - 2 * k) / (n - k), 1.0), abs=1e-12)
