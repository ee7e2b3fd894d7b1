"""Estimators for subsets with a relaxed gradient: SIMPLE and straight-through (not in the paper)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.utils import softmax

from osan import devices
from osan.bags import straight_through
from osan.errors import OsanError
from osan.selection.estimator import Draw, Estimator, Reduction, perturbed, require_subset, tie_of
from osan.selection.noise import Noise
from osan.selection.problem import Problem
from osan.selection.randomness import Randomness
from osan.selection.subsets import drawn, without_masks


class SIMPLE(Estimator):
    r"""Exact samples of p(z; theta), and the gradient of its exact marginals.

    Forward, z is drawn from the paper's p(z; theta) itself, not by perturb-and-MAP. Backward,
    :math:`\nabla_\theta L \approx (\partial \mu / \partial \theta)^\top \nabla_z \ell` with the marginals
    :math:`\mu` (Ahmed, Zeng, Niepert and Van den Broeck 2023). Deleting k draws the k deleted elements with
    weights :math:`-\theta`. The noise is not used, but without it (:attr:`Noise.silent`) evaluation takes
    the most probable choice.

    Elements of weight minus infinity are chosen only if there are too few others, and then uniformly. Plus
    infinity is refused.

    When to use: for unordered vertex and edge policies with k of moderate size. There it has the smallest
    bias of all estimators, and a single estimate is closest to the gradient. Its cost grows with n k
    (``benchmarks/selection_cost.py``).
    """

    masks: ClassVar[bool] = True

    def check(self, problem: Problem, noise: Noise) -> None:
        """Refuse anything but unordered subsets."""
        require_subset("SIMPLE", problem, ordered=False)

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        """Draw a choice; see :class:`~osan.selection.estimator.Estimator`."""
        subset = require_subset("SIMPLE", problem, ordered=False)
        if noise.silent and not self.training:
            return Draw(problem.solve(weights.detach(), tie_of(problem, weights, randomness)))
        exact = without_masks(weights.to(devices.widest(weights.device)), subset.ground)
        uniform = tie_of(problem, weights, randomness)
        theta = -exact if subset.deletes else exact
        taken = drawn(theta, uniform, subset.ground, subset.changed, subset.largest).to(weights.dtype)
        return Draw(1 - taken if subset.deletes else taken)


class StraightThrough(Estimator):
    r"""Gumbel top-k forward, the gradient of a relaxed top-k backward.

    The relaxation takes k softmaxes of the perturbed weights one after another, each time lowering what was
    taken before (Xie and Ermon 2019). Deleting relaxes the k deleted elements.

    When to use: on subsets of small k, if a cheap estimate that is never zero matters more than its bias.

    Parameters
    ----------
    tau
        Temperature of the softmaxes; lower is closer to the choice and has a larger variance.
    reduction
        See :class:`~osan.selection.estimator.Estimator`.
    """

    def __init__(self, tau: float = 1.0, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        if not tau > 0:
            raise OsanError(f"estimator: expected tau above 0, got {tau!r}")
        self.tau = tau

    def check(self, problem: Problem, noise: Noise) -> None:
        """Refuse anything but unordered subsets."""
        require_subset("straight-through", problem, ordered=False)
        super().check(problem, noise)

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        """Draw a choice; see :class:`~osan.selection.estimator.Estimator`."""
        subset = require_subset("straight-through", problem, ordered=False)
        eps, tie = perturbed(problem, weights.detach(), noise, randomness)
        hard = problem.solve(weights.detach() + eps, tie)
        if not weights.requires_grad:
            return Draw(hard)
        ground, delete = subset.ground, subset.deletes
        left = (-weights - eps if delete else weights + eps) / self.tau
        size = subset.changed[ground.graph].unsqueeze(1)
        soft = torch.zeros_like(weights)
        for step in range(subset.largest):
            share = softmax(left, ground.graph, num_nodes=ground.num_graphs)
            soft = soft + torch.where(step < size, share, 0.0)
            left = left + torch.log((1 - share).clamp(min=torch.finfo(weights.dtype).eps))
        return Draw(straight_through(hard, -soft if delete else soft))

    def extra_repr(self) -> str:
        return f"tau={self.tau}, {super().extra_repr()}"
