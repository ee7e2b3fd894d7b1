"""Compiled kernels of hashes: words for the classes of a stable coloring whose classes have names."""

from __future__ import annotations

import numpy as np

from osan.compiled import njit
from osan.wl.split_kernels import chain


@njit()
def universal_words(colors, count, order, begin, names, component, arc_ptr, arc_target, arc_code, code_words):  # type: ignore[no-untyped-def]
    """Two words for each class of a stable coloring of one graph: for what can be reached from it, and how.

    ``component`` numbers the components of the graph; a class lies in one of them. Vertices of any two
    graphs get equal words if and only if their unfoldings are equal, but for collisions.
    """
    parts = 0
    for v in range(component.shape[0]):
        parts = max(parts, component[v] + 1)
    whole = np.zeros((parts, 2), np.uint64)
    for c in range(count):
        v = order[begin[c]]
        for lane in range(2):
            total = np.uint64(0)
            for a in range(arc_ptr[v], arc_ptr[v + 1]):
                d = colors[arc_target[a]]
                code = code_words[arc_code[a]] if arc_code.shape[0] else np.uint64(0)
                total += chain(
                    np.uint64(3 + lane), names[d, 0], names[d, 1], code, np.uint64(0), np.uint64(0)
                )
            whole[component[v], lane] += chain(
                np.uint64(5 + lane), names[c, 0], names[c, 1], total, np.uint64(0), np.uint64(0)
            )
    found = np.empty((count, 2), np.uint64)
    for c in range(count):
        i = component[order[begin[c]]]
        for lane in range(2):
            found[c, lane] = chain(
                np.uint64(7 + lane), names[c, 0], names[c, 1], whole[i, 0], whole[i, 1], np.uint64(0)
            )
    return found


@njit()
def mixed(words):  # type: ignore[no-untyped-def]
    """Two words for each two: of sums of them nobody can tell the terms."""
    found = np.empty_like(words)
    zero = np.uint64(0)
    for i in range(words.shape[0]):
        found[i, 0] = chain(np.uint64(9), words[i, 0], words[i, 1], zero, zero, zero)
        found[i, 1] = chain(np.uint64(10), words[i, 0], words[i, 1], zero, zero, zero)
    return found
