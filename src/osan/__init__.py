"""See graphs through their (ordered) subgraphs.

The combinatorial half lives in :mod:`osan.wl` (no torch needed), the neural half in :mod:`osan.nn`.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_ROOMS = ("bags", "data", "errors", "experiments", "graphs", "nn", "report", "selection", "training", "wl")
_HOMES = {
    "Run": "report",
    "load_model": "training",
    "open_run": "report",
    "replicate": "running",
    "train": "running",
}


def __getattr__(name: str) -> Any:
    """A room on first use, ``osan.nn``: importing all of them at once would take seconds and need torch."""
    if name in _ROOMS:
        return importlib.import_module(f"osan.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(f"osan.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'osan' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_ROOMS, *_HOMES]
