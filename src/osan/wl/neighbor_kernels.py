"""Compiled kernels of refinement by neighbors: arcs, signatures of copies, their hashes and comparison.

Copies and the role of hashes are explained in :mod:`osan.wl.kernels`. Arcs that are all alike need no codes:
``arc_code`` is empty then.
"""

from __future__ import annotations

import numpy as np

from osan.colors.words import mix, pair
from osan.compiled import njit, parallel, prange

# Copies are handed to threads in blocks of this many, so that one large graph also keeps all cores busy.
BLOCK = 4096


@parallel
def by_vertex(edges, values, edge_ptr, vertex_ptr, directed, parts):  # type: ignore[no-untyped-def]
    """Where the arcs of each vertex of the union begin, and a value for each of them, in the order of edges.

    The arc of an edge (u, v) at u has the value ``values[e, 1]``, the one at v ``values[e, 0]``: with the
    edges themselves, the other end. An undirected loop is one arc; a directed one leaves v and enters v.
    Each of the ``parts`` into which the vertices are divided reads all edges and writes the arcs of its own
    vertices, so the result does not depend on their number.
    """
    total = vertex_ptr[-1]
    ptr = np.zeros(total + 1, np.int64)
    for part in prange(parts):
        low, high = total * part // parts, total * (part + 1) // parts
        for g in range(edge_ptr.shape[0] - 1):
            first = vertex_ptr[g]
            for e in range(edge_ptr[g], edge_ptr[g + 1]):
                u, v = first + edges[e, 0], first + edges[e, 1]
                if low <= u < high:
                    ptr[u + 1] += 1
                if low <= v < high and (directed or u != v):
                    ptr[v + 1] += 1
    for i in range(1, ptr.shape[0]):
        ptr[i] += ptr[i - 1]
    place = ptr[:-1].copy()
    arcs = np.empty(ptr[-1], np.int32)
    for part in prange(parts):
        low, high = total * part // parts, total * (part + 1) // parts
        for g in range(edge_ptr.shape[0] - 1):
            first = vertex_ptr[g]
            for e in range(edge_ptr[g], edge_ptr[g + 1]):
                u, v = first + edges[e, 0], first + edges[e, 1]
                if low <= u < high:
                    arcs[place[u]] = values[e, 1]
                    place[u] += 1
                if low <= v < high and (directed or u != v):
                    arcs[place[v]] = values[e, 0]
                    place[v] += 1
    return ptr, arcs


@njit(inline="always")
def has_edge(edge, members, s, edge_mode):  # type: ignore[no-untyped-def]
    """Whether subgraph s has the edge: all edges but its members (1), or only its members (2)."""
    member = False
    for j in range(members.shape[1]):
        if members[s, j] == edge:
            member = True
    return member == (edge_mode == 2)


@parallel
def color_words(colors, salt):  # type: ignore[no-untyped-def]
    """A hash of every color, 0 where there is none."""
    words = np.empty(colors.shape[0], np.uint64)
    for i in prange(colors.shape[0]):
        words[i] = mix(np.uint64(colors[i]) ^ salt) if colors[i] >= 0 else np.uint64(0)
    return words


@parallel
def neighbor_words(  # type: ignore[no-untyped-def]
    places,
    of_color,
    colors,
    copy_ptr,
    first_vertex,
    arc_ptr,
    arc_target,
    arc_code,
    arc_edge,
    members,
    edge_mode,
    salt,
    mask,
):
    """Hash of (C(v, s), multiset of (C(u, s), code of the arc) over the arcs at v) for the given copies.

    ``places`` ascend and have colors; ``of_color`` is :func:`color_words` of the colors and the salt.
    """
    size = places.shape[0]
    words = np.empty(size, np.uint64)
    for block in prange((size + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        s = np.searchsorted(copy_ptr, places[start], side="right") - 1
        for j in range(start, min(size, start + BLOCK)):
            i = places[j]
            while i >= copy_ptr[s + 1]:
                s += 1
            base = copy_ptr[s]
            vertex = first_vertex[s] + (i - base)
            total = np.uint64(0)
            for a in range(arc_ptr[vertex], arc_ptr[vertex + 1]):
                word = of_color[base + arc_target[a]]
                if arc_code.shape[0]:
                    word *= mix(np.uint64(arc_code[a]) ^ salt) | np.uint64(1)
                if edge_mode == 0 or has_edge(arc_edge[a], members, s, edge_mode):
                    total += word
            words[j] = mix(mix(total ^ salt) + np.uint64(colors[i])) & mask
    return words


@njit(inline="always")
def sorted_neighbors(  # type: ignore[no-untyped-def]
    buffer, colors, base, vertex, s, arc_ptr, arc_target, arc_code, arc_edge, members, edge_mode
):
    """Fill ``buffer`` with the sorted (color, arc code) words at one copy; returns their number."""
    count = 0
    for a in range(arc_ptr[vertex], arc_ptr[vertex + 1]):
        color = colors[base + arc_target[a]]
        if color >= 0 and (edge_mode == 0 or has_edge(arc_edge[a], members, s, edge_mode)):
            buffer[count] = pair(color, arc_code[a] if arc_code.shape[0] else np.int32(0))
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


@parallel
def neighbor_mismatches(  # type: ignore[no-untyped-def]
    ids,
    first,
    places,
    colors,
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
    """The number of the given copies whose signature is not, to the letter, that of their representative.

    ``ids`` and ``first`` number the entries of ``places`` and say which of them represents each class.
    """
    size = places.shape[0]
    blocks = (size + BLOCK - 1) // BLOCK
    wrong = np.zeros(blocks, np.int64)
    for block in prange(blocks):
        start = block * BLOCK
        mine = np.empty(max_degree, np.uint64)
        theirs = np.empty(max_degree, np.uint64)
        s = np.searchsorted(copy_ptr, places[start], side="right") - 1
        for j in range(start, min(size, start + BLOCK)):
            i, r = places[j], places[first[ids[j]]]
            while i >= copy_ptr[s + 1]:
                s += 1
            if r == i:
                continue
            if colors[r] != colors[i]:
                wrong[block] += 1
                continue
            t = np.searchsorted(copy_ptr, r, side="right") - 1
            n_mine = sorted_neighbors(
                mine, colors, copy_ptr[s], first_vertex[s] + i - copy_ptr[s], s,
                arc_ptr, arc_target, arc_code, arc_edge, members, edge_mode,
            )  # fmt: skip
            n_theirs = sorted_neighbors(
                theirs, colors, copy_ptr[t], first_vertex[t] + r - copy_ptr[t], t,
                arc_ptr, arc_target, arc_code, arc_edge, members, edge_mode,
            )  # fmt: skip
            same = n_mine == n_theirs
            q = 0
            while same and q < n_mine:
                same = mine[q] == theirs[q]
                q += 1
            if not same:
                wrong[block] += 1
    return wrong.sum()
