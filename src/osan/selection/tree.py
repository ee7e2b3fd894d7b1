"""Maximum spanning trees, or forests, of all graphs and channels in one sparse call."""

from __future__ import annotations

import torch
from torch import Tensor

from osan.bags import maximum_spanning_forest


def spanning_forest(weights: Tensor, tie: Tensor, ends: Tensor, num_vertices: int) -> Tensor:
    """Mark the edges of a maximum spanning forest per channel; self-loops are never part of one.

    Every channel has a copy of the vertices of its own, so that one call serves all; edges are handed over in
    random order, since the first one of equal weight is preferred.

    Parameters
    ----------
    weights, tie
        Shape ``[edges, m]``; equal weights stand in the order of their ``tie``.
    ends
        End vertices of each undirected edge, shape ``[2, edges]``.
    num_vertices
        Number of vertices of the batch.

    Examples
    --------
    >>> triangle = torch.tensor([[0, 0, 1], [1, 2, 2]])
    >>> spanning_forest(torch.tensor([[0.1], [0.2], [0.3]]), torch.zeros(3, 1), triangle, 3).T
    tensor([[0., 1., 1.]])
    """
    channels = weights.size(1)
    order = torch.argsort(tie.flatten())
    edge, channel = order // channels, order % channels
    source, target = ends[:, edge] + channel * num_vertices
    chosen = maximum_spanning_forest(source, target, weights.flatten()[order], num_vertices * channels)
    forest = torch.zeros(weights.numel(), dtype=weights.dtype, device=weights.device)
    return forest.scatter(0, order, chosen.to(weights.dtype)).view_as(weights)
