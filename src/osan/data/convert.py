"""Convert graphs of :mod:`osan.graphs` to flat storage."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import torch
from torch import Tensor

from osan.data.flat import FlatDataset, pointers
from osan.errors import OsanError
from osan.graphs import Graph


def from_graphs(graphs: Sequence[Graph], y: Tensor, labels: Sequence[Hashable] | None = None) -> FlatDataset:
    """Flat storage of undirected graphs: two arcs for every edge, one for a self-loop.

    Parameters
    ----------
    graphs
        Graphs without edge labels.
    y
        One row per graph.
    labels
        The vertex labels in the order of their codes; by default integers from 0. Unlabeled vertices get 0.

    Examples
    --------
    >>> flat = from_graphs([Graph(2, [(0, 1)], vertex_labels="ba")], torch.zeros(1), labels="ab")
    >>> flat.tensors["x"].tolist(), flat.tensors["edge_index"].tolist()
    ([[1], [0]], [[0, 1], [1, 0]])
    """
    if len(graphs) != len(y):
        raise OsanError(f"y: expected {len(graphs)} rows, one per graph, got {len(y)}")
    code = None if labels is None else {label: i for i, label in enumerate(labels)}
    columns, arcs = [], []
    for i, graph in enumerate(graphs):
        if graph.directed or graph.edge_labels is not None:
            what = "a directed graph" if graph.directed else "edge labels"
            raise OsanError(f"graph {i}: expected an undirected graph without edge labels, got {what}")
        values = graph.vertex_labels or (0,) * graph.num_vertices
        try:
            columns.append(np.array([code[v] for v in values] if code else values, dtype=np.int64))
        except (KeyError, TypeError, ValueError) as error:
            raise OsanError(f"graph {i}: unexpected vertex label {error}") from error
        proper = graph.edges[graph.edges[:, 0] != graph.edges[:, 1]]
        both = np.concatenate([graph.edges, proper[:, ::-1]])
        # Sorted by the first end, then the second, as PyG leaves it.
        arcs.append(both[np.lexsort((both[:, 1], both[:, 0]))])
    return FlatDataset(
        {
            "x": torch.from_numpy(np.concatenate(columns)).reshape(-1, 1),
            "edge_index": torch.from_numpy(np.concatenate(arcs)).t().contiguous(),
            "y": y,
        },
        pointers(torch.tensor([g.num_vertices for g in graphs])),
        pointers(torch.tensor([len(a) for a in arcs])),
    )
