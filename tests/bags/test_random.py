"""Random bags: the right law, different draws when asked, the same draws from the same seed."""

import itertools
import time
from collections import Counter
from functools import partial

import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data

from osan import bags
from osan.errors import OsanError, TooLarge


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def chi_square_is_small(counts, expected):
    """Below the 99.9 % quantile of chi square (Wilson-Hilferty)."""
    statistic = sum((counts[key] - e) ** 2 / e for key, e in expected.items())
    f = len(expected) - 1
    quantile = f * (1 - 2 / (9 * f) + 3.09 * (2 / (9 * f)) ** 0.5) ** 3
    assert set(counts) <= set(expected)
    return statistic < quantile


@pytest.fixture
def pair():
    """Two graphs of different size, so that draws per graph are told apart."""
    square = Data(num_nodes=4, edge_index=torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]]))
    edge = Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]]))
    return Batch.from_data_list([square, edge])


def test_subsets_are_uniform_and_independent(pair):
    m = 6000
    bag = bags.random_subsets(pair, 2, m, generator=seeded())
    assert bag.subgraphs_per_graph.tolist() == [m, m]
    rows = [tuple(r) for r in bag.tuples[:m].tolist()]
    subsets = list(itertools.combinations(range(4), 2))
    assert chi_square_is_small(Counter(rows), dict.fromkeys(subsets, m / 6))
    pairs = Counter(zip(rows[::2], rows[1::2], strict=True))
    assert chi_square_is_small(pairs, dict.fromkeys(itertools.product(subsets, repeat=2), m / 72))
    assert bag.tuples[m:].unique(dim=0).tolist() == [[4, 5]]


def test_tuples_are_uniform(pair):
    m = 4000
    rows = [tuple(r) for r in bags.random_tuples(pair, 2, m, generator=seeded()).tuples[:m].tolist()]
    assert chi_square_is_small(Counter(rows), dict.fromkeys(itertools.product(range(4), repeat=2), m / 16))


def test_ranks_are_uniform(pair):
    m = 3000
    bag = bags.random_subsets(pair, 1, m, generator=seeded(), ordered=True)
    orders = Counter(tuple(bag.rank[bag.subgraph == s].tolist()) for s in range(m))
    assert chi_square_is_small(orders, dict.fromkeys(itertools.permutations([1, 2, 3]), m / 6))
    marked = bags.random_subsets(pair, 2, 5, generator=seeded(), ordered=True, operation="mark")
    assert torch.equal(marked.rank > 0, marked.mark > 0)
    assert int(marked.rank.max()) == 2


def test_trees_are_maximum_spanning_trees_of_uniform_weights():
    """On the triangle with a tail each of the three trees has probability 1/3."""
    ends = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 3]])
    data = Data(num_nodes=4, edge_index=torch.cat((ends, ends.flip(0)), 1))
    m = 3000
    bag = bags.random_trees(data, m, generator=seeded())
    counts = Counter()
    for s in range(m):
        columns = bag.edge[bag.subgraph[bag.edge_index[1]] == s]
        assert sorted((columns % 4).tolist()) == sorted(2 * list(set((columns % 4).tolist())))
        counts[frozenset((columns % 4).tolist())] += 1
    assert chi_square_is_small(counts, {frozenset(t): m / 3 for t in ({0, 1, 3}, {0, 2, 3}, {1, 2, 3})})


def test_trees_span_each_component(odd_batch):
    bag = bags.random_trees(odd_batch, 4, generator=seeded())
    graph = nx.Graph(odd_batch.edge_index.t().tolist())
    graph.add_nodes_from(range(odd_batch.num_nodes))
    for s in range(bag.num_subgraphs):
        inside = bag.subgraph[bag.edge_index[1]] == s
        vertices = bag.vertex[bag.subgraph == s].tolist()
        assert vertices == (odd_batch.batch == bag.graph[s]).nonzero().flatten().tolist()
        tree = nx.MultiGraph()
        tree.add_nodes_from(vertices)
        arcs = odd_batch.edge_index[:, bag.edge[inside]].t().tolist()
        tree.add_edges_from((u, v) for u, v in arcs if u < v)
        assert not any(u == v for u, v in arcs)
        assert nx.is_forest(tree)
        assert nx.number_connected_components(tree) == nx.number_connected_components(
            graph.subgraph(vertices)
        )


