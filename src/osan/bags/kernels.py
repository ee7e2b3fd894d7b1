"""Compiled loops behind bags on the CPU: the order of edges, and bags without some vertices."""

from __future__ import annotations

import numpy as np

from osan.compiled import njit


@njit(nogil=True)
def laid_out(edge_index, vector, count, graphs):  # type: ignore[no-untyped-def]
    """The columns of ``edge_index`` sorted by their target, and the sizes of the graphs.

    Parameters
    ----------
    edge_index
        Shape ``[2, edges]``.
    vector
        The graph of each vertex; empty if there is one graph.
    count, graphs
        The number of vertices, and of graphs.

    Returns
    -------
    Whether vertices are in range, graphs in order and edges within graphs; the numbers of vertices and edges
    of each graph; the sorted columns, and their two ends.

    >>> laid_out(np.array([[0, 1, 1, 2], [1, 0, 2, 1]]), np.array([0, 0, 0]), 3, 1)[3]
    array([1, 0, 3, 2])
    """
    edges = edge_index.shape[1]
    sizes, edge_sizes = np.zeros(graphs, np.int64), np.zeros(graphs, np.int64)
    order, ends = np.empty(edges, np.int64), np.empty((2, edges), np.int64)
    place = np.zeros(count + 1, np.int64)
    if vector.shape[0]:
        before = 0
        for v in range(count):
            if vector[v] < before or vector[v] >= graphs:
                return False, sizes, edge_sizes, order, ends
            before = vector[v]
            sizes[before] += 1
    else:
        sizes[0] = count
    for e in range(edges):
        u, v = edge_index[0, e], edge_index[1, e]
        if u < 0 or v < 0 or u >= count or v >= count:
            return False, sizes, edge_sizes, order, ends
        if vector.shape[0]:
            if vector[u] != vector[v]:
                return False, sizes, edge_sizes, order, ends
            edge_sizes[vector[v]] += 1
        place[v + 1] += 1
    if not vector.shape[0]:
        edge_sizes[0] = edges
    for v in range(count):
        place[v + 1] += place[v]
    for e in range(edges):
        u, v = edge_index[0, e], edge_index[1, e]
        at = place[v]
        place[v] += 1
        order[at], ends[0, at], ends[1, at] = e, u, v
    return True, sizes, edge_sizes, order, ends


@njit(nogil=True)
def drawn(sizes, first, m, numbers):  # type: ignore[no-untyped-def]
    """m elements of each block, given as many numbers from 0 to 1; -1 in empty blocks. Also the blocks.

    >>> drawn(np.array([4, 2]), np.array([0, 4]), 1, np.array([0.5, 0.9]))
    (array([[2],
           [5]]), array([0, 1]))
    """
    rows, block = np.empty((numbers.shape[0], 1), np.int64), np.empty(numbers.shape[0], np.int64)
    for i in range(numbers.shape[0]):
        b = i // m
        place = min(np.int64(numbers[i] * sizes[b]), sizes[b] - 1)
        rows[i, 0], block[i] = first[b] + place if sizes[b] else -1, b
    return rows, block


