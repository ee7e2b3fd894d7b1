"""Every enumeration against brute force over Python sets."""

import itertools
import time
from collections import Counter

import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data

from osan import bags
from osan.bags.enumerate import num_subsets, num_tuples, subsets_of, tuples_of
from osan.errors import OsanError, TooLarge


def read(bag):
    """For each subgraph: its graph, the vertices it holds and the columns of its edges."""
    out = []
    for s in range(bag.num_subgraphs):
        vertices = bag.vertex[bag.subgraph == s].tolist()
        edges = bag.edge[bag.subgraph[bag.edge_index[1]] == s].tolist()
        out.append((int(bag.graph[s]), frozenset(vertices), frozenset(edges)))
        assert len(set(vertices)) == len(vertices)
        assert len(set(edges)) == len(edges)
    return out


def vertices_of(batch):
    return [(batch.batch == g).nonzero().flatten().tolist() for g in range(batch.num_graphs)]


def induced(batch, vertices):
    columns = batch.edge_index.t().tolist()
    return frozenset(c for c, (u, v) in enumerate(columns) if u in vertices and v in vertices)


def edges_of(batch, g):
    """The undirected edges of a graph as sets of columns, the i-th (u, v) paired with the i-th (v, u).

    Of parallel edges those with the same attribute are paired.
    """
    columns = batch.edge_index.t().tolist()
    parallel = {c for c, number in Counter(map(tuple, columns)).items() if number > 1}
    pairs, seen = {}, Counter()
    for c, (u, v) in enumerate(columns):
        if int(batch.batch[u]) != g:
            continue
        several = (u, v) in parallel or (v, u) in parallel
        kind = int(batch.edge_attr[c]) if several else None
        key = (min(u, v), max(u, v), kind, seen[u, v, kind])
        seen[u, v, kind] += 1
        pairs.setdefault(key, set()).add(c)
    return [frozenset(c) for c in pairs.values()]


def check_well_formed(batch, bag):
    """The copies are sorted, and every copied edge joins the copies of its edge's ends."""
    key = bag.subgraph * batch.num_nodes + bag.vertex
    assert bool((key[1:] > key[:-1]).all())
    assert bool((bag.edge_index[1, 1:] >= bag.edge_index[1, :-1]).all())
    assert torch.equal(bag.vertex[bag.edge_index], batch.edge_index[:, bag.edge])
    assert torch.equal(bag.subgraph[bag.edge_index[0]], bag.subgraph[bag.edge_index[1]])
    assert torch.equal(batch.batch[bag.vertex], bag.graph[bag.subgraph])
    bag.check(batch)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@pytest.mark.parametrize("operation", ["delete", "select", "mark"])
@pytest.mark.parametrize("whole_graph", [False, True])
def test_all_subsets(odd_batch, k, operation, whole_graph):
    bag = bags.all_subsets(odd_batch, k, operation=operation, whole_graph=whole_graph)
    check_well_formed(odd_batch, bag)
    expected, marks = [], []
    for g, vertices in enumerate(vertices_of(odd_batch)):
        for chosen in itertools.combinations(vertices, min(k, len(vertices))):
            kept = {"delete": set(vertices) - set(chosen), "select": set(chosen), "mark": set(vertices)}[
                operation
            ]
            expected.append((g, frozenset(kept), induced(odd_batch, kept)))
            marks += [float(v in chosen) for v in sorted(kept)]
        if whole_graph:
            expected.append((g, frozenset(vertices), induced(odd_batch, vertices)))
            marks += [0.0] * len(vertices)
    assert read(bag) == expected
    if operation == "mark":
        assert bag.mark.tolist() == marks


def test_deleted_vertices_can_stay(odd_batch):
    masked = bags.all_subsets(odd_batch, 2)
    isolated = bags.all_subsets(odd_batch, 2, deleted="isolated")
    unpooled = bags.all_subsets(odd_batch, 2, deleted="unpooled")
    check_well_formed(odd_batch, isolated)
    for less, alone, more in zip(read(masked), read(isolated), read(unpooled), strict=True):
        everything = frozenset(vertices_of(odd_batch)[less[0]])
        assert alone == (less[0], everything, less[2])
        assert more == (less[0], everything, induced(odd_batch, everything))
    there = unpooled.weight.bool()
    assert torch.equal(unpooled.vertex[there], masked.vertex)
    assert torch.equal(unpooled.subgraph[there], masked.subgraph)


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("operation", ["delete", "select", "mark"])
def test_all_tuples(odd_batch, k, operation):
    bag = bags.all_tuples(odd_batch, k, operation=operation)
    check_well_formed(odd_batch, bag)
    expected, tuples, ranks = [], [], []
    for g, vertices in enumerate(vertices_of(odd_batch)):
        for chosen in itertools.product(vertices, repeat=k):
            kept = {"delete": set(vertices) - set(chosen), "select": set(chosen), "mark": set(vertices)}[
                operation
            ]
            expected.append((g, frozenset(kept), induced(odd_batch, kept)))
            tuples.append(list(chosen))
            ranks += [chosen.index(v) + 1 if v in chosen else 0 for v in sorted(kept)]
    assert read(bag) == expected
    assert bag.tuples.tolist() == tuples
    assert bag.rank.tolist() == ranks


