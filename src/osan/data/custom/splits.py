"""Splits of your graphs and molecules: drawn at random, in folds, or given by a file."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from osan.data.formats.saved import load_safely
from osan.data.naming import num_folds
from osan.data.splits import (
    PARTS,
    SYNONYMS,
    Split,
    SplitRequest,
    can_stratify,
    check_split,
    draw_split,
    given_split,
)
from osan.errors import OsanError
from osan.files import read_text
from osan.words import Kind, counted

# What a pickled array of integers consists of, also in files of numpy 1.
_RECONSTRUCT = np.zeros(0).__reduce__()[0]
_ARRAYS = [
    *(codecs.encode, np.ndarray, np.dtype, np.dtypes.Int64DType, np.dtypes.Int32DType, _RECONSTRUCT),
    (_RECONSTRUCT, "numpy.core.multiarray._reconstruct"),
]
_DRAWN = ("random", "stratified", "kfold")


def custom_split(
    request: SplitRequest,
    y: Tensor,
    kind: Kind,
    *,
    rows: Sequence[int] | None = None,
    count: int | None = None,
    further: Mapping[str, Callable[[], Split]] | None = None,
) -> tuple[Split, str]:
    """The wanted split, as positions among the graphs that are used, and its description.

    Parameters
    ----------
    request
        Its ``split`` is ``"random"`` (the default), ``"stratified"`` (the default if there is a fold and one
        target with classes), ``"kfold"`` or ``"kfold:N"`` (the default for other folds), a name in
        ``further``, the file of a split (see :func:`read_split`), or a mapping of ``"train"``, ``"val"``
        (or ``"valid"``) and ``"test"`` to indices.
    y
        The targets of the graphs that are used.
    kind
        The kind of the targets.
    rows, count
        If some rows of a file are not used: the rows of the graphs that are, and how many rows there are. A
        file or mapping counts all rows; those that are not used are dropped.
    further
        Splits with other names.

    Examples
    --------
    >>> given = SplitRequest({"train": [3, 0], "valid": [1], "test": [4]})
    >>> parts, words = custom_split(given, torch.zeros(5), "regression")
    >>> {part: index.tolist() for part, index in parts.items()}, words
    ({'train': [3, 0], 'val': [1], 'test': [4]}, 'as given, 1 graph in no part')
    """
    further = further or {}
    check_custom(request)
    split = request.split
    if split is None:
        split = "random" if request.fold is None else "stratified" if can_stratify(y, kind) else "kfold"
    if isinstance(split, str) and split in further:
        return further[split](), split
    if isinstance(split, str) and (split in _DRAWN or num_folds(split)):
        return draw_split(request, split, y, kind)
    total = len(y) if count is None else count
    if isinstance(split, Mapping):
        whole, words = indices_of(split, total, "split"), "as given"
    elif os.path.isfile(split):
        whole, words = read_split(Path(split), total), f"as in {Path(split).name}"
    else:
        known = ", ".join((*_DRAWN, *further))
        of_tables = split == "scaffold" or str(split).startswith("time:")
        hint = "; scaffold and time:COLUMN are for tables of molecules" if of_tables else ""
        raise OsanError(f"split: expected {known} or a split file, got {str(split)!r}{hint}")
    parts = _used(whole, total, rows)
    rest = len(y) - sum(map(len, parts.values()))
    return parts, words + (f", {counted(rest, 'graph')} in no part" if rest else "")


def check_custom(request: SplitRequest) -> None:
    """Raise if folds are wanted of a split that has none."""
    split = request.split
    if split is None:
        split = "random" if request.fold is None else "kfold"
    name = "given" if isinstance(split, Mapping) else str(split)
    request.check_folds(name, num_folds(name))


def read_split(path: Path, count: int) -> Split:
    """Read the split of graphs 0 to ``count - 1`` from a file.

    - ``.json``: an object with the lists ``train``, ``val`` (or ``valid``, ``validation``) and ``test``;
    - ``.pt``: such a mapping to tensors or arrays, as OGB's ``split_dict.pt``; nothing else is built from it;
    - any other (also ``.gz``): text with one of these words per line and graph; a header is allowed.

    Raises
    ------
    OsanError
        If a part is missing or empty, or an index is out of range or repeated. The message names the file.
    """
    suffix = path.suffix.lower()
    if suffix == ".pt":
        return indices_of(load_safely(path, "the indices of a split", _ARRAYS), count, str(path))
    if suffix == ".json":
        try:
            content = json.loads(read_text(path))
        except (ValueError, RecursionError) as error:
            if isinstance(error, OsanError):
                raise
            raise OsanError(f"{path}: expected JSON ({error})") from None
        return indices_of(content, count, str(path))
    words = [line.strip().strip("\"'").strip() for line in read_text(path).splitlines()]
    while words and not words[-1]:
        words.pop()
    first = 1 if len(words) == count + 1 and words[0].lower() not in SYNONYMS else 0
    if len(words) - first != count:
        raise OsanError(
            f"{path}: expected {count} lines of train, val or test, one per graph, got {len(words) - first}"
        )
    return given_split(words[first:], str(path), range(first + 1, len(words) + 1))


def indices_of(content: Any, count: int, where: str) -> Split:
    """The split in a mapping of the three parts to indices from 0 to ``count - 1``."""
    if not isinstance(content, Mapping):
        raise OsanError(
            f"{where}: expected indices under train, val (or valid) and test, got {type(content).__name__}"
        )
    parts: Split = {}
    for name, indices in content.items():
        part = SYNONYMS.get(str(name).lower())
        if part is None or part in parts:
            again = " again" if part in parts else ""
            raise OsanError(f"{where}: expected train, val (or valid) and test, got {name!r}{again}")
        parts[part] = _integers(indices, f"{where}, {name}")
    missing = [part for part in PARTS if part not in parts]
    if missing:
        raise OsanError(f"{where}: expected train, val (or valid) and test, got no {missing[0]}")
    return check_split({part: parts[part] for part in PARTS}, count, where=f"{where}: ")


def _integers(indices: Any, where: str) -> Tensor:
    """Indices as a tensor of one dimension; an empty list counts as integers."""
    try:
        array = np.asarray(indices)
    except (TypeError, ValueError, RuntimeError) as error:
        raise OsanError(f"{where}: expected a list of integers ({error})") from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        what = f"{array.dtype} of shape {array.shape}" if array.dtype.kind != "O" else type(indices).__name__
        raise OsanError(f"{where}: expected a list of integers, got {what}")
    return torch.from_numpy(array.astype(np.int64))


def _used(whole: Split, count: int, rows: Sequence[int] | None) -> Split:
    """Rows of a file as positions among the graphs that are used; the others are dropped."""
    if rows is None:
        return whole
    position = torch.full((count,), -1)
    position[torch.tensor(rows, dtype=torch.long)] = torch.arange(len(rows))
    parts = {part: position[index] for part, index in whole.items()}
    kept = {part: index[index >= 0] for part, index in parts.items()}
    return check_split(kept, len(rows), where="among the usable rows, ")
