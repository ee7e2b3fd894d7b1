"""Compiled kernels that split classes by counts; see :mod:`osan.wl.changed_kernels` for the arrays."""

from __future__ import annotations

import numpy as np

from osan.colors.words import mix
from osan.compiled import njit


@njit(inline="always")
def chain(h, a, b, c, d, e):  # type: ignore[no-untyped-def]
    """A word for a sequence of five words."""
    for word in (a, b, c, d, e):
        h = mix(h ^ word)
    return h


@njit(inline="always")
def is_larger(c, other, size, names):  # type: ignore[no-untyped-def]
    """Whether a part is larger than another, or as large and later by its name."""
    if size[c] != size[other] or names.shape[0] == 0:
        return size[c] > size[other]
    if names[c, 0] != names[other, 0]:
        return names[c, 0] > names[other, 0]
    return names[c, 1] > names[other, 1]


@njit()
def sort_by_count(order, where, seen, low, high, least, most):  # type: ignore[no-untyped-def]
    """Sort ``order[low:high]`` by ``seen``, which is from ``least`` to ``most`` there."""
    part = order[low:high].copy()
    span = most - least + 1
    if span <= 2 * part.shape[0] + 16:
        place = np.zeros(span + 1, np.int64)
        for i in part:
            place[seen[i] - least + 1] += 1
        for s in range(1, span):
            place[s] += place[s - 1]
        for i in part:
            s = seen[i] - least
            order[low + place[s]] = i
            place[s] += 1
    else:
        keys = np.empty(part.shape[0], np.int64)
        for p in range(part.shape[0]):
            keys[p] = seen[part[p]]
        rank = np.argsort(keys)
        for p in range(part.shape[0]):
            order[low + p] = part[rank[p]]
    for p in range(low, high):
        where[order[p]] = p


@njit()
def split_touched(  # type: ignore[no-untyped-def]
    touched,
    number,
    seen,
    colors,
    order,
    where,
    begin,
    size,
    count,
    hits,
    hit,
    origin,
    split_old,
    splits,
    names,
    splitter,
    code,
):
    """Split the classes of the ``touched`` copies by how often they were ``seen``, and forget the numbers.

    Returns the number of classes and of the entries of ``split_old``: (place, size) of the classes that the
    round started with and that are split by now. ``splitter`` and ``code`` are the words of the class whose
    neighbors these are and of the arcs.
    """
    found = 0
    for t in range(number):
        i = touched[t]
        c = colors[i]
        if size[c] == 1:
            seen[i] = 0
            continue
        if hits[c] == 0:
            hit[found] = c
            found += 1
        hits[c] += 1
        # To the end of the class, where the copies that were seen gather.
        p, q = where[i], begin[c] + size[c] - hits[c]
        other = order[q]
        order[q], order[p] = i, other
        where[i], where[other] = q, p
    for f in range(found):
        c = hit[f]
        first, whole, h = begin[c], size[c], hits[c]
        hits[c] = 0
        low = first + whole - h
        least, most = seen[order[low]], seen[order[low]]
        for p in range(low, first + whole):
            least = min(least, seen[order[p]])
            most = max(most, seen[order[p]])
        if h == whole and least == most:
            for p in range(low, first + whole):
                seen[order[p]] = 0
            continue
        if least != most:
            sort_by_count(order, where, seen, low, first + whole, least, most)
        old = origin[c]
        if old < 0:
            split_old[splits, 0], split_old[splits, 1] = first, whole
            splits += 1
            old = c
            origin[c] = c
        # The largest part keeps the number of the class: the others are walked through.
        best, best_size, start = first, whole - h, low
        for p in range(low, first + whole):
            last = p + 1 == first + whole or seen[order[p]] != seen[order[p + 1]]
            if last:
                if p + 1 - start > best_size:
                    best, best_size = start, p + 1 - start
                start = p + 1
        start = first
        p = low if h < whole else low + 1
        if names.shape[0]:
            name_0, name_1 = names[c, 0], names[c, 1]
        while start < first + whole:
            # p is one past the end of the part that begins at start.
            while p > low and p < first + whole and seen[order[p]] == seen[order[p - 1]]:
                p += 1
            part = c
            if start != best:
                part = count
                count += 1
                for q in range(start, p):
                    colors[order[q]] = part
                origin[part] = old
            begin[part], size[part] = start, p - start
            if names.shape[0]:
                times = np.uint64(0 if start < low else seen[order[start]])
                names[part, 0] = chain(np.uint64(1), name_0, name_1, splitter[0], splitter[1], code ^ times)
                names[part, 1] = chain(np.uint64(2), name_0, name_1, splitter[0], splitter[1], code ^ times)
            start = p
            p += 1
        for p in range(low, first + whole):
            seen[order[p]] = 0
    return count, splits
