"""Copies (v, s), vertex v seen in subgraph s: which subgraphs a test looks at, and their initial colors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from osan.graphs import Graph
from osan.wl import kernels
from osan.wl.encode import Colors, Encoded, Ints, pointers
from osan.wl.relabel import combine, relabel

if TYPE_CHECKING:
    from osan.wl.settings import WLTest


@dataclass(frozen=True)
class Copies:
    """The subgraphs of all graphs, and one place per (vertex, subgraph).

    Attributes
    ----------
    graph
        The graph of each subgraph, shape ``(S,)``.
    members
        The chosen vertices or edges of each subgraph, shape ``(S, k)``; padded with -1 where a graph has
        fewer than k.
    subgraph_ptr
        Where each graph's subgraphs begin.
    copy_ptr
        Where each subgraph's copies begin, shape ``(S + 1,)``.
    edge_mode
        Which edges a subgraph has: 0 all, 1 all but its members, 2 only its members.
    """

    graph: Ints
    members: Colors
    subgraph_ptr: Ints
    copy_ptr: Ints
    edge_mode: int = 0


def whole_graphs(encoded: Encoded) -> tuple[Copies, Colors]:
    """Each graph as its only subgraph, and the initial colors: the labels."""
    none = [np.empty((1, 0), dtype=np.int64)] * len(encoded.sizes)
    return _copies(encoded, none), encoded.labels


def count_chosen(test: WLTest, n: int, m: int) -> int:
    """How many subgraphs the policy of a test gives for a graph with n vertices and m edges.

    >>> from osan.wl import WLTest
    >>> count_chosen(WLTest("oswl", k=2), n=5, m=0), count_chosen(WLTest("oswl", k=2, ordered=False), 5, 0)
    (25, 10)
    """
    if test.what == "ego":
        return n
    if test.ordered:
        return int(n**test.k)
    total = m if test.what == "edge" else n
    size = min(total, test.k)
    # More than fit anywhere; the exact number would take long to find.
    return comb(total, size) if min(size, total - size) <= 64 else 10**300


def chosen_subgraphs(encoded: Encoded, test: WLTest) -> tuple[Copies, Colors]:
    """The subgraphs of the test's policy, and the initial color of every copy: -1 where v is not in s."""
    graphs = encoded.graphs
    if test.what == "ego":
        copies = _copies(encoded, [_tuples(g.num_vertices, 1) for g in graphs])
        return copies, _ego_start(encoded, test, copies)
    if test.ordered:
        copies = _copies(encoded, [_tuples(g.num_vertices, test.k) for g in graphs])
        return copies, _ordered_types(encoded, copies)
    if test.what == "edge":
        mode = 1 if test.operation == "delete" else 2
        copies = _copies(encoded, [_subsets(g.num_edges, test.k) for g in graphs], mode)
        start = labels_of(encoded, copies)
        return copies, start if mode == 1 else _only(_touched(encoded, copies), start)
    copies = _copies(encoded, [_subsets(g.num_vertices, test.k) for g in graphs])
    labels, chosen = labels_of(encoded, copies), membership(copies)
    if test.operation == "mark":
        return copies, combine(labels, chosen)
    return copies, _only(chosen == (test.operation == "select"), labels)


def ordered_subgraphs(encoded: Encoded, numbers: list[Ints], k: int) -> tuple[Copies, Colors]:
    """Some of the k-tuples of marks of each graph, by their numbers in lexicographic order, and atp(v, t)."""
    rows = [_entries(some, n, k) for some, n in zip(numbers, encoded.sizes.tolist(), strict=True)]
    copies = _copies(encoded, rows)
    return copies, _ordered_types(encoded, copies)


def walk_subgraphs(encoded: Encoded, test: WLTest) -> tuple[Copies, Colors]:
    """For every walk of k vertices the ego-net of its first vertex, the walk's vertices marked."""
    rows = [_walks(encoded, i, test.k) for i in range(len(encoded.graphs))]
    copies = _copies(encoded, rows)
    return copies, _ego_start(encoded, test, copies)


