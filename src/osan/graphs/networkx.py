"""Between :class:`Graph` and networkx."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from io import BytesIO
from itertools import chain, compress
from typing import TYPE_CHECKING, Any

import numpy as np

from osan.errors import OsanError
from osan.graphs.graph import Graph, IntArray, require_graph
from osan.memory import require_free

if TYPE_CHECKING:
    import networkx as nx

# What a vertex, or an end of an edge, takes in the dictionaries of networkx, measured.
_BYTES_PER_VERTEX = 250


def from_networkx(graph: nx.Graph) -> Graph:
    """Convert a networkx graph: ``Graph``, ``DiGraph``, ``MultiGraph`` or ``MultiDiGraph``.

    Vertex i is the i-th node. The attribute ``label`` of nodes and edges is kept; it is ``None`` where only
    some have it. Node names and other attributes are not labels.

    >>> import networkx as nx
    >>> path = nx.path_graph(["x", "y", "z"])
    >>> path.nodes["y"]["label"] = 7
    >>> from_networkx(path).vertex_labels
    (None, 7, None)
    """
    if not hasattr(graph, "is_multigraph"):
        raise OsanError(f"graph: expected a networkx graph, got {type(graph).__name__}")
    position = {node: i for i, node in enumerate(graph)}
    edges, attributes = (_listed if graph.is_multigraph() else _adjacent)(graph, position)
    return Graph(
        len(position),
        edges,
        directed=graph.is_directed(),
        vertex_labels=_labels(lambda: (data for _, data in graph.nodes(data=True))),
        edge_labels=_labels(attributes),
        name=str(graph.name),
    )


# Gives the attributes of all vertices or edges, one after the other, whenever it is called.
Attributes = Callable[[], Iterator[dict[str, Hashable]]]


def _listed(graph: nx.Graph, position: dict[Hashable, int]) -> tuple[IntArray, Attributes]:
    """The edges and their attributes, one by one."""
    ends = chain.from_iterable((position[u], position[v]) for u, v in graph.edges())
    flat = np.fromiter(ends, np.int64, 2 * graph.number_of_edges())
    return flat.reshape(-1, 2), lambda: (data for _, _, data in graph.edges(data=True))


def _adjacent(graph: nx.Graph, position: dict[Hashable, int]) -> tuple[IntArray, Attributes]:
    """The same, from the dictionaries of neighbors as they are: several times as fast."""
    if not all(node is other for (node, _), other in zip(graph.adjacency(), position, strict=True)):
        return _listed(graph, position)  # an order of nodes of its own, as a view may have
    rows = [row for _, row in graph.adjacency()]
    degrees = np.fromiter(map(len, rows), np.int64, len(rows))
    ends: Iterator[Any] = chain.from_iterable(rows)
    if not all(type(node) is int and node == i for i, node in enumerate(position)):
        ends = map(position.__getitem__, ends)
    heads = np.fromiter(ends, np.int64, int(degrees.sum()))
    tails = np.repeat(np.arange(len(rows)), degrees)
    if graph.is_directed():
        return np.stack((tails, heads), axis=1), lambda: chain.from_iterable(row.values() for row in rows)
    # An edge is listed at both ends, and counts at the one that comes first.
    first = heads >= tails
    return np.stack((tails[first], heads[first]), axis=1), lambda: compress(
        chain.from_iterable(row.values() for row in rows), first.tolist()
    )


def to_networkx(graph: Graph) -> nx.Graph:
    """``graph`` on the nodes 0, ..., n - 1, with labels in the attribute ``label``.

    The result is a ``MultiGraph`` (``MultiDiGraph``) only if there are parallel edges.

    >>> to_networkx(Graph(2, [(0, 1)], edge_labels=["double"])).edges[0, 1]
    {'label': 'double'}
    """
    import networkx as nx

    require_graph(graph)
    require_free(
        _BYTES_PER_VERTEX * (graph.num_vertices + 2 * graph.num_edges),
        f"{graph!r} as a networkx graph",
        "use the osan Graph",
    )
    pairs = [tuple(pair) for pair in graph.edges.tolist()]
    distinct = set(pairs) if graph.directed else {tuple(sorted(pair)) for pair in pairs}
    parallel = len(distinct) < len(pairs)
    kinds = {
        (False, False): nx.Graph,
        (True, False): nx.DiGraph,
        (False, True): nx.MultiGraph,
        (True, True): nx.MultiDiGraph,
    }
    named = {"name": graph.name} if graph.name else {}
    result = kinds[graph.directed, parallel](**named)
    result.add_nodes_from(range(graph.num_vertices))
    if graph.vertex_labels is not None:
        for vertex, label in enumerate(graph.vertex_labels):
            result.nodes[vertex]["label"] = label
    if graph.edge_labels is None:
        result.add_edges_from(pairs)
    else:
        for (u, v), label in zip(pairs, graph.edge_labels, strict=True):
            result.add_edge(u, v, label=label)
    return result


def parse_gml(content: bytes, source: str) -> Graph:
    """Parse a graph in GML, where vertices have an ``id`` and may have a name, called ``label``."""
    import networkx as nx

    # By id, not by name: names may be missing or equal, which networkx rejects.
    graph = _parse(partial(nx.read_gml, label="id"), content, source, "GML")
    for _, data in graph.nodes(data=True):
        data.pop("label", None)
    return from_networkx(graph)


def parse_graphml(content: bytes, source: str) -> Graph:
    """Parse the first graph of a GraphML file."""
    import networkx as nx

    return from_networkx(_parse(nx.read_graphml, content, source, "GraphML"))


def _parse(read: Callable[[BytesIO], nx.Graph], content: bytes, source: str, kind: str) -> nx.Graph:
    try:
        return read(BytesIO(content))
    # The parsers of networkx raise many errors: ValueError, KeyError, IndexError, ParseError, ...
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise OsanError(f"{source}: expected {kind} that networkx reads, got an error ({reason})") from error


def _labels(attributes: Attributes) -> list[Hashable] | None:
    """The ``label`` of each, or ``None`` if nothing has one."""
    if not any("label" in data for data in filter(None, attributes())):
        return None
    return [data.get("label") for data in attributes()]
