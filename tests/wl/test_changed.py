"""Rounds over changed classes only: the same colors and rounds as over all copies, in less time."""

from __future__ import annotations

import time

import numpy as np
import pytest

from osan.graphs import Graph
from osan.wl import WLTest, changed, distinguishes, refine

TESTS = [
    WLTest("wl"),
    WLTest("oswl", 1),
    WLTest("oswl", 1, neighborhood="all"),
    WLTest("vs-oswl", 1, operation="delete"),
    WLTest("vs-oswl", 2, what="edge"),
    WLTest("vs-oswl", 1, what="edge", operation="select"),
    WLTest("id", hops=2),
    WLTest("nested", hops=1),
    WLTest("kernel", hops=1),
]


def random_graph(rng: np.random.Generator, directed: bool, labels: bool, edge_labels: bool) -> Graph:
    """A small graph with loops and parallel edges, or a path."""
    n = int(rng.integers(0, 14))
    edges = rng.integers(0, max(1, n), (int(rng.integers(0, 2 * n + 1)), 2))
    if n and rng.random() < 0.3:
        edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    return Graph(
        n, edges, directed=directed,
        vertex_labels=rng.integers(0, 2, n).tolist() if labels else None,
        edge_labels=rng.integers(0, 3, len(edges)).tolist() if edge_labels else None,
    )  # fmt: skip


def same_partition(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    a, b = (np.concatenate([part.ravel() for part in parts]) for parts in (one, other))
    both = np.unique(np.stack((a, b)), axis=1).shape[1]
    return ((a < 0) == (b < 0)).all() and both == len(np.unique(a)) == len(np.unique(b))


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("test", TESTS, ids=str)
def test_the_same_rounds(monkeypatch, test, share):
    """Colors that are kept after every round come from rounds over all copies; these come from both."""
    monkeypatch.setattr(changed, "LEAST", 0)
    monkeypatch.setattr(changed, "SHARE", share)
    rng = np.random.default_rng(int(10 * share))
    for i in range(10):
        directed, labels, edge_labels = (rng.random(3) < 0.3).tolist()
        graphs = [random_graph(rng, directed, labels, edge_labels) for _ in range(2)]
        rounds = None if i % 3 else int(rng.integers(0, 4))
        ours = refine(graphs, test, rounds=rounds)
        theirs = refine(graphs, test, rounds=rounds, history=True)
        assert (ours.rounds, ours.stable) == (theirs.rounds, theirs.stable)
        assert same_partition(ours.colors, theirs.colors)
        assert ours.graph_colors.tolist() == theirs.graph_colors.tolist()
        assert distinguishes(*graphs, test, rounds=rounds) != theirs.same(0, 1)


def test_long_graphs_take_no_longer_than_others():
    """A path of 200,000 vertices has 99,999 rounds, which would take an hour if each looked at them all."""
    refine([Graph(5000, [(i, i + 1) for i in range(4999)])])  # compiles
    n = 200_000
    path = Graph(n, np.stack([np.arange(n - 1), np.arange(1, n)], axis=1))
    start = time.process_time()
    coloring = refine([path])
    assert time.process_time() - start < 5
    assert (coloring.rounds, coloring.stable) == (n // 2 - 1, True)
    (colors,) = coloring.colors
    assert (colors == colors[::-1]).all()
    assert len(np.unique(colors)) == n // 2


def test_progress_and_verdicts_of_large_pairs():
    n = 6000
    path = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    seen: list[tuple[int, int]] = []
    coloring = refine([Graph(n, path)], progress=lambda done, count: seen.append((done, count)))
    assert seen[-1] == (coloring.rounds, n // 2)
    assert coloring.rounds > len(seen)  # most of them class by class
    assert not distinguishes(Graph(n, path), Graph(n, path[::-1, ::-1]))
    one, other = (Graph(n, path, vertex_labels=[v == at for v in range(n)]) for at in (n // 2, n // 2 + 2))
    assert distinguishes(one, other)
