"""Injective numbers for rows of words, and for signatures: a color and a multiset of (color, code) pairs.

A hash proposes where to look. Whether two rows or two signatures are equal is decided by comparing them word
by word, as they come: one pass suffices, and a collision of hashes costs time but changes nothing.
"""

from __future__ import annotations

import numpy as np

from osan.colors.words import mix
from osan.compiled import njit

# Which bits of a hash are used. Results do not depend on it (tests run with two bits), only time does.
HASH_MASK = np.uint64(0xFFFFFFFFFFFFFFFF)
# Signatures of at most this many words are sorted by insertion.
_SHORT = 32
# For the last arguments of number_signatures, if nothing is known.
UNKNOWN = (np.empty(0, np.int64), np.empty(0, np.int64))


@njit(inline="always")
def _placed(hashes, capacity, count):  # type: ignore[no-untyped-def]
    """A hash table of the given size that holds the numbers 0 to ``count - 1``."""
    table = np.full(capacity, -1, np.int32)
    for number in range(count):
        place = np.int64(hashes[number] & np.uint64(capacity - 1))
        while table[place] >= 0:
            place = (place + 1) & (capacity - 1)
        table[place] = number
    return table


@njit(nogil=True)
def number_rows(rows, mask):  # type: ignore[no-untyped-def]
    """Number the different rows of a table as they come; also the first row of each number.

    >>> number_rows(np.array([[7, 1], [7, 0], [7, 1]]), HASH_MASK)
    (array([0, 1, 0], dtype=int32), array([0, 1]))
    """
    size, width = rows.shape
    ids = np.empty(size, np.int32)
    first = np.empty(size, np.int64)
    hashes = np.empty(size, np.uint64)
    capacity = 1 << 10
    table = np.full(capacity, -1, np.int32)
    count = 0
    for i in range(size):
        word = np.uint64(0)
        for j in range(width):
            word = mix(word ^ np.uint64(rows[i, j]))
        word = mix(word) & mask
        place = np.int64(word & np.uint64(capacity - 1))
        found = -1
        while table[place] >= 0 and found < 0:
            number = table[place]
            same = hashes[number] == word
            j = 0
            while same and j < width:
                same = rows[first[number], j] == rows[i, j]
                j += 1
            if same:
                found = number
            place = (place + 1) & (capacity - 1)
        if found >= 0:
            ids[i] = found
            continue
        table[place] = count
        ids[i], first[count], hashes[count] = count, i, word
        count += 1
        if 2 * count > capacity:
            capacity *= 4
            table = _placed(hashes, capacity, count)
    return ids, first[:count].copy()


@njit(nogil=True)
def number_small(values, most):  # type: ignore[no-untyped-def]
    """The same as :func:`number_rows` for one column of numbers from 0 to ``most``, by a table of them.

    >>> number_small(np.array([7, 1, 7]), 7)
    (array([0, 1, 0], dtype=int32), array([0, 1]))
    """
    table = np.full(most + 1, -1, np.int32)
    ids, first = np.empty(values.shape[0], np.int32), np.empty(values.shape[0], np.int64)
    count = 0
    for i in range(values.shape[0]):
        number = table[values[i]]
        if number < 0:
            number = count
            table[values[i]], first[count] = count, i
            count += 1
        ids[i] = number
    return ids, first[:count].copy()


@njit(nogil=True)
def by_group(group, size):  # type: ignore[no-untyped-def]
    """Where the entries of each group begin once they are sorted by group, and their order then.

    The order keeps equal ones as they are; it is empty if the entries are sorted already.

    >>> by_group(np.array([1, 0, 1]), 3)
    (array([0, 1, 3, 3]), array([1, 0, 2]))
    """
    ptr = np.zeros(size + 1, np.int64)
    ascending, before = True, -1
    for i in range(group.shape[0]):
        ptr[group[i] + 1] += 1
        ascending &= group[i] >= before
        before = group[i]
    for g in range(size):
        ptr[g + 1] += ptr[g]
    if ascending:
        return ptr, np.empty(0, np.int64)
    place = ptr[:-1].copy()
    order = np.empty(group.shape[0], np.int64)
    for i in range(group.shape[0]):
        order[place[group[i]]] = i
        place[group[i]] += 1
    return ptr, order


@njit(nogil=True)
def seen_alike(vertex, vertices, colors, ptr, source, code):  # type: ignore[no-untyped-def]
    """Copies of a vertex that see the same: which have its usual surroundings, and which its usual color.

    Parameters
    ----------
    vertex, vertices
        The vertex of each copy, and the number of vertices.
    colors
        The color of each copy.
    ptr, source, code
        The edges into each copy, as in :func:`number_signatures`.

    Returns
    -------
    For each copy whether its edges come from copies of the same vertices, with the same codes and in the same
    order, as those of one copy of its vertex with the most edges; and whether it has the color that a vote
    finds: that of more than half of the copies of its vertex, if there is one.
    """
    usual = np.full(vertices, -1, np.int64)
    color, votes = np.zeros(vertices, np.int32), np.zeros(vertices, np.int64)
    for i in range(vertex.shape[0]):
        v = vertex[i]
        at = usual[v]
        if at < 0 or ptr[i + 1] - ptr[i] > ptr[at + 1] - ptr[at]:
            usual[v] = i
        if votes[v] == 0:
            color[v] = colors[i]
        votes[v] += 1 if color[v] == colors[i] else -1
    around, own = np.empty(vertex.shape[0], np.bool_), np.empty(vertex.shape[0], np.bool_)
    for i in range(vertex.shape[0]):
        at = usual[vertex[i]]
        shift = ptr[at] - ptr[i]
        same = ptr[i + 1] - ptr[i] == ptr[at + 1] - ptr[at]
        e = ptr[i]
        while same and e < ptr[i + 1]:
            same = vertex[source[e]] == vertex[source[e + shift]]
            if code.shape[0]:
                same &= code[e] == code[e + shift]
            e += 1
        around[i], own[i] = same, colors[i] == color[vertex[i]]
    return around, own


