"""Checks of arguments, with errors that say what was expected."""

from __future__ import annotations

from operator import index
from typing import Any

from osan.errors import OsanError


def integer(value: Any, name: str, least: int | None = None, most: int | None = None) -> int:
    """An integer within bounds, from Python, numpy or torch.

    >>> integer(3, "k", least=1)
    3
    >>> integer(1.5, "rounds")
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: rounds: expected an integer, got 1.5
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = index(value)
    except TypeError:
        raise OsanError(f"{name}: expected an integer, got {value!r}") from None
    if least is not None and number < least:
        raise OsanError(f"{name}: expected at least {least}, got {_short(number)}")
    if most is not None and number > most:
        raise OsanError(f"{name}: expected at most {most}, got {_short(number)}")
    return number


def switch(value: Any, name: str) -> bool:
    """True or false, and nothing that merely counts as such.

    >>> switch("no", "ordered")
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: ordered: expected True or False, got 'no'
    """
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise OsanError(f"{name}: expected True or False, got {value!r}")


def _short(number: int) -> str:
    """A number for a message; Python refuses to write very long ones."""
    return str(number) if abs(number) < 10**30 else f"one of {number.bit_length()} bits"
