"""Compiled kernels on 64-bit words: a mixing bijection, pairs, and injective relabeling."""

from __future__ import annotations

import numpy as np

from osan.compiled import njit


@njit(inline="always")
def mix(x):  # type: ignore[no-untyped-def]
    """The finalizer of splitmix64: a bijection of 64-bit words."""
    x = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(inline="always")
def pair(a, b):  # type: ignore[no-untyped-def]
    """Two non-negative 32-bit numbers as one 64-bit word."""
    return (np.uint64(a) << np.uint64(32)) | np.uint64(b)


@njit()
def relabel_words(words, alive):  # type: ignore[no-untyped-def]
    """Number the distinct words of the places with ``alive >= 0`` as they come; the others get -1.

    Returns the numbers and, for each, the first place that has it. The table holds numbers only, their words
    are looked up at the first places. One thread: two that share the output wait for each other.
    """
    size = words.shape[0]
    ids = np.empty(size, np.int32)
    # As long as it could have to be; what is never written takes no memory.
    first = np.empty(size, np.int64)
    capacity = 1 << 10
    numbers = np.full(capacity, -1, np.int32)
    count = 0
    for i in range(size):
        if alive[i] < 0:
            ids[i] = -1
            continue
        word = words[i]
        place = np.int64(mix(word) & np.uint64(capacity - 1))
        while numbers[place] >= 0 and words[first[numbers[place]]] != word:
            place = (place + 1) & (capacity - 1)
        if numbers[place] >= 0:
            ids[i] = numbers[place]
            continue
        numbers[place] = count
        ids[i] = count
        first[count] = i
        count += 1
        if 2 * count > capacity:
            capacity *= 4
            numbers = np.full(capacity, -1, np.int32)
            for number in range(count):
                place = np.int64(mix(words[first[number]]) & np.uint64(capacity - 1))
                while numbers[place] >= 0:
                    place = (place + 1) & (capacity - 1)
                numbers[place] = number
    return ids, first[:count].copy()
