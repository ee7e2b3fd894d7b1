"""Noise distributions of perturb-and-MAP."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from osan import devices
from osan.errors import OsanError
from osan.parts import resolve
from osan.selection.problem import Problem
from osan.selection.randomness import NOISE, Randomness
from osan.selection.topk import SubsetProblem

# part -> independent uniform numbers of shape [elements, m]
Uniform = Callable[[int], Tensor]
Distribution = Callable[[Problem, Tensor, Uniform], Tensor]

# Attempts of the rejection sampler; each is accepted with probability of at least 0.95.
_TRIES = 8


def gumbel(problem: Problem, weights: Tensor, uniform: Uniform) -> Tensor:
    """Gumbel(0, 1) noise, the paper's; the top k then follow the Plackett-Luce distribution."""
    return -torch.log(-torch.log(uniform(0)))


def gaussian(problem: Problem, weights: Tensor, uniform: Uniform) -> Tensor:
    """Standard normal noise times the standard deviation of the graph's weights.

    With ``scale=0.1`` this is what the authors' code uses at test time.
    """
    return _normal(uniform(0), uniform(1)) * _deviation(problem, weights)


def none(problem: Problem, weights: Tensor, uniform: Uniform) -> Tensor:
    """No noise: the most probable choice, with ties broken at random."""
    return torch.zeros_like(weights)


@dataclass(frozen=True)
class SumOfGamma:
    """Noise such that any K perturbations add up to a Gumbel(0, 1) variable, for subsets of K elements.

    From Niepert, Minervini and Franceschi (2021). Each perturbation is smaller than a Gumbel one, so samples
    are closer to the most probable choice; ``benchmarks/estimators.py`` prints how far from p(z; theta).

    Parameters
    ----------
    terms
        Number of summands that approximate the distribution.
    """

    terms: int = 10

    def __post_init__(self) -> None:
        if self.terms < 1:
            raise OsanError(f"noise: expected terms of at least 1, got {self.terms!r}")

    def check(self, problem: Problem) -> SubsetProblem:
        """The problem itself; choices without a fixed size are an error."""
        if not isinstance(problem, SubsetProblem):
            raise OsanError(
                "noise: expected a policy with choices of a fixed size for 'sum-of-gamma', got "
                f"{str(problem.policy)!r}; use 'gumbel'"
            )
        return problem

    def __call__(self, problem: Problem, weights: Tensor, uniform: Uniform) -> Tensor:
        chosen = self.check(problem).keep[problem.ground.graph].clamp(min=1).unsqueeze(1)
        chosen = chosen.to(devices.widest(weights.device))
        noise = torch.full_like(weights, -math.log(self.terms), dtype=chosen.dtype)
        for term in range(1, self.terms + 1):
            first = (term - 1) * (3 * _TRIES + 1)
            parts = [uniform(first + part) for part in range(3 * _TRIES + 1)]
            noise = noise + _gamma(1 / chosen, parts) * chosen / term
        return noise / chosen


NOISES: dict[str, Distribution] = {
    "gumbel": gumbel,
    "sum-of-gamma": SumOfGamma(),
    "gaussian": gaussian,
    "none": none,
}


