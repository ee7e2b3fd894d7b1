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
    """log(exp(a) + exp(b)), and the share of exp(b) in the sum; one of them may be minus infinity."""
    rest = np.exp(min(a, b) - max(a, b))
    return max(a, b) + np.log1p(rest), (1.0 if b >= a else rest) / (1 + rest)


@njit(cache=True, nogil=True)
def _shares(theta, k):  # type: ignore[no-untyped-def]
    """The probability of element j if c of the elements j, ..., n - 1 are taken, shape ``[n, k + 1]``."""
    n = theta.shape[0]
    share, table = np.zeros((n, k + 1)), np.full(k + 1, -np.inf)
    table[0] = 0
    for j in range(n - 1, -1, -1):
        for c in range(min(k, n - j), 0, -1):
            table[c], share[j, c] = _log_sum(table[c], theta[j] + table[c - 1])
    return share


@njit(cache=True, nogil=True)
def _draw(theta, uniform, k, out):  # type: ignore[no-untyped-def]
    """Take one element after another, each given those before it."""
    share, left = _shares(theta, k), k
    for j in range(theta.shape[0]):
        if left == 0:
            break
        if uniform[j] < share[j, left]:
            out[j] = 1
            left -= 1


@njit(cache=True, nogil=True)
def _derivative(theta, gradient, k, out):  # type: ignore[no-untyped-def]
    """The derivative of the marginals in the direction of the gradient.

    Their Jacobian is the covariance matrix of the indicators, which is symmetric, so this is also the
    gradient: the covariance of each indicator with the sum of the gradient over what is taken. A subset is a
    path through the numbers c of elements that are still to be taken. With the probabilities of its steps,
    everything is a mean, and no logarithm is needed.
    """
    n = theta.shape[0]
    share, after = _shares(theta, k), np.zeros((n + 1, k + 1))  # the mean sum over what is taken from j on
    for j in range(n - 1, -1, -1):
        for c in range(1, min(k, n - j) + 1):
            rest = after[j + 1, c]
            after[j, c] = rest + share[j, c] * (gradient[j] + after[j + 1, c - 1] - rest)
    # The probability that c are still to be taken, and the sum so far times this probability.
    chance, before = np.zeros(k + 1), np.zeros(k + 1)
    chance[k] = 1
    for j in range(n):
        total = 0.0
        for c in range(1, k + 1):
            taken, left = share[j, c], 1 - share[j, c]
            now, with_now = taken * chance[c], taken * (before[c] + chance[c] * gradient[j])
            total += with_now + now * (after[j + 1, c - 1] - after[0, k])
            chance[c - 1] += now
            before[c - 1] += with_now
            chance[c] *= left
            before[c] *= left
        out[j] = total


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
