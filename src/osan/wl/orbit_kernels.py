"""Compiled kernels of orbits: tuples that automorphisms map to each other, and rounds of k-WL on one of each.

Tuples are numbered as in :mod:`osan.wl.tuple_kernels`.
"""

from __future__ import annotations

import numpy as np

from osan.compiled import njit, parallel, prange
from osan.wl.tuple_kernels import packed_signature, same_vectors, signature_word, strides_of

# Representatives are handed to threads in blocks of this many.
BLOCK = 1024


@njit()
def orbits(images, n, k):  # type: ignore[no-untyped-def]
    """The orbit of each k-tuple under the generators ``images``, the first tuple of each, and their sizes."""
    strides = strides_of(n, k)
    total = np.int64(1)
    for _ in range(k):
        total *= n
    of_tuple = np.full(total, -1, np.int32)
    first = np.empty(1024, np.int64)
    size = np.empty(1024, np.int64)
    stack = np.empty(1024, np.int64)
    entries = np.empty(k, np.int64)
    count = 0
    for start in range(total):
        if of_tuple[start] >= 0:
            continue
        if count == first.shape[0]:
            first = np.concatenate((first, np.empty_like(first)))
            size = np.concatenate((size, np.empty_like(size)))
        first[count] = start
        of_tuple[start] = count
        stack[0] = start
        height = 1
        members = 0
        while height > 0:
            height -= 1
            t = stack[height]
            members += 1
            for j in range(k):
                entries[j] = (t // strides[j]) % n
            for g in range(images.shape[0]):
                image = np.int64(0)
                for j in range(k):
                    image += images[g, entries[j]] * strides[j]
                if of_tuple[image] < 0:
                    of_tuple[image] = count
                    if height == stack.shape[0]:
                        stack = np.concatenate((stack, np.empty_like(stack)))
                    stack[height] = image
                    height += 1
        size[count] = members
        count += 1
    return of_tuple, first[:count].copy(), size[:count].copy()


@parallel
def spread(colors, of_tuple, first_orbit, base, out):  # type: ignore[no-untyped-def]
    """Give each tuple of one graph the color of its orbit."""
    size = of_tuple.shape[0]
    blocks = (size + (BLOCK << 6) - 1) // (BLOCK << 6)
    for block in prange(blocks):
        for t in range(block * (BLOCK << 6), min(size, (block + 1) * (BLOCK << 6))):
            out[base + t] = colors[first_orbit + of_tuple[t]]


@parallel
def place_words(places, graph, colors, k, graph_ptr, sizes, oblivious, salt, mask):  # type: ignore[no-untyped-def]
    """Hash of the k-WL signature of the tuples at ``places``; ``graph`` is the graph of each."""
    words = np.empty(places.shape[0], np.uint64)
    for block in prange((places.shape[0] + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(places.shape[0], (block + 1) * BLOCK)):
            base, n = graph_ptr[graph[i]], sizes[graph[i]]
            strides = strides_of(n, k)
            words[i] = signature_word(colors, base, places[i] - base, n, k, strides, oblivious, salt) & mask
    return words


@parallel
def place_mismatches(  # type: ignore[no-untyped-def]
    ids, first, order, places, graph, colors, k, graph_ptr, sizes, oblivious, bits, salt
):
    """The number of tuples at ``places`` whose signature is not, to the letter, that of their representative.

    ``ids`` and ``first`` number the entries of ``places``, ``order`` lists them class by class; ``bits`` is
    the width of a packed color, 0 if k of them do not fit into a word.
    """
    blocks = (places.shape[0] + BLOCK - 1) // BLOCK
    wrong = np.zeros(blocks, np.int64)
    width = sizes.max() * (k if oblivious else 1)
    for block in prange(blocks):
        mine = np.empty(width, np.uint64)
        theirs = np.empty(width, np.uint64)
        loaded = np.int64(-1)
        for o in range(block * BLOCK, min(places.shape[0], (block + 1) * BLOCK)):
            i = order[o]
            r = first[ids[i]]
            if r == i:
                continue
            n = sizes[graph[i]]
            if n != sizes[graph[r]] or colors[places[i]] != colors[places[r]]:
                wrong[block] += 1
                continue
            base, r_base = graph_ptr[graph[i]], graph_ptr[graph[r]]
            strides = strides_of(n, k)
            same = True
            if bits > 0 or oblivious:
                if r != loaded:
                    packed_signature(
                        theirs, colors, r_base, places[r] - r_base, n, k, strides, bits, oblivious
                    )
                    loaded = r
                packed_signature(mine, colors, base, places[i] - base, n, k, strides, bits, oblivious)
                for w in range(n * (k if oblivious else 1)):
                    same = same and mine[w] == theirs[w]
            else:
                same = same_vectors(
                    colors, base, places[i] - base, r_base, places[r] - r_base, n, k, strides, salt
                )
            if not same:
                wrong[block] += 1
    return wrong.sum()
