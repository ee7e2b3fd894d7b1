"""The k largest weights of every graph and channel, in exact number and with random ties."""

from __future__ import annotations

import torch
from torch import Tensor

from osan.selection.ground import GroundSet


def ranks(weights: Tensor, tie: Tensor, ground: GroundSet) -> Tensor:
    """Rank of each element among those of its graph, per channel: 0 for the largest weight.

    Flat sorts of all graphs and channels at once. The paper counts O(n + k log k) for one graph by selecting
    before sorting; a selection leaves ties to the position in memory and needs padding, and the sorts are a
    negligible part of a training step (``benchmarks/selection_cost.py``), so they stay.

    Parameters
    ----------
    weights, tie
        Shape ``[elements, m]``; equal weights stand in the order of their ``tie``.
    ground
        The graph of each element.

    Examples
    --------
    >>> ground = GroundSet(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0]), torch.tensor([2, 1]))
    >>> ranks(torch.tensor([[0.1], [0.9], [0.5]]), torch.zeros(3, 1), ground).T
    tensor([[1, 0, 0]])
    """
    order = torch.argsort(tie, dim=0)
    order = order.gather(0, torch.argsort(weights.gather(0, order), dim=0, descending=True, stable=True))
    order = order.gather(0, torch.argsort(ground.graph[order], dim=0, stable=True))
    # Elements stand by graph both before and after sorting, so places within a graph are the same.
    return torch.empty_like(order).scatter_(0, order, ground.position.unsqueeze(1).expand_as(order))


def top(rank: Tensor, keep: Tensor, ordered: bool) -> Tensor:
    """Encode the first ``keep`` ranks: 1, or in the ordered case K + 1 - r for the r-th of K.

    Examples
    --------
    >>> top(torch.tensor([[2], [0], [1]]), torch.tensor([2, 2, 2]), ordered=True).T
    tensor([[0, 2, 1]])
    """
    value = (keep.unsqueeze(1) - rank).clamp(min=0)
    return value if ordered else value.clamp(max=1)
