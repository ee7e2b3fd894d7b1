"""A custom estimator: ``selection.estimator = "my_estimator:Fading"``."""

import torch

from osan.bags import straight_through
from osan.selection import Draw, Estimator, perturbed


class Fading(Estimator):
    """The weights get the gradient of the choice, times a factor that shrinks with every training step.

    With ``decay=1`` this is the identity of Sahoo et al. (2023), which works with every policy.

    Parameters
    ----------
    decay
        What a step multiplies the factor by.
    """

    def __init__(self, decay=0.99):
        super().__init__()
        self.decay = decay
        # A buffer is part of checkpoints, so a resumed run continues with it.
        self.register_buffer("factor", torch.tensor(1.0))

    def forward(self, problem, weights, noise, randomness):
        noise, tie = perturbed(problem, weights.detach(), noise, randomness)
        choice = problem.solve(weights.detach() + noise, tie)
        draw = Draw(straight_through(choice, weights * self.factor))
        if self.training:
            self.factor = self.factor * self.decay
        return draw
