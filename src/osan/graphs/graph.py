"""The plain graph that every other part of osan converts to."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import index

import numpy as np
import numpy.typing as npt

from osan.errors import OsanError

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Graph:
    """A finite graph on the vertices 0, ..., n - 1 (paper, section "Preliminaries").

    Self-loops and parallel edges are allowed; each undirected edge is listed once.

    Parameters
    ----------
    num_vertices
        The number n of vertices.
    edges
        Integer array of shape ``(m, 2)``; for directed graphs a row ``(u, v)`` is the arc u -> v.
    directed
        Whether the rows of ``edges`` are arcs.
    vertex_labels, edge_labels
        Any hashable per vertex, and per row of ``edges``; ``None`` where the graph has none.
    name
        Shown in messages and tables; it plays no part in any computation.

    Examples
    --------
    >>> path = Graph(3, [(0, 1), (1, 2)], vertex_labels="aba")
    >>> path.num_vertices, path.num_edges, path.vertex_labels
    (3, 2, ('a', 'b', 'a'))
    """

    num_vertices: int
    edges: IntArray
    directed: bool
    vertex_labels: tuple[Hashable, ...] | None
    edge_labels: tuple[Hashable, ...] | None
    name: str

    def __init__(
        self,
        num_vertices: int,
        edges: Iterable[tuple[int, int]] | npt.ArrayLike = (),
        *,
        directed: bool = False,
        vertex_labels: Sequence[Hashable] | None = None,
        edge_labels: Sequence[Hashable] | None = None,
        name: str = "",
    ) -> None:
        where = f"graph {name!r}" if name else "graph"
        try:
            num_vertices = index(num_vertices)
        except TypeError:
            raise OsanError(
                f"{where}: the number of vertices must be an integer, got {num_vertices!r}"
            ) from None
        try:
            array = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise OsanError(f"{where}: edges must have shape (m, 2), got {type(edges).__name__}") from None
        array = array.reshape(-1, 2) if array.size == 0 else array
        if num_vertices < 0:
            raise OsanError(f"{where}: the number of vertices is {num_vertices}; it must be at least 0")
        if array.ndim != 2 or array.shape[1] != 2:
            raise OsanError(f"{where}: edges must have shape (m, 2), got {array.shape}")
        if array.size and not np.issubdtype(array.dtype, np.integer):
            raise OsanError(f"{where}: edges must hold integers, got {array.dtype}")
        array = array.astype(np.int64)
        bad = np.flatnonzero(((array < 0) | (array >= num_vertices)).any(axis=1))
        if bad.size:
            u, v = array[bad[0]]
            raise OsanError(
                f"{where}: edge {bad[0]} joins {u} and {v}, but the vertices are 0 to {num_vertices - 1}"
            )
        for what, labels, size in (
            ("vertex", vertex_labels, num_vertices),
            ("edge", edge_labels, len(array)),
        ):
            if labels is not None and len(labels) != size:
                raise OsanError(f"{where}: {len(labels)} {what} labels for {size} {what} entries")
            try:
                set(() if labels is None else labels)
            except TypeError as error:
                raise OsanError(f"{where}: every {what} label must be hashable ({error})") from None
        array.setflags(write=False)
        object.__setattr__(self, "num_vertices", num_vertices)
        object.__setattr__(self, "edges", array)
        object.__setattr__(self, "directed", bool(directed))
        object.__setattr__(self, "vertex_labels", None if vertex_labels is None else tuple(vertex_labels))
        object.__setattr__(self, "edge_labels", None if edge_labels is None else tuple(edge_labels))
        object.__setattr__(self, "name", name)

    @property
    def num_edges(self) -> int:
        """The number of edges (of arcs, if directed), parallel ones counted."""
        return len(self.edges)

    def without_labels(self) -> Graph:
        """The same graph with neither vertex nor edge labels."""
        return Graph(self.num_vertices, self.edges, directed=self.directed, name=self.name)

    def permuted(self, order: Sequence[int] | IntArray) -> Graph:
        """The isomorphic graph in which vertex v is called ``order[v]``.

        >>> Graph(3, [(0, 1)], vertex_labels="abc").permuted([2, 0, 1]).vertex_labels
        ('b', 'c', 'a')
        """
        perm = np.asarray(order, dtype=np.int64)
        if perm.shape != (self.num_vertices,) or (np.sort(perm) != np.arange(self.num_vertices)).any():
            raise OsanError(f"not a permutation of 0 to {self.num_vertices - 1}: {list(order)}")
        labels = self.vertex_labels
        if labels is not None:
            back = np.argsort(perm)
            labels = tuple(labels[i] for i in back)
        return Graph(
            self.num_vertices,
            perm[self.edges],
            directed=self.directed,
            vertex_labels=labels,
            edge_labels=self.edge_labels,
            name=self.name,
        )

    def __repr__(self) -> str:
        parts = [f"{self.name!r}"] if self.name else []
        parts += [f"num_vertices={self.num_vertices}", f"num_edges={self.num_edges}"]
        parts += ["directed"] * self.directed
        parts += ["vertex labels"] * (self.vertex_labels is not None)
        parts += ["edge labels"] * (self.edge_labels is not None)
        return f"Graph({', '.join(parts)})"
