"""Compiled kernels of rounds that look only at classes that changed in the round before.

If a class splits into parts, the number of neighbors in the largest part follows from those in the other
parts and in the whole class. So a round has to look at the other parts only (Hopcroft 1971, "the smaller
half"; Cardon and Crochemore 1982). A copy is in such a part at most log2(n) times, and all rounds together
take O((n + m) log n) steps for n copies and m arcs. Counts are compared exactly; there are no hashes.

Classes can have names that do not depend on the numbering of the vertices: two words each, kept in ``names``
(empty: no names). The parts of a class get names made of its own, of that of the class that split it, and of
what was counted; classes split others in the order of their names, and the name decides which of the largest
parts is left out.

``order`` lists the copies class by class: class c has the places ``begin[c]`` to ``begin[c] + size[c]``, and
``where`` is the place of each copy. Within a round a class is split inside its places, so the classes that a
round starts with, as ranges of places, stay what they are until its end.
"""

from __future__ import annotations

import numpy as np

from osan.compiled import njit
from osan.wl.neighbor_kernels import has_edge
from osan.wl.split_kernels import is_larger, split_touched


@njit()
def grouped(colors, count):  # type: ignore[no-untyped-def]
    """``order``, ``where``, ``begin`` and ``size`` of the classes of a coloring."""
    copies = colors.shape[0]
    alive = 0
    for i in range(copies):
        alive += colors[i] >= 0
    begin = np.zeros(max(1, alive), np.int32)
    size = np.zeros(max(1, alive), np.int32)
    for i in range(copies):
        if colors[i] >= 0:
            size[colors[i]] += 1
    for c in range(1, count):
        begin[c] = begin[c - 1] + size[c - 1]
    order = np.empty(alive, np.int32)
    where = np.empty(copies, np.int32)
    place = begin[:count].copy()
    for i in range(copies):
        c = colors[i]
        if c >= 0:
            order[place[c]] = i
            where[i] = place[c]
            place[c] += 1
    return order, where, begin, size


@njit()
def smaller_parts(before, colors, count, order, begin, size):  # type: ignore[no-untyped-def]
    """The classes of ``colors``, which refines ``before``, that are new, but for the largest part of each."""
    largest = np.full(before.shape[0], -1, np.int32)
    parts = np.zeros(before.shape[0], np.int32)
    for c in range(count):
        old = before[order[begin[c]]]
        parts[old] += 1
        if largest[old] < 0 or size[c] > size[largest[old]]:
            largest[old] = c
    found = np.empty(count, np.int32)
    number = 0
    for c in range(count):
        old = before[order[begin[c]]]
        if parts[old] > 1 and largest[old] != c:
            found[number] = c
            number += 1
    return found[:number].copy()


