"""Work that is timed, and left open where it does not fit into memory."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Generic, TypeVar

from typing_extensions import NamedTuple

from osan.errors import TooLarge

Result = TypeVar("Result")


class Attempt(NamedTuple, Generic[Result]):
    """The result of a computation (``None`` if it did not fit into memory), its time, and why it did not."""

    result: Result | None
    seconds: float
    note: str = ""


def attempt(compute: Callable[[], Result]) -> Attempt[Result]:
    """Run a computation. Only :class:`osan.errors.TooLarge` is caught.

    >>> attempt(lambda: 6 * 7).result
    42
    """
    start = perf_counter()
    try:
        result = compute()
    except TooLarge as error:
        return Attempt(None, perf_counter() - start, str(error))
    return Attempt(result, perf_counter() - start)
