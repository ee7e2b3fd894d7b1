r"""Compiled recursions for samples of k-subsets and for the gradient of their marginals.

With :math:`\log e_{j,c}` the logarithm of the sum over all c-subsets of the elements j, ..., n - 1 of the
product of their :math:`\exp \theta`,

.. math:: e_{j,c} = e_{j+1,c} + \exp(\theta_j)\, e_{j+1,c-1},

as in :func:`osan.selection.subsets.log_partitions`. Every pair of a graph and a subgraph is on its own, so
pairs run in parallel.
"""

from __future__ import annotations

import numpy as np

from osan.compiled import njit, parallel, prange


@njit(cache=True, nogil=True)
def _log_sum(a, b):  # type: ignore[no-untyped-def]
    """log(exp(a) + exp(b)), also for minus infinity."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@njit(cache=True, nogil=True)
def _suffixes(theta, k):  # type: ignore[no-untyped-def]
    """The logarithms of all e[j, c], shape ``[n + 1, k + 1]``."""
    n = theta.shape[0]
    table = np.empty((n + 1, k + 1))
    table[n] = -np.inf
    table[n, 0] = 0
    for j in range(n - 1, -1, -1):
        table[j, 0] = 0
        for c in range(1, k + 1):
            table[j, c] = _log_sum(table[j + 1, c], theta[j] + table[j + 1, c - 1])
    return table


@njit(cache=True, nogil=True)
def _draw(theta, uniform, k, out):  # type: ignore[no-untyped-def]
    """Take one element after another, each given those before it."""
    table = _suffixes(theta, k)
    left = k
    for j in range(theta.shape[0]):
        if left == 0:
            break
        if uniform[j] < np.exp(theta[j] + table[j + 1, left - 1] - table[j, left]):
            out[j] = 1
            left -= 1


@njit(cache=True, nogil=True)
def _derivative(theta, gradient, k, out):  # type: ignore[no-untyped-def]
    """The derivative of the marginals in the direction of the gradient.

    Their Jacobian is the covariance matrix of the indicators, which is symmetric, so this is also the
    gradient. The derivative of log e[j, c] is the mean of the gradient over its subsets: a mean of the two
    terms of the recursion.
    """
    n = theta.shape[0]
    after = _suffixes(theta, k)
    slope = np.zeros((n + 1, k + 1))
    for j in range(n - 1, -1, -1):
        for c in range(1, min(k, n - j) + 1):
            share = np.exp(theta[j] + after[j + 1, c - 1] - after[j, c])
            kept = slope[j + 1, c]
            slope[j, c] = kept + share * (gradient[j] + slope[j + 1, c - 1] - kept)
    before, rise = np.full(k + 1, -np.inf), np.zeros(k + 1)
    before[0] = 0
    for j in range(n):
        total = 0.0
        # Element j with a elements before it and k - 1 - a after it.
        for a in range(max(0, k - n + j), min(k - 1, j) + 1):
            c = k - 1 - a
            share = np.exp(theta[j] + before[a] + after[j + 1, c] - after[0, k])
            total += share * (gradient[j] + rise[a] + slope[j + 1, c] - slope[0, k])
        out[j] = total
        for c in range(min(k, j + 1), 0, -1):
            taken = theta[j] + before[c - 1]
            both = _log_sum(before[c], taken)
            rise[c] += np.exp(taken - both) * (gradient[j] + rise[c - 1] - rise[c])
            before[c] = both


@parallel
def draw(theta, uniform, sizes, k, out):  # type: ignore[no-untyped-def]
    """A k-subset of each graph and column into ``out``, which is 0."""
    m = theta.shape[1]
    last = np.cumsum(sizes)
    for pair in prange(sizes.shape[0] * m):
        g, i = np.int64(pair) // m, np.int64(pair) % m
        part = slice(last[g] - sizes[g], last[g])
        _draw(theta[part, i].copy(), uniform[part, i], k[g], out[part, i])


@parallel
def derivative(theta, gradient, sizes, k, out):  # type: ignore[no-untyped-def]
    """The gradient of each graph and column into ``out``."""
    m = theta.shape[1]
    last = np.cumsum(sizes)
    for pair in prange(sizes.shape[0] * m):
        g, i = np.int64(pair) // m, np.int64(pair) % m
        part = slice(last[g] - sizes[g], last[g])
        _derivative(theta[part, i].copy(), gradient[part, i].copy(), k[g], out[part, i])
