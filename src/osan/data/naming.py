"""What names mean: of datasets, files, splits, encodings and descriptors. Nothing here needs torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from osan.data.formats.table import is_foreign, is_table
from osan.data.published.catalog import PUBLISHED
from osan.errors import OsanError
from osan.words import ENCODINGS, GENERATED_NAMES

# The number of folds of a split into folds, and of columns of morgan, by default.
FOLDS, MORGAN = 10, 1024


def names() -> tuple[str, ...]:
    """Every name that :func:`osan.data.load` knows: the published datasets, then the generated ones."""
    return (*PUBLISHED, *GENERATED_NAMES)


def find_path(dataset: str | os.PathLike[str]) -> Path | None:
    """The file or folder that ``dataset`` is, or ``None`` if it is one of :func:`names` or ``module:name``.

    >>> find_path("zinc") is None
    True

    Raises
    ------
    OsanError
        If it is neither.
    """
    if not isinstance(dataset, str | os.PathLike):
        raise OsanError(
            f"dataset: expected a name or a path, got {type(dataset).__name__}; "
            "for graphs in memory use osan.data.task_from_graphs"
        )
    text = os.fspath(dataset)
    if text in names():
        return None
    # pathlib takes an empty name for the current folder.
    if text and os.path.exists(text):
        return Path(text)
    if _is_custom(text):
        return None
    if _content_by_suffix(text) is not None or is_foreign(text):
        raise OsanError(f"dataset: expected a file, got {text!r}, which does not exist")
    close = get_close_matches(text, names(), n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    known = f"a file, a folder, 'module:name' or one of {', '.join(names())}"
    raise OsanError(f"dataset: expected {known}, got {text!r}{hint}")


def content_of(path: str | os.PathLike[str]) -> Literal["table", "graphs"] | None:
    """What a path holds, by its name: a table, graphs (also a TU folder), or ``None`` if unknown.

    >>> content_of("molecules.csv.gz"), content_of("pairs.g6"), content_of("notes.txt")
    ('table', 'graphs', None)
    """
    return _content_by_suffix(path) or ("graphs" if is_tu(Path(path)) else None)


def _content_by_suffix(path: str | os.PathLike[str]) -> Literal["table", "graphs"] | None:
    if is_table(path):
        return "table"
    from osan.graphs.files import SUFFIXES

    suffix = Path(Path(path).name.removesuffix(".gz")).suffix.lower()
    return "graphs" if suffix in (".pt", *SUFFIXES) else None


def is_tu(path: Path) -> bool:
    """Whether ``path`` is a TU folder, or has one named ``raw``."""
    return any(path.glob("*_A.txt")) or any((path / "raw").glob("*_A.txt"))


def num_folds(split: object) -> int:
    """How many folds a drawn split has, by its name; 0 if it has none.

    >>> num_folds("stratified"), num_folds("kfold"), num_folds("kfold:5"), num_folds("random")
    (10, 10, 5, 0)
    """
    name = split.partition(":")[0] if isinstance(split, str) else ""
    if not isinstance(split, str) or (name != "kfold" and split != "stratified"):
        return 0
    word = split.partition(":")[2] or str(FOLDS)
    if not (word.isdecimal() and len(word) < 5 and int(word) >= 3):
        raise OsanError(
            f"split: expected kfold:N with N from 3 to 9999 (test, validation, training), got {split!r}"
        )
    return int(word)


def parse_encoding(text: str) -> tuple[str, int]:
    """Name and number of columns of an encoding; that of a custom one is ``module:name``.

    >>> parse_encoding("cse:16"), parse_encoding("rwse"), parse_encoding("my_file:degrees:2")
    (('cse', 16), ('rwse', 16), ('my_file:degrees', 2))
    """
    name, colon, size = text.rpartition(":") if text not in ENCODINGS else (text, "", "")
    known = name in ENCODINGS or _is_custom(name)
    if not known or (colon and not (size.isdecimal() and 1 <= int(size) <= 64)):
        words = ", ".join(f"'{name}:K'" for name in ENCODINGS)
        raise OsanError(f"encodings: expected {words} or 'module:name:K' with K from 1 to 64, got {text!r}")
    return name, int(size) if colon else ENCODINGS[name]


def _is_custom(name: str) -> bool:
    """Whether a name has the form ``module:name``."""
    module, colon, part = name.partition(":")
    return bool(colon) and all(word.isidentifier() for word in (*module.split("."), *part.split(".")))


def in_order(names: Sequence[str]) -> list[str]:
    """The names with fingerprints last, checked.

    >>> in_order(["morgan", "rdkit2d"])
    ['rdkit2d', 'morgan:1024']
    """
    if len(set(names)) < len(names):
        raise OsanError(f"descriptors: expected each name once, got {', '.join(names)}")
    given = [f"{name}:{MORGAN}" if name == "morgan" else name for name in names]
    return sorted(given, key=is_fingerprint)


def is_fingerprint(name: str) -> bool:
    """Whether a name is that of a fingerprint, whose columns are comparable as they are."""
    kind, _, size = name.partition(":")
    if kind != "morgan":
        return False
    if size and not (size.isdecimal() and 16 <= int(size) <= 16384):
        raise OsanError(f"descriptors: expected morgan:N with N from 16 to 16384, got {name!r}")
    return True


def table_columns(names: Sequence[str]) -> list[str]:
    """Those names that are columns of a table.

    >>> table_columns(["rdkit2d", "pH", "morgan:64"])
    ['pH']
    """
    return [name for name in names if name != "rdkit2d" and not is_fingerprint(name)]
