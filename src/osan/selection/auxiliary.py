"""Auxiliary losses for diversity: functions of a choice, whose gradient goes through the estimator too."""

from __future__ import annotations

import torch
from torch import Tensor

from osan.selection.ground import GroundSet


def membership(choice: Tensor) -> Tensor:
    """1 where a choice is non-zero; gradients pass unchanged, as for being part of the subgraph.

    Examples
    --------
    >>> membership(torch.tensor([[2.0], [0.0], [1.0]])).T
    tensor([[1., 0., 1.]])
    """
    return choice + ((choice != 0).to(choice.dtype) - choice).detach()


def cosine_similarity(choice: Tensor, ground: GroundSet) -> Tensor:
    """Mean cosine similarity between the masks of any two subgraphs of a graph (paper, main text).

    The lengths of the masks follow from the policy's sizes and are not differentiated: with them the gradient
    would vanish on equal masks, the very case the loss is there to end.

    Parameters
    ----------
    choice
        Shape ``[elements, m]``.
    ground
        The graph of each element.

    Returns
    -------
    Tensor
        Shape ``[graphs]``; 0 where there is but one subgraph, and for pairs with an empty one.

    Examples
    --------
    >>> ground = GroundSet(torch.tensor([0, 0]), torch.tensor([0, 1]), torch.tensor([2]))
    >>> cosine_similarity(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), ground)
    tensor([0.7071])
    """
    mask = membership(choice)
    channels = mask.size(1)
    if channels == 1:
        return mask.sum() * mask.new_zeros(ground.num_graphs)
    pairs = (mask.unsqueeze(2) * mask.unsqueeze(1)).flatten(1)
    product = ground.sum_per_graph(pairs).view(-1, channels, channels)
    square = product.diagonal(dim1=1, dim2=2)
    norm = torch.where(square > 0, square, 1.0).sqrt().detach()
    cosine = product / (norm.unsqueeze(1) * norm.unsqueeze(2))
    first, second = torch.triu_indices(channels, channels, 1, device=mask.device)
    return cosine[:, first, second].mean(1)


def uniform_divergence(choice: Tensor, ground: GroundSet) -> Tensor:
    r"""KL divergence of the uniform distribution from the softmax of the summed masks (paper, appendix).

    .. math::
        \mathrm{KL}(u \,\|\, \mathrm{softmax}(s)) = \log \sum_j e^{s_j} - \tfrac{1}{n} \sum_j s_j - \log n,
        \quad s = \sum_i z_i

    Parameters
    ----------
    choice
        Shape ``[elements, m]``.
    ground
        The graph of each element.

    Returns
    -------
    Tensor
        Shape ``[graphs]``; 0 exactly where every element is chosen equally often.

    Examples
    --------
    >>> ground = GroundSet(torch.tensor([0, 0]), torch.tensor([0, 1]), torch.tensor([2]))
    >>> uniform_divergence(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), ground)
    tensor([0.])
    """
    total = membership(choice).sum(1, keepdim=True)
    number = ground.sizes.clamp(min=1).to(total).unsqueeze(1)
    # The largest sum of each graph is taken off, so that however many subgraphs there are no term overflows
    # and one is exactly 1; sums are at least 0.
    top = total.new_zeros(ground.num_graphs, 1)
    top = top.scatter_reduce(0, ground.graph.unsqueeze(1), total.detach(), "amax")
    mass = ground.sum_per_graph(torch.exp(total - top[ground.graph]))
    normalizer = torch.log(torch.where(ground.sizes.unsqueeze(1) > 0, mass, 1.0)) + top
    return (normalizer - ground.sum_per_graph(total) / number - number.log()).squeeze(1)
