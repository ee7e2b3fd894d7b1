"""Every test of osan.wl against its definition in plain Python, on thousands of random small graphs."""

from __future__ import annotations

import brute
import numpy as np
import pytest

from osan.graphs import Graph
from osan.wl import WLTest, distinguishes, refine, relabel, tuples

TESTS = [
    WLTest("wl"),
    WLTest("wl", 2),
    WLTest("wl", 3),
    WLTest("wl", 1, oblivious=True),
    WLTest("wl", 2, oblivious=True),
    WLTest("wl", 3, oblivious=True),
    WLTest("oswl", 0),
    WLTest("oswl", 1),
    WLTest("oswl", 2),
    WLTest("oswl", 1, neighborhood="all"),
    WLTest("oswl", 2, neighborhood="all"),
    WLTest("oswl", 2, ordered=False),
    WLTest("oswl", 1, operation="delete"),
    WLTest("vs-oswl", 0),
    WLTest("vs-oswl", 1),
    WLTest("vs-oswl", 2),
    WLTest("vs-oswl", 2, neighborhood="all"),
    WLTest("vs-oswl", 2, ordered=False),
    WLTest("vs-oswl", 2, operation="delete"),
    WLTest("vs-oswl", 3, operation="select"),
    WLTest("vs-oswl", 1, what="edge"),
    WLTest("vs-oswl", 2, what="edge"),
    WLTest("vs-oswl", 2, what="edge", operation="select"),
    WLTest("vs-oswl", what="ego", hops=1),
    WLTest("vs-oswl", what="ego", hops=1, mark_center=True),
    WLTest("vs-oswl", what="ego", hops=1, operation="delete"),
    WLTest("vs-oswl", what="ego"),
    WLTest("oswl", what="ego", hops=2),
    WLTest("id", hops=2),
    WLTest("id", 2, hops=1),
    WLTest("nested", hops=1),
    WLTest("kernel", hops=1),
    WLTest("dss", 1),
    WLTest("dss", 1, operation="delete"),
    WLTest("dss", what="ego", hops=1, mark_center=True),
    WLTest("vs-swl"),
    WLTest("pswl"),
    WLTest("vs-gswl"),
    WLTest("sswl"),
    WLTest("swl", aggregations="Gu+Puu+Pvu"),
]


def random_graph(rng: np.random.Generator, directed: bool, largest: int) -> Graph:
    """A small graph; a third of them with loops and parallel edges, half of them with labels."""
    n = int(rng.integers(0, largest + 1))
    pairs = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
    kept = [pair for pair in pairs if rng.random() < 0.45]
    if n and rng.random() < 0.33:
        kept += [tuple(rng.integers(0, n, 2).tolist()) for _ in range(2)]
    labels = rng.integers(0, 2, n).tolist() if rng.random() < 0.5 else None
    edge_labels = rng.choice(["a", "b"], len(kept)).tolist() if rng.random() < 0.3 else None
    return Graph(n, kept, directed=directed, vertex_labels=labels, edge_labels=edge_labels)


def edited(rng: np.random.Generator, graph: Graph) -> Graph:
    """The graph with the ends of two edges exchanged (degrees stay), or one edge moved."""
    edges = graph.edges.copy()
    if len(edges) >= 2 and rng.random() < 0.7:
        i, j = rng.choice(len(edges), 2, replace=False)
        edges[i, 1], edges[j, 1] = edges[j, 1], edges[i, 1]
    elif len(edges):
        edges[rng.integers(len(edges))] = rng.integers(0, graph.num_vertices, 2)
    return Graph(
        graph.num_vertices, edges, directed=graph.directed,
        vertex_labels=graph.vertex_labels, edge_labels=graph.edge_labels,
    )  # fmt: skip


def family(seed: int, largest: int) -> list[Graph]:
    """A graph, a permuted copy of it, an edited one, and another; all directed or none."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, seed % 4 == 0, largest)
    other = random_graph(rng, seed % 4 == 0, largest)
    return [graph, graph.permuted(rng.permutation(graph.num_vertices)), edited(rng, graph), other]


def same_partition(one: list[int], other: list[int]) -> bool:
    """Whether two lists of colors are equal up to the colors' names."""
    pairs = set(zip(one, other, strict=True))
    return len(pairs) == len(set(one)) == len(set(other))


def check(graphs: list[Graph], test: WLTest, rounds: int | None = None) -> None:
    """Colors of copies or tuples, of graphs, and the number of rounds, all against the definition."""
    ours = refine(graphs, test, rounds=rounds)
    colors, verdicts, done = brute.refine(graphs, test, rounds)
    flat = {(i, *place): int(c) for i, part in enumerate(ours.colors) for place, c in np.ndenumerate(part)}
    if test.name == "wl" and not test.oblivious and test.k == 1:
        flat = {(i, 0, v): c for (i, v), c in flat.items()}
    assert {key for key, color in flat.items() if color >= 0} == set(colors)
    keys = list(colors)
    assert same_partition([flat[key] for key in keys], [colors[key] for key in keys])
    assert same_partition(ours.graph_colors.tolist(), [hash(verdict) for verdict in verdicts])
    assert ours.rounds == done
    assert ours.same(0, 1), "a permuted copy was told apart"
    if rounds is None:
        for other in (1, 2, 3):
            told_apart = verdicts[0] != verdicts[other]
            assert distinguishes(graphs[0], graphs[other], test) == told_apart


def size(test: WLTest) -> int:
    return 4 if test.k >= 3 or test.name == "dss" else 5


@pytest.mark.parametrize("test", TESTS, ids=str)
def test_equals_the_definition(test):
    for seed in range(40):
        check(family(seed, size(test)), test)


@pytest.mark.parametrize("test", TESTS[::3], ids=str)
@pytest.mark.parametrize("rounds", [0, 1])
def test_stopped_early_equals_the_definition(test, rounds):
    for seed in range(100, 110):
        check(family(seed, size(test)), test, rounds)


@pytest.mark.parametrize("test", [t for t in TESTS if t.k < 3 or not t.oblivious], ids=str)
def test_a_hash_of_two_bits_changes_nothing(test, monkeypatch):
    monkeypatch.setattr(relabel, "HASH_MASK", np.uint64(3))
    for seed in range(200, 208):
        check(family(seed, size(test)), test)


@pytest.mark.parametrize("test", [WLTest("wl", 2), WLTest("wl", 3)], ids=str)
def test_colors_too_many_to_pack_change_nothing(test, monkeypatch):
    monkeypatch.setattr(tuples.Tuples, "pack", False)
    for seed in range(300, 330):
        check(family(seed, size(test)), test)
