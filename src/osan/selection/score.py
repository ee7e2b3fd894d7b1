"""The score function estimator (REINFORCE) for subsets (not in the paper)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from osan.errors import OsanError
from osan.selection.estimator import Draw, Estimator, Reduction, perturbed, require_subset
from osan.selection.noise import Noise
from osan.selection.problem import Problem
from osan.selection.randomness import Randomness
from osan.selection.subsets import padded
from osan.selection.topk import ranks


class ScoreFunction(Estimator):
    r"""The score function (REINFORCE) of Gumbel top-k, with a running mean of the loss as baseline.

    .. math:: \nabla_\theta L \approx (\ell(z) - b) \, \nabla_\theta \log p_{PL}(z)

    with :math:`p_{PL}` the Plackett-Luce probability of the kept elements in the order of their perturbed
    weights, which is the distribution that Gumbel noise samples from. It uses no gradient of the downstream
    network. Pass the loss of each graph to :meth:`surrogate` (``DataDrivenOSAN`` does so).

    Elements of weight minus infinity are chosen only if there are too few others, and then uniformly.

    When to use: if the loss is not differentiable in the choice, or an unbiased estimate is worth its large
    variance.

    Parameters
    ----------
    momentum
        Of the running mean of the loss.
    reduction
        See :class:`~osan.selection.estimator.Estimator`.
    """

    masks: ClassVar[bool] = True

    baseline: Tensor
    seen: Tensor

    def __init__(self, momentum: float = 0.9, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        if not 0 <= momentum < 1:
            raise OsanError(f"estimator: expected momentum from 0 to below 1, got {momentum!r}")
        self.momentum = momentum
        self.register_buffer("baseline", torch.tensor(0.0))
        self.register_buffer("seen", torch.tensor(0.0))

    def check(self, problem: Problem, noise: Noise) -> None:
        """Refuse anything but subsets, and in training anything but Gumbel noise."""
        require_subset("the score function", problem, ordered=True)
        noise.check(problem)
        if self.training and not noise.is_gumbel:
            raise OsanError(
                f"estimator: expected Gumbel noise of a scale above 0 for the score function, got {noise}"
            )

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        """Draw a choice; see :class:`~osan.selection.estimator.Estimator`."""
        subset, ground = require_subset("the score function", problem, ordered=True), problem.ground
        eps, tie = perturbed(problem, weights.detach(), noise, randomness)
        noisy = weights.detach() + eps
        choice = problem.solve(noisy, tie)
        if not noise.is_gumbel:  # not training, so no probabilities are needed
            return Draw(choice)
        rank, masked = ranks(noisy, tie, ground), weights.detach().isinf()
        logits = torch.where(masked, -1e20, weights / noise.scale)
        logits = padded(logits, ground, rank, fill=-1e20)
        left = logits.flip(1).logcumsumexp(1).flip(1)
        place = torch.arange(logits.size(1), device=logits.device)
        kept = (place < subset.keep.unsqueeze(1)).unsqueeze(2)
        # Masked elements come last. The next one is drawn uniformly from those that are left.
        rest = (ground.sizes.unsqueeze(1) - place).clamp(min=1).unsqueeze(2).to(logits.dtype)
        log_prob = torch.where(padded(masked, ground, rank, fill=False), -rest.log(), logits - left)
        return Draw(choice, torch.where(kept, log_prob, 0.0).sum(1))

    def surrogate(self, losses: Tensor, log_prob: Tensor | None) -> Tensor:
        """The losses minus the baseline, times the log-probabilities; updates the baseline."""
        if log_prob is None:
            raise OsanError("log_prob: expected the log_prob of the draw for the score function, got None")
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
