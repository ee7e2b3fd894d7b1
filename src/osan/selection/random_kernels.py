"""Counter-based random numbers in one compiled loop: the numbers of torch's operations, to the last bit."""

from __future__ import annotations

import numpy as np

from osan.compiled import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(inline="always")
def _mix(bits):  # type: ignore[no-untyped-def]
    """The finalizer of splitmix64."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@njit(cache=True, nogil=True)
def uniform(seed, counters, graph_id, graph, position, channel, channels):  # type: ignore[no-untyped-def]
    """Numbers strictly between 0 and 1 for the address that the counters give; ``[elements, channels]``."""
    key = np.uint64(seed)
    for counter in counters:
        key = _mix(key + np.uint64(counter))
    keys = np.empty(graph_id.shape[0], np.uint64)
    for g in range(graph_id.shape[0]):
        keys[g] = _mix(key ^ _mix(np.uint64(graph_id[g]) + _GOLDEN))
    out = np.empty((graph.shape[0], channels), np.float64)
    for i in range(graph.shape[0]):
        own = _mix(keys[graph[i]] + _GOLDEN * np.uint64(position[i] + 1))
        for c in range(channels):
            bits = _mix(own + _GOLDEN * np.uint64(channel + c + 1))
            out[i, c] = (np.float64(bits >> np.uint64(12)) + 0.5) * 2.0**-52
    return out
