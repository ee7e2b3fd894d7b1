"""What every gradient estimator has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from osan.errors import OsanError
from osan.selection.noise import Noise
from osan.selection.problem import Problem
from osan.selection.randomness import Randomness

Reduction = Literal["mean", "sum"]

# Streams of random numbers: ties and noise of the s-th draw have the numbers 2 s and 2 s + 1.
TIE, NOISE = 0, 1


@dataclass(frozen=True)
class Draw:
    """A choice of shape ``[elements, m]`` and, where the estimator uses it, its log-probability.

    ``log_prob`` has shape ``[graphs, m]`` and carries gradients; ``None`` otherwise.
    """

    choice: Tensor
    log_prob: Tensor | None = None


class Estimator(nn.Module):
    """Draws choices from weights, and says what gradient the weights get.

    All estimators share this interface: the forward pass takes weights of shape ``[elements, m]`` and gives
    a :class:`Draw`; gradients that reach the choice become gradients of the weights.

    Parameters
    ----------
    reduction
        How the loss that is differentiated joins the graphs of a batch: ``"mean"`` or ``"sum"``. What the
        paper's formula perturbs the weights with is the gradient of each graph's *own* loss; that of a mean
        is smaller by the number of graphs, and is multiplied by it first (and the result divided again).
    """

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum"):
            raise OsanError(f"estimator: reduction must be 'mean' or 'sum', not {reduction!r}")
        self.reduction = reduction

    def check(self, problem: Problem, noise: Noise) -> None:
        """Refuse a policy or a noise that the estimator is not made for."""
        noise.check(problem)

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        raise NotImplementedError

    def join(self, losses: Tensor) -> Tensor:
        """Join one loss per graph as ``reduction`` says."""
        return losses.mean() if self.reduction == "mean" else losses.sum()

    def surrogate(self, losses: Tensor, log_prob: Tensor | None) -> Tensor:
        """What to add to the loss so that its gradient reaches the weights; 0 where the choice carries it."""
        return losses.new_zeros(())

    def extra_repr(self) -> str:
        return f"reduction={self.reduction!r}"


def tie_of(problem: Problem, weights: Tensor, randomness: Randomness, draw: int = 0) -> Tensor:
    """Random numbers that order equal weights in the given draw."""
    return randomness.uniform(problem.ground, weights.size(1), 2 * draw + TIE)


def perturbed(
    problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness, draw: int = 0
) -> tuple[Tensor, Tensor]:
    """The perturbation and the tie-breaking numbers of the given draw, each of shape ``[elements, m]``."""
    eps = noise.draw(problem, weights, randomness, 2 * draw + NOISE)
    return eps, tie_of(problem, weights, randomness, draw)


def require_subset(name: str, problem: Problem, ordered: bool) -> None:
    """Raise unless the policy chooses free subsets of given sizes."""
    policy = problem.policy
    if not policy.is_subset or (policy.ordered and not ordered):
        kinds = "'delete', 'select' or 'mark' k vertices or edges" + ("" if ordered else ", unordered")
        raise OsanError(f"estimator: {name} is for {kinds}, not for policy {str(policy)!r}; use IMLE")


class Random(Estimator):
    """Uniform choices that learn nothing: the baseline that every learned selection should beat.

    All weights count as equal and ties are broken at random: subsets, rankings and centers of ego-nets are
    uniform and independent over channels; trees have uniformly sampled edge weights, as in the paper (which
    does not make all spanning trees equally likely).
    """

    def check(self, problem: Problem, noise: Noise) -> None:
        """Every policy will do, and the noise is not used."""

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        return Draw(problem.solve(torch.zeros_like(weights), tie_of(problem, weights, randomness)))