@njit()
def run_rounds(  # type: ignore[no-untyped-def]
    colors,
    count,
    order,
    where,
    begin,
    size,
    splitters,
    rounds,
    work,
    largest_round,
    subgraph,
    copy_ptr,
    first_vertex,
    arc_ptr,
    arc_target,
    arc_code,
    arc_edge,
    members,
    edge_mode,
    names,
    code_words,
):
    """Rounds until nothing changes, ``rounds`` (-1: any number) or ``work`` arcs are done, or much changes.

    ``splitters`` are the classes to look at first, ``code_words`` the words of the codes of arcs if classes
    have names. Returns the number of classes, of rounds that changed
    something, and the classes to look at next: none if the coloring is stable.
    """
    alive = order.shape[0]
    seen = np.zeros(colors.shape[0], np.int32)
    touched = np.empty(alive, np.int32)
    hits = np.zeros(max(1, alive), np.int32)
    hit = np.empty(max(1, alive), np.int32)
    origin = np.full(max(1, alive), -1, np.int32)
    # As long as they could have to be; what is never written takes no memory.
    split_old = np.empty((max(1, alive), 2), np.int32)
    ranges = np.empty((max(1, alive), 2), np.int32)
    waiting = splitters.shape[0]
    for f in range(waiting):
        ranges[f, 0], ranges[f, 1] = begin[splitters[f]], size[splitters[f]]
    codes = arc_code.shape[0] > 0
    kinds = 1
    for a in range(arc_code.shape[0]):
        kinds = max(kinds, arc_code[a] + 1)
    of_code = np.zeros(kinds, np.int64)
    used = np.empty(kinds, np.int64)
    ends = np.empty(16, np.int32)
    splitter = np.zeros(2, np.uint64)
    done = 0
    planned = 0
    while waiting > 0 and rounds != 0 and work > 0 and planned <= largest_round and count < alive:
        # Not a literal, here and below: before types are settled, split_touched would be compiled for it.
        splits = np.int64(0)
        classes = count
        if names.shape[0]:
            # Names as they are before this round, and the order that they give.
            words = np.empty((waiting, 2), np.uint64)
            for f in range(waiting):
                words[f] = names[colors[order[ranges[f, 0]]]]
            turns = np.argsort(words[:, 0].copy())
        for turn in range(waiting):
            f = turn
            if names.shape[0]:
                f = turns[turn]
                splitter[0], splitter[1] = words[f, 0], words[f, 1]
            low, high = ranges[f, 0], ranges[f, 0] + ranges[f, 1]
            arcs = 0
            kind_count = 0
            if codes:
                # How many arcs of each code enter the class; arcs of one code are counted together.
                for p in range(low, high):
                    s = subgraph[order[p]]
                    v = first_vertex[s] + order[p] - copy_ptr[s]
                    for a in range(arc_ptr[v], arc_ptr[v + 1]):
                        if of_code[arc_code[a]] == 0:
                            used[kind_count] = arc_code[a]
                            kind_count += 1
                        of_code[arc_code[a]] += 1
                        arcs += 1
                if arcs > ends.shape[0]:
                    ends = np.empty(2 * arcs, np.int32)
                before = 0
                used[:kind_count].sort()
                for k in range(kind_count):
                    amount = of_code[used[k]]
                    of_code[used[k]] = before
                    before += amount
            number = np.int64(0)
            for p in range(low, high):
                s = subgraph[order[p]]
                base = copy_ptr[s]
                v = first_vertex[s] + order[p] - base
                if not codes:
                    arcs += arc_ptr[v + 1] - arc_ptr[v]
                for a in range(arc_ptr[v], arc_ptr[v + 1]):
                    i = base + arc_target[a]
                    there = colors[i] >= 0 and (
                        edge_mode == 0 or has_edge(arc_edge[a], members, s, edge_mode)
                    )
                    if codes:
                        ends[of_code[arc_code[a]]] = i if there else -1
                        of_code[arc_code[a]] += 1
                    elif there:
                        if seen[i] == 0:
                            touched[number] = i
                            number += 1
                        seen[i] += 1
            work -= arcs + high - low
            if not codes:
                count, splits = split_touched(
                    touched, number, seen, colors, order, where, begin, size, count, hits, hit, origin,
                    split_old, splits, names, splitter, np.uint64(0),
                )  # fmt: skip
            start = 0
            for k in range(kind_count):
                number = np.int64(0)
                for e in range(start, of_code[used[k]]):
                    i = ends[e]
                    if i >= 0:
                        if seen[i] == 0:
                            touched[number] = i
                            number += 1
                        seen[i] += 1
                start = of_code[used[k]]
                of_code[used[k]] = 0
                count, splits = split_touched(
                    touched, number, seen, colors, order, where, begin, size, count, hits, hit, origin,
                    split_old, splits, names, splitter,
                    code_words[used[k]] if names.shape[0] else np.uint64(0),
                )  # fmt: skip
        waiting = 0
        planned = 0
        for o in range(splits):
            low, high = split_old[o, 0], split_old[o, 0] + split_old[o, 1]
            largest = colors[order[low]]
            p = low
            while p < high:
                c = colors[order[p]]
                origin[c] = -1
                if is_larger(c, largest, size, names):
                    largest = c
                p += size[c]
            p = low
            while p < high:
                c = colors[order[p]]
                if c != largest:
                    ranges[waiting, 0], ranges[waiting, 1] = p, size[c]
                    waiting += 1
                    planned += size[c]
                p += size[c]
        if count == classes:
            break
        done += 1
        rounds -= 1
    if count == alive:
        waiting = 0
    rest = np.empty(waiting, np.int32)
    for f in range(waiting):
        rest[f] = colors[order[ranges[f, 0]]]
    return count, done, rest
