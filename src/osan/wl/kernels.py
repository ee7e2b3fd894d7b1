"""Compiled kernels: multisets of colors, and where copies begin.

Every kernel works on flat arrays over *copies* (v, s), vertex v seen in subgraph s: subgraph s of a graph
with n vertices owns the n consecutive places ``copy_ptr[s]`` to ``copy_ptr[s] + n``; a vertex that is not in
the subgraph has the color -1 there, that is, none.

A signature is first summarized by a 64-bit hash, equal signatures having equal hashes by construction. The
hash only proposes classes; the ``*_mismatches`` kernels compare every member with its class representative
exactly, and :func:`osan.wl.relabel.exact` splits whatever a collision has merged.
"""

from __future__ import annotations

import numpy as np

from osan.colors.words import mix, pair
from osan.compiled import parallel, prange


@parallel
def sort_rows(values, row_ptr, chosen):  # type: ignore[no-untyped-def]
    """Sort each chosen row of a ragged array in place."""
    for row in prange(row_ptr.shape[0] - 1):
        if chosen[row]:
            values[row_ptr[row] : row_ptr[row + 1]].sort()


@parallel
def row_words(values, row_ptr, salt, mask):  # type: ignore[no-untyped-def]
    """Hash of the multiset of the non-negative values of each row, whatever their order."""
    rows = row_ptr.shape[0] - 1
    words = np.empty(rows, np.uint64)
    for row in prange(rows):
        total = np.uint64(0)
        for i in range(row_ptr[row], row_ptr[row + 1]):
            if values[i] >= 0:
                total += mix(np.uint64(values[i]) ^ salt)
        words[row] = mix(total) & mask
    return words


@parallel
def row_mismatches(ids, first_place, values, row_ptr):  # type: ignore[no-untyped-def]
    """The number of rows that differ from their representative, both sorted, in a non-negative value."""
    rows = row_ptr.shape[0] - 1
    wrong = np.zeros(rows, np.int64)
    for row in prange(rows):
        other = first_place[ids[row]]
        if other == row:
            continue
        i, end = row_ptr[row], row_ptr[row + 1]
        j, other_end = row_ptr[other], row_ptr[other + 1]
        while i < end and values[i] < 0:
            i += 1
        while j < other_end and values[j] < 0:
            j += 1
        same = end - i == other_end - j
        while same and i < end:
            same = values[i] == values[j]
            i += 1
            j += 1
        wrong[row] = not same
    return wrong.sum()


@parallel
def relation_words(ids, members, column, copy_ptr, graph, sizes, relation, relation_ptr):  # type: ignore[no-untyped-def]
    """(number so far, relation of v to the ``column``-th member of s) for every copy, as one word."""
    words = np.zeros(ids.shape[0], np.uint64)
    for s in prange(members.shape[0]):
        n = sizes[graph[s]]
        member = members[s, column]
        for v in range(n):
            i = copy_ptr[s] + v
            if ids[i] >= 0:
                code = 2 * relation[relation_ptr[graph[s]] + v * n + member] + (v == member)
                words[i] = pair(ids[i], code)
    return words


@parallel
def within_distance(hops, sizes, graph, centers, copy_ptr, vertex_ptr, arc_ptr, arc_target):  # type: ignore[no-untyped-def]
    """1 for the copies within ``hops`` of the center of their subgraph (arcs walked both ways), else 0."""
    inside = np.zeros(copy_ptr[-1], np.int32)
    for s in prange(centers.shape[0]):
        n = sizes[graph[s]]
        base = copy_ptr[s]
        first = vertex_ptr[graph[s]]
        queue = np.empty(n, np.int64)
        distance = np.empty(n, np.int64)
        queue[0] = centers[s]
        distance[0] = 0
        inside[base + centers[s]] = 1
        head, tail = 0, 1
        while head < tail:
            v = queue[head]
            if distance[head] < hops:
                for a in range(arc_ptr[first + v], arc_ptr[first + v + 1]):
                    u = arc_target[a]
                    if inside[base + u] == 0:
                        inside[base + u] = 1
                        queue[tail] = u
                        distance[tail] = distance[head] + 1
                        tail += 1
            head += 1
    return inside


@parallel
def graph_words(colors, copy_ptr, subgraph_ptr, sizes, per_vertex):  # type: ignore[no-untyped-def]
    """Hash of each graph's nested multiset of colors: different hashes prove different multisets."""
    graphs = sizes.shape[0]
    words = np.zeros(graphs, np.uint64)
    for g in prange(graphs):
        n = sizes[g]
        if per_vertex:
            of_vertex = np.zeros(n, np.uint64)
            for s in range(subgraph_ptr[g], subgraph_ptr[g + 1]):
                for v in range(n):
                    if colors[copy_ptr[s] + v] >= 0:
                        of_vertex[v] += mix(np.uint64(colors[copy_ptr[s] + v]))
            for v in range(n):
                words[g] += mix(of_vertex[v])
        else:
            for s in range(subgraph_ptr[g], subgraph_ptr[g + 1]):
                of_subgraph = np.uint64(0)
                for v in range(n):
                    if colors[copy_ptr[s] + v] >= 0:
                        of_subgraph += mix(np.uint64(colors[copy_ptr[s] + v]))
                words[g] += mix(of_subgraph)
    return words
