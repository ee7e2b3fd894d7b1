"""The estimators by their names."""

from __future__ import annotations

from typing import Any

from osan.errors import OsanError
from osan.parts import resolve
from osan.selection.estimator import Estimator
from osan.selection.imle import IMLE, AdaptiveIMLE
from osan.selection.random import Fixed, Random
from osan.selection.relaxed import SIMPLE, StraightThrough
from osan.selection.score import ScoreFunction
from osan.selection.sparsemap import SparseMAP

ESTIMATORS: dict[str, type[Estimator]] = {
    "imle": IMLE,
    "adaptive-imle": AdaptiveIMLE,
    "simple": SIMPLE,
    "straight-through": StraightThrough,
    "sparsemap": SparseMAP,
    "score-function": ScoreFunction,
    "random": Random,
    "fixed": Fixed,
}


def make_estimator(estimator: Any = None, **options: Any) -> Estimator:
    """An estimator from an object, a class, a name or ``"module:name"``; I-MLE for ``None``.

    Parameters
    ----------
    estimator
        An :class:`Estimator`, which is used as it is; a subclass or a function that returns one; or a name.
    **options
        The parameters of the class or function.

    Examples
    --------
    >>> make_estimator("imle", lam=2.0)
    IMLE(lam=2.0, samples=1, reduction='mean')
    """
    found = resolve("imle" if estimator is None else estimator, ESTIMATORS, "estimator")
    if isinstance(found, Estimator):
        if options:
            raise OsanError(f"estimator: expected no options for an object, got {', '.join(options)}")
        return found
    expected = f"estimator: expected {', '.join(map(repr, ESTIMATORS))}, an Estimator or a subclass of it"
    if not callable(found) or (isinstance(found, type) and not issubclass(found, Estimator)):
        raise OsanError(f"{expected}, got {estimator!r}")
    try:
        made = found(**options)
    except TypeError as error:
        given = ", ".join(f"{name}={value!r}" for name, value in options.items()) or "no options"
        raise OsanError(f"estimator: cannot make {estimator!r} with {given} ({error})") from error
    if not isinstance(made, Estimator):
        raise OsanError(f"{expected}, got {estimator!r}, which returns {type(made).__name__}")
    return made
