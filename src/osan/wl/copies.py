"""Copies (v, s): which subgraphs a test looks at, and the colors its refinement starts from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations
from math import comb

import numpy as np

from osan.wl import kernels
from osan.wl.encode import Colors, Encoded, Ints, pointers
from osan.wl.relabel import combine, relabel
from osan.wl.settings import Test

# Bytes per copy at the peak of a round: three colorings, a place, a hash and, when all differ, twice the
# first places, the table of the relabeling and the one before it.
BYTES_PER_COPY = 3 * 4 + 8 + 8 + 2 * 8 + 8 * 4 + 2 * 4


@dataclass(frozen=True)
class Copies:
    """The subgraphs of all graphs, and one place per (vertex, subgraph).

    Attributes
    ----------
    graph
        The graph of each subgraph, shape ``(S,)``.
    members
        The chosen vertices or edges of each subgraph, shape ``(S, k)``.
    subgraph_ptr
        Where each graph's subgraphs begin.
    copy_ptr
        Where each subgraph's copies begin, shape ``(S + 1,)``.
    edge_mode
        Which edges a subgraph has: 0 all, 1 all but its members, 2 only its members.
    start
        The colors to start from; -1 where the vertex is not in the subgraph.
    """

    graph: Ints
    members: Colors
    subgraph_ptr: Ints
    copy_ptr: Ints
    edge_mode: int
    start: Colors


def count_subgraphs(test: Test, n: int, m: int) -> int:
    """How many subgraphs the test looks at in a graph with n vertices and m edges.

    >>> count_subgraphs(Test("oswl", k=2), n=5, m=0), count_subgraphs(Test("oswl", k=2, ordered=False), 5, 0)
    (25, 10)
    """
    if test.name == "wl":
        return 1
    if test.name == "id":
        return n**test.k
    if test.what == "ego":
        return n
    if test.ordered:
        return int(n**test.k)
    return comb(m if test.what == "edge" else n, test.k)


def memory_needed(test: Test, n: int, m: int) -> int:
    """Bytes that refining one graph with n vertices and m edges takes at the peak."""
    subgraphs = count_subgraphs(test, n, m)
    # Only atomic types relative to a tuple look at all pairs of vertices.
    relation = 4 * n * n if test.name != "wl" and test.ordered and test.k > 0 else 0
    return subgraphs * (n * BYTES_PER_COPY + 8 * max(1, test.k) + 16) + relation + 64 * (n + 2 * m)


def make_copies(encoded: Encoded, test: Test) -> Copies:
    """Enumerate the subgraphs of ``test`` and give every copy its initial color (its atomic type)."""
    members = [_members(test, g.num_vertices, g.num_edges) for g in encoded.graphs]
    subgraph_ptr = pointers([len(rows) for rows in members])
    graph = np.repeat(np.arange(len(members)), np.diff(subgraph_ptr))
    chosen = np.concatenate(members).astype(np.int32)
    if test.name == "id" and test.k > 1:
        chosen, graph, subgraph_ptr = _only_walks(encoded, chosen, graph)
    copies = Copies(
        graph=graph,
        members=chosen,
        subgraph_ptr=subgraph_ptr,
        copy_ptr=pointers(encoded.sizes[graph]),
        edge_mode=(1 if test.operation == "delete" else 2) if test.what == "edge" else 0,
        start=np.empty(0, dtype=np.int32),
    )
    object.__setattr__(copies, "start", _start(encoded, test, copies))
    return copies


def _members(test: Test, n: int, m: int) -> Ints:
    """The choices of one graph, a row each."""
    k = 1 if test.what == "ego" and test.name != "id" else test.k
    if test.name == "wl":
        return np.empty((1, 0), dtype=np.int64)
    if test.ordered or test.what == "ego":
        digits = np.arange(n**k, dtype=np.int64)[:, None] // n ** np.arange(k - 1, -1, -1) if n else None
        return digits % n if digits is not None else np.empty((int(k == 0), k), dtype=np.int64)
    total = m if test.what == "edge" else n
    flat = np.fromiter(chain.from_iterable(combinations(range(total), k)), np.int64, k * comb(total, k))
    return flat.reshape(comb(total, k), k)


def _only_walks(encoded: Encoded, members: Colors, graph: Ints) -> tuple[Colors, Ints, Ints]:
    """Keep the tuples whose consecutive entries are joined by an edge (in either direction)."""
    keep = np.ones(len(members), dtype=bool)
    for i in range(members.shape[1] - 1):
        keep &= _relation(encoded, graph, members[:, i], members[:, i + 1]) > 0
    kept = graph[keep]
    return members[keep], kept, pointers(np.bincount(kept, minlength=len(encoded.sizes)))


def _relation(encoded: Encoded, graph: Ints, u: Colors, v: Colors) -> Colors:
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


def _start(encoded: Encoded, test: Test, copies: Copies) -> Colors:
    sizes = encoded.sizes[copies.graph]
    vertex = np.arange(copies.copy_ptr[-1]) - np.repeat(copies.copy_ptr[:-1], sizes)
    labels = encoded.labels[np.repeat(encoded.vertex_ptr[copies.graph], sizes) + vertex]
    if test.name == "wl" or test.what == "edge":
        return labels
    if test.what == "ego":
        inside = _ego(encoded, test, copies)
        present = inside == 0 if test.operation == "delete" else inside == 1
        if test.mark_center:
            labels = combine(labels, _membership(copies, vertex, sizes))
        return np.where(present, labels, -1).astype(np.int32)
    if test.ordered:
        return _ordered_types(encoded, copies, labels, sizes, vertex)
    chosen = _membership(copies, vertex, sizes)
    if test.operation == "mark":
        return combine(labels, chosen)
    return np.where(chosen == (test.operation == "select"), labels, -1).astype(np.int32)


def _ordered_types(encoded: Encoded, copies: Copies, labels: Colors, sizes: Ints, vertex: Ints) -> Colors:
    """atp(v, t(g)) for every copy."""
    graph = np.repeat(copies.graph, sizes)
    # The type of the tuple itself, then how v stands to itself and to each entry.
    types = combine(labels, np.repeat(atomic_types(encoded, copies.graph, copies.members), sizes))
    if (encoded.arc_target == _source(encoded)).any():
        types = combine(types, _relation(encoded, graph, vertex.astype(np.int32), vertex.astype(np.int32)))
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


def _membership(copies: Copies, vertex: Ints, sizes: Ints) -> Colors:
    """1 where the vertex is among the members of its subgraph."""
    chosen = np.zeros(len(vertex), dtype=np.int32)
    for column in range(copies.members.shape[1]):
        chosen[copies.copy_ptr[:-1] + copies.members[:, column]] = 1
    return chosen


def _ego(encoded: Encoded, test: Test, copies: Copies) -> Colors:
    hops = int(encoded.sizes.max(initial=0)) if test.hops is None else test.hops
    return kernels.within_distance(
        hops,
        encoded.sizes,
        copies.graph,
        np.ascontiguousarray(copies.members[:, 0]),
        copies.copy_ptr,
        encoded.vertex_ptr,
        encoded.arc_ptr,
        encoded.arc_target,
    )
