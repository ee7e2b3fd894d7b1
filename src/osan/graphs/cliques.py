"""Colorful distance-two cliques: G_k has some, H_k has none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from osan.errors import OsanError
from osan.graphs.graph import Graph


def distance_two_cliques(graph: Graph, size: int) -> Iterator[tuple[int, ...]]:
    """All colorful distance-two cliques with ``size`` vertices (paper, "Distance-two cliques").

    A set of vertex-cloud vertices, no two of one cloud, any two of them at distance exactly two.
    G_k has such a set of size k + 1 and H_k has none (Lemma dtc).

    Parameters
    ----------
    graph
        Colored as by :func:`~osan.graphs.cfi.cfi_graph`: the clouds are its labels ``("vertex", v)``.
    size
        At least 1.

    Yields
    ------
    tuple of int
        The vertices of a clique, each clique once.

    Examples
    --------
    >>> from osan.graphs.cfi import cfi_pair
    >>> [len(list(distance_two_cliques(graph, 3))) for graph in cfi_pair(2)]
    [2, 0]
    """
    if size < 1:
        raise OsanError(f"size: expected at least 1, got {size}")
    clouds: dict[object, list[int]] = {}
    for vertex, label in enumerate(graph.vertex_labels or ()):
        if isinstance(label, tuple) and len(label) == 2 and label[0] == "vertex":
            clouds.setdefault(label[1], []).append(vertex)
    if not clouds:
        raise OsanError(f"graph: expected vertex labels ('vertex', v) as from cfi_pair(k), got {graph!r}")
    members = [vertex for cloud in clouds.values() for vertex in cloud]
    cloud_of = np.repeat(np.arange(len(clouds)), [len(cloud) for cloud in clouds.values()])
    # Bit j of later[i]: member j lies in a later cloud, at distance two from member i. Each set is then
    # found once, in the order of its clouds.
    allowed = _at_distance_two(graph)[np.ix_(members, members)] & (cloud_of[:, None] < cloud_of)
    later = [sum(1 << j for j in np.flatnonzero(row).tolist()) for row in allowed]

    def extend(chosen: tuple[int, ...], candidates: int) -> Iterator[tuple[int, ...]]:
        if len(chosen) == size:
            yield tuple(members[i] for i in chosen)
            return
        while candidates.bit_count() >= size - len(chosen):
            lowest = candidates & -candidates
            candidates ^= lowest
            i = lowest.bit_length() - 1
            yield from extend((*chosen, i), candidates & later[i])

    yield from extend((), (1 << len(members)) - 1)


def _at_distance_two(graph: Graph) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Whether two vertices differ, are not adjacent and have a common neighbor."""
    n = graph.num_vertices
    adjacent = np.zeros((n, n), dtype=np.float32)
    adjacent[tuple(graph.edges.T)] = 1
    adjacent = np.maximum(adjacent, adjacent.T)
    return (adjacent @ adjacent > 0) & (adjacent == 0) & ~np.eye(n, dtype=bool)
