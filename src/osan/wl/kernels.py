"""Compiled kernels: signatures of copies and tuples, and injective relabelling.

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

# Copies are handed to threads in blocks of this many, so that one large graph keeps both cores busy too.
BLOCK = 4096


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


@njit(cache=True)
def arcs_by_vertex(edges, codes, edge_ptr, vertex_ptr, directed):  # type: ignore[no-untyped-def]
    """The arcs of each vertex of the union: where they begin, their other ends, codes and edges.

    An undirected loop is one arc; a directed one leaves v and enters v.
    """
    ptr = np.zeros(vertex_ptr[-1] + 1, np.int64)
    for g in range(vertex_ptr.shape[0] - 1):
        for e in range(edge_ptr[g], edge_ptr[g + 1]):
            u, v = edges[e, 0], edges[e, 1]
            ptr[vertex_ptr[g] + u + 1] += 1
            if directed or u != v:
                ptr[vertex_ptr[g] + v + 1] += 1
    for i in range(1, ptr.shape[0]):
        ptr[i] += ptr[i - 1]
    place = ptr[:-1].copy()
    target = np.empty(ptr[-1], np.int32)
    code = np.empty(ptr[-1], np.int32)
    edge = np.empty(ptr[-1], np.int32)
    for g in range(vertex_ptr.shape[0] - 1):
        for e in range(edge_ptr[g], edge_ptr[g + 1]):
            u, v = edges[e, 0], edges[e, 1]
            a = place[vertex_ptr[g] + u]
            place[vertex_ptr[g] + u] += 1
            target[a], code[a], edge[a] = v, 2 * codes[e], e - edge_ptr[g]
            if directed or u != v:
                a = place[vertex_ptr[g] + v]
                place[vertex_ptr[g] + v] += 1
                target[a], edge[a] = u, e - edge_ptr[g]
                code[a] = 2 * codes[e] + (1 if directed else 0)
    return ptr, target, code, edge


@njit(parallel=True, cache=True)
def relabel_words(words, alive, parts):  # type: ignore[no-untyped-def]
    """Number the distinct words of the places with ``alive >= 0``; the others get -1.

    Returns the numbers and, for each, the first place that has it. Each of ``parts`` threads owns the words
    of one residue class of their hashes, so that no table is shared.
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
            if np.int64((hashed >> np.uint64(40)) % np.uint64(parts)) != part:
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
            if alive[i] < 0:
                continue
            if np.int64((mix(words[i]) >> np.uint64(40)) % np.uint64(parts)) != part:
                continue
            number = ids[i] + first_number[part]
            ids[i] = number
            if first_place[number] < 0:
                first_place[number] = i
    return ids, first_place


@njit(inline="always", cache=True)
def edge_is_there(edge, members, s, edge_mode):  # type: ignore[no-untyped-def]
    """Whether subgraph s has the edge: always (0), unless it is a member (1), only if it is one (2)."""
    if edge_mode == 0:
        return True
    member = False
    for j in range(members.shape[1]):
        if members[s, j] == edge:
            member = True
    return member == (edge_mode == 2)