@dataclass(frozen=True)
class Noise:
    r"""The noise :math:`\rho` of :math:`z^*(\theta + s \epsilon)`, :math:`\epsilon \sim \rho`.

    Parameters
    ----------
    kind
        ``"gumbel"`` (:func:`gumbel`), ``"sum-of-gamma"`` (:class:`SumOfGamma`), ``"gaussian"``
        (:func:`gaussian`), ``"none"``, or a custom distribution: a function ``(problem, weights, uniform) ->
        noise`` or its ``"module:name"``. It gets the detached weights of shape ``[elements, m]`` and returns
        noise of the same shape. ``uniform(i)`` gives the i-th tensor of independent uniform numbers of that
        shape; noise made of these is reproducible. If the function has a ``check(problem)``, it is called to
        refuse a policy.
    scale
        The factor s of the noise.

    Examples
    --------
    >>> Noise("gaussian", scale=0.1)
    Noise(kind='gaussian', scale=0.1)
    >>> Noise(lambda problem, weights, uniform: uniform(0) - 0.5).scale
    1.0
    """

    kind: str | Distribution = "gumbel"
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.distribution) or isinstance(self.distribution, type):
            raise OsanError(
                f"noise: expected a function (problem, weights, uniform) -> noise, got {self.kind!r}"
            )
        if not self.scale >= 0:
            raise OsanError(f"noise: expected a scale of at least 0, got {self.scale!r}")

    @property
    def distribution(self) -> Distribution:
        """The function behind ``kind``."""
        found: Distribution = resolve(self.kind, NOISES, "noise")
        return found

    @property
    def is_gumbel(self) -> bool:
        """Whether this is Gumbel noise of a scale above 0, whose probabilities are known."""
        return self.distribution is gumbel and self.scale > 0

    @property
    def silent(self) -> bool:
        """Whether there is no noise, so that only ties are random.

        >>> Noise("none").silent, Noise("gumbel", scale=0).silent, Noise().silent
        (True, True, False)
        """
        return self.distribution is none or self.scale == 0

    def scaled(self, factor: float) -> Noise:
        """The same noise with its scale multiplied by a factor.

        >>> Noise("gumbel", scale=2.0).scaled(0.25)
        Noise(kind='gumbel', scale=0.5)
        """
        return self if factor == 1 else replace(self, scale=self.scale * factor)

    def check(self, problem: Problem) -> None:
        """Refuse a policy that the noise has no meaning for."""
        check = getattr(self.distribution, "check", None)
        if check is not None:
            check(problem)

    def draw(self, problem: Problem, weights: Tensor, randomness: Randomness, draw: int = 0) -> Tensor:
        r"""The perturbation :math:`s \epsilon` of weights of shape ``[elements, m]``, same shape."""

        def uniform(part: int = 0) -> Tensor:
            return randomness.uniform(problem.ground, weights.size(1), NOISE, draw, part)

        noise = self.distribution(problem, weights.detach(), uniform)
        if not isinstance(noise, Tensor) or noise.shape != weights.shape:
            given = f"shape {list(noise.shape)}" if isinstance(noise, Tensor) else type(noise).__name__
            raise OsanError(
                f"noise: expected {self.kind!r} to return shape {list(weights.shape)}, got {given}"
            )
        return self.scale * noise.to(weights.dtype)


def make_noise(noise: Any = None, scale: float | None = None) -> Noise:
    """A noise from an object, a name or ``"module:name"``; Gumbel noise for ``None``.

    Parameters
    ----------
    noise
        A :class:`Noise`, which is used as it is; a subclass of it; or what :class:`Noise` takes as ``kind``.
    scale
        The factor of the noise; 1 if missing.

    Examples
    --------
    >>> make_noise("gaussian", 0.1)
    Noise(kind='gaussian', scale=0.1)
    """
    found = resolve(noise, NOISES, "noise")
    options: dict[str, Any] = {} if scale is None else {"scale": scale}
    if isinstance(found, type) and issubclass(found, Noise):
        return found(**options)
    if isinstance(found, Noise):
        if scale is not None:
            raise OsanError(f"noise: expected no scale for {noise!r}, which has one, got {scale!r}")
        return found
    return Noise(**options) if noise is None else Noise(noise, **options)


def _normal(first: Tensor, second: Tensor) -> Tensor:
    return torch.sqrt(-2 * torch.log(first)) * torch.cos(2 * math.pi * second)


def _deviation(problem: Problem, weights: Tensor) -> Tensor:
    """Standard deviation of all weights of the graph of each element, shape ``[elements, 1]``.

    Masked elements, of weight minus infinity, do not count.
    """
    ground, masked = problem.ground, weights.isinf()
    number = ground.sizes * weights.size(1) - ground.sum_per_graph(masked.long()).sum(1)
    number = number.clamp(min=1).unsqueeze(1)
    weights = torch.where(masked, 0.0, weights)
    mean = ground.sum_per_graph(weights).sum(1, keepdim=True) / number
    centered = torch.where(masked, 0.0, weights - mean[ground.graph])
    variance = ground.sum_per_graph(centered.square()).sum(1, keepdim=True) / number
    return variance.sqrt()[ground.graph]


def _gamma(shape: Tensor, uniforms: list[Tensor]) -> Tensor:
    """Gamma(shape, 1) for shapes of at most 1: Marsaglia and Tsang (2000) on shape + 1, then boosted.

    All attempts are made at once and the first accepted one is taken, so nothing is read back from the
    device. The probability that none of eight is accepted is below 1e-10.
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
