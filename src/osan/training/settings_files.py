"""Settings in files (TOML or YAML) and in words such as ``training.epochs=3``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from osan import toml
from osan.errors import OsanError
from osan.files import write_bytes
from osan.training.settings import Settings, validated
from osan.training.validation import flat


def read_settings(path: str | Path) -> Settings:
    """The settings in a ``.toml``, ``.yaml`` or ``.yml`` file."""
    return validated(read_tree(path), str(path))


def read_tree(path: str | Path) -> dict[str, Any]:
    """The keys and values in a ``.toml``, ``.yaml`` or ``.yml`` file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OsanError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            import yaml  # type: ignore[import-untyped]

            try:
                tree = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ValueError(" ".join(str(error).split())) from error
        else:
            tree = toml.loads(text)
        _check_size(tree)
    except (ValueError, RecursionError, OverflowError, AttributeError, TypeError, LookupError) as error:
        raise OsanError(f"{path}: not valid {path.suffix.lstrip('.').upper() or 'TOML'}: {error}") from error
    if not isinstance(tree, dict):
        raise OsanError(f"{path}: expected keys and values, got {type(tree).__name__}")
    return tree


def _check_size(tree: Any) -> None:
    """Raise for more values, or deeper nesting, than settings have; aliases of YAML count each time."""
    waiting, values = [(tree, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        values += 1
        if values > _MOST_VALUES or depth > _MOST_LEVELS:
            raise OsanError(
                f"settings: expected at most {_MOST_VALUES} values, nested up to {_MOST_LEVELS} times, "
                "got more"
            )
        children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        waiting.extend((child, depth + 1) for child in children)


def write_settings(settings: Settings, path: str | Path) -> None:
    """Write ``settings`` as TOML, whole or not at all."""
    try:
        content = settings.to_toml().encode()
    except UnicodeEncodeError as error:  # from a name that the system gave as bytes
        raise OsanError(f"settings: expected UTF-8 text, got {error.object[:80]!r}") from error
    write_bytes(Path(path), content)


def named_changes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Changes from keywords: a setting in full, or by its last word if a single section has it.

    >>> named_changes({"epochs": 3, "data.kind": "binary"})
    {'training.epochs': 3, 'data.kind': 'binary'}
    >>> named_changes({"epoch": 3})
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: settings: unknown setting 'epoch'; did you mean 'epochs'?
    """
    known = flat(Settings().model_dump())
    by_word: dict[str, list[str]] = {}
    for key in known:
        by_word.setdefault(key.rpartition(".")[2], []).append(key)
    changes: dict[str, Any] = {}
    for name, value in values.items():
        keys = [name] if "." in name or name in known else by_word.get(name, [])
        if not keys:
            close = get_close_matches(name, by_word, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise OsanError(f"settings: unknown setting {name!r}{hint}")
        if len(keys) > 1:
            raise OsanError(f"settings: expected one of {', '.join(keys)}, got {name!r}")
        changes[keys[0]] = value
    return changes


# More than any settings have.
_MOST_VALUES, _MOST_LEVELS = 10_000, 20
# Settings for which "none" is a name; for the others it means that they are not set.
_NAMED_NONE = ("selection.noise", "selection.evaluation_noise", "selection.auxiliary")


def parsed_changes(words: Sequence[str]) -> dict[str, Any]:
    """Changes from words ``key=value``; a value is TOML if it can be, else text.

    >>> parsed_changes(["training.epochs=3", "selection.policy=delete 1 vertex x 3", "data.targets=['a']"])
    {'training.epochs': 3, 'selection.policy': 'delete 1 vertex x 3', 'data.targets': ['a']}
    >>> parsed_changes(["training.patience=none", "selection.evaluation_noise=none"])
    {'training.patience': None, 'selection.evaluation_noise': 'none'}
    """
    changes: dict[str, Any] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            raise OsanError(f"{word}: expected key=value, such as training.epochs=50")
        try:
            changes[key.strip()] = toml.loads(f"value = {value}")["value"]
        except RecursionError:
            raise OsanError(f"{key.strip()}: expected a value, got one that is nested too deep") from None
        except toml.TOMLDecodeError:
            unset = value.strip().lower() == "none" and key.strip() not in _NAMED_NONE
            changes[key.strip()] = None if unset else value.strip()
        except ValueError:  # Python reads no integers of thousands of digits
            raise OsanError(f"{key.strip()}: expected a number with fewer digits, got {len(value)}") from None
        _check_size(changes[key.strip()])
    return changes
