"""Automorphisms of a graph, by individualization and refinement, and the orbits of tuples under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from osan.graphs import Graph, GraphLike, as_graph
from osan.wl import orbit_kernels
from osan.wl.encode import Colors, Encoded, Ints, encode
from osan.wl.refine import refine

# How many colorings the search for one automorphism may take. A search that gives up costs symmetry, nothing
# else: orbits under fewer automorphisms are smaller, and tuples of one orbit still have one color.
BUDGET = 64


def automorphisms(graph: GraphLike) -> list[Ints]:
    """Generators of a group of automorphisms, each as an array of the images of the vertices.

    Usually all automorphisms; fewer if the search gives up somewhere. Each is checked before it is returned:
    it maps labels, edges, their labels, directions and multiplicities onto themselves.

    The search fixes vertices b_1, b_2, ... until 1-WL tells all others apart. From the last of them to the
    first, for each vertex v of the color of b_i, it looks for an automorphism that fixes b_1, ..., b_(i-1)
    and maps b_i to v, unless those found so far do (McKay 1981, without the pruning of the tree).

    Examples
    --------
    >>> import networkx as nx
    >>> [each.tolist() for each in automorphisms(nx.path_graph(4))]
    [[3, 2, 1, 0]]
    >>> automorphisms(nx.path_graph(1))
    []
    """
    plain = as_graph(graph)
    n = plain.num_vertices
    if n < 2:
        return []
    encoded = encode([plain])
    found: list[Ints] = []
    for fixed, base, candidates in reversed(_levels(plain)):
        group = [each for each in found if (each[fixed] == fixed).all()]
        reached = _orbit(base, group)
        for vertex in candidates:
            if vertex in reached:
                continue
            image = _Search(plain, encoded).extend([*fixed, base], [*fixed, vertex])
            if image is not None:
                found.append(image)
                group.append(image)
                reached = _orbit(base, group)
    return found


def _levels(graph: Graph) -> list[tuple[list[int], int, list[int]]]:
    """The vertices fixed before, the next one, and those of its color, until all have different colors."""
    levels: list[tuple[list[int], int, list[int]]] = []
    fixed: list[int] = []
    while True:
        cell = _cell(_individualized(graph, [fixed])[0])
        if cell is None:
            return levels
        levels.append((fixed, cell[0], cell))
        fixed = [*fixed, cell[0]]


def _individualized(graph: Graph, each: Sequence[Sequence[int]]) -> tuple[Colors, ...]:
    """The joint 1-WL colors of copies of a graph in which some vertices have new labels, by their place."""
    copies = []
    for fixed in each:
        places = np.full(graph.num_vertices, -1)
        places[list(fixed)] = np.arange(len(fixed))
        labels = graph.vertex_labels or [None] * graph.num_vertices
        copies.append(
            Graph(
                graph.num_vertices,
                graph.edges,
                vertex_labels=list(zip(labels, places.tolist(), strict=True)),
                edge_labels=graph.edge_labels,
                directed=graph.directed,
            )
        )
    return refine(copies).colors


def _cell(colors: Colors) -> list[int] | None:
    """The vertices of a smallest color that several have; ``None`` if all colors differ."""
    counts = np.bincount(colors)
    several = np.flatnonzero(counts > 1)
    if not several.size:
        return None
    color = several[counts[several].argmin()]
    return [int(v) for v in np.flatnonzero(colors == color)]


def _orbit(vertex: int, group: Sequence[Ints]) -> set[int]:
    reached, waiting = {vertex}, [vertex]
    while waiting:
        v = waiting.pop()
        images = {int(each[v]) for each in group} - reached
        reached |= images
        waiting += images
    return reached


class _Search:
    """One search for an automorphism, as long as its budget lasts."""

    def __init__(self, graph: Graph, encoded: Encoded) -> None:
        self._graph, self._encoded, self._left = graph, encoded, BUDGET

    def extend(self, here: list[int], there: list[int]) -> Ints | None:
        """An automorphism that maps the vertices ``here``, in this order, to those ``there``."""
        if self._left == 0:
            return None
        self._left -= 1
        mine, theirs = _individualized(self._graph, [here, there])
        if (np.sort(mine) != np.sort(theirs)).any():
            return None
        cell = _cell(mine)
        if cell is None:
            image = np.empty(len(mine), dtype=np.int64)
            image[np.argsort(mine)] = np.argsort(theirs)
            return image if is_automorphism(image, self._encoded) else None
        for vertex in np.flatnonzero(theirs == mine[cell[0]]):
            found = self.extend([*here, cell[0]], [*there, int(vertex)])
            if found is not None:
                return found
        return None


def is_automorphism(image: Ints, encoded: Encoded) -> bool:
    """Whether a permutation maps labels and relations of one graph onto themselves."""
    n = int(encoded.sizes[0])
    if n == 0:
        return image.shape == (0,)
    if image.shape != (n,) or not np.issubdtype(image.dtype, np.integer):
        return False
    if (np.sort(image) != np.arange(n)).any():
        return False
    relation = encoded.relation.reshape(n, n)
    return bool(
        (encoded.labels[image] == encoded.labels).all() and (relation[np.ix_(image, image)] == relation).all()
    )


@dataclass(frozen=True)
class Orbits:
    """The classes of the k-tuples of a graph that automorphisms map to each other.

    Attributes
    ----------
    of_tuple
        The orbit of each tuple; tuples are numbered with the last entry running fastest.
    first
        The first tuple of each orbit.
    size
        The number of tuples of each orbit.
    """

    of_tuple: Colors
    first: Ints
    size: Ints


def tuple_orbits(group: Sequence[npt.ArrayLike], n: int, k: int) -> Orbits:
    """The orbits of all k-tuples over n vertices under the group that some permutations generate.

    >>> tuple_orbits([[1, 0, 2]], n=3, k=1).of_tuple.tolist()
    [0, 0, 1]
    >>> tuple_orbits([[1, 0, 2]], n=3, k=2).size.tolist()
    [2, 2, 2, 2, 1]
    """
    images = np.array(group, dtype=np.int64).reshape(len(group), n)
    return Orbits(*orbit_kernels.orbits(images, n, k))