@njit(nogil=True)
def without_vertices(sizes, first, edge_sizes, edge_first, order, ends, graph, rows):  # type: ignore[no-untyped-def]
    """Copies and copied edges of subgraphs that miss some vertices.

    Parameters
    ----------
    sizes, first, edge_sizes, edge_first, order, ends
        As in :class:`osan.bags.layout.Layout`.
    graph
        The graph of each subgraph.
    rows
        The vertices that each subgraph misses, padded with -1; shape ``[subgraphs, k]``.

    Returns
    -------
    Vertex and subgraph of the copies, the two ends of the copied edges, and their columns.
    """
    most = 0
    for g in range(sizes.shape[0]):
        most = max(most, sizes[g])
    place = np.zeros(most, np.int64)  # from vertices to copies; -1 for those that are missing
    copies, edges = 0, 0
    for s in range(graph.shape[0]):
        g = graph[s]
        here, begin = sizes[g], first[g]
        for j in range(rows.shape[1]):
            if rows[s, j] >= 0 and place[rows[s, j] - begin] >= 0:
                place[rows[s, j] - begin] = -1
                here -= 1
        copies += here
        for e in range(edge_first[g], edge_first[g] + edge_sizes[g]):
            edges += place[ends[0, e] - begin] >= 0 and place[ends[1, e] - begin] >= 0
        for j in range(rows.shape[1]):
            if rows[s, j] >= 0:
                place[rows[s, j] - begin] = 0
    vertex, subgraph = np.empty(copies, np.int64), np.empty(copies, np.int64)
    edge_index, edge = np.empty((2, edges), np.int64), np.empty(edges, np.int64)
    copy, at = 0, 0
    for s in range(graph.shape[0]):
        g = graph[s]
        begin = first[g]
        for v in range(sizes[g]):
            place[v] = 0
        for j in range(rows.shape[1]):
            if rows[s, j] >= 0:
                place[rows[s, j] - begin] = -1
        for v in range(sizes[g]):
            if place[v] >= 0:
                place[v] = copy
                vertex[copy], subgraph[copy] = begin + v, s
                copy += 1
        for e in range(edge_first[g], edge_first[g] + edge_sizes[g]):
            u, v = place[ends[0, e] - begin], place[ends[1, e] - begin]
            if u >= 0 and v >= 0:
                edge_index[0, at], edge_index[1, at], edge[at] = u, v, order[e]
                at += 1
    return vertex, subgraph, edge_index, edge


@njit(nogil=True)
def num_left(sizes, graph, rows):  # type: ignore[no-untyped-def]
    """The number of copies of subgraphs that miss the vertices of their rows, which may be repeated.

    >>> num_left(np.array([3]), np.array([0, 0]), np.array([[1, 1], [0, -1]]))
    4
    """
    copies = 0
    for s in range(graph.shape[0]):
        copies += sizes[graph[s]]
        for j in range(rows.shape[1]):
            new = rows[s, j] >= 0
            for i in range(j):
                new &= rows[s, i] != rows[s, j]
            copies -= new
    return copies


