"""Anything that is a graph, as a :class:`Graph`."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from osan.errors import OsanError
from osan.graphs.graph import Graph
from osan.graphs.networkx import from_networkx
from osan.graphs.pyg import from_pyg

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

# What functions that take a graph accept.
GraphLike: TypeAlias = Union[Graph, "nx.Graph", "Data"]


def as_graph(obj: GraphLike, *, directed: bool | None = None) -> Graph:
    """Convert ``obj`` to a :class:`Graph`, with its vertex labels, edge labels and direction.

    Parameters
    ----------
    obj
        A :class:`Graph` (returned as it is), a networkx graph (see
        :func:`~osan.graphs.networkx.from_networkx`) or a PyG ``Data`` (see
        :func:`~osan.graphs.pyg.from_pyg`).
    directed
        Whether the arcs of a ``Data`` are directed; by default they are unless each has its reverse. Other
        graphs know whether they are directed, and must agree.

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
            "graph: expected an osan Graph, a networkx graph or a torch_geometric Data, "
            f"got {type(obj).__module__}.{type(obj).__qualname__}{_hint(obj)}"
        )
    if directed is not None and directed != graph.directed:
        kind = "a directed" if directed else "an undirected"
        raise OsanError(f"graph: expected {kind} graph, got {graph!r}")
    return graph


def from_edge_list(
    edges: Iterable[tuple[Hashable, ...]],
    num_vertices: int | None = None,
    *,
    directed: bool = False,
    name: str = "",
) -> Graph:
    """The graph with the given edges ``(u, v)`` or ``(u, v, label)`` between vertices of any name.

    Without ``num_vertices``, vertices are numbered in order of appearance. With it, integer names are the
    numbers 0, ..., num_vertices - 1 themselves. Other names are numbered in order of appearance, and isolated
    vertices are added at the end.

    >>> from_edge_list([("a", "b"), ("b", "c", "double")], 4).edge_labels
    (None, 'double')
    >>> from_edge_list([(3, 1)], 4).edges.tolist()
    [[3, 1]]
    """
    try:
        rows = [tuple(edge) for edge in edges]
    except TypeError:
        raise OsanError("edges: expected pairs (u, v), got something that is none") from None
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
                raise OsanError(f"edge {i}: expected one of the {size} vertices, got {vertex!r}")
    labeled = any(len(row) == 3 for row in rows)
    return Graph(
        size,
        [(position[row[0]], position[row[1]]) for row in rows],
        directed=directed,
        edge_labels=[row[2] if len(row) == 3 else None for row in rows] if labeled else None,
        name=name,
    )


def _hint(obj: object) -> str:
    """How to make a graph from what was given instead."""
    if isinstance(obj, str | bytes):
        return "; use osan.graphs.decode_graph6 for graph6, read_graphs for files, from_smiles for molecules"
    if isinstance(obj, list | tuple | set):
        return "; use osan.graphs.from_edge_list for edges"
    if hasattr(obj, "shape"):
        return "; use networkx.from_numpy_array or from_scipy_sparse_array for a matrix"
    return ""


def _is(obj: object, module: str, cls: str) -> bool:
    """Whether ``obj`` is an instance of ``module.cls``; the module is not imported for this."""
    found = getattr(sys.modules.get(module), cls, None)
    return found is not None and isinstance(obj, found)
