"""Between :class:`Graph` and networkx."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from osan.errors import OsanError
from osan.graphs.graph import Graph
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
    position = {node: i for i, node in enumerate(graph)}
    vertices = [data for _, data in graph.nodes(data=True)]
    edges = list(graph.edges(data=True))
    return Graph(
        len(position),
        [(position[u], position[v]) for u, v, _ in edges],
        directed=graph.is_directed(),
        vertex_labels=_labels(vertices),
        edge_labels=_labels([data for _, _, data in edges]),
        name=str(graph.name),
    )


def to_networkx(graph: Graph) -> nx.Graph:
    """``graph`` on the nodes 0, ..., n - 1, with labels in the attribute ``label``.

    The result is a ``MultiGraph`` (``MultiDiGraph``) only if there are parallel edges.

    >>> to_networkx(Graph(2, [(0, 1)], edge_labels=["double"])).edges[0, 1]
    {'label': 'double'}
    """
    import networkx as nx

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


def _labels(attributes: list[dict[str, Hashable]]) -> list[Hashable] | None:
    """The ``label`` of each, or ``None`` if nothing has one."""
    if not any("label" in data for data in attributes):
        return None
    return [data.get("label") for data in attributes]