@njit(parallel=True, cache=True)
def neighbour_words(  # type: ignore[no-untyped-def]
    colours, copy_ptr, first_vertex, arc_ptr, arc_target, arc_code, arc_edge, members, edge_mode, salt, mask
):
    """Hash of (C(v, s), multiset of (C(u, s), code of the arc) over the arcs at v) for every copy."""
    size = colours.shape[0]
    words = np.zeros(size, np.uint64)
    for block in prange((size + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        s = np.searchsorted(copy_ptr, start, side="right") - 1
        for i in range(start, min(size, start + BLOCK)):
            while i >= copy_ptr[s + 1]:
                s += 1
            if colours[i] < 0:
                continue
            base = copy_ptr[s]
            vertex = first_vertex[s] + (i - base)
            total = np.uint64(0)
            for a in range(arc_ptr[vertex], arc_ptr[vertex + 1]):
                colour = colours[base + arc_target[a]]
                if colour >= 0 and edge_is_there(arc_edge[a], members, s, edge_mode):
                    total += mix(pair(colour, arc_code[a]) ^ salt)
            words[i] = mix(mix(total ^ salt) + np.uint64(colours[i])) & mask
    return words


@njit(inline="always", cache=True)
def sorted_neighbours(  # type: ignore[no-untyped-def]
    buffer, colours, base, vertex, s, arc_ptr, arc_target, arc_code, arc_edge, members, edge_mode
):
    """Fill ``buffer`` with the sorted (colour, arc code) words at one copy; returns their number."""
    count = 0
    for a in range(arc_ptr[vertex], arc_ptr[vertex + 1]):
        colour = colours[base + arc_target[a]]
        if colour >= 0 and edge_is_there(arc_edge[a], members, s, edge_mode):
            buffer[count] = pair(colour, arc_code[a])
            count += 1
    if count <= 24:
        for j in range(1, count):
            word = buffer[j]
            q = j - 1
            while q >= 0 and buffer[q] > word:
                buffer[q + 1] = buffer[q]
                q -= 1
            buffer[q + 1] = word
    else:
        buffer[:count].sort()
    return count


@njit(parallel=True, cache=True)
def neighbour_mismatches(  # type: ignore[no-untyped-def]
    ids,
    first_place,
    colours,
    copy_ptr,
    first_vertex,
    arc_ptr,
    arc_target,
    arc_code,
    arc_edge,
    members,
    edge_mode,
    max_degree,
):
    """The number of copies whose signature is not, to the letter, that of their class representative."""
    size = colours.shape[0]
    blocks = (size + BLOCK - 1) // BLOCK
    wrong = np.zeros(blocks, np.int64)
    for block in prange(blocks):
        start = block * BLOCK
        mine = np.empty(max_degree, np.uint64)
        theirs = np.empty(max_degree, np.uint64)
        s = np.searchsorted(copy_ptr, start, side="right") - 1
        for i in range(start, min(size, start + BLOCK)):
            while i >= copy_ptr[s + 1]:
                s += 1
            if colours[i] < 0:
                continue
            r = first_place[ids[i]]
            if r == i:
                continue
            if colours[r] != colours[i]:
                wrong[block] += 1
                continue
            t = np.searchsorted(copy_ptr, r, side="right") - 1
            n_mine = sorted_neighbours(
                mine, colours, copy_ptr[s], first_vertex[s] + i - copy_ptr[s], s,
                arc_ptr, arc_target, arc_code, arc_edge, members, edge_mode,
            )  # fmt: skip
            n_theirs = sorted_neighbours(
                theirs, colours, copy_ptr[t], first_vertex[t] + r - copy_ptr[t], t,
                arc_ptr, arc_target, arc_code, arc_edge, members, edge_mode,
            )  # fmt: skip
            same = n_mine == n_theirs
            j = 0
            while same and j < n_mine:
                same = mine[j] == theirs[j]
                j += 1
            if not same:
                wrong[block] += 1
    return wrong.sum()


@njit(parallel=True, cache=True)
def sort_rows(values, row_ptr):  # type: ignore[no-untyped-def]
    """Sort each row of a ragged array in place."""
    for row in prange(row_ptr.shape[0] - 1):
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
    """The number of rows, each sorted, that differ from their representative in a non-negative value."""
    rows = row_ptr.shape[0] - 1
    wrong = np.zeros(rows, np.int64)
    for row in prange(rows):
        other = first_place[ids[row]]
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
    size = ids.shape[0]
    words = np.zeros(size, np.uint64)
    for block in prange((size + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        s = np.searchsorted(copy_ptr, start, side="right") - 1
        for i in range(start, min(size, start + BLOCK)):
            while i >= copy_ptr[s + 1]:
                s += 1
            if ids[i] < 0:
                continue
            v = i - copy_ptr[s]
            member = members[s, column]
            n = sizes[graph[s]]
            code = 2 * relation[relation_ptr[graph[s]] + v * n + member]
            if v == member:
                code += 1
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
