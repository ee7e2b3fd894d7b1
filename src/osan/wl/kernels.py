"""Compiled kernels: injective relabelling, multisets of colours, and where copies begin.

Every kernel works on flat arrays over *copies* (v, s), vertex v seen in subgraph s: subgraph s of a graph
with n vertices owns the n consecutive places ``copy_ptr[s]`` to ``copy_ptr[s] + n``; a vertex that is not in
the subgraph has the colour -1 there, that is, none.

A signature is first summarised by a 64-bit hash, equal signatures having equal hashes by construction. The
hash only proposes classes; the ``*_mismatches`` kernels compare every member with its class representative
exactly, and :func:`osan.wl.relabel.exact` splits whatever a collision has merged.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(inline="always", cache=True)
def mix(x):  # type: ignore[no-untyped-def]
    """The finaliser of splitmix64: a bijection of 64-bit words."""
    x = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(inline="always", cache=True)
def pair(a, b):  # type: ignore[no-untyped-def]
    """Two non-negative 32-bit numbers as one 64-bit word."""
    return (np.uint64(a) << np.uint64(32)) | np.uint64(b)


@njit(inline="always", cache=True)
def owner(hashed, parts):  # type: ignore[no-untyped-def]
    """Which of ``parts`` a hash belongs to, by its upper half (a multiplication; dividing takes longer)."""
    return np.int64(((hashed >> np.uint64(32)) * np.uint64(parts)) >> np.uint64(32))


@njit(parallel=True, cache=True)
def relabel_words(words, alive, parts):  # type: ignore[no-untyped-def]
    """Number the distinct words of the places with ``alive >= 0``; the others get -1.

    Returns the numbers and, for each, the first place that has it. Each of ``parts`` threads owns a range of
    hashes, so that no table is shared.
    """
    size = words.shape[0]
    ids = np.empty(size, np.int32)
    counts = np.zeros(parts + 1, np.int64)
    for part in prange(parts):
        capacity = 1 << 10
        keys = np.empty(capacity, np.uint64)
        numbers = np.full(capacity, -1, np.int32)
        count = 0
        for i in range(size):
            if alive[i] < 0:
                if part == 0:
                    ids[i] = -1
                continue
            word = words[i]
            hashed = mix(word)
            if owner(hashed, parts) != part:
                continue
            place = np.int64(hashed & np.uint64(capacity - 1))
            while numbers[place] >= 0 and keys[place] != word:
                place = (place + 1) & (capacity - 1)
            if numbers[place] < 0:
                keys[place] = word
                numbers[place] = count
                ids[i] = count
                count += 1
                if 2 * count > capacity:
                    larger = 4 * capacity
                    new_keys = np.empty(larger, np.uint64)
                    new_numbers = np.full(larger, -1, np.int32)
                    for j in range(capacity):
                        if numbers[j] >= 0:
                            q = np.int64(mix(keys[j]) & np.uint64(larger - 1))
                            while new_numbers[q] >= 0:
                                q = (q + 1) & (larger - 1)
                            new_keys[q] = keys[j]
                            new_numbers[q] = numbers[j]
                    keys, numbers, capacity = new_keys, new_numbers, larger
            else:
                ids[i] = numbers[place]
        counts[part + 1] = count
    first_number = np.cumsum(counts)
    first_place = np.full(first_number[parts], -1, np.int64)
    for part in prange(parts):
        for i in range(size):
            if alive[i] < 0 or owner(mix(words[i]), parts) != part:
                continue
            number = ids[i] + first_number[part]
            ids[i] = number
            if first_place[number] < 0:
                first_place[number] = i
    return ids, first_place


@njit(parallel=True, cache=True)
def sort_rows(values, row_ptr, chosen):  # type: ignore[no-untyped-def]
    """Sort each chosen row of a ragged array in place."""
    for row in prange(row_ptr.shape[0] - 1):
        if chosen[row]:
            values[row_ptr[row] : row_ptr[row + 1]].sort()


@njit(parallel=True, cache=True)
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


@njit(parallel=True, cache=True)
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


@njit(parallel=True, cache=True)
def relation_words(ids, members, column, copy_ptr, graph, sizes, relation, relation_ptr):  # type: ignore[no-untyped-def]
    """(number so far, how v stands to the ``column``-th member of s) for every copy, as one word."""
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


@njit(parallel=True, cache=True)
def within_distance(hops, sizes, graph, centres, copy_ptr, vertex_ptr, arc_ptr, arc_target):  # type: ignore[no-untyped-def]
    """1 for the copies within ``hops`` of the centre of their subgraph (arcs walked both ways), else 0."""
    inside = np.zeros(copy_ptr[-1], np.int32)
    for s in prange(centres.shape[0]):
        n = sizes[graph[s]]
        base = copy_ptr[s]
        first = vertex_ptr[graph[s]]
        queue = np.empty(n, np.int64)
        distance = np.empty(n, np.int64)
        queue[0] = centres[s]
        distance[0] = 0
        inside[base + centres[s]] = 1
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


@njit(parallel=True, cache=True)
def graph_words(colours, copy_ptr, subgraph_ptr, sizes, per_vertex):  # type: ignore[no-untyped-def]
    """Hash of each graph's nested multiset of colours: different hashes prove different multisets."""
    graphs = sizes.shape[0]
    words = np.zeros(graphs, np.uint64)
    for g in prange(graphs):
        n = sizes[g]
        if per_vertex:
            of_vertex = np.zeros(n, np.uint64)
            for s in range(subgraph_ptr[g], subgraph_ptr[g + 1]):
                for v in range(n):
                    if colours[copy_ptr[s] + v] >= 0:
                        of_vertex[v] += mix(np.uint64(colours[copy_ptr[s] + v]))
            for v in range(n):
                words[g] += mix(of_vertex[v])
        else:
            for s in range(subgraph_ptr[g], subgraph_ptr[g + 1]):
                of_subgraph = np.uint64(0)
                for v in range(n):
                    if colours[copy_ptr[s] + v] >= 0:
                        of_subgraph += mix(np.uint64(colours[copy_ptr[s] + v]))
                words[g] += mix(of_subgraph)
    return words
