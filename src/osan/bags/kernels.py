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
