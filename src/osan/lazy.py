"""Public names that a package imports on first use, so that importing the package itself is cheap."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def attach(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` for a package (PEP 562).

    Parameters
    ----------
    package
        The name of the package.
    homes
        The public names of each module of the package.

    Examples
    --------
    >>> load, names = attach("concurrent", {"futures": ["Future"]})
    >>> load("Future").__name__, names()
    ('Future', ['Future'])
    """
    home = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home[name]}"), name)

    return load, lambda: sorted(home)
