"""Options of settings: which part takes which keyword argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from osan.errors import OsanError
from osan.nn.options import option_names


def accepts(part: Callable[..., Any], name: str) -> bool:
    """Whether a function or class takes a keyword argument.

    >>> accepts(sorted, "reverse"), accepts(sorted, "speed"), accepts(dict, "speed")
    (True, False, True)
    """
    named, rest = _keywords(part)
    return rest or name in named


def share_options(
    options: Mapping[str, Any], parts: Mapping[str, Callable[..., Any]], where: str
) -> dict[str, dict[str, Any]]:
    """The options of each part: every option goes to all parts that take an argument of that name.

    Parameters
    ----------
    options
        Keyword arguments from the settings.
    parts
        Functions and classes by name.
    where
        The key of the options, for the message of an error.

    Raises
    ------
    OsanError
        If no part takes an option.

    Examples
    --------
    >>> share_options({"reverse": True}, {"first": sorted, "second": len}, "options")
    {'first': {'reverse': True}, 'second': {}}
    """
    shares: dict[str, dict[str, Any]] = {name: {} for name in parts}
    for option, value in options.items():
        takers = [name for name, part in parts.items() if accepts(part, option)]
        if not takers:
            known = sorted({name for part in parts.values() for name in _options(part)})
            close = get_close_matches(option, known, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise OsanError(f"{where}: expected {', '.join(known) or 'no options'}, got {option!r}{hint}")
        for name in takers:
            shares[name][option] = value
    return shares


def _options(part: Callable[..., Any]) -> list[str]:
    """The arguments that a caller may leave out or has to name."""
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty)
    try:
        found = inspect.signature(part).parameters
    except (TypeError, ValueError):
        return []
    required = [name for name, each in found.items() if (each.kind, each.default) == plain]
    return [name for name in _keywords(part)[0] if name not in required]


def _keywords(part: Callable[..., Any]) -> tuple[list[str], bool]:
    """The named arguments of a function or class, and whether it takes any others."""
    try:
        parameters = inspect.signature(part).parameters.values()
        named = option_names(part)
    except (TypeError, ValueError, NameError):  # some built-in functions have no signature
        return [], True
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    listed = [each.name for each in parameters if each.kind in kinds]
    others = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    # Typed options (Unpack) are listed by name, so there are no others.
    return [*listed, *(name for name in named if name not in listed)], others and len(named) <= len(listed)