def _copies(encoded: Encoded, rows: list[Ints], edge_mode: int = 0) -> Copies:
    """The copies of subgraphs that are given by their members, an array per graph."""
    subgraph_ptr = pointers([len(part) for part in rows])
    graph = np.repeat(np.arange(len(rows)), np.diff(subgraph_ptr))
    return Copies(
        graph=graph,
        members=np.concatenate(rows).astype(np.int32),
        subgraph_ptr=subgraph_ptr,
        copy_ptr=pointers(encoded.sizes[graph]),
        edge_mode=edge_mode,
    )


def _tuples(n: int, k: int) -> Ints:
    """All k-tuples over n vertices, in lexicographic order."""
    if n == 0:
        return np.empty((int(k == 0), k), dtype=np.int64)
    return _entries(np.arange(n**k, dtype=np.int64), n, k)


def _entries(numbers: Ints, n: int, k: int) -> Ints:
    """The entries of the k-tuples over n vertices with these numbers in lexicographic order."""
    return numbers[:, None] // n ** np.arange(k - 1, -1, -1) % n


def _subsets(total: int, k: int) -> Ints:
    """All k-subsets of ``total`` things; where there are fewer than k, all of them, padded with -1."""
    size = min(total, k)
    count = comb(total, size)
    flat = np.fromiter(chain.from_iterable(combinations(range(total), size)), np.int64, size * count)
    return np.pad(flat.reshape(count, size), ((0, 0), (0, k - size)), constant_values=-1)


def _walks(encoded: Encoded, graph: int, k: int) -> Ints:
    """All walks of k vertices, along edges in either direction, in lexicographic order."""
    n, first = encoded.graphs[graph].num_vertices, encoded.vertex_ptr[graph]
    arcs = slice(encoded.arc_ptr[first], encoded.arc_ptr[first + n])
    ends = np.repeat(np.arange(n), np.diff(encoded.arc_ptr[first : first + n + 1]))
    # Parallel edges make no further walks.
    joined = np.unique(np.stack((ends, encoded.arc_target[arcs]), axis=1), axis=0)
    ptr = pointers(np.bincount(joined[:, 0], minlength=n))
    walks = np.arange(n, dtype=np.int64)[:, None]
    for _ in range(k - 1):
        last = walks[:, -1]
        times = np.diff(ptr)[last]
        place = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        following = joined[np.repeat(ptr[last], times) + place, 1]
        walks = np.concatenate((np.repeat(walks, times, axis=0), following[:, None]), axis=1)
    return walks


def count_walks(graph: Graph, k: int) -> int:
    """How many walks of k vertices a graph has, along edges in either direction; at most 10^300.

    >>> from osan.graphs import Graph
    >>> count_walks(Graph(3, [(0, 1), (1, 2)]), k=3)
    6
    """
    both = np.concatenate((graph.edges, graph.edges[:, ::-1]))
    ends = np.unique(both, axis=0)
    count = np.ones(graph.num_vertices)
    for _ in range(k - 1):
        count = np.minimum(np.bincount(ends[:, 0], count[ends[:, 1]], graph.num_vertices), 1e280)
    return int(min(count.sum(), 1e300))


def _relation(encoded: Encoded, graph: Ints, u: Ints | Colors, v: Ints | Colors) -> Colors:
    place = encoded.relation_ptr[graph] + u.astype(np.int64) * encoded.sizes[graph] + v
    return encoded.relation[place]


def atomic_types(encoded: Encoded, graph: Ints, tuples: Colors) -> Colors:
    """atp of each tuple (paper, "Preliminaries"): labels, equalities, adjacencies, numbered injectively."""
    types = np.zeros(len(tuples), dtype=np.int32)
    for i in range(tuples.shape[1]):
        types = combine(types, encoded.labels[encoded.vertex_ptr[graph] + tuples[:, i]])
        for j in range(i + 1):
            same = tuples[:, i] == tuples[:, j]
            types = combine(types, 2 * _relation(encoded, graph, tuples[:, i], tuples[:, j]) + same)
    return types