def test_tuples_without_repeats(odd_batch):
    bag = bags.all_tuples(odd_batch, 2, repeats=False)
    expected = [list(t) for vertices in vertices_of(odd_batch) for t in itertools.permutations(vertices, 2)]
    assert bag.tuples.tolist() == expected


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("operation", ["delete", "select", "mark"])
@pytest.mark.parametrize("deleted", ["masked", "isolated"])
def test_all_edges(odd_batch, k, operation, deleted):
    bag = bags.all_edges(odd_batch, k, operation=operation, deleted=deleted)
    check_well_formed(odd_batch, bag)
    expected, marked = Counter(), Counter()
    for g, vertices in enumerate(vertices_of(odd_batch)):
        edges = edges_of(odd_batch, g)
        everything = frozenset().union(*edges)
        for chosen in itertools.combinations(edges, min(k, len(edges))):
            named = frozenset().union(*chosen)
            kept, there = {
                "delete": (everything - named, vertices),
                "select": (named, vertices),
                "mark": (everything, vertices),
            }[operation]
            if operation == "select" and deleted == "masked":
                there = odd_batch.edge_index[:, sorted(named)].flatten().tolist()
            expected[g, frozenset(there), kept] += 1
            marked[g, named] += 1
    assert Counter(read(bag)) == expected
    if operation == "mark":
        found = Counter()
        for s in range(bag.num_subgraphs):
            inside = bag.subgraph[bag.edge_index[1]] == s
            found[int(bag.graph[s]), frozenset(bag.edge[inside & (bag.edge_mark == 1)].tolist())] += 1
        assert found == marked


@pytest.mark.parametrize("hops", [0, 1, 2, 9])
@pytest.mark.parametrize("operation", ["delete", "select", "mark"])
def test_all_egos(odd_batch, hops, operation):
    bag = bags.all_egos(odd_batch, hops, operation=operation)
    check_well_formed(odd_batch, bag)
    graph = nx.Graph(odd_batch.edge_index.t().tolist())
    graph.add_nodes_from(range(odd_batch.num_nodes))
    for center, (_, vertices, edges) in enumerate(read(bag)):
        ego = set(nx.single_source_shortest_path_length(graph, center, cutoff=hops))
        everything = set(vertices_of(odd_batch)[int(odd_batch.batch[center])])
        kept = {"delete": everything - ego, "select": ego, "mark": everything}[operation]
        assert vertices == kept
        assert edges == induced(odd_batch, kept)
        if operation == "mark":
            inside = bag.subgraph == center
            assert set(bag.vertex[inside & (bag.mark == 1)].tolist()) == ego
    assert bag.num_subgraphs == odd_batch.num_nodes


def test_center_marks(odd_batch):
    bag = bags.all_egos(odd_batch, 2, mark_center=True)
    assert torch.equal(bag.mark.bool(), bag.vertex == bag.subgraph)
    with pytest.raises(OsanError, match="mark_center"):
        bags.all_egos(odd_batch, 1, operation="mark", mark_center=True)


def walks_by_hand(batch, k):
    """The k-tuples of vertices whose neighbors in the tuple are joined, whichever way an arc points."""
    joined = {arc for u, v in batch.edge_index.t().tolist() for arc in ((u, v), (v, u))}
    for vertices in vertices_of(batch):
        for t in itertools.product(vertices, repeat=k):
            if joined.issuperset(itertools.pairwise(t)):
                yield list(t)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_all_walks(odd_batch, k):
    bag = bags.all_walks(odd_batch, k, hops=1)
    check_well_formed(odd_batch, bag)
    assert bag.tuples.tolist() == list(walks_by_hand(odd_batch, k))
    member = (bag.tuples[bag.subgraph] == bag.vertex[:, None]).any(1)
    assert torch.equal(bag.mark.bool(), member)


