"""Whether arcs describe an undirected graph."""

from __future__ import annotations

import numpy as np

from osan.graphs.graph import IntArray


def arc_without_reverse(arcs: IntArray, labels: IntArray | None = None) -> int | None:
    """The first arc u -> v that occurs more often than v -> u with the same label; ``None`` if none does.

    Parameters
    ----------
    arcs
        Shape ``(m, 2)``; parallel arcs count, and an arc from v to v is the reverse of itself.
    labels
        A number for each arc.

    Examples
    --------
    >>> arc_without_reverse(np.array([[0, 1], [1, 2], [1, 0]]))
    1
    """
    if not len(arcs):
        return None
    # One integer per labeled arc and per reverse; small enough for int64 at every step.
    if int(arcs.max()) >= 1 << 31:
        arcs = np.unique(arcs, return_inverse=True)[1].reshape(arcs.shape)
    base = int(arcs.max()) + 1
    tails, heads = arcs.T
    forth, back = tails * base + heads, heads * base + tails
    if labels is not None:
        pairs = np.unique(np.concatenate([forth, back]), return_inverse=True)[1]
        kinds = np.unique(labels, return_inverse=True)[1]
        forth, back = (half * len(labels) + kinds for half in np.split(pairs, 2))
    ordered, reverses = np.sort(forth), np.sort(back)
    if (ordered == reverses).all():
        return None
    more = _count(ordered, forth) > _count(reverses, forth)
    return int(np.flatnonzero(more)[0])


def _count(ordered: IntArray, values: IntArray) -> IntArray:
    """How often each value occurs in a sorted array."""
    return np.searchsorted(ordered, values, side="right") - np.searchsorted(ordered, values, side="left")
