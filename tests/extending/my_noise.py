"""A custom noise: ``selection.noise = "my_noise:logistic"``."""

import torch


def logistic(problem, weights, uniform):
    """Logistic noise, the difference of two Gumbel variables; ``uniform`` makes it reproducible."""
    return torch.logit(uniform(0))
