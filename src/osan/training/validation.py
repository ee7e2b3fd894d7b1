"""Validation with pydantic, with errors in one line that name the key."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationError

from osan.errors import OsanError
from osan.parts import resolve
from osan.words import PARTS

Checked = TypeVar("Checked", bound=BaseModel)


def name_in(table: str | Sequence[str], custom: bool = True, further: Sequence[str] = ()) -> AfterValidator:
    """A validator of names: expects one in a table or, if ``custom``, also ``"module:name"``.

    Parameters
    ----------
    table
        The names, or a key of :data:`osan.words.PARTS`. The table itself is imported only for a name that is
        not among the known ones: it may have been added.
    custom
        Whether ``"module:name"`` is allowed, too. Such a module is not imported yet.
    further
        Further names.
    """

    def check(value: str | None) -> str | None:
        known = [*further, *(PARTS[table] if isinstance(table, str) else table)]
        if value is None or value in known or (custom and ":" in value):
            return value
        if isinstance(table, str):
            known = [*further, *resolve(table, {}, "table")]
            if value in known:
                return value
        allowed = [*map(repr, known), *(["'module:name'"] if custom else [])]
        close = get_close_matches(value, known, n=1, cutoff=0.5)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"expected {', '.join(allowed[:-1])} or {allowed[-1]}, got {value!r}{hint}")

    return AfterValidator(check)


def run_name(name: str) -> str:
    """A name that is a path below the folder of runs, and does not lead out of it.

    >>> run_name("zinc/gin")
    'zinc/gin'
    """
    parts = name.split("/")
    if any(part in (".", "..") or "\0" in part for part in parts) or (name and not all(parts)):
        raise ValueError(f"expected words with single slashes between them, got {name!r}")
    if any(len(part.encode(errors="replace")) > 255 for part in parts):
        raise ValueError(f"expected words of at most 255 bytes, got {name[:80]!r}...")
    return name


RunName = Annotated[str, AfterValidator(run_name)]
# Numbers as text: on the command line, ``training.precision=64`` is a number.
AS_TEXT = BeforeValidator(lambda value: str(value) if isinstance(value, int) else value)


# What errors about parts begin with, and the setting that names the part.
_SETTINGS = {
    **{name: f"selection.{name}" for name in ("policy", "estimator", "noise", "bar", "auxiliary")},
    "conv": "network.conv",
    "atomic": "network.atomic",
    "pooling": "network.readout",
}


def is_about_part(error: OsanError) -> bool:
    """Whether an error says first which part is wrong."""
    return str(error).partition(":")[0] in _SETTINGS


@contextmanager
def naming_settings() -> Iterator[None]:
    """Let errors about parts begin with the setting that names the part.

    >>> with naming_settings():
    ...     raise OsanError("conv: expected a layer, got int")
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: network.conv: expected a layer, got int
    """
    try:
        yield
    except OsanError as error:
        if not is_about_part(error):
            raise
        part, _, rest = str(error).partition(":")
        raise OsanError(f"{_SETTINGS[part]}:{rest}") from error


def checked(model: type[Checked], tree: Mapping[str, Any], where: str) -> Checked:
    """An instance of a pydantic model; the first problem raises an :class:`OsanError`."""
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        raise OsanError(f"{where}: {_explain(error, model)}") from None


def _explain(error: ValidationError, model: Any) -> str:
    """The first error of pydantic's list in one line, with a suggestion for a misspelled key."""
    # A misspelled key is also a missing one; its spelling says more.
    first = min(error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden")
    # The location may end in the names of a union's branches, which are no keys.
    path = [str(part) for part in first["loc"]]
    if first["type"] != "extra_forbidden":
        keys = ".".join(path[:2])
        message = first["msg"].removeprefix("Value error, ")
        complete = isinstance(first["input"], dict | BaseModel) or ", got " in message
        message += "" if complete else f", got {first['input']!r}"
        return f"{keys}: {message}" if keys else message
    *sections, key = path
    for section in sections:
        model = get_args(model)[0] if section.isdecimal() else model.model_fields[section].annotation
    known = list(model.model_fields)
    close = get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {'.'.join([*sections, close[0]])!r}?" if close else f"known are {', '.join(known)}"
    return f"unknown key {'.'.join(path)!r}; {hint}"


def plain(value: Any) -> str:
    """A value in characters that neither paths nor shells treat specially.

    >>> plain(["log S", 3])
    'log_S+3'
    """
    text = "+".join(map(str, value)) if isinstance(value, list) else str(value)
    return re.sub(r"[^\w.+-]", "_", text)


def shortened(name: str, most: int = 200) -> str:
    """A name of at most ``most`` bytes: a longer one ends in a checksum of the whole.

    >>> shortened("a" * 300, 20)
    'aaaaaaa-9835fa6bf4e2'
    """
    content = name.encode(errors="replace")
    if len(content) <= most:
        return name
    checksum = hashlib.sha256(content).hexdigest()[:12]
    return f"{content[: most - 13].decode(errors='ignore')}-{checksum}"


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested mapping as one, with the keys joined by dots; options stay together.

    >>> flat({"training": {"epochs": 3, "options": {"a": 1}}})
    {'training.epochs': 3, 'training.options': {'a': 1}}
    """
    out: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict) and key != "options":
            out |= flat(value, f"{prefix}{key}.")
        else:
            out[prefix + key] = value
    return out
