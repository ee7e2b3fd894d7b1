"""One claim of the paper on one instance, and what came out when it was computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from osan.errors import TooLarge


@dataclass(frozen=True)
class Check:
    """One claim of the paper on one instance.

    ``claim`` and ``instance`` are for people; ``expected`` is what the paper says ``compute`` returns;
    ``slow`` checks take more than a few seconds.
    """

    place: str
    claim: str
    instance: str
    expected: bool
    compute: Callable[[int | None], bool]
    slow: bool = False


@dataclass(frozen=True)
class Verdict:
    """A check and what came out; ``computed`` is ``None`` where memory did not suffice."""

    check: Check
    computed: bool | None
    seconds: float
    note: str = ""

    @property
    def agrees(self) -> bool | None:
        """Whether the computation says what the paper says."""
        return None if self.computed is None else self.computed == self.check.expected


def run(check: Check, max_memory: int | None = None) -> Verdict:
    """Compute one check; work that does not fit into memory is left open."""
    start = perf_counter()
    try:
        computed = check.compute(max_memory)
    except TooLarge as error:
        return Verdict(check, None, perf_counter() - start, str(error))
    return Verdict(check, computed, perf_counter() - start)
