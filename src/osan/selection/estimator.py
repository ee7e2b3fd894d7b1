"""What every gradient estimator has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor, nn

from osan.errors import OsanError
from osan.selection.noise import Noise
from osan.selection.problem import Problem
from osan.selection.randomness import TIE, Randomness
from osan.selection.topk import SubsetProblem

Reduction = Literal["mean", "sum"]


@dataclass(frozen=True)
class Draw:
    """A choice of shape ``[elements, m]`` and, if the estimator uses it, its log-probability.

    ``log_prob`` has shape ``[graphs, m]`` and carries gradients; ``None`` otherwise.
    """

    choice: Tensor
    log_prob: Tensor | None = None


class Estimator(nn.Module):
    """Draws choices from weights, and defines the gradient that the weights get.

    All estimators share this interface: the forward pass takes weights of shape ``[elements, m]`` and returns
    a :class:`Draw`; gradients that reach the choice become gradients of the weights. A choice may be soft,
    with values between 0 and 1; see :func:`osan.bags.from_choice`.

    Parameters
    ----------
    reduction
        How the loss combines the graphs of a batch: ``"mean"`` or ``"sum"``. The paper's formula perturbs the
        weights with the gradient of the loss of each single graph. The gradient of a mean is smaller by the
        number of graphs, so it is multiplied by that number first, and the result is divided by it again.

    Attributes
    ----------
    learns
        Whether the weights get a gradient. Without it no upstream network is needed.
    masks
        Whether weights may be minus infinity, for elements that should not be chosen.
    """

    learns: ClassVar[bool] = True
    masks: ClassVar[bool] = False

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum"):
            raise OsanError(f"estimator: expected 'mean' or 'sum' for reduction, got {reduction!r}")
        self.reduction = reduction

    def check(self, problem: Problem, noise: Noise) -> None:
        """Raise an :class:`~osan.errors.OsanError` for a policy or a noise that does not fit."""
        noise.check(problem)

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        """Draw a choice for weights of shape ``[elements, m]``."""
        raise NotImplementedError

    def join(self, losses: Tensor) -> Tensor:
        """Combine one loss per graph into one number, by ``reduction``."""
        return losses.mean() if self.reduction == "mean" else losses.sum()

    def surrogate(self, losses: Tensor, log_prob: Tensor | None) -> Tensor:
        """What to add to the loss for gradients that do not pass through the choice; 0 if there are none."""
        return losses.new_zeros(())

    def extra_repr(self) -> str:
        return f"reduction={self.reduction!r}"


def tie_of(problem: Problem, weights: Tensor, randomness: Randomness, draw: int = 0) -> Tensor:
    """Random numbers that order equal weights in the given draw, shape ``[elements, m]``."""
    return randomness.uniform(problem.ground, weights.size(1), TIE, draw)


def perturbed(
    problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness, draw: int = 0
) -> tuple[Tensor, Tensor]:
    """The perturbation and the tie-breaking numbers of the given draw, each of shape ``[elements, m]``."""
    return noise.draw(problem, weights, randomness, draw), tie_of(problem, weights, randomness, draw)


def require_subset(name: str, problem: Problem, ordered: bool) -> SubsetProblem:
    """The problem itself, or an error unless the policy chooses subsets of given sizes."""
    if not isinstance(problem, SubsetProblem) or (problem.policy.ordered and not ordered):
        kinds = "'delete', 'select' or 'mark' k vertices or edges" + ("" if ordered else ", unordered,")
        raise OsanError(
            f"estimator: expected a policy {kinds} for {name}, got {str(problem.policy)!r}; use IMLE"
        )
    return problem
