"""Anything that is a graph, as a :class:`Graph`."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from numbers import Integral
from typing import Any

from osan.errors import OsanError
from osan.graphs.graph import Graph
from osan.graphs.networkx import from_networkx
from osan.graphs.pyg import from_pyg


def as_graph(obj: Any, *, directed: bool | None = None) -> Graph:
    """``obj`` as a :class:`Graph`, with its vertex labels, edge labels and direction.

    Parameters
    ----------
    obj
        A :class:`Graph` (returned as it is), a networkx graph (see
        :func:`~osan.graphs.networkx.from_networkx`) or a PyG ``Data`` (see
        :func:`~osan.graphs.pyg.from_pyg`).
    directed
        For ``Data``, which does not say so itself, whether its arcs are directed; by default they are
        unless each has its reverse. Other graphs know, and must agree.

    Examples
    --------
    >>> import networkx as nx
    >>> as_graph(nx.cycle_graph(4))
    Graph(num_vertices=4, num_edges=4)
    """
    if _is(obj, "torch_geometric.data", "Data"):
        return from_pyg(obj, directed)
    if isinstance(obj, Graph):
        graph = obj
    elif _is(obj, "networkx", "Graph"):
        graph = from_networkx(obj)
    else:
        raise OsanError(
            "expected an osan Graph, a networkx graph or a torch_geometric Data, "
            f"got {type(obj).__module__}.{type(obj).__qualname__}{_hint(obj)}"
        )
    if directed is not None and directed != graph.directed:
        raise OsanError(f"directed={directed}, but {graph!r} is {'un' * directed}directed")
    return graph


def from_edge_list(
    edges: Iterable[tuple[Hashable, ...]],
    num_vertices: int | None = None,
    *,
    directed: bool = False,
    name: str = "",
) -> Graph:
    """The graph with the given edges ``(u, v)`` or ``(u, v, label)`` between vertices of any name.

    Without ``num_vertices`` the vertices are numbered as they appear. With it, and if all names are
    integers, they are the vertices 0, ..., num_vertices - 1 themselves; other names are again numbered as
    they appear, and isolated vertices fill up.

    >>> from_edge_list([("a", "b"), ("b", "c", "double")], 4).edge_labels
    (None, 'double')
    >>> from_edge_list([(3, 1)], 4).edges.tolist()
    [[3, 1]]
    """
    rows = [tuple(edge) for edge in edges]
    for i, row in enumerate(rows):
        if len(row) not in (2, 3):
            raise OsanError(f"edge {i}: expected (u, v) or (u, v, label), got {row!r}")
    names = dict.fromkeys(vertex for row in rows for vertex in row[:2])
    if num_vertices is not None and all(
        isinstance(vertex, Integral) and not isinstance(vertex, bool) for vertex in names
    ):
        position: dict[Any, int] = {vertex: int(vertex) for vertex in names}  # type: ignore[call-overload]
    else:
        position = {vertex: i for i, vertex in enumerate(names)}
    size = len(names) if num_vertices is None else num_vertices
    for i, row in enumerate(rows):
        for vertex in row[:2]:
            if not 0 <= position[vertex] < size:
                raise OsanError(f"edge {i}: vertex {vertex!r} is not among the {size} vertices")
    labeled = any(len(row) == 3 for row in rows)
    return Graph(
        size,
        [(position[row[0]], position[row[1]]) for row in rows],
        directed=directed,
        edge_labels=[row[2] if len(row) == 3 else None for row in rows] if labeled else None,
        name=name,
    )


def _hint(obj: object) -> str:
    """How to make a graph of what people hand over instead."""
    if isinstance(obj, str | bytes):
        return "; osan.graphs.decode_graph6 reads graph6, read_graphs files, from_smiles molecules"
    if isinstance(obj, list | tuple | set):
        return "; osan.graphs.from_edge_list makes a graph of edges"
    if hasattr(obj, "shape"):
        return "; networkx.from_numpy_array or from_scipy_sparse_array makes a graph of a matrix"
    return ""


def _is(obj: object, module: str, cls: str) -> bool:
    """Whether ``obj`` is an instance of a class of a package that need not be imported for the question."""
    found = getattr(sys.modules.get(module), cls, None)
    return found is not None and isinstance(obj, found)
