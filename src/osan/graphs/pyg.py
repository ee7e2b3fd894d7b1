"""Between :class:`Graph` and PyTorch Geometric's ``Data``."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from osan.errors import OsanError
from osan.graphs.arcs import arc_without_reverse
from osan.graphs.graph import Graph, IntArray, require_graph

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

Labels = tuple[Hashable, ...]


def from_pyg(data: Data, directed: bool | None = None) -> Graph:
    """Convert a PyG ``Data``.

    A vertex label is a row of ``x``: a number if there is one column, else a tuple. An edge label is a row of
    ``edge_attr`` in the same way. If every arc has its reverse with the same ``edge_attr``, the graph is
    undirected: two such arcs become one edge, and each arc from v to v one self-loop. Otherwise it is
    directed.

    Parameters
    ----------
    data
        With ``edge_index`` of shape ``(2, m)``; ``x`` and ``edge_attr`` may be absent.
    directed
        ``True`` keeps the arcs of a symmetric ``edge_index``; ``False`` insists on symmetry.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> data = Data(x=torch.tensor([[6], [8]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> from_pyg(data), from_pyg(data).vertex_labels
    (Graph(num_vertices=2, num_edges=1, vertex labels), (6, 8))
    """
    if not hasattr(data, "edge_index"):
        raise OsanError(f"graph: expected a torch_geometric Data, got {type(data).__name__}")
    arcs = _arcs(data)
    vertices = data.num_nodes
    if vertices is None:
        raise OsanError("PyG Data: expected x or num_nodes, got neither")
    x = _rows(data, "x", vertices, "vertices")
    attributes = _rows(data, "edge_attr", len(arcs), "arcs")
    codes = None if attributes is None else np.unique(attributes, axis=0, return_inverse=True)[1].reshape(-1)
    lonely = None if directed else arc_without_reverse(arcs, codes)
    if directed is False and lonely is not None:
        u, v = arcs[lonely]
        raise OsanError(
            "PyG Data: expected the reverse of every arc with the same edge_attr (directed=False), got none "
            f"for {u} -> {v} (column {lonely} of edge_index); torch_geometric.transforms.ToUndirected() adds "
            "them"
        )
    undirected = not directed and lonely is None
    keep = arcs[:, 0] <= arcs[:, 1] if undirected else np.ones(len(arcs), dtype=bool)
    return Graph(
        vertices,
        arcs[keep],
        directed=not undirected,
        vertex_labels=_named(_labels(x), data, "vertex_label_names"),
        edge_labels=_named(
            _labels(None if attributes is None else attributes[keep]), data, "edge_label_names"
        ),
    )


def to_pyg(graph: Graph) -> Data:
    """Convert to PyG ``Data``: labels in ``x`` and ``edge_attr``, both arcs of each undirected edge.

    Labels that are integers, or tuples of at least two integers and all of one length, are stored as they
    are (int64); floats and tuples of floats as well (float64). Other labels are stored as their position
    among the graph's labels in order of appearance, which are kept in ``vertex_label_names`` and
    ``edge_label_names``; :func:`from_pyg` reads them back. Such codes differ from graph to graph: map
    labels to integers yourself before you batch graphs.

    ``Data`` cannot express that a graph which has the reverse of every arc is directed; pass
    ``directed=True`` when you convert it back.

    >>> data = to_pyg(Graph(3, [(0, 1), (1, 2)], vertex_labels="CCO"))
    >>> data.x.tolist(), data.vertex_label_names, data.edge_index.tolist()
    ([[0], [0], [1]], ('C', 'O'), [[0, 1, 1, 2], [1, 2, 0, 1]])
    """
    require_graph(graph)
    import torch
    from torch_geometric.data import Data

    tail, head = graph.edges.T
    rows = np.arange(graph.num_edges)
    if not graph.directed:
        proper = np.flatnonzero(tail != head)
        tail, head = np.concatenate([tail, head[proper]]), np.concatenate([head, tail[proper]])
        rows = np.concatenate([rows, proper])
    data = Data(edge_index=torch.from_numpy(np.stack([tail, head])), num_nodes=graph.num_vertices)
    if graph.vertex_labels is not None:
        values, names = _encode(graph.vertex_labels)
        data.x = torch.from_numpy(values)
        if names is not None:
            data.vertex_label_names = names
    if graph.edge_labels is not None:
        values, names = _encode(graph.edge_labels)
        data.edge_attr = torch.from_numpy(values[rows])
        if names is not None:
            data.edge_label_names = names
    return data


def _arcs(data: Data) -> IntArray:
    """``edge_index`` as an array of shape ``(m, 2)``."""
    edge_index = data.edge_index
    if edge_index is None:
        raise OsanError("PyG Data: attribute edge_index: expected shape (2, m), got None")
    array = _numpy(edge_index, "edge_index")
    if array.ndim != 2 or len(array) != 2:
        raise OsanError(f"PyG Data: attribute edge_index: expected shape (2, m), got {array.shape}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise OsanError(f"PyG Data: attribute edge_index: expected integers, got {array.dtype}")
    return array.T.astype(np.int64)


def _rows(data: Data, attribute: str, count: int, what: str) -> npt.NDArray[Any] | None:
    """A feature matrix with one row per vertex or arc; ``None`` if absent or without columns."""
    tensor = data.get(attribute)
    if tensor is None:
        return None
    array = _numpy(tensor, attribute)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != count:
        raise OsanError(
            f"PyG Data: attribute {attribute}: expected one row for each of the {count} {what}, "
            f"got shape {tuple(tensor.shape)}"
        )
    if np.isnan(array).any():
        raise OsanError(f"PyG Data: attribute {attribute}: expected values that equal themselves, got NaN")
    return array if array.shape[1] else None


def _numpy(tensor: Tensor, attribute: str) -> npt.NDArray[Any]:
    if not hasattr(tensor, "detach") or tensor.layout != sys.modules["torch"].strided:
        raise OsanError(
            f"PyG Data: attribute {attribute}: expected a dense tensor, got {type(tensor).__name__}"
        )
    tensor = tensor.detach().cpu()
    # numpy lacks some half-precision types of torch; float64 holds each of their values.
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def _labels(rows: npt.NDArray[Any] | None) -> Labels | None:
    if rows is None:
        return None
    values = rows.tolist()
    return tuple(row[0] for row in values) if rows.shape[1] == 1 else tuple(map(tuple, values))


def _named(labels: Labels | None, data: Data, attribute: str) -> Labels | None:
    """Undo the coding of :func:`to_pyg`."""
    names = data.get(attribute)
    if labels is None or names is None:
        return labels
    if not all(isinstance(code, int) and 0 <= code < len(names) for code in labels):
        raise OsanError(
            f"PyG Data: attribute {attribute}: expected features in one column of integers from 0 to "
            f"{len(names) - 1}, got others; delete {attribute}"
        )
    return tuple(names[code] for code in labels)


def _encode(labels: Sequence[Hashable]) -> tuple[npt.NDArray[Any], Labels | None]:
    """One row of numbers per label, and the label of each code if they had to be coded."""
    rows = [label if isinstance(label, tuple) and len(label) > 1 else (label,) for label in labels]
    entries = [entry.item() if isinstance(entry, np.generic) else entry for row in rows for entry in row]
    if labels and len({len(row) for row in rows}) == 1:
        if all(type(entry) is int and -(1 << 63) <= entry < 1 << 63 for entry in entries):
            return np.array(rows, dtype=np.int64), None
        if all(type(entry) is float and entry == entry for entry in entries):
            return np.array(rows, dtype=np.float64), None
    codes: dict[Hashable, int] = {}
    values = [codes.setdefault(label, len(codes)) for label in labels]
    return np.array(values, dtype=np.int64).reshape(-1, 1), tuple(codes)