@njit(nogil=True)
def spread(around, alike, ptr, source, vertex, vertices):  # type: ignore[no-untyped-def]
    """The copies that are still alike after a round: they and all senders were, in the usual surroundings.

    Also, for each copy, the first that is known to have the same signature: the first alike copy of its
    vertex for those that are alike, itself for the others.
    """
    after = np.empty_like(alike)
    like = np.empty(alike.shape[0], np.int64)
    known = np.full(vertices, -1, np.int64)
    for i in range(alike.shape[0]):
        same = around[i] and alike[i]
        e = ptr[i]
        while same and e < ptr[i + 1]:
            same = alike[source[e]]
            e += 1
        after[i], like[i] = same, i
        if same:
            if known[vertex[i]] < 0:
                known[vertex[i]] = i
            like[i] = known[vertex[i]]
    return after, like


@njit(nogil=True)
def number_signatures(own, ptr, colors, source, code, codes, mask, like, weight):  # type: ignore[no-untyped-def]
    """Number the different signatures (own color, multiset of (color of the source, code)) as they come.

    Parameters
    ----------
    own
        The color of each row itself; empty if it does not matter.
    ptr
        Where the entries of each row begin, shape ``[rows + 1]``.
    colors
        Colors that ``source`` points to.
    source
        The place in ``colors`` of each entry; empty if entry e is at place e.
    code
        The code of each entry, from 0 to ``codes - 1``; empty if they are all alike.
    like
        For each row one before it that is known to have the same signature, or the row itself; -1 for a row
        that gets no number. Empty if nothing is known.
    weight
        How many rows each row stands for; empty for one.

    Returns
    -------
    The number of each row; the first row of each number and how many rows have it; where the entries of the
    numbers begin; the colors and the numbers they belong to, shape ``[2, entries]``, and the codes of these
    entries; sorted for each number if rows have colors of their own.
    """
    rows = ptr.shape[0] - 1
    bits = 0
    while (1 << bits) < codes:
        bits += 1
    # Multisets alone are long, and mostly different: they are sorted once there may be an equal one.
    later = own.shape[0] == 0
    # Words and hashes come before all comparisons, so that rows need not wait for one another.
    words, hashes = np.empty(ptr[rows], np.int64), np.empty(rows, np.uint64)
    for i in range(rows):
        if like.shape[0] and like[i] != i:
            continue
        begin, end = ptr[i], ptr[i + 1]
        hashed = np.uint64(own[i]) if own.shape[0] else np.uint64(0)
        for e in range(begin, end):
            word = np.int64(colors[source[e]] if source.shape[0] else colors[e]) << bits
            if code.shape[0]:
                word |= code[e]
            hashed += mix(word)  # a sum of independent terms takes less time than a chain
            q = e
            if end - begin <= _SHORT and not later:
                while q > begin and words[q - 1] > word:
                    words[q] = words[q - 1]
                    q -= 1
            words[q] = word
        if end - begin > _SHORT and not later:
            words[begin:end].sort()
        hashes[i] = mix(hashed) & mask
    ids = np.empty(rows, np.int32)
    # As long as they could have to be; what is never written takes no memory.
    first, size = np.empty(rows, np.int64), np.empty(rows, np.int64)
    numbered, ordered = np.empty(rows, np.uint64), np.empty(rows, np.bool_)
    capacity = 1 << 10
    table = np.full(capacity, -1, np.int32)
    count, total = 0, 0
    for i in range(rows):
        stands = weight[i] if weight.shape[0] else 1
        if like.shape[0] and like[i] != i:
            ids[i] = ids[like[i]] if like[i] >= 0 else -1
            if like[i] >= 0:
                size[ids[i]] += stands
            continue
        hashed, begin = hashes[i], ptr[i]
        entries = ptr[i + 1] - begin
        sort = later
        place = np.int64(hashed & np.uint64(capacity - 1))
        found = -1
        while table[place] >= 0 and found < 0:
            number = table[place]
            if numbered[number] == hashed:
                other = first[number]
                at = ptr[other]
                same = ptr[other + 1] - at == entries
                if same and own.shape[0]:
                    same = own[other] == own[i]
                if same and sort:
                    words[begin : begin + entries].sort()
                    sort = False
                if same and not ordered[number]:
                    words[at : at + entries].sort()
                    ordered[number] = True
                j = 0
                while same and j < entries:
                    same = words[at + j] == words[begin + j]
                    j += 1
                if same:
                    found = number
            place = (place + 1) & (capacity - 1)
        if found >= 0:
            ids[i] = found
            size[found] += stands
            continue
        table[place] = count
        ids[i], first[count], size[count] = count, i, stands
        numbered[count], ordered[count] = hashed, not sort
        total += entries
        count += 1
        if 2 * count > capacity:
            capacity *= 4
            table = _placed(numbered, capacity, count)
    start = np.zeros(count + 1, np.int64)
    ends, codes_out = np.empty((2, total), np.int64), np.zeros(total, np.int64)
    for n in range(count):
        at = start[n]
        for e in range(ptr[first[n]], ptr[first[n] + 1]):
            ends[0, at], ends[1, at] = words[e] >> bits, n
            if code.shape[0]:
                codes_out[at] = words[e] & ((1 << bits) - 1)
            at += 1
        start[n + 1] = at
    return ids, first[:count].copy(), size[:count].copy(), start, ends, codes_out
