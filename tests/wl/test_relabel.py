"""Refinement where most colors soon belong to one vertex, and relabeling, against plain dictionaries."""

from __future__ import annotations

from importlib import import_module

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from osan.graphs import from_networkx, to_networkx
from osan.wl import refine, relabel


def partition(colors):
    """The colors in order of appearance, equal for equal partitions."""
    seen = {}
    return [seen.setdefault(color, len(seen)) for color in colors]


def color_rounds(graphs):
    """Colors of the union of networkx graphs after every round of 1-WL, by its definition."""
    union = nx.disjoint_union_all(graphs)
    colors = partition(union.nodes[v].get("label") for v in union)
    trail = [colors]
    while True:
        finer = partition((colors[v], tuple(sorted(colors[u] for u in union[v]))) for v in union)
        if max(finer) == max(colors):
            return trail
        trail.append(colors := finer)


@pytest.mark.parametrize("mask", [2**64 - 1, 3], ids=["hash of 64 bits", "hash of two bits"])
@pytest.mark.parametrize("labels", [0, 3], ids=["without labels", "with labels"])
@pytest.mark.parametrize("seed", range(6))
def test_sparse_graphs_with_many_colors(monkeypatch, seed, labels, mask):
    monkeypatch.setattr(relabel, "HASH_MASK", np.uint64(mask))
    graphs = [nx.gnm_random_graph(70, 60 + 25 * seed, seed=seed), nx.random_labeled_tree(40, seed=seed)]
    # A copy of the first, so that some colors are never alone.
    graphs.append(nx.relabel_nodes(graphs[0], dict(zip(range(70), reversed(range(70)), strict=True))))
    for graph in graphs[: 3 if labels else 0]:
        for v in graph:
            graph.nodes[v]["label"] = (graph.degree[v] * 7 + seed) % labels
    ours = [from_networkx(graph) for graph in graphs[: 2 if seed % 2 else 3]]
    coloring = refine(ours, history=True)
    expected = color_rounds([to_networkx(graph) for graph in ours])
    assert coloring.stable
    assert coloring.rounds == len(expected) - 1
    assert [partition(np.concatenate(parts).tolist()) for parts in coloring.history] == expected


def test_a_large_graph_on_all_threads(monkeypatch):
    monkeypatch.setattr(import_module("osan.wl.refine"), "SMALL", 0)
    graph = nx.gnm_random_graph(15_000, 40_000, seed=0)
    coloring = refine([graph], history=True)
    assert [partition(parts[0].tolist()) for parts in coloring.history] == color_rounds([graph])


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=3000), st.randoms())
def test_relabel_numbers_words_as_they_come(words, random):
    alive = np.array([random.choice((-1, 0, 7)) for _ in words], dtype=np.int32)
    ids, first = relabel.relabel(np.array(words, dtype=np.uint64), alive)
    seen = {}
    for i, word in enumerate(words):
        if alive[i] >= 0:
            seen.setdefault(word, i)
    assert first.tolist() == list(seen.values())
    numbers = {word: number for number, word in enumerate(seen)}
    assert ids.tolist() == [numbers[word] if alive[i] >= 0 else -1 for i, word in enumerate(words)]


def test_relabel_of_many_distinct_words():
    words = np.random.default_rng(0).integers(0, 2**63, 20_000).astype(np.uint64)
    twice = np.concatenate([words, words])
    ids, first = relabel.relabel(twice, np.zeros(len(twice), np.int32))
    assert (
        words[first] == np.unique(words, return_index=True)[0][np.argsort(np.argsort(words[first]))]
    ).all()
    assert (ids[: len(words)] == ids[len(words) :]).all()
    assert (words[first][ids[: len(words)]] == words).all()
