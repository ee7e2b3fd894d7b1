"""Noise distributions of perturb-and-MAP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from osan.errors import OsanError
from osan.selection.problem import Problem
from osan.selection.randomness import Randomness

Kind = Literal["gumbel", "sum-of-gamma", "gaussian", "none"]

# Tries of the rejection sampler; each is accepted with probability of at least 0.95.
_TRIES = 8


@dataclass(frozen=True)
class Noise:
    r"""The noise :math:`\rho` of :math:`z^*(\theta / \tau + s \epsilon)`, :math:`\epsilon \sim \rho`.

    Parameters
    ----------
    kind
        ``"gumbel"``: Gumbel(0, 1), the paper's; the top k then follow the Plackett-Luce distribution.
        ``"sum-of-gamma"``: for subsets of K elements, such that any K perturbations add up to a Gumbel(0, 1)
        variable (Niepert, Minervini and Franceschi 2021). Each is smaller than a Gumbel one, so samples are
        closer to the most probable choice; ``benchmarks/estimators.py`` prints how far from p(z; theta).
        ``"gaussian"``: standard normal times the standard deviation of the graph's weights; with
        ``scale=0.1`` what the authors' code uses at test time.
        ``"none"``: the most probable choice, ties broken at random.
    scale
        The factor s of the noise.
    temperature
        The divisor :math:`\tau` of the weights.
    terms
        Number of summands that approximate the sum-of-gamma distribution.

    Examples
    --------
    >>> Noise("gaussian", scale=0.1).kind
    'gaussian'
    """

    kind: Kind = "gumbel"
    scale: float = 1.0
    temperature: float = 1.0
    terms: int = 10

    def __post_init__(self) -> None:
        kinds = ("gumbel", "sum-of-gamma", "gaussian", "none")
        if self.kind not in kinds:
            raise OsanError(f"noise: kind must be one of {', '.join(kinds)}, not {self.kind!r}")
        if not self.scale >= 0 or not self.temperature > 0 or self.terms < 1:
            raise OsanError(
                "noise: scale must be at least 0, temperature above 0 and terms at least 1, "
                f"not {self.scale!r}, {self.temperature!r} and {self.terms!r}"
            )

    def check(self, problem: Problem) -> None:
        """Refuse noise that has no meaning for a policy."""
        if self.kind == "sum-of-gamma" and not problem.policy.is_subset:
            raise OsanError(
                f"noise: sum-of-gamma is for choices of a fixed size; policy {str(problem.policy)!r} has "
                "none, use 'gumbel'"
            )

    def draw(self, problem: Problem, weights: Tensor, randomness: Randomness, stream: int) -> Tensor:
        r"""The perturbation :math:`s \epsilon` of weights of shape ``[elements, m]``."""
        if self.kind == "none":
            return torch.zeros_like(weights)

        ground, channels = problem.ground, weights.size(1)

        def uniform(part: int = 0) -> Tensor:
            # The parts of a draw lie far apart from the small stream numbers of the caller.
            return randomness.uniform(ground, channels, stream + 1024 * part)

        if self.kind == "gumbel":
            noise = -torch.log(-torch.log(uniform()))
        elif self.kind == "gaussian":
            noise = _normal(uniform(0), uniform(1)) * _deviation(problem, weights.detach())
        else:
            chosen = problem.keep[ground.graph].clamp(min=1).unsqueeze(1).double()
            noise = torch.full_like(weights, -math.log(self.terms), dtype=torch.float64)
            for term in range(1, self.terms + 1):
                first = (term - 1) * (3 * _TRIES + 1)
                parts = [uniform(first + part) for part in range(3 * _TRIES + 1)]
                noise = noise + _gamma(1 / chosen, parts) * chosen / term
            noise = noise / chosen
        return self.scale * noise.to(weights.dtype)


def _normal(first: Tensor, second: Tensor) -> Tensor:
    return torch.sqrt(-2 * torch.log(first)) * torch.cos(2 * math.pi * second)


def _deviation(problem: Problem, weights: Tensor) -> Tensor:
    """Standard deviation of all weights of the graph of each element, shape ``[elements, 1]``."""
    ground = problem.ground
    number = (ground.sizes * weights.size(1)).clamp(min=1).unsqueeze(1)
    mean = ground.sum_per_graph(weights).sum(1, keepdim=True) / number
    centered = weights - mean[ground.graph]
    variance = ground.sum_per_graph(centered.square()).sum(1, keepdim=True) / number
    return variance.sqrt()[ground.graph]


def _gamma(shape: Tensor, uniforms: list[Tensor]) -> Tensor:
    """Gamma(shape, 1) for shapes of at most 1: Marsaglia and Tsang (2000) on shape + 1, then boosted.

    All tries are made at once and the first accepted one is taken, so nothing is read back from the device;
    that none of eight is accepted has probability below 1e-10.
    """
    d = shape + 1 - 1 / 3
    c = 1 / torch.sqrt(9 * d)
    boost, rest = uniforms[0], uniforms[1:]
    result = torch.zeros_like(boost)
    done = torch.zeros_like(boost, dtype=torch.bool)
    for first, second, third in zip(rest[0::3], rest[1::3], rest[2::3], strict=True):
        x = _normal(first, second)
        v = (1 + c * x) ** 3
        positive = v > 0
        log_v = torch.log(torch.where(positive, v, 1.0))
        accepted = positive & (torch.log(third) < 0.5 * x * x + d - d * v + d * log_v)
        result = torch.where(accepted & ~done, d * v, result)
        done = done | accepted
    result = torch.where(done, result, d)
    return result * boost ** (1 / shape)
