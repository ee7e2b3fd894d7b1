"""The plain graph that every other part of osan converts to."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from osan.arguments import integer
from osan.errors import OsanError

IntArray = npt.NDArray[np.int64]


class Graph:
    """A finite graph on the vertices 0, ..., n - 1 (paper, section "Preliminaries").

    Self-loops and parallel edges are allowed; each undirected edge is listed once.

    Parameters
    ----------
    num_vertices
        The number n of vertices.
    edges
        Pairs of vertices, kept as a read-only integer array of shape ``(m, 2)``. In a directed graph, a row
        ``(u, v)`` is the arc u -> v.
    directed
        Whether the rows of ``edges`` are arcs.
    vertex_labels, edge_labels
        A label per vertex, and per row of ``edges``, kept as a tuple; ``None`` if the graph has none. A label
        is hashable and equal to itself (NaN is not). Tensors become Python numbers.
    name
        Shown in messages and tables; it plays no part in any computation.

    Examples
    --------
    >>> path = Graph(3, [(0, 1), (1, 2)], vertex_labels="aba")
    >>> path.num_vertices, path.num_edges, path.vertex_labels
    (3, 2, ('a', 'b', 'a'))
    """

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
        self.num_vertices: Final[int] = _checked_size(num_vertices, where)
        self.edges: Final[IntArray] = _checked_edges(edges, self.num_vertices, where)
        self.directed: Final[bool] = bool(directed)
        self.vertex_labels: Final = checked_labels(
            vertex_labels, self.num_vertices, f"{where}: vertex labels"
        )
        self.edge_labels: Final = checked_labels(edge_labels, len(self.edges), f"{where}: edge labels")
        self.name: Final[str] = name

    @property
    def num_edges(self) -> int:
        """The number of edges (of arcs, if directed), counting parallel ones."""
        return len(self.edges)

    def without_labels(self) -> Graph:
        """The same graph without vertex and edge labels."""
        return Graph(self.num_vertices, self.edges, directed=self.directed, name=self.name)

    def permuted(self, order: Sequence[int] | IntArray) -> Graph:
        """The isomorphic graph in which vertex v is called ``order[v]``.

        >>> Graph(3, [(0, 1)], vertex_labels="abc").permuted([2, 0, 1]).vertex_labels
        ('b', 'c', 'a')
        """
        try:
            perm = np.asarray(order)
        except ValueError:  # rows of different lengths
            perm = np.empty(())
        if (
            perm.shape != (self.num_vertices,)
            or (perm.size and not np.issubdtype(perm.dtype, np.integer))
            or (np.sort(perm) != np.arange(self.num_vertices)).any()
        ):
            raise OsanError(f"order: expected a permutation of 0 to {self.num_vertices - 1}, got {order!r}")
        perm = perm.astype(np.int64)
        labels = self.vertex_labels
        if labels is not None:
            labels = tuple(labels[i] for i in np.argsort(perm))
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
        if self.directed:
            parts.append("directed")
        if self.vertex_labels is not None:
            parts.append("vertex labels")
        if self.edge_labels is not None:
            parts.append("edge labels")
        return f"Graph({', '.join(parts)})"


def require_graph(value: object) -> None:
    """Raise unless a value is a :class:`Graph`."""
    if not isinstance(value, Graph):
        raise OsanError(
            f"graph: expected an osan Graph, got {type(value).__name__}; see osan.graphs.as_graph"
        )


def _checked_size(num_vertices: Any, where: str) -> int:
    # Vertices are numbered in 32 bits where many are stored.
    return integer(num_vertices, f"{where}: num_vertices", least=0, most=2**31 - 1)


def _checked_edges(edges: Iterable[Any] | npt.ArrayLike, num_vertices: int, where: str) -> IntArray:
    """A read-only copy of the edges."""
    try:
        array = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise OsanError(f"{where}: edges: expected shape (m, 2), got {type(edges).__name__}") from None
    array = array.reshape(-1, 2) if array.size == 0 else array
    if array.ndim != 2 or array.shape[1] != 2:
        raise OsanError(f"{where}: edges: expected shape (m, 2), got {array.shape}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise OsanError(f"{where}: edges: expected integers, got {array.dtype}")
    array = array.astype(np.int64)
    bad = np.flatnonzero(((array < 0) | (array >= num_vertices)).any(axis=1))
    if bad.size:
        u, v = array[bad[0]]
        raise OsanError(
            f"{where}: edge {bad[0]}: expected vertices from 0 to {num_vertices - 1}, got {u} and {v}"
        )
    array.setflags(write=False)
    return array


def checked_labels(labels: Any, size: int, where: str) -> tuple[Hashable, ...] | None:
    """Labels as a tuple of ``size`` hashable values that equal themselves; tensors become numbers.

    >>> checked_labels("ab", 2, "labels")
    ('a', 'b')
    >>> checked_labels([float("nan")], 1, "labels")
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: labels: expected values that equal themselves, got nan (entry 0)
    """
    if labels is None:
        return None
    labels = _without_tensors(labels)
    if isinstance(labels, dict | set | frozenset) or not hasattr(labels, "__len__"):
        raise OsanError(f"{where}: expected a sequence of {size} labels, got {type(labels).__name__}")
    if len(labels) != size:
        raise OsanError(f"{where}: expected {size}, got {len(labels)}")
    plain = tuple(labels)
    try:
        distinct = set(plain)
        if any(isinstance(label, tuple) or _is_tensor(label) for label in distinct):
            plain = tuple(map(_without_tensors, plain))
            distinct = set(plain)
    except TypeError as error:
        raise OsanError(f"{where}: expected hashable labels ({error}); use tuples, for example") from None
    bad = next((label for label in distinct if _unequal(label)), None)
    if bad is not None:
        entry = next(i for i, label in enumerate(plain) if label is bad)
        raise OsanError(f"{where}: expected values that equal themselves, got {bad!r} (entry {entry})")
    return plain


def _is_tensor(value: object) -> bool:
    """Whether a value is a torch tensor, which equals only itself. Asking does not import torch."""
    return hasattr(value, "tolist") and hasattr(value, "detach")


def _without_tensors(value: Any) -> Any:
    """A value with its tensors as numbers, or as tuples of numbers."""
    if _is_tensor(value):
        value = value.tolist()
        return _tuples(value) if isinstance(value, list) else value
    return tuple(map(_without_tensors, value)) if type(value) is tuple else value


def _tuples(rows: list[Any]) -> tuple[Any, ...]:
    return tuple(_tuples(row) if isinstance(row, list) else row for row in rows)


def _unequal(label: Any) -> bool:
    """Whether a label, or a part of a tuple, differs from itself, as NaN does."""
    if isinstance(label, tuple):
        return any(map(_unequal, label))
    return bool(label != label)
