"""Learning rate schedules: plain functions from a moment of training to a factor.

A schedule is called before every training step. It holds no state: the factor follows from the moment alone,
so a resumed run continues exactly. It returns one factor for the learning rates of both networks, or a pair
``(downstream, upstream)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from osan.errors import OsanError
from osan.parts import resolve
from osan.training.options import share_options

Factor = float | tuple[float, float]
Direction = Literal["min", "max"]


@dataclass(frozen=True)
class Moment:
    """When a training step takes place, and how validation went so far.

    Parameters
    ----------
    step, steps
        The number of the step, from 0, and the number of steps in all epochs. If a run has several starts,
        this and what follows is counted from the last one.
    epoch, epochs
        The number of the epoch, from 0, and the number of epochs.
    values
        The validation metric after each epoch so far.
    direction
        Whether the metric improves downward (``"min"``) or upward (``"max"``).

    Examples
    --------
    >>> Moment(step=5, steps=20, epoch=1, epochs=4).progress
    0.25
    """

    step: int
    steps: int
    epoch: int
    epochs: int
    values: tuple[float, ...] = ()
    direction: str = "min"

    @property
    def progress(self) -> float:
        """The share of steps before this one, at least 0 and below 1."""
        return self.step / self.steps

    def warmup_steps(self, warmup: float) -> int:
        """The number of steps in the first ``warmup`` epochs."""
        return round(warmup * self.steps / self.epochs)


Schedule = Callable[..., Factor]


def constant(at: Moment, *, warmup: float = 0) -> float:
    """The factor 1, after a linear warmup.

    >>> [constant(Moment(step, 8, step // 2, 4), warmup=2) for step in range(5)]
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """
    return _warmed(at, at.warmup_steps(warmup))


def steps(
    at: Moment,
    *,
    decay: float = 1.0,
    milestones: Sequence[int] = (),
    decay_every: int | None = None,
    warmup: float = 0,
) -> tuple[float, float]:
    """A factor ``decay`` at each milestone (an epoch), or every few epochs; for the downstream network alone.

    >>> [steps(Moment(epoch, 5, epoch, 5), decay=0.5, decay_every=2)[0] for epoch in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    >>> steps(Moment(3, 5, 3, 5), decay=0.5, milestones=[2, 4])
    (0.5, 1.0)
    """
    warm = _warmed(at, at.warmup_steps(warmup))
    passed = sum(at.epoch >= milestone for milestone in milestones)
    times = passed if decay_every is None else at.epoch // decay_every
    return float(decay**times) * warm, warm


def cosine(at: Moment, *, warmup: float = 0, final: float = 0.0) -> float:
    r"""Half a cosine from 1 down to ``final``, after a linear warmup (SGDR without restarts).

    .. math:: f + (1 - f) \frac{1 + \cos(\pi (t - w) / (T - w))}{2}

    for step t of T, the first w of which are warmup.

    References
    ----------
    Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017.

    Examples
    --------
    >>> round(cosine(Moment(step=10, steps=20, epoch=1, epochs=2)), 6)
    0.5
    """
    warm = at.warmup_steps(warmup)
    if at.step < warm:
        return _warmed(at, warm)
    progress = (at.step - warm) / (at.steps - warm)
    return final + (1 - final) * (1 + math.cos(math.pi * progress)) / 2


def one_cycle(
    at: Moment, *, pct_start: float = 0.3, div_factor: float = 25.0, final_div_factor: float = 1e4
) -> float:
    """From ``1 / div_factor`` up to 1 and down to ``1 / (div_factor * final_div_factor)``, along cosines.

    The arguments are those of :class:`torch.optim.lr_scheduler.OneCycleLR`; momentum stays as it is.

    References
    ----------
    Smith and Topin, "Super-convergence: very fast training of neural networks using large learning rates",
    2018.

    Examples
    --------
    >>> one_cycle(Moment(step=29, steps=100, epoch=0, epochs=1))
    1.0
    """
    first, last = 1 / div_factor, 1 / (div_factor * final_div_factor)
    top, end = pct_start * at.steps - 1, at.steps - 1
    if at.step <= top or top >= end:
        return _along_cosine(first, 1.0, at.step / top if top > 0 else 1.0)
    return _along_cosine(1.0, last, (at.step - top) / (end - top))


def plateau(
    at: Moment,
    *,
    factor: float = 0.1,
    patience: int = 10,
    threshold: float = 1e-4,
    cooldown: int = 0,
    final: float = 0.0,
) -> float:
    """A further ``factor`` whenever the validation metric has not improved for more than ``patience`` epochs.

    The arguments are those of :class:`torch.optim.lr_scheduler.ReduceLROnPlateau` with its relative
    threshold; the product of factors does not fall below ``final``.

    >>> flat = Moment(step=40, steps=100, epoch=4, epochs=10, values=(1.0, 1.0, 1.0, 1.0))
    >>> plateau(flat, factor=0.5, patience=2)
    0.5
    """
    times = _plateaus(at.values, at.direction, patience, threshold, cooldown)
    return max(final, float(factor**times))


SCHEDULES: dict[str, Schedule] = {
    "constant": constant,
    "steps": steps,
    "cosine": cosine,
    "one-cycle": one_cycle,
    "plateau": plateau,
}


#: How the scale of the noise falls from 1 to 0, by the share of epochs that have passed.
NOISE_SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda share: 1.0,
    "linear": lambda share: 1 - share,
    "cosine": lambda share: _along_cosine(1.0, 0.0, share),
}


def noise_factor(schedule: str, floor: float, epoch: int, epochs: int) -> float:
    """What the scale of the noise of selection is multiplied by in an epoch: 1 in the first.

    Parameters
    ----------
    schedule
        A name in ``NOISE_SCHEDULES``, or ``"module:name"`` of a function from the share of epochs that have
        passed, from 0 to 1, to a number from 1 to 0.
    floor
        The factor in the last epoch, from 0 to 1.
    epoch, epochs
        The number of the epoch, from 0, and the number of epochs.

    Examples
    --------
    >>> [round(noise_factor("linear", 0.2, epoch, 5), 6) for epoch in range(5)]
    [1.0, 0.8, 0.6, 0.4, 0.2]
    """
    shape = resolve(schedule, NOISE_SCHEDULES, "selection.noise_schedule")
    return float(floor + (1 - floor) * shape(epoch / max(1, epochs - 1)))


def make_schedule(
    name: str | Schedule, given: dict[str, Any], options: dict[str, Any]
) -> Callable[[Moment], tuple[float, float]]:
    """A schedule with its arguments bound: from a moment to the factors ``(downstream, upstream)``.

    Parameters
    ----------
    name
        A name in ``SCHEDULES``, ``"module:name"``, or a function.
    given
        Arguments that the schedule must take, such as ``warmup``.
    options
        Further arguments, which it takes.

    Examples
    --------
    >>> make_schedule("cosine", {"warmup": 1}, {})(Moment(step=0, steps=20, epoch=0, epochs=2))
    (0.1, 0.1)
    """
    schedule = resolve(name, SCHEDULES, "training.schedule")
    if not callable(schedule):
        raise OsanError(f"training.schedule: expected a function of a moment, got {schedule!r}")
    for key in given:
        share_options({key: given[key]}, {"schedule": schedule}, f"training.schedule: {name}")

    def factors(at: Moment) -> tuple[float, float]:
        try:
            factor = schedule(at, **given, **options)
            pair = factor if isinstance(factor, tuple) else (factor, factor)
            down, up = (float(each) for each in pair)
        except (TypeError, ValueError) as error:
            raise OsanError(f"training.schedule: {name} failed in epoch {at.epoch} ({error})") from error
        if not (0 <= down < math.inf and 0 <= up < math.inf):
            raise OsanError(f"training.schedule: expected factors of at least 0, got {factor} from {name}")
        return down, up

    return factors


def _warmed(at: Moment, warm: int) -> float:
    """1 / warm at the first step, 1 from the last step of the warmup on."""
    return min(1.0, (at.step + 1) / warm) if warm else 1.0


def _along_cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


@lru_cache(maxsize=8)  # asked again in every step of an epoch
def _plateaus(
    values: tuple[float, ...], direction: str, patience: int, threshold: float, cooldown: int
) -> int:
    sign = 1.0 if direction == "min" else -1.0
    best, bad, cooling, times = math.inf * sign, 0, 0, 0
    for value in values:
        bound = best * (1 - sign * threshold) if math.isfinite(best) else best
        if sign * value < sign * bound:
            best, bad = value, 0
        else:
            bad += 1
        if cooling:
            cooling, bad = cooling - 1, 0
        if bad > patience:
            times, cooling, bad = times + 1, cooldown, 0
    return times
