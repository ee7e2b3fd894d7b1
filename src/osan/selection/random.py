"""Choices that learn nothing: random ones, the baseline, and the best ones of given weights."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from osan.selection.estimator import Draw, Estimator, tie_of
from osan.selection.noise import Noise
from osan.selection.problem import Problem
from osan.selection.randomness import Randomness


class Random(Estimator):
    """Uniform choices that learn nothing: the baseline that every learned selection should beat.

    All weights count as equal and ties are broken at random: subsets, rankings and centers of ego-nets are
    uniform and independent over channels. Trees have uniformly sampled edge weights, as in the paper (which
    does not make all spanning trees equally likely).
    """

    learns: ClassVar[bool] = False
    masks: ClassVar[bool] = True

    def check(self, problem: Problem, noise: Noise) -> None:
        """Accept every policy; the noise is not used."""

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        """Draw a choice; see :class:`~osan.selection.estimator.Estimator`."""
        equal = torch.where(weights.isinf(), weights, 0.0).detach()
        return Draw(problem.solve(equal, tie_of(problem, weights, randomness)))


class Fixed(Estimator):
    """The best choice of the weights as they are, without noise and gradient; ties are broken at random.

    For weights that are not learned, such as a centrality.
    """

    learns: ClassVar[bool] = False
    masks: ClassVar[bool] = True

    def check(self, problem: Problem, noise: Noise) -> None:
        """Accept every policy; the noise is not used."""

    def forward(self, problem: Problem, weights: Tensor, noise: Noise, randomness: Randomness) -> Draw:
        """Draw a choice; see :class:`~osan.selection.estimator.Estimator`."""
        return Draw(problem.solve(weights.detach(), tie_of(problem, weights, randomness)))
