"""Choices side by side: equal subgraphs of a graph once, and the same bags."""

import hypothesis.strategies as st
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data

from osan.bags import from_choice
from osan.bags.samples import joined_choices
from osan.colors import signatures


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    samples=st.integers(1, 4),
    m=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    shuffled=st.booleans(),
    bits=st.sampled_from([0, 2, 64]),
)
def test_by_definition(sizes, samples, m, seed, shuffled, bits):
    """Numbers are equal exactly for equal columns of a graph, whatever the hash."""
    torch.manual_seed(seed)
    graph = torch.repeat_interleave(torch.tensor(sizes))
    if shuffled:
        graph = graph[torch.randperm(len(graph))]
    choices = [torch.randint(3, (len(graph), m)).float() for _ in range(samples)]
    before = signatures.HASH_MASK
    try:
        signatures.HASH_MASK = type(before)((1 << bits) - 1)
        joined = joined_choices(choices, graph, len(sizes))
    finally:
        signatures.HASH_MASK = before
    assert joined.of.shape == (samples, len(sizes), m)
    assert bool((joined.graph[1:] >= joined.graph[:-1]).all())
    found = {}
    for number, (g, c) in enumerate(zip(joined.graph.tolist(), joined.column.tolist(), strict=True)):
        found[g, tuple(joined.choice[graph == g, c].tolist())] = number
    assert len(found) == len(joined.graph)
    for s, choice in enumerate(choices):
        for g in range(len(sizes)):
            for c in range(m):
                assert joined.of[s, g, c] == found[g, tuple(choice[graph == g, c].tolist())]


def parts(bag, number):
    """The vertices and edges of a subgraph."""
    edges = bag.subgraph[bag.edge_index[1]] == number
    return bag.vertex[bag.subgraph == number].tolist(), bag.edge[edges].tolist()


def test_members_of_the_bag():
    """The subgraphs of a sample have the vertices and edges of its own bag, the whole graph last."""
    path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    batch = Batch.from_data_list([path, Data(num_nodes=1, edge_index=torch.empty(2, 0).long()), path])
    torch.manual_seed(0)
    choices = [torch.randint(2, (7, 2)).float() for _ in range(3)]
    joined = joined_choices(choices, batch.batch, 3)
    for whole in (False, True):
        bag = from_choice(batch, joined.choice, columns=(joined.graph, joined.column), whole_graph=whole)
        bag.check(batch)
        for choice, members in zip(choices, joined.members(whole), strict=True):
            own = from_choice(batch, choice, whole_graph=whole)
            for place, number in enumerate(members.flatten().tolist()):
                assert bag.graph[number] == own.graph[place]
                assert parts(bag, number) == parts(own, place)
