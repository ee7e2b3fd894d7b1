"""Agreement of samples against Cohen's kappa of every pair, and at its two ends."""

from itertools import combinations

import networkx as nx
import pytest
import torch
from enumeration import data
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from osan.errors import OsanError
from osan.selection import IMLE, GroundSet, Noise, Randomness, Selection, agreement


def kappa_parts(a: set, b: set, n: int) -> tuple[float, float]:
    """Observed minus expected, and the most it can be, of the share of elements on which two sets agree.

    This is the textbook's (p_o - p_e) / (1 - p_e), both parts times n / 2.
    """
    same = sum((i in a) == (i in b) for i in range(n)) / n
    by_chance = (len(a) * len(b) + (n - len(a)) * (n - len(b))) / n**2
    return (same - by_chance) * n / 2, (1 - by_chance) * n / 2


@settings(deadline=None, max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    m=st.integers(1, 3),
    samples=st.integers(2, 4),
    seed=st.integers(0, 999),
)
def test_parts_are_those_of_the_textbook(sizes, m, samples, seed):
    batch = Batch.from_data_list([data(nx.path_graph(n)) for n in sizes])
    generator = torch.Generator().manual_seed(seed)
    choices = [torch.randint(0, 3, (sum(sizes), m), generator=generator).double() for _ in range(samples)]
    excess, most = agreement(choices, GroundSet.vertices(batch))
    flipped = agreement([(choice == 0).double() for choice in choices], GroundSet.vertices(batch))
    for graph, n in enumerate(sizes):
        for subgraph in range(m):
            sets = [
                set(choice[batch.batch == graph, subgraph].nonzero().flatten().tolist()) for choice in choices
            ]
            pairs = [kappa_parts(a, b, n) for a, b in combinations(sets, 2)]
            assert excess[graph, subgraph].item() == pytest.approx(sum(p[0] for p in pairs), abs=1e-9)
            assert most[graph, subgraph].item() == pytest.approx(sum(p[1] for p in pairs), abs=1e-9)
    assert torch.allclose(flipped[0], excess)
    assert torch.allclose(flipped[1], most)


@pytest.mark.parametrize("text", ["delete 1 vertex x 2", "select 3 vertices x 2", "delete 2 edges x 2"])
@pytest.mark.parametrize(("preference", "low", "high"), [(0.0, -0.05, 0.05), (50.0, 1.0, 1.0)])
def test_noise_alone_and_a_strong_preference(text, preference, low, high):
    batch = Batch.from_data_list([data(nx.cycle_graph(8))] * 200)
    ground = GroundSet.edges(batch) if "edge" in text else GroundSet.vertices(batch)
    weights = preference * torch.arange(ground.num_elements).repeat(2, 1).T.double() % (8 * preference or 1)
    select = Selection(text, IMLE(), Noise())
    choices = [
        select(batch, ground.spread(weights), Randomness.of(batch, seed)).choice.detach() for seed in range(4)
    ]
    excess, most = agreement(choices, ground)
    assert low <= (excess.sum() / most.sum()).item() <= high


def test_one_sample_agrees_with_nothing():
    with pytest.raises(OsanError, match="expected at least 2 samples, got 1"):
        agreement([torch.zeros(3, 1)], GroundSet.vertices(data(nx.path_graph(3))))
