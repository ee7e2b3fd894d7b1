"""Undirected edges, of which PyG stores both directions."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from torch import Tensor

from osan.errors import OsanError


def undirected_edges(edge_index: Tensor, edge_attr: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Pair the two directions of each edge.

    The i-th column (u, v) is paired with the i-th column (v, u), so parallel edges stay separate. A
    self-loop, or an edge without its reverse, is an undirected edge of one column. Among parallel edges,
    those with equal attributes are paired, so the pairs do not depend on the order of the columns.

    Parameters
    ----------
    edge_index
        Shape ``[2, columns]``.
    edge_attr
        Shape ``[columns, ...]``; used for parallel edges only.

    Returns
    -------
    tuple
        For each column its undirected edge, shape ``[columns]``, and for each undirected edge its two
        columns, shape ``[edges, 2]`` (the same column twice if it has only one). Edges are sorted by their
        smaller end.

    Examples
    --------
    >>> undirected_edges(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    (tensor([0, 0, 1, 1]), tensor([[0, 1],
            [2, 3]]))
    """
    count = edge_index.size(1)
    if count == 0:
        return edge_index.new_empty(0), edge_index.new_empty((0, 2))
    low, high = edge_index.min(dim=0).values, edge_index.max(dim=0).values
    direction = (edge_index[0] > edge_index[1]).long()
    # Vertex indices have at most 31 bits. Only shapes depend on values: nothing is read back from the device.
    pair = torch.unique(low * 2**31 + high, return_inverse=True)[1]
    occurrence = _occurrence(pair * 2 + direction)
    if edge_attr is not None and occurrence.nonzero().numel():
        kind = torch.unique(edge_attr.reshape(count, -1), dim=0, return_inverse=True)[1]
        several = torch.zeros_like(pair).index_put((pair[occurrence > 0],), occurrence.new_ones(()))
        kind = torch.where(several[pair] > 0, kind, 0)
        pair = torch.unique(pair * count + kind, return_inverse=True)[1]
        occurrence = _occurrence(pair * 2 + direction)
    names, edge = torch.unique(pair * count + occurrence, return_inverse=True)
    places = torch.arange(count, device=edge.device)
    columns = edge.new_full((names.numel(), 2), -1)
    columns[edge[direction == 1], 1] = places[direction == 1]
    columns[edge[direction == 0], 0] = places[direction == 0]
    return edge, torch.where(columns < 0, columns.flip(1), columns)


def _occurrence(key: Tensor) -> Tensor:
    """The number of equal keys before each key."""
    order = torch.argsort(key, stable=True)
    ordered = key[order]
    new = torch.cat((ordered.new_ones(1, dtype=torch.bool), ordered[1:] != ordered[:-1]))
    places = torch.arange(key.numel(), device=key.device)
    occurrence = torch.empty_like(key)
    occurrence[order] = places - torch.where(new, places, 0).cummax(0).values
    return occurrence


def maximum_spanning_forest(source: Tensor, target: Tensor, weights: Tensor, num_vertices: int) -> Tensor:
    """Find a maximum spanning tree of every connected component.

    Parameters
    ----------
    source, target
        The ends of the undirected edges, each edge once; shape ``[edges]``. Self-loops are never chosen, and
        at most one of several parallel edges is.
    weights
        Shape ``[edges]``; ties go to the earlier edge.
    num_vertices
        The number of vertices.

    Returns
    -------
    Tensor
        Whether each edge is chosen; boolean, shape ``[edges]``.

    Examples
    --------
    >>> triangle = torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0])
    >>> maximum_spanning_forest(*triangle, torch.tensor([0.3, 0.1, 0.2]), 3)
    tensor([ True, False,  True])
    """
    if not source.shape == target.shape == weights.shape:
        raise OsanError(
            "source, target and weights: expected one shape [edges], "
            f"got {list(source.shape)}, {list(target.shape)} and {list(weights.shape)}"
        )
    order = torch.argsort(weights.detach(), descending=True, stable=True).cpu().numpy()
    low = torch.minimum(source, target).cpu().numpy()[order]
    high = torch.maximum(source, target).cpu().numpy()[order]
    # np.unique returns the first, hence heaviest, parallel edge; places count from 1, as 0 means no edge.
    place = np.unique(low * num_vertices + high, return_index=True)[1]
    place = place[low[place] != high[place]]
    # SciPy before 1.15 takes 32-bit indices only.
    ends = (low[place].astype(np.int32), high[place].astype(np.int32))
    matrix = csr_array((place + 1, ends), shape=(num_vertices, num_vertices))
    tree = minimum_spanning_tree(matrix).data.astype(np.int64) - 1
    chosen = torch.zeros(source.numel(), dtype=torch.bool)
    chosen[torch.from_numpy(order[tree])] = True
    return chosen.to(source.device)
