"""Compiled kernels of k-WL: signatures of k-tuples, their hashes and their exact comparison.

The tuples of a graph with n vertices are numbered 0 to n^k - 1, the last entry running fastest.
"""

from __future__ import annotations

import numpy as np

from osan.colors.words import mix, pair
from osan.compiled import njit, parallel, prange


@njit(inline="always")
def strides_of(n, k):  # type: ignore[no-untyped-def]
    """How far apart the numbers of two tuples are that differ by one in one entry."""
    strides = np.ones(k, np.int64)
    for j in range(k - 2, -1, -1):
        strides[j] = strides[j + 1] * n
    return strides


@njit(inline="always")
def zeroed(t, n, k, strides):  # type: ignore[no-untyped-def]
    """For each j, the number of the tuple t with its j-th entry replaced by 0."""
    firsts = np.empty(k, np.int64)
    for j in range(k):
        firsts[j] = t - ((t // strides[j]) % n) * strides[j]
    return firsts


@njit(inline="always")
def replaced_word(colors, base, firsts, w, k, strides, salt):  # type: ignore[no-untyped-def]
    """Hash of (C(phi_1(t, w)), ..., C(phi_k(t, w))): the colors of t with each entry replaced by w."""
    word = salt
    for j in range(k):
        word = mix(word ^ np.uint64(colors[base + firsts[j] + w * strides[j]]))
    return word


@njit(inline="always")
def signature_word(colors, base, t, n, k, strides, oblivious, salt):  # type: ignore[no-untyped-def]
    """Hash of the k-WL signature of tuple t of the graph whose tuples begin at ``base``."""
    word = mix(np.uint64(colors[base + t]) ^ salt)
    if oblivious:
        for j in range(k):
            total = np.uint64(0)
            first = base + t - ((t // strides[j]) % n) * strides[j]
            for w in range(n):
                total += mix(np.uint64(colors[first + w * strides[j]]) ^ salt)
            word = mix(word ^ mix(total + np.uint64(j)))
    elif k == 2:
        total = np.uint64(0)
        column, row = base + t % n, base + (t // n) * n
        for w in range(n):
            total += mix(pair(colors[column + w * n], colors[row + w]) ^ salt)
        word = mix(word ^ mix(total))
    else:
        total = np.uint64(0)
        firsts = zeroed(t, n, k, strides)
        for w in range(n):
            total += replaced_word(colors, base, firsts, w, k, strides, salt)
        word = mix(word ^ mix(total))
    return word


@parallel
def tuple_words(colors, k, size_of_block, n_of_block, start_of_block, base_of_block, oblivious, salt, mask):  # type: ignore[no-untyped-def]
    """Hash of the k-WL signature of every tuple; blocks are runs of tuples of one graph."""
    words = np.empty(colors.shape[0], np.uint64)
    for block in prange(size_of_block.shape[0]):
        n = n_of_block[block]
        base = base_of_block[block]
        strides = strides_of(n, k)
        for t in range(start_of_block[block], start_of_block[block] + size_of_block[block]):
            words[base + t] = signature_word(colors, base, t, n, k, strides, oblivious, salt) & mask
    return words


@njit(inline="always")
def packed_signature(buffer, colors, base, t, n, k, strides, bits, oblivious):  # type: ignore[no-untyped-def]
    """Fill ``buffer`` with the multisets of tuple t, sorted: one of packed k-vectors, or k of colors."""
    buffer[:n] = 0
    for j in range(k):
        first = base + t - ((t // strides[j]) % n) * strides[j]
        for w in range(n):
            color = np.uint64(colors[first + w * strides[j]])
            if oblivious:
                buffer[j * n + w] = color
            else:
                buffer[w] = (buffer[w] << np.uint64(bits)) | color
        if oblivious:
            buffer[j * n : (j + 1) * n].sort()
    if not oblivious:
        buffer[:n].sort()


@njit()
def same_vectors(colors, base, t, other_base, other, n, k, strides, salt):  # type: ignore[no-untyped-def]
    """Whether two tuples have the same multiset of k-vectors too long to pack.

    Matched by hash, compared by value: a wrong match can only ask for another split, never hide one.
    """
    mine = np.empty(n, np.uint64)
    theirs = np.empty(n, np.uint64)
    firsts, others = zeroed(t, n, k, strides), zeroed(other, n, k, strides)
    for w in range(n):
        mine[w] = replaced_word(colors, base, firsts, w, k, strides, salt)
        theirs[w] = replaced_word(colors, other_base, others, w, k, strides, salt)
    my_order = np.argsort(mine)
    their_order = np.argsort(theirs)
    for w in range(n):
        for j in range(k):
            a, b = my_order[w] * strides[j], their_order[w] * strides[j]
            if colors[base + firsts[j] + a] != colors[other_base + others[j] + b]:
                return False
    return True


@parallel
def tuple_mismatches(  # type: ignore[no-untyped-def]
    ids, first_place, order, colors, k, block_ptr, graph_ptr, sizes, oblivious, bits, salt
):
    """The number of tuples whose k-WL signature is not, to the letter, that of their representative.

    ``order`` lists the tuples class by class, so that a representative's signature is sorted once per run;
    ``bits`` is the width of a packed color, 0 if k of them do not fit into a word.
    """
    blocks = block_ptr.shape[0] - 1
    wrong = np.zeros(blocks, np.int64)
    width = sizes.max() * (k if oblivious else 1)
    for block in prange(blocks):
        mine = np.empty(width, np.uint64)
        theirs = np.empty(width, np.uint64)
        loaded = np.int64(-1)
        for o in range(block_ptr[block], block_ptr[block + 1]):
            i = order[o]
            r = first_place[ids[i]]
            if r == i:
                continue
            g = np.searchsorted(graph_ptr, i, side="right") - 1
            q = np.searchsorted(graph_ptr, r, side="right") - 1
            n = sizes[g]
            # A multiset over all w of V(G) knows the number of vertices.
            if n != sizes[q] or colors[i] != colors[r]:
                wrong[block] += 1
                continue
            base, r_base = graph_ptr[g], graph_ptr[q]
            strides = strides_of(n, k)
            same = True
            if bits > 0 or oblivious:
                if r != loaded:
                    packed_signature(theirs, colors, r_base, r - r_base, n, k, strides, bits, oblivious)
                    loaded = r
                packed_signature(mine, colors, base, i - base, n, k, strides, bits, oblivious)
                for w in range(n * (k if oblivious else 1)):
                    same = same and mine[w] == theirs[w]
            else:
                same = same_vectors(colors, base, i - base, r_base, r - r_base, n, k, strides, salt)
            if not same:
                wrong[block] += 1
    return wrong.sum()