def vertex_of(encoded: Encoded, copies: Copies) -> Ints:
    """The vertex of the union behind each copy."""
    sizes = encoded.sizes[copies.graph]
    first = np.repeat(encoded.vertex_ptr[copies.graph] - copies.copy_ptr[:-1], sizes)
    return first + np.arange(copies.copy_ptr[-1])


def labels_of(encoded: Encoded, copies: Copies) -> Colors:
    """The label of the vertex behind each copy."""
    return encoded.labels[vertex_of(encoded, copies)]


def membership(copies: Copies) -> Colors:
    """1 where the vertex is among the members of its subgraph, else 0."""
    chosen = np.zeros(copies.copy_ptr[-1], dtype=np.int32)
    for column in range(copies.members.shape[1]):
        member = copies.members[:, column]
        chosen[(copies.copy_ptr[:-1] + member)[member >= 0]] = 1
    return chosen


def _only(present: np.ndarray[tuple[int], np.dtype[np.bool_]], colors: Colors) -> Colors:
    """The colors where a vertex is present, -1 elsewhere."""
    return np.where(present, colors, -1).astype(np.int32)


def _touched(encoded: Encoded, copies: Copies) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether the vertex is an end of one of the edges that its subgraph consists of."""
    touched = np.zeros(copies.copy_ptr[-1], dtype=bool)
    edges = np.concatenate([graph.edges for graph in encoded.graphs])
    for column in range(copies.members.shape[1]):
        member = copies.members[:, column]
        given = np.flatnonzero(member >= 0)
        ends = edges[encoded.edge_ptr[copies.graph[given]] + member[given]]
        touched[copies.copy_ptr[given][:, None] + ends] = True
    return touched


def _ordered_types(encoded: Encoded, copies: Copies) -> Colors:
    """atp(v, t(g)) for every copy; without marks the label alone, so that 0-OSWL is 1-WL also with loops."""
    sizes = encoded.sizes[copies.graph]
    vertex = vertex_of(encoded, copies)
    # The type of the tuple itself, then the relation of v to itself and to each entry.
    types = combine(
        encoded.labels[vertex], np.repeat(atomic_types(encoded, copies.graph, copies.members), sizes)
    )
    if copies.members.shape[1] and (encoded.arc_target == _source(encoded)).any():
        graph = np.repeat(copies.graph, sizes)
        inside = vertex - encoded.vertex_ptr[graph]
        types = combine(types, _relation(encoded, graph, inside, inside))
    for column in range(copies.members.shape[1]):
        words = kernels.relation_words(
            types,
            copies.members,
            column,
            copies.copy_ptr,
            copies.graph,
            encoded.sizes,
            encoded.relation,
            encoded.relation_ptr,
        )
        types, _ = relabel(words, types)
    return types


def _source(encoded: Encoded) -> Ints:
    """The vertex, numbered within its graph, that each arc belongs to."""
    first = np.repeat(encoded.vertex_ptr[:-1], encoded.sizes)
    return np.repeat(np.arange(len(encoded.labels)) - first, np.diff(encoded.arc_ptr))


def _ego_start(encoded: Encoded, test: WLTest, copies: Copies) -> Colors:
    """Labels within ``hops`` of the first member (outside, if deleted), with marks if asked for."""
    hops = int(encoded.sizes.max(initial=0)) if test.hops is None else test.hops
    inside = kernels.within_distance(
        hops,
        encoded.sizes,
        copies.graph,
        np.ascontiguousarray(copies.members[:, 0]),
        copies.copy_ptr,
        encoded.vertex_ptr,
        encoded.arc_ptr,
        encoded.arc_target,
    )
    labels = labels_of(encoded, copies)
    if test.mark_center:
        labels = combine(labels, membership(copies))
    return _only(inside == (test.operation != "delete"), labels)
