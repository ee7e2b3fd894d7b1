"""Compiled ranks of weights within graphs."""

from __future__ import annotations

import numpy as np

from osan.compiled import njit, parallel, prange

# Up to this many elements, inserting one after another is faster than a sort.
FEW = 64


@njit(cache=True, nogil=True)
def _order(weight, tie):  # type: ignore[no-untyped-def]
    """Positions by descending weight; equal weights by ascending tie."""
    n = weight.shape[0]
    if n > FEW:
        by_tie = np.argsort(tie)
        return by_tie[np.argsort(-weight[by_tie], kind="mergesort")]
    order = np.empty(n, np.int64)
    for i in range(n):
        w, t, place = weight[i], tie[i], i
        while place > 0:
            j = order[place - 1]
            if weight[j] > w or (weight[j] == w and tie[j] <= t):
                break
            order[place] = j
            place -= 1
        order[place] = i
    return order


@parallel
def ranks_of_parts(weights, tie, sizes, out):  # type: ignore[no-untyped-def]
    """The rank of each weight in its graph and column into ``out``: 0 for the largest."""
    m = weights.shape[1]
    last = np.cumsum(sizes)
    for pair in prange(sizes.shape[0] * m):
        g, i = np.int64(pair) // m, np.int64(pair) % m
        first = last[g] - sizes[g]
        order = _order(weights[first : last[g], i].copy(), tie[first : last[g], i].copy())
        for r in range(sizes[g]):
            out[first + order[r], i] = r