@njit(nogil=True)
def near_missing(  # type: ignore[no-untyped-def]
    sizes, first, edge_sizes, edge_first, order, ends, graph, rows, rounds, code
):
    """Vertices, and their copies that notice within some rounds that vertices are missing.

    Parameters
    ----------
    sizes, first, edge_sizes, edge_first, order, ends, graph, rows
        As in :func:`without_vertices`.
    rounds
        The number of rounds.
    code
        The code of each edge; empty if they are all alike.

    Returns
    -------
    Vertices as they are in their graph come first, then these copies, sorted by subgraph. Of both: where the
    edges into them begin, from which of them the edges come, and their codes; how many copies they stand for;
    and the round after which a copy differs from its vertex, or in which a vertex stops to stand for any. Of
    copies: their vertex, and where those of each subgraph begin.
    """
    vertices, edges, subgraphs = 0, ends.shape[1], graph.shape[0]
    for g in range(sizes.shape[0]):
        vertices += sizes[g]
    into, out = np.zeros(vertices + 1, np.int64), np.zeros(vertices + 1, np.int64)
    for e in range(edges):
        into[ends[1, e] + 1] += 1
        out[ends[0, e] + 1] += 1
    for v in range(vertices):
        into[v + 1] += into[v]
        out[v + 1] += out[v]
    place, sent_to = out[:-1].copy(), np.empty(edges, np.int64)
    for e in range(edges):
        sent_to[place[ends[0, e]]] = ends[1, e]
        place[ends[0, e]] += 1
    most, most_edges = vertices, edges
    times = np.zeros(sizes.shape[0], np.int64)
    for s in range(subgraphs):
        most += sizes[graph[s]]
        most_edges += edge_sizes[graph[s]]
        times[graph[s]] += 1
    # As long as they could have to be; what is never written takes no memory.
    ptr, source = np.empty(most + 1, np.int64), np.empty(most_edges, np.int64)
    sent = np.empty(most_edges if code.shape[0] else 0, np.int32)
    weight, level, owner = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    begin = np.empty(subgraphs + 1, np.int64)
    for g in range(sizes.shape[0]):
        for v in range(first[g], first[g] + sizes[g]):
            weight[v], level[v], owner[v] = times[g], 0, v
    ptr[: vertices + 1] = into
    for e in range(edges):
        source[e] = ends[0, e]
        if code.shape[0]:
            sent[e] = code[order[e]]
    seen = np.full(vertices, -1, np.int64)  # the last subgraph in which a vertex was reached
    size, at = vertices, edges
    for s in range(subgraphs):
        begin[s] = size
        for j in range(rows.shape[1]):
            w = rows[s, j]
            if w >= 0 and seen[w] != s:
                seen[w], place[w] = s, -1
                weight[w] -= 1
        for j in range(rows.shape[1] if rounds else 0):
            w = rows[s, j]
            for e in range(out[w] if w >= 0 else 0, out[w + 1] if w >= 0 else 0):
                v = sent_to[e]
                if seen[v] != s:
                    seen[v], place[v], owner[size], level[size] = s, size, v, 1
                    size += 1
        head = begin[s]
        while head < size and level[head] < rounds:
            for e in range(out[owner[head]], out[owner[head] + 1]):
                v = sent_to[e]
                if seen[v] != s:
                    seen[v], place[v], owner[size], level[size] = s, size, v, level[head] + 1
                    size += 1
            head += 1
        for i in range(begin[s], size):
            v = owner[i]
            weight[i] = 1
            weight[v] -= 1
            level[v] = max(level[v], level[i])
            for e in range(into[v], into[v + 1]):
                u = ends[0, e]
                here = place[u] if seen[u] == s else u
                if here >= 0:
                    source[at] = here
                    if code.shape[0]:
                        sent[at] = code[order[e]]
                    at += 1
            ptr[i + 1] = at
    begin[subgraphs] = size
    for v in range(vertices):
        if weight[v]:
            level[v] = rounds + 1
    if code.shape[0]:
        sent = sent[:at]
    return ptr[: size + 1], source[:at], sent, weight[:size], level[:size], owner[:size], begin


@njit(nogil=True)
def like_after(level, owner, rounds):  # type: ignore[no-untyped-def]
    """For each row of :func:`near_missing` the one that is known to have the same color after some rounds.

    That is its vertex, the row itself, or -1 for a vertex that stands for no copies any more.
    """
    like = np.empty_like(owner)
    for i in range(owner.shape[0]):
        if level[i] > rounds:
            like[i] = owner[i]
        else:
            like[i] = -1 if owner[i] == i else i
    return like


@njit(nogil=True)
def members(sizes, first, graph, rows, owner, begin, copies):  # type: ignore[no-untyped-def]
    """Where the copies of each subgraph begin, and the row of :func:`near_missing` of each copy."""
    vertices = begin[0] if begin.shape[0] else 0
    place = np.arange(vertices)
    ptr, member = np.empty(graph.shape[0] + 1, np.int64), np.empty(copies, np.int64)
    ptr[0], at = 0, 0
    for s in range(graph.shape[0]):
        g = graph[s]
        for j in range(rows.shape[1]):
            if rows[s, j] >= 0:
                place[rows[s, j]] = -1
        for i in range(begin[s], begin[s + 1]):
            place[owner[i]] = i
        for v in range(first[g], first[g] + sizes[g]):
            if place[v] >= 0:
                member[at] = place[v]
                at += 1
            place[v] = v
        ptr[s + 1] = at
    return ptr, member
