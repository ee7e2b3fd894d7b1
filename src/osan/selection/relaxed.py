"""Estimators for subsets that go beyond the paper: SIMPLE, straight-through and score function."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import softmax

from osan.errors import OsanError
from osan.selection.estimator import Draw, Estimator, Reduction, perturbed, require_subset, tie_of
from osan.selection.noise import Noise
from osan.selection.problem import Problem
from osan.selection.randomness import Randomness
from osan.selection.subsets import log_partitions, marginals, padded, sample
from osan.selection.topk import ranks


class SIMPLE(Estimator):
    r"""Exact samples of p(z; theta), and the gradient of its exact marginals.

    Forward, z is drawn from the paper's p(z; theta) itself, not by perturb-and-MAP; backward,
    :math:`\nabla_\theta L \approx (\partial \mu / \partial \theta)^\top \nabla_z \ell` with the marginals
    :math:`\mu` (Ahmed, Zeng, Niepert and Van den Broeck 2023). Deleting k is drawing the k deleted elements
    with weights :math:`-\theta`. The noise is not used, but for its temperature.

    When to use: for unordered vertex and edge policies with k of moderate size, where of all estimators here
    its bias is the smallest and a single estimate points closest to the gradient; its cost grows with n k.
    """

    def check(self, problem: Problem, noise: Noise) -> None:
        require_subset("SIMPLE", problem, ordered=False)

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        ground, delete = problem.ground, problem.policy.operation == "delete"
        place = ground.position.unsqueeze(1)
        size = ground.sizes - problem.keep if delete else problem.keep
        dense = padded((-weights if delete else weights).double(), ground, place, fill=-1e20)
        tables = log_partitions(dense, problem.policy.size)
        uniform = padded(tie_of(problem, weights, randomness), ground, place, fill=1.0)
        drawn = sample(dense.detach(), size, [table.detach() for table in tables], uniform).to(dense.dtype)
        if weights.requires_grad:
            marginal = marginals(dense, size, tables)
            drawn = drawn + (marginal - marginal.detach())  # in this order exactly 0 or 1
        chosen = drawn[ground.graph, ground.position].to(weights.dtype)
        return Draw(1 - chosen if delete else chosen)


class StraightThrough(Estimator):
    r"""Gumbel top-k forward, the gradient of a relaxed top-k backward.

    The relaxation takes k softmaxes of the perturbed weights one after another, each time lowering what was
    taken before (Xie and Ermon 2019); deleting relaxes the k deleted elements.

    When to use: on subsets of small k, where a cheap estimate that is never zero matters more than its bias.

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
            raise OsanError(f"estimator: tau must be a number above 0, not {tau!r}")
        self.tau = tau

    def check(self, problem: Problem, noise: Noise) -> None:
        require_subset("straight-through", problem, ordered=False)
        super().check(problem, noise)

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        eps, tie = perturbed(problem, weights.detach(), noise, randomness)
        hard = problem.solve(weights + eps, tie)
        if not weights.requires_grad:
            return Draw(hard)
        ground, delete = problem.ground, problem.policy.operation == "delete"
        left = (-weights - eps if delete else weights + eps) / self.tau
        size = (ground.sizes - problem.keep if delete else problem.keep)[ground.graph].unsqueeze(1)
        soft = torch.zeros_like(weights)
        for step in range(problem.policy.size):
            share = softmax(left, ground.graph, num_nodes=ground.num_graphs)
            soft = soft + torch.where(step < size, share, 0.0)
            left = left + torch.log((1 - share).clamp(min=torch.finfo(weights.dtype).eps))
        soft = -soft if delete else soft
        return Draw(hard + (soft - soft.detach()))

    def extra_repr(self) -> str:
        return f"tau={self.tau}, {super().extra_repr()}"


class ScoreFunction(Estimator):
    r"""The score function (REINFORCE) of Gumbel top-k, with a running mean of the loss as baseline.

    .. math:: \nabla_\theta L \approx (\ell(z) - b) \, \nabla_\theta \log p_{PL}(z)

    with :math:`p_{PL}` the Plackett-Luce probability of the kept elements in the order of their perturbed
    weights, which is what Gumbel noise samples from. It uses no gradient of the downstream network; the loss
    of each graph has to be handed to :meth:`surrogate` (``DataDrivenOSAN`` does so).

    When to use: when the loss is not differentiable in the choice, or an unbiased estimate is worth its
    large variance.

    Parameters
    ----------
    momentum
        Of the running mean of the loss.
    reduction
        See :class:`~osan.selection.estimator.Estimator`.
    """

    baseline: Tensor
    seen: Tensor

    def __init__(self, momentum: float = 0.9, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        if not 0 <= momentum < 1:
            raise OsanError(f"estimator: momentum must be from 0 to below 1, not {momentum!r}")
        self.momentum = momentum
        self.register_buffer("baseline", torch.tensor(0.0))
        self.register_buffer("seen", torch.tensor(0.0))

    def check(self, problem: Problem, noise: Noise) -> None:
        require_subset("the score function", problem, ordered=True)
        noise.check(problem)
        if self.training and not _is_gumbel(noise):
            raise OsanError("estimator: the score function needs Gumbel noise of a scale above 0 to learn")

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        eps, tie = perturbed(problem, weights.detach(), noise, randomness)
        rank = ranks(weights.detach() + eps, tie, problem.ground)
        choice = problem.solve(weights + eps, tie)
        if not _is_gumbel(noise):  # no training, hence no need of probabilities
            return Draw(choice)
        logits = padded(weights / noise.scale, problem.ground, rank, fill=-1e20)
        left = logits.flip(1).logcumsumexp(1).flip(1)
        place = torch.arange(logits.size(1), device=logits.device)
        kept = (place < problem.keep.unsqueeze(1)).unsqueeze(2)
        return Draw(choice, torch.where(kept, logits - left, 0.0).sum(1))

    def surrogate(self, losses: Tensor, log_prob: Tensor | None) -> Tensor:
        """The baselined losses times the log-probabilities, joined over graphs; updates the baseline."""
        if log_prob is None:
            raise OsanError("estimator: the score function needs the log_prob of its draw")
        losses = losses.detach()
        surrogate = self.join((losses - self.baseline.to(losses)) * log_prob.sum(1))
        if self.training:
            mean = losses.mean().to(self.baseline)
            weight = torch.where(self.seen > 0, 1 - self.momentum, 1.0)
            self.baseline.lerp_(mean, weight)
            self.seen.fill_(1.0)
        return surrogate

    def extra_repr(self) -> str:
        return f"momentum={self.momentum}, {super().extra_repr()}"


def _is_gumbel(noise: Noise) -> bool:
    return noise.kind == "gumbel" and noise.scale > 0
