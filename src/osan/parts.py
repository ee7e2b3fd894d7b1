"""Parts by name: an object is used as it is, a name is looked up, ``"module:name"`` is imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from osan.errors import OsanError, one_line


def resolve(part: Any, table: Mapping[str, Any], what: str) -> Any:
    """The part that ``part`` stands for.

    Parameters
    ----------
    part
        An object, which is returned as it is; a name in ``table``; or ``"module:name"``, which is imported.
        Modules are looked up in the current folder first, then wherever Python finds modules.
    table
        The parts that are known by name.
    what
        What kind of part it is, for the message of an error, such as ``"estimator"``.

    Raises
    ------
    OsanError
        If the name is unknown, or the module or the name in it cannot be imported.

    Examples
    --------
    >>> resolve("sum", {"sum": sum}, "pooling") is sum
    True
    >>> resolve("math:prod", {}, "pooling")([2, 3])
    6
    >>> resolve("summ", {"sum": sum}, "pooling")
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: pooling: expected 'sum' or 'module:name', got 'summ'; did you mean 'sum'?
    """
    if not isinstance(part, str):
        return part
    if part in table:
        return table[part]
    if ":" in part:
        return _imported(part, what)
    known = ", ".join(map(repr, table))
    close = get_close_matches(part, table, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise OsanError(f"{what}: expected {known} or 'module:name', got {part!r}{hint}")


def _imported(text: str, what: str) -> Any:
    module_name, _, name = text.partition(":")
    try:
        with _current_folder_first():
            found: Any = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the user's module raises while it is imported
        raise OsanError(f"{what}: cannot import {text!r} ({one_line(error)})") from error
    return found


@contextmanager
def calling(part: Any, what: str) -> Iterator[None]:
    """Turn whatever a custom part raises into an error of one line that names it.

    >>> with calling("my_file:root", "loss"):
    ...     [].index(1)
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: loss: 'my_file:root' failed (ValueError: 1 is not in list)
    """
    try:
        yield
    except OsanError:
        raise
    except Exception as error:
        name = part if isinstance(part, str) else getattr(part, "__name__", type(part).__name__)
        raise OsanError(f"{what}: {name!r} failed ({one_line(error)})") from error


@contextmanager
def _current_folder_first() -> Iterator[None]:
    """Let imports see the current folder, as they do in ``python`` but not in an installed command."""
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")
