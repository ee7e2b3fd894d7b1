"""Validation with pydantic, with errors in one line that name the key."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ValidationError

from osan.errors import OsanError
from osan.parts import resolve

Checked = TypeVar("Checked", bound=BaseModel)


def name_in(table: Mapping[str, Any]) -> AfterValidator:
    """A validator of names: expects a key of ``table``, or ``"module:name"``, which is not imported yet."""

    def check(value: str | None) -> str | None:
        if value is not None and ":" not in value:
            try:
                resolve(value, table, "name")
            except OsanError as error:
                raise ValueError(str(error).removeprefix("name: ")) from None
        return value

    return AfterValidator(check)


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