POLICIES = {
    "tuples": (partial(bags.random_tuples, k=1), [4, 2]),
    "subsets": (partial(bags.random_subsets, k=2), [6, 1]),
    "edges": (partial(bags.random_edges, k=2), [6, 1]),
    "egos": (partial(bags.random_egos, hops=1), [4, 2]),
    "trees": (bags.random_trees, [4, 1]),
}


@pytest.mark.parametrize("name", POLICIES)
def test_distinct_draws_differ_and_stop_at_all(pair, name):
    policy, possible = POLICIES[name]
    few = policy(pair, m=3, generator=seeded(), distinct=True)
    assert few.subgraphs_per_graph.tolist() == [3, min(3, possible[1])]
    everything = policy(pair, m=50, generator=seeded(), distinct=True)
    assert everything.subgraphs_per_graph.tolist() == possible
    content = {
        (
            tuple([] if everything.tuples is None else everything.tuples[s].tolist()),
            tuple(everything.edge[everything.subgraph[everything.edge_index[1]] == s].tolist()),
        )
        for s in range(everything.num_subgraphs)
    }
    assert len(content) == sum(possible)


@pytest.mark.parametrize("name", POLICIES)
def test_the_generator_alone_decides(pair, name):
    policy, _ = POLICIES[name]
    first, second, other = (policy(pair, m=20, generator=seeded(s)) for s in (1, 1, 2))
    assert torch.equal(first.edge_index, second.edge_index)
    assert torch.equal(first.vertex, second.vertex)
    # Marked tuples leave every edge where it is.
    drawn = [bag.tuples if name == "tuples" else bag.edge for bag in (first, second, other)]
    assert torch.equal(drawn[0], drawn[1])
    assert drawn[0].shape != drawn[2].shape or not torch.equal(drawn[0], drawn[2])


def test_distinct_draws_are_uniform(pair):
    """Each of the 6 pairs of different vertices is equally likely to be the two draws."""
    counts = Counter()
    for seed in range(1500):
        rows = bags.random_tuples(pair, 1, 2, generator=seeded(seed), distinct=True).tuples[:2]
        counts[frozenset(rows.flatten().tolist())] += 1
    subsets = map(frozenset, itertools.combinations(range(4), 2))
    assert chi_square_is_small(counts, dict.fromkeys(subsets, 1500 / 6))


def test_nearly_all_subgraphs_are_drawn_without_waiting_for_the_last():
    """Of N sets N or N - 1 different ones: drawing until they are found took N rounds."""
    graph = Data(num_nodes=64, edge_index=torch.empty(2, 0, dtype=torch.long))
    for m, expected in ((3000, 2016), (2015, 2015), (1008, 1008)):
        start = time.process_time()
        rows = bags.random_subsets(graph, 2, m, generator=seeded(), distinct=True).tuples.tolist()
        assert time.process_time() - start < 3
        assert len(set(map(tuple, rows))) == len(rows) == expected
        assert set(map(tuple, rows)) <= set(itertools.combinations(range(64), 2))


@pytest.mark.parametrize("m", [2, 4])
def test_distinct_subsets_are_uniform(m):
    """Every m of the 6 pairs of vertices are equally likely, be they drawn or chosen from a list."""
    square = Data(num_nodes=4, edge_index=torch.empty(2, 0, dtype=torch.long))
    batch = Batch.from_data_list([square] * 1500)
    rows = bags.random_subsets(batch, 2, m, generator=seeded(), distinct=True).tuples % 4
    counts = Counter(frozenset(map(tuple, sets)) for sets in rows.view(1500, m, 2).tolist())
    expected = map(frozenset, itertools.combinations(itertools.combinations(range(4), 2), m))
    assert chi_square_is_small(counts, dict.fromkeys(expected, 1500 / 15))


