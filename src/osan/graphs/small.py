"""All graphs with a few vertices, up to isomorphism."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np

from osan.arguments import integer
from osan.errors import OsanError
from osan.graphs.graph import Graph
from osan.graphs.networkx import from_networkx

# The atlas of networkx goes up to here.
ATLAS = 7


def all_graphs(n: int, connected: Iterable[Graph] = ()) -> list[Graph]:
    """All simple undirected graphs with n vertices, one of each isomorphism class.

    Parameters
    ----------
    n
        The number of vertices. Up to 7, graphs come from the atlas of networkx.
    connected
        For more vertices: all connected graphs with 8, ..., n vertices, such as those of the corpus graph8c
        or of nauty's ``geng -c``. The others are disjoint unions of smaller ones.

    Examples
    --------
    >>> [len(all_graphs(n)) for n in range(8)]
    [1, 1, 2, 4, 11, 34, 156, 1044]
    """
    integer(n, "n", least=0)
    if n <= ATLAS:
        return [graph for graph, _ in _atlas() if graph.num_vertices == n]
    given = list(connected)
    parts: dict[int, list[Graph]] = {size: [] for size in range(1, min(n, ATLAS + len(given) + 1) + 1)}
    for graph, is_connected in _atlas():
        if is_connected:
            parts[graph.num_vertices].append(graph)
    for graph in given:
        if graph.num_vertices > ATLAS and graph.num_vertices in parts:
            parts[graph.num_vertices].append(graph)
    missing = next((size for size in parts if not parts[size]), None)
    if missing is not None:
        raise OsanError(
            f"connected: expected all connected graphs with {missing} vertices, got none; "
            f"nauty writes them: geng -c {missing} connected.g6"
        )
    return [union(*graphs) for sizes in _partitions(n, n) for graphs in _choices(parts, sizes)]


@cache
def _atlas() -> list[tuple[Graph, bool]]:
    """The graphs of the atlas, and whether they are connected."""
    import networkx as nx

    return [(from_networkx(g), bool(len(g)) and nx.is_connected(g)) for g in nx.graph_atlas_g()]


def union(*graphs: Graph) -> Graph:
    """The disjoint union of undirected graphs without labels.

    >>> union(Graph(2, [(0, 1)]), Graph(3, [(0, 2)])).edges.tolist()
    [[0, 1], [2, 4]]
    """
    shifts = np.cumsum([0, *(graph.num_vertices for graph in graphs)])
    edges = [graph.edges + shift for graph, shift in zip(graphs, shifts[:-1], strict=True)]
    return Graph(int(shifts[-1]), np.concatenate([np.empty((0, 2), dtype=np.int64), *edges]))


def _partitions(n: int, largest: int) -> Iterator[dict[int, int]]:
    """The ways to write n as a sum of sizes up to ``largest``: how often each size occurs."""
    if n == 0:
        yield {}
    elif largest > 0:
        for times in range(n // largest, -1, -1):
            for rest in _partitions(n - times * largest, largest - 1):
                yield {largest: times, **rest} if times else rest


def _choices(parts: dict[int, list[Graph]], sizes: dict[int, int]) -> Iterator[list[Graph]]:
    """The multisets of graphs with these sizes."""
    every = [combinations_with_replacement(parts[size], times) for size, times in sizes.items()]
    for chosen in product(*every):
        yield [graph for some in chosen for graph in some]
