"""Auxiliary losses for diversity: functions of a choice, with gradients through the estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from osan.bags.choice import inclusion
from osan.errors import OsanError
from osan.parts import resolve
from osan.selection.ground import GroundSet

# (choice of shape [elements, m], ground) -> one loss per graph, shape [graphs]
AuxiliaryLoss = Callable[[Tensor, GroundSet], Tensor]


def cosine_similarity(choice: Tensor, ground: GroundSet) -> Tensor:
    """Mean cosine similarity between the masks of any two subgraphs of a graph (paper, main text).

    The lengths of the masks follow from the policy's sizes and are not differentiated. Otherwise the gradient
    would vanish on equal masks, which the loss should prevent.

    Parameters
    ----------
    choice
        Shape ``[elements, m]``.
    ground
        The graph of each element.

    Returns
    -------
    Tensor
        Shape ``[graphs]``; 0 for a single subgraph, and for pairs with an empty one.

    Examples
    --------
    >>> ground = GroundSet(torch.tensor([0, 0]), torch.tensor([0, 1]), torch.tensor([2]))
    >>> cosine_similarity(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), ground)
    tensor([0.7071])
    """
    mask = inclusion(choice)
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
    total = inclusion(choice).sum(1, keepdim=True)
    number = ground.sizes.clamp(min=1).to(total).unsqueeze(1)
    # Subtract the largest sum of each graph, so that no term overflows and one is exactly 1, for any number
    # of subgraphs; sums are at least 0.
    top = total.new_zeros(ground.num_graphs, 1)
    top = top.scatter_reduce(0, ground.graph.unsqueeze(1), total.detach(), "amax")
    mass = ground.sum_per_graph(torch.exp(total - top[ground.graph]))
    normalizer = torch.log(torch.where(ground.sizes.unsqueeze(1) > 0, mass, 1.0)) + top
    return (normalizer - ground.sum_per_graph(total) / number - number.log()).squeeze(1)


AUXILIARY_LOSSES: dict[str, AuxiliaryLoss] = {"cosine": cosine_similarity, "uniform": uniform_divergence}


def auxiliary_loss(loss: Any, choice: Tensor, ground: GroundSet) -> Tensor:
    """The auxiliary loss of each graph, by an object, a name or ``"module:name"``.

    Parameters
    ----------
    loss
        A name in ``AUXILIARY_LOSSES`` or a function ``(choice, ground) -> losses``.
    choice
        Shape ``[elements, m]``.
    ground
        The graph of each element.

    Returns
    -------
    Tensor
        Shape ``[graphs]``.
    """
    losses = resolve_auxiliary(loss)(choice, ground)
    if not isinstance(losses, Tensor) or losses.shape != (ground.num_graphs,):
        given = f"shape {list(losses.shape)}" if isinstance(losses, Tensor) else type(losses).__name__
        raise OsanError(
            f"auxiliary: expected {loss!r} to return one loss per graph, shape [{ground.num_graphs}], got "
            f"{given}"
        )
    return losses


def resolve_auxiliary(loss: Any) -> AuxiliaryLoss:
    """The function behind a name or ``"module:name"``; a function is returned as it is."""
    found: AuxiliaryLoss = resolve(loss, AUXILIARY_LOSSES, "auxiliary")
    if not callable(found):
        raise OsanError(
            f"auxiliary: expected a function (choice, ground) -> losses, got {type(found).__name__}"
        )
    return found
