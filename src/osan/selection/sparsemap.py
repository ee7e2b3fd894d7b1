"""SparseMAP: choices that are soft where weights are close, with their exact gradient (not in the paper)."""

from __future__ import annotations

import torch
from torch import Tensor

from osan import devices
from osan.selection.estimator import Draw, Estimator, require_subset
from osan.selection.ground import GroundSet
from osan.selection.noise import Noise
from osan.selection.problem import Problem
from osan.selection.randomness import Randomness


class SparseMAP(Estimator):
    r"""The point closest to the weights in the convex hull of all choices, in training and in evaluation.

    .. math:: z = \operatorname{arg}\min_{\mu \in \operatorname{conv} Z} \|\mu - \theta\|^2
        = \operatorname{arg}\max_{\mu \in \operatorname{conv} Z} \langle \mu, \theta \rangle
        - \tfrac12 \|\mu\|^2

    where Z are the k-subsets of a graph, so :math:`z_v = \min(1, \max(0, \theta_v - \lambda))` with the sum
    k. For k = 1 this is sparsemax. If the k largest weights are ahead of all others by 1, z is their
    indicator. If others are closer, they share: z has values between 0 and 1, and is 0 for all that are far
    behind. So a few elements more than k can be part of a subgraph, with weights that add up to k.

    Nothing is random. Noise is not used, evaluation sees what training has seen, a single sample is enough,
    and elements with equal weights have equal values. The gradient is the derivative of z: exact, but 0 for
    elements that are far behind. The ``temperature`` of a selection decides how close is close.

    When to use: for marks, if a prior says where to begin. Deleted or selected vertices can be soft as well,
    but a subgraph then is a weighted graph.

    References
    ----------
    Niculae, Martins, Blondel and Cardie, "SparseMAP: differentiable sparse structured inference", ICML 2018;
    Martins and Astudillo, "From softmax to sparsemax", ICML 2016.
    """

    def check(self, problem: Problem, noise: Noise) -> None:
        """Refuse anything but unordered subsets."""
        require_subset("SparseMAP", problem, ordered=False)

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        """The closest point; see :class:`~osan.selection.estimator.Estimator`."""
        subset = require_subset("SparseMAP", problem, ordered=False)
        return Draw(projection(weights, subset.ground, subset.keep))


def projection(weights: Tensor, ground: GroundSet, size: Tensor) -> Tensor:
    r"""The closest point with values from 0 to 1 and a given sum in each graph.

    The sum :math:`s(\lambda) = \sum_v \min(1, \max(0, \theta_v - \lambda))` is piecewise linear. Its kinks
    :math:`\theta_v` and :math:`\theta_v - 1` are sorted, and the piece on which it has the wanted value gives
    :math:`\lambda`.

    Parameters
    ----------
    weights
        Shape ``[elements, m]``.
    ground
        The elements.
    size
        The sum in each graph, from 0 to its number of elements, shape ``[graphs]``.

    Returns
    -------
    Tensor
        Shape ``[elements, m]``, differentiable.

    Examples
    --------
    >>> ground = GroundSet.of_sizes([3])
    >>> projection(torch.tensor([[0.5], [0.1], [-1.0]]), ground, torch.tensor([1])).T
    tensor([[0.7000, 0.3000, 0.0000]])
    """
    with torch.no_grad():
        exact = weights.detach().to(devices.widest(weights.device))
        level = _level(exact, ground, size)[ground.graph]
        full = exact - level >= 1
        inside = (exact - level > 0) & ~full
    # On its piece z is linear in the weights, and so is the level: the derivative follows by itself.
    share = inside.to(weights.dtype)
    missing = size[:, None] - ground.sum_per_graph(full.long())
    number = ground.sum_per_graph(inside.long()).clamp(min=1)
    shift = (ground.sum_per_graph(share * weights) - missing) / number
    inner = (weights - shift[ground.graph]).clamp(0, 1)
    return torch.where(inside, inner, full.to(weights.dtype))


def _level(weights: Tensor, ground: GroundSet, size: Tensor) -> Tensor:
    r"""The :math:`\lambda` of each graph and column, shape ``[graphs, m]``."""
    columns = weights.size(1)
    group = (ground.graph[:, None] * columns + torch.arange(columns, device=weights.device)).flatten()
    groups = ground.num_graphs * columns
    wanted = size.repeat_interleave(columns).to(weights.dtype)
    # Far from 0, differences of 1 would be lost to rounding.
    top = weights.new_full((groups,), -torch.inf).scatter_reduce(0, group, weights.flatten(), "amax")
    centered = weights.flatten() - top[group]
    kink = torch.cat((centered, centered - 1))
    sign = torch.cat((torch.ones_like(centered), -torch.ones_like(centered)))
    group = group.repeat(2)
    order = torch.argsort(kink, descending=True, stable=True)
    order = order[torch.argsort(group[order], stable=True)]
    kink, sign, group = kink[order], sign[order], group[order]
    count = torch.bincount(group, minlength=groups)
    first = count.cumsum(0) - count

    def before(values: Tensor) -> Tensor:
        """The sum of the values of a group before each of its places."""
        total = values.cumsum(0) - values
        return total - torch.where(count > 0, total[first.clamp(max=max(len(total) - 1, 0))], 0.0)[group]

    if not len(kink):
        return weights.new_zeros(ground.num_graphs, columns)
    slope = before(sign)
    height = before(sign * kink) - kink * slope
    # The first kink at which the sum is as large as wanted ends the piece; then solve it for the level.
    reached = height >= wanted[group] - 1e-9 * wanted[group].clamp(min=1)
    place = torch.where(reached, torch.arange(len(kink), device=kink.device), len(kink))
    end = torch.full_like(first, len(kink)).scatter_reduce(0, group, place, "amin")
    end = end.clamp(max=len(kink) - 1)
    level = kink[end] + torch.where(slope[end] > 0, (height[end] - wanted) / slope[end].clamp(min=1), 0.0)
    return (level + torch.where(top.isfinite(), top, 0.0)).view(ground.num_graphs, columns)