def test_dropout_drops_each_vertex_with_its_probability(pair):
    bag = bags.random_dropout(pair, 0.3, 4000, generator=seeded())
    rate = torch.bincount(bag.vertex) / 4000
    assert torch.allclose(rate, torch.full((6,), 0.7), atol=4 * (0.21 / 4000) ** 0.5)
    assert bags.random_dropout(pair, 1.0, 2, generator=seeded()).num_copies == 0
    with pytest.raises(OsanError, match="p: expected a probability"):
        bags.random_dropout(pair, 1.5, 1, generator=seeded())


def test_oddities(odd_batch):
    for k in (0, 1, 7):
        for policy in (bags.random_subsets, bags.random_edges):
            bag = policy(odd_batch, k, 2, generator=seeded())
            assert bag.subgraphs_per_graph.tolist() == [2] * odd_batch.num_graphs
    assert bags.random_subsets(odd_batch, 7, 2, generator=seeded()).num_copies == 0
    assert bags.random_egos(odd_batch, 1, 0, generator=seeded()).num_subgraphs == 0
    with pytest.raises(OsanError, match="m: expected an integer"):
        bags.random_egos(odd_batch, 1, -1, generator=seeded())


def test_empty_graphs_have_no_tuple():
    empty = Data(num_nodes=0, edge_index=torch.empty(2, 0, dtype=torch.long))
    edge = Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]]))
    batch = Batch.from_data_list([empty, edge])
    assert bags.random_tuples(batch, 1, 3, generator=seeded()).subgraphs_per_graph.tolist() == [0, 3]
    assert bags.random_egos(batch, 1, 3, generator=seeded()).subgraphs_per_graph.tolist() == [0, 3]


def test_maximum_spanning_forest_against_networkx():
    for seed in range(20):
        graph = nx.gnp_random_graph(9, 0.4, seed=seed)
        ends = torch.tensor(list(graph.edges())).reshape(-1, 2).t()
        weights = torch.rand(ends.size(1), generator=seeded(seed))
        for (u, v), w in zip(graph.edges(), weights.tolist(), strict=True):
            graph.edges[u, v]["weight"] = w
        chosen = bags.maximum_spanning_forest(ends[0], ends[1], weights, 9)
        expected = nx.maximum_spanning_edges(graph, data=False)
        assert set(map(tuple, ends[:, chosen].t().tolist())) == {tuple(sorted(e)) for e in expected}


@pytest.mark.parametrize("distinct", [False, True])
def test_sets_that_no_graph_has(distinct):
    """They are all vertices or edges, whatever the size says, and a table that does not fit is refused."""
    path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    for make, most in ((bags.random_subsets, 3), (bags.random_edges, 2)):
        exact, large = (make(path, k, 2, operation="select", distinct=distinct) for k in (most, 1000))
        assert large.vertex.tolist() == exact.vertex.tolist()
        assert large.edge_index.tolist() == exact.edge_index.tolist()
        with pytest.raises(TooLarge, match=r"of 1000000000000 elements needs about .* use a smaller k"):
            make(path, 10**12, 2, distinct=distinct)


def test_more_subgraphs_than_memory_holds(pair):
    draws = [lambda m: bags.random_subsets(pair, 1, m), lambda m: bags.random_tuples(pair, 1, m)]
    draws += [lambda m: bags.random_edges(pair, 1, m), lambda m: bags.random_dropout(pair, 0.5, m)]
    for draw in draws:
        with pytest.raises(TooLarge, match=r"a bag of 10000000000 subgraphs of each graph needs about"):
            draw(10**10)


def test_words_are_no_switch(pair):
    with pytest.raises(OsanError, match="ordered: expected True or False, got 'no'"):
        bags.random_subsets(pair, 1, 2, ordered="no")
