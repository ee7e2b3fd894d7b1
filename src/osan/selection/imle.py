"""Implicit maximum likelihood estimation, as in the paper, and with an adaptive step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor

from osan.errors import OsanError
from osan.selection.estimator import Draw, Estimator, Reduction, perturbed
from osan.selection.noise import Noise
from osan.selection.problem import Problem
from osan.selection.randomness import Randomness

Noises = list[tuple[Tensor, Tensor]]


class _Difference(torch.autograd.Function):
    """z*(theta + eps) forward; the mean over draws of (z* - z* at the target weights) / lambda backward."""

    @staticmethod
    def forward(
        ctx: Any,
        weights: Tensor,
        problem: Problem,
        noises: Noises,
        graphs: int,
        step: Callable[[Tensor], Tensor | float],
        observe: Callable[[Tensor], None],
    ) -> Tensor:
        eps, tie = noises[0]
        choice = problem.solve(weights + eps, tie)
        ctx.save_for_backward(weights, choice)
        ctx.rest = (problem, noises, graphs, step, observe)
        return choice

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        weights, choice = ctx.saved_tensors
        problem, noises, graphs, step, observe = ctx.rest
        single = gradient * graphs
        lam = step(single)
        total = torch.zeros_like(weights)
        for draw, (eps, tie) in enumerate(noises):
            state = choice if draw == 0 else problem.solve(weights + eps, tie)
            total = total + state - problem.solve(weights + eps - lam * single, tie)
        observe(total)
        return total / (lam * len(noises) * graphs), None, None, None, None, None


class IMLE(Estimator):
    r"""Implicit maximum likelihood estimation, exactly as in the paper.

    .. math::
        \nabla_{\theta_i} L \approx \mathbb{E}_{\epsilon}\Bigl[\tfrac{1}{\lambda}\bigl(
        z^*(\theta_i + \epsilon) - z^*(\theta_i + \epsilon - \lambda \widehat\nabla)\bigr)\Bigr]

    with the same noise in both states (section "Backpropagating through the subgraph distribution").
    :math:`\widehat\nabla` is the gradient of each single graph's loss with respect to the choice. In the
    ordered case it is the gradient of being part of the subgraph: a vertex with a negative entry rises. The
    two states are then rank vectors, so a vertex of rank 1 of 5 that should have rank 5 gets
    :math:`(5 - 1) / \lambda`, and one that is absent and should be first :math:`(0 - 5) / \lambda`.

    When to use: the default. It works with every policy, since it needs only a solver.

    Parameters
    ----------
    lam
        The step :math:`\lambda > 0` of the target weights. If it is too small, no choice changes and the
        estimate is zero.
    samples
        Number of noise samples of the expectation. The first one makes the choice. All share its
        :math:`\widehat\nabla`, so more samples cost solver calls but no further downstream pass.
    reduction
        See :class:`~osan.selection.estimator.Estimator`.

    Examples
    --------
    >>> IMLE(lam=0)
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: estimator: expected lam above 0, got 0
    """

    masks: ClassVar[bool] = True

    def __init__(self, lam: float = 10.0, samples: int = 1, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        if not lam > 0:
            raise OsanError(f"estimator: expected lam above 0, got {lam!r}")
        if samples < 1:
            raise OsanError(f"estimator: expected samples of at least 1, got {samples!r}")
        self.lam, self.samples = lam, samples

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        """Draw a choice; see :class:`~osan.selection.estimator.Estimator`."""
        needed = self.samples if weights.requires_grad and torch.is_grad_enabled() else 1
        noises = [perturbed(problem, weights.detach(), noise, randomness, draw) for draw in range(needed)]
        graphs = problem.ground.num_graphs if self.reduction == "mean" else 1

        def step(gradient: Tensor) -> Tensor | float:
            return self.step(problem, weights.detach(), gradient)

        def observe(difference: Tensor) -> None:
            self.observe(problem, difference)

        choice = _Difference.apply(weights, problem, noises, graphs, step, observe)  # type: ignore[no-untyped-call]
        return Draw(choice)

    def step(self, problem: Problem, weights: Tensor, gradient: Tensor) -> Tensor | float:
        """The step lambda for the gradient of each single graph's loss."""
        return self.lam

    def observe(self, problem: Problem, difference: Tensor) -> None:
        """Called in the backward pass with the difference of the two states, summed over samples."""

    def extra_repr(self) -> str:
        return f"lam={self.lam}, samples={self.samples}, {super().extra_repr()}"


class AdaptiveIMLE(IMLE):
    r"""I-MLE with the step that makes a target number of entries of each choice's gradient non-zero.

    Following Minervini, Franceschi and Niepert (2023), the step is
    :math:`\lambda = \alpha \|\theta\| / \|\widehat\nabla\|` per graph and channel, and :math:`\alpha` grows
    while the running mean of the number of non-zero entries is below ``target`` and shrinks otherwise. Here
    it changes by a factor rather than by a summand, so that its start does not matter for long. The step does
    not depend on the scale of the loss, and so not on ``reduction``.

    When to use: if gradients of the loss change much in size during training, or no good ``lam`` is known.

    Parameters
    ----------
    target
        Target mean number of non-zero entries per choice; an exchange of two vertices has 2.
    rate
        Relative change of :math:`\alpha` per step.
    momentum
        Of the running mean.
    samples, reduction
        See :class:`IMLE`.
    """

    alpha: Tensor
    nonzero: Tensor

    def __init__(
        self,
        target: float = 1.0,
        rate: float = 0.05,
        momentum: float = 0.9,
        samples: int = 1,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(samples=samples, reduction=reduction)
        if not (target > 0 and 0 < rate < 1 and 0 <= momentum < 1):
            raise OsanError(
                "estimator: expected target above 0, rate between 0 and 1 and momentum from 0 to below 1, "
                f"got {target!r}, {rate!r} and {momentum!r}"
            )
        self.target, self.rate, self.momentum = target, rate, momentum
        self.register_buffer("alpha", torch.tensor(1.0))
        self.register_buffer("nonzero", torch.tensor(float(target)))

    def step(self, problem: Problem, weights: Tensor, gradient: Tensor) -> Tensor:
        """The step of each graph and channel, expanded to shape ``[elements, m]``."""
        ground = problem.ground
        weights = torch.where(weights.isinf(), 0.0, weights)  # masked elements do not count
        size = ground.sum_per_graph(weights.square()).sqrt()
        slope = ground.sum_per_graph(gradient.square()).sqrt()
        tiny = torch.finfo(weights.dtype).tiny
        # Zero weights get the step of weights of length one. Without a gradient any step will do.
        step = torch.where(size > 0, size, 1.0) / torch.where(slope > 0, slope, 1.0)
        return (self.alpha.to(weights) * step).clamp(min=tiny)[ground.graph]

    def observe(self, problem: Problem, difference: Tensor) -> None:
        """Update the running mean of non-zero entries, then alpha."""
        choices = problem.ground.num_graphs * difference.size(1)
        count = (difference != 0).to(self.nonzero).sum() / choices
        self.nonzero.lerp_(count, 1 - self.momentum)
        self.alpha.mul_(torch.where(self.nonzero < self.target, 1 + self.rate, 1 / (1 + self.rate)))

    def extra_repr(self) -> str:
        return f"target={self.target}, rate={self.rate}, momentum={self.momentum}, samples={self.samples}"