@pytest.fixture
def arcs():
    """Two directed graphs: random arcs of one direction and of both, parallel ones, and two that meet."""
    arcs = [(0, 1), (0, 1), (1, 2), (3, 2), (4, 3), (4, 4), (2, 1), (5, 0)]
    graphs = [(6, arcs), (3, [(0, 2), (1, 2)])]
    return Batch.from_data_list([Data(num_nodes=n, edge_index=torch.tensor(e).t()) for n, e in graphs])


@pytest.mark.parametrize("hops", [0, 1, 2, 9])
def test_arcs_are_walked_both_ways(arcs, hops):
    graph = nx.Graph(arcs.edge_index.t().tolist())
    graph.add_nodes_from(range(arcs.num_nodes))
    balls = [set(nx.single_source_shortest_path_length(graph, v, cutoff=hops)) for v in range(9)]
    assert [set(vertices) for _, vertices, _ in read(bags.all_egos(arcs, hops))] == balls
    for k in (1, 2, 3):
        bag = bags.all_walks(arcs, k, hops)
        walks = list(walks_by_hand(arcs, k))
        assert bag.tuples.tolist() == walks
        assert [set(vertices) for _, vertices, _ in read(bag)] == [balls[walk[0]] for walk in walks]


def test_whole_graphs(odd_batch):
    bag = bags.whole_graphs(odd_batch)
    assert torch.equal(bag.vertex, torch.arange(odd_batch.num_nodes))
    assert torch.equal(bag.subgraph, odd_batch.batch)
    assert sorted(bag.edge.tolist()) == list(range(odd_batch.num_edges))


def test_one_graph_is_enough():
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3)
    assert bags.all_subsets(data, 1).num_subgraphs == 3


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Data(num_nodes=2), "edge_index: expected an int64 tensor"),
        (Data(num_nodes=2, edge_index=torch.zeros(3, 2, dtype=torch.long)), r"shape \[3, 2\]"),
        (Data(num_nodes=2, edge_index=torch.zeros(2, 1)), "float32"),
        (Data(num_nodes=2, edge_index=torch.tensor([[0], [2]])), "expected entries from 0 to 1"),
        (
            Data(num_nodes=2, edge_index=torch.tensor([[0], [1]]), batch=torch.tensor([0, 1])),
            "got column 0 between two graphs",
        ),
        (
            Data(num_nodes=2, edge_index=torch.empty(2, 0, dtype=torch.long), batch=torch.tensor([1, 0])),
            "expected a sorted vector",
        ),
        (
            Data(num_nodes=2, edge_index=torch.empty(2, 0, dtype=torch.long), batch=torch.tensor([0])),
            r"expected shape \[2\], got \[1\]",
        ),
    ],
)
def test_broken_batches_are_named(data, message):
    with pytest.raises(OsanError, match=message):
        bags.whole_graphs(data)


def test_unknown_words_are_named(odd_batch):
    with pytest.raises(OsanError, match="operation: expected one of 'delete'"):
        bags.all_subsets(odd_batch, 1, operation="remove")
    with pytest.raises(OsanError, match="deleted: expected one of 'masked'"):
        bags.all_egos(odd_batch, 1, deleted="gone")
    with pytest.raises(OsanError, match="unpooled"):
        bags.all_edges(odd_batch, 1, deleted="unpooled")
    with pytest.raises(OsanError, match="k: expected an integer of at least 0, got -1"):
        bags.all_subsets(odd_batch, -1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b: bags.all_tuples(b, 9), r"all 1,953,125,000,019,683 tuples needs about .*random_tuples\)"),
        (lambda b: bags.all_subsets(b, 12), r"sets of vertices needs about .* TB, .*random_subsets\)"),
        (lambda b: bags.all_edges(b, 20), r"sets of edges needs about .* smaller k, .*random_edges\)"),
    ],
)
def test_bags_that_do_not_fit_are_refused_beforehand(make, message):
    graphs = [Data(num_nodes=n, edge_index=torch.combinations(torch.arange(n)).T) for n in (50, 3)]
    start = time.process_time()
    with pytest.raises(TooLarge, match=message):
        make(Batch.from_data_list(graphs))
    assert time.process_time() - start < 5


@pytest.mark.parametrize("k", [0, 1, 2, 3, 6])
def test_sets_and_tuples_are_counted_before_they_are_listed(k):
    sizes = torch.tensor([0, 1, 2, 4, 7])
    first = sizes.cumsum(0) - sizes
    _, block = subsets_of(sizes, first, k)
    assert num_subsets(sizes, k).tolist() == block.bincount(minlength=5).tolist()
    for repeats in (True, False):
        _, block = tuples_of(sizes, first, k, repeats=repeats)
        assert num_tuples(sizes, k, repeats=repeats).tolist() == block.bincount(minlength=5).tolist()
