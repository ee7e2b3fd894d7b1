"""Maximum spanning trees, or forests, of all graphs and channels in one sparse call."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from torch import Tensor


def spanning_forest(weights: Tensor, tie: Tensor, ends: Tensor) -> Tensor:
    """Mark the edges of a maximum spanning forest per channel; self-loops are never part of one.

    Kruskal's algorithm depends on the order of the weights only, so it gets their ranks: distinct integers,
    with ties in random order.

    Parameters
    ----------
    weights, tie
        Shape ``[edges, m]``; equal weights stand in the order of their ``tie``.
    ends
        End vertices of each undirected edge, shape ``[2, edges]``.

    Examples
    --------
    >>> triangle = torch.tensor([[0, 0, 1], [1, 2, 2]])
    >>> spanning_forest(torch.tensor([[0.1], [0.2], [0.3]]), torch.zeros(3, 1), triangle).T
    tensor([[0., 1., 1.]])
    """
    edges, channels = weights.shape
    low, high = np.sort(ends.cpu().numpy(), axis=0)
    # The edges of all channels from the best to the worst, the copies of parallel ones after the best.
    order = np.lexsort((tie.cpu().numpy().ravel(), -weights.cpu().numpy().ravel()))
    edge, channel = np.divmod(order, channels)
    vertices = int(high.max()) + 1
    place = (channel * vertices + low[edge]) * vertices + high[edge]
    _, best = np.unique(place, return_index=True)
    best = best[low[edge[best]] != high[edge[best]]]
    rows = channel[best] * vertices + low[edge[best]]
    columns = channel[best] * vertices + high[edge[best]]
    size = channels * vertices
    graph = coo_array((best + 1.0, (rows, columns)), shape=(size, size)).tocsr()
    chosen = minimum_spanning_tree(graph).data.astype(np.int64) - 1
    forest = np.zeros(edges * channels, dtype=np.float32)
    forest[order[chosen]] = 1
    return torch.from_numpy(forest.reshape(edges, channels)).to(weights)
