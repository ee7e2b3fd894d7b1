"""Many graphs as one set of flat integer arrays, with labels numbered jointly."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from osan.compiled import threads
from osan.errors import OsanError
from osan.graphs import Graph
from osan.wl import neighbor_kernels

# Edges from which on a second thread saves time.
MANY = 1 << 18
Ints = npt.NDArray[np.int64]
Colors = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Encoded:
    """The disjoint union of some graphs.

    An undirected edge {u, v} gives the arc (u, v) at u and (v, u) at v; a directed edge (u, v) gives an
    outgoing arc at u and an incoming one at v, told apart by their codes. A self-loop is an arc from v to v.
    Parallel edges are parallel arcs, as a message-passing network would treat them.

    Attributes
    ----------
    sizes
        Number of vertices of each graph.
    vertex_ptr, edge_ptr
        Where the vertices and the edges of each graph begin in the union.
    labels
        Vertex labels of the union, numbered jointly.
    arc_ptr, arc_target
        Where the arcs of each vertex begin, and their other ends (numbered within the graph).
    """

    graphs: tuple[Graph, ...]
    sizes: Ints
    vertex_ptr: Ints
    edge_ptr: Ints
    labels: Colors
    arc_ptr: Ints
    arc_target: Colors

    @cached_property
    def max_degree(self) -> int:
        """The largest number of arcs at one vertex."""
        return int(np.diff(self.arc_ptr).max(initial=0))

    @cached_property
    def arc_code(self) -> Colors:
        """A number for the label and the direction of each arc; empty if all arcs are alike."""
        directed = self.graphs[0].directed
        if not directed and all(graph.edge_labels is None for graph in self.graphs):
            return np.empty(0, dtype=np.int32)
        codes = _joint_numbers([(g.edge_labels, g.num_edges) for g in self.graphs])
        edge, leaves = np.divmod(self._arc_number, 2)
        return 2 * codes[edge] + (leaves if directed else 0)

    @cached_property
    def arc_edge(self) -> Colors:
        """The edge of each arc, numbered within its graph."""
        arcs = np.diff(self.arc_ptr[self.vertex_ptr])
        return (self._arc_number // 2 - np.repeat(self.edge_ptr[:-1], arcs)).astype(np.int32)

    @cached_property
    def _arc_number(self) -> Colors:
        """2 e + 1 for the arc at u, 2 e for the one at v, of the e-th edge (u, v) of the union."""
        numbers = np.arange(2 * self.edge_ptr[-1]).reshape(-1, 2)
        return _by_vertex(self.graphs, numbers, self.edge_ptr, self.vertex_ptr)[1]

    @cached_property
    def relation_ptr(self) -> Ints:
        """Where each graph's matrix begins in :attr:`relation`."""
        return pointers(self.sizes**2)

    @cached_property
    def relation(self) -> Colors:
        """The relation of u to v, for all ordered pairs of vertices of each graph: 0 if not adjacent.

        The number stands for the multiset of arcs from u to v, so two pairs have the same number if and only
        if they are joined alike (labels, directions and multiplicities).
        """
        source = np.repeat(np.arange(len(self.labels)), np.diff(self.arc_ptr))
        graph = np.searchsorted(self.vertex_ptr, source, side="right") - 1
        row = source - self.vertex_ptr[graph]
        place = self.relation_ptr[graph] + row * self.sizes[graph] + self.arc_target
        matrix = np.zeros(self.relation_ptr[-1], dtype=np.int64)
        codes = self.arc_code if self.arc_code.size else np.zeros_like(self.arc_target)
        order = np.lexsort((codes, place))
        place, code = place[order], codes[order].astype(np.int64)
        while place.size:
            # One arc of every joined pair at a time: (number so far, next arc) is numbered anew.
            first = np.concatenate(([True], place[1:] != place[:-1]))
            keys = (matrix[place[first]] << 32) | (code[first] + 1)
            matrix[place[first]] = 0
            _, number = np.unique(keys, return_inverse=True)
            # Numbers must differ from those of pairs that have no further arc.
            matrix[place[first]] = number + 1 + matrix.max(initial=0)
            place, code = place[~first], code[~first]
        _, compact = np.unique(np.concatenate(([0], matrix)), return_inverse=True)
        return compact[1:].astype(np.int32)


def pointers(counts: npt.ArrayLike) -> Ints:
    """Cumulative counts with a leading zero.

    >>> pointers([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.concatenate(([0], np.cumsum(np.asarray(counts, dtype=np.int64))))


def _joint_numbers(labels: Iterable[tuple[Sequence[Hashable] | None, int]]) -> Colors:
    """A number for each label, equal for equal labels of all graphs; no label is a label as well."""
    known: dict[Hashable, int] = {}
    parts = [
        np.array([known.setdefault(label, len(known)) for label in given], dtype=np.int32)
        if given is not None
        else np.full(size, known.setdefault(None, len(known)), dtype=np.int32)
        for given, size in labels
    ]
    return np.concatenate(parts)


def encode(graphs: Sequence[Graph]) -> Encoded:
    """Flatten ``graphs``; all of them must be directed, or none.

    >>> encode([Graph(2, [(0, 1)], vertex_labels="ab"), Graph(1, vertex_labels="b")]).labels.tolist()
    [0, 1, 1]
    """
    if not graphs:
        raise OsanError("graphs: expected at least one, got none")
    kinds = [graph.directed for graph in graphs]
    if any(kinds) and not all(kinds):
        odd = kinds.index(not kinds[0])
        kind = ("undirected", "directed")
        raise OsanError(
            "graphs: expected all directed or all undirected, got graph 0 "
            f"{kind[kinds[0]]} and graph {odd} {kind[kinds[odd]]}"
        )
    sizes = np.array([graph.num_vertices for graph in graphs], dtype=np.int64)
    vertex_ptr = pointers(sizes)
    edge_ptr = pointers([graph.num_edges for graph in graphs])
    labels = _joint_numbers([(g.vertex_labels, g.num_vertices) for g in graphs])
    arc_ptr, arc_target = _by_vertex(graphs, None, edge_ptr, vertex_ptr)
    return Encoded(
        graphs=tuple(graphs),
        sizes=sizes,
        vertex_ptr=vertex_ptr,
        edge_ptr=edge_ptr,
        labels=labels,
        arc_ptr=arc_ptr,
        arc_target=arc_target,
    )


def _by_vertex(
    graphs: Sequence[Graph], values: Ints | None, edge_ptr: Ints, vertex_ptr: Ints
) -> tuple[Ints, Colors]:
    """Where each vertex's arcs begin, and their other ends or the given values."""
    edges = graphs[0].edges if len(graphs) == 1 else np.concatenate([graph.edges for graph in graphs])
    values = edges if values is None else values
    # Read-only like the edges of a graph; otherwise numba would compile several kernels.
    edges.setflags(write=False)
    values.setflags(write=False)
    parts = threads() if len(edges) > MANY else 1
    return neighbor_kernels.by_vertex(
        edges, values, edge_ptr, vertex_ptr, graphs[0].directed, parts, use=parts
    )
