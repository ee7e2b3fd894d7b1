"""One claim of the paper on one instance, and what computing it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from osan.wl.attempt import attempt


@dataclass(frozen=True)
class Check:
    """One claim of the paper on one instance.

    Attributes
    ----------
    place, claim, instance
        Where the paper makes the claim, the claim, and the graphs it is checked on, in words.
    expected
        What ``compute`` returns if the claim holds.
    compute
        Takes the bytes of memory that may be used, or ``None``.
    slow
        Whether it takes more than a few seconds.
    """

    place: str
    claim: str
    instance: str
    expected: bool
    compute: Callable[[int | None], bool]
    slow: bool = False


@dataclass(frozen=True)
class Verdict:
    """A check and its result; ``computed`` is ``None`` if it did not fit into memory."""

    check: Check
    computed: bool | None
    seconds: float
    note: str = ""

    @property
    def agrees(self) -> bool | None:
        """Whether the computation agrees with the paper."""
        return None if self.computed is None else self.computed == self.check.expected


def run(check: Check, max_memory: int | None = None) -> Verdict:
    """Compute one check; work that does not fit into memory is left open."""
    return Verdict(check, *attempt(lambda: check.compute(max_memory)))
