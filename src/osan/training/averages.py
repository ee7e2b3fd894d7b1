"""Means and deviations of any numbers; those of Python's statistics refuse some."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev


def mean(values: Iterable[float]) -> float:
    """The mean; NaN if it is none, as of infinities or of numbers too large to add.

    >>> mean([1.0, 3.0]), mean([math.inf, -math.inf])
    (2.0, nan)
    """
    try:
        return fmean(values)
    except (ValueError, OverflowError):
        return math.nan


def mean_std(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample deviation, ``None`` for a single value; NaN if they are none.

    >>> mean_std([1.0, 3.0]), mean_std([1.0, math.nan])
    ((2.0, 1.4142135623730951), (nan, nan))
    """
    if len(values) < 2:
        return mean(values), None
    try:
        # It raises AttributeError for what is not finite.
        deviation = stdev(values) if all(map(math.isfinite, values)) else math.nan
    except OverflowError:
        deviation = math.nan
    return mean(values), deviation
