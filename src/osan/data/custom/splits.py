"""Which of one's own graphs are for training, validation and test: drawn, stratified, or as a file says."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from osan.data.formats.saved import load_safely
from osan.data.splits import PARTS, SYNONYMS, Split, checked, given_split, random_split, stratified_fold
from osan.data.task import Kind
from osan.errors import OsanError
from osan.files import read_text

# Of what a pickled array of integers is made, in files of numpy 1, too.
_RECONSTRUCT = np.zeros(0).__reduce__()[0]
_ARRAYS = [
    *(codecs.encode, np.ndarray, np.dtype, np.dtypes.Int64DType, np.dtypes.Int32DType, _RECONSTRUCT),
    (_RECONSTRUCT, "numpy.core.multiarray._reconstruct"),
]
Wanted = str | os.PathLike[str] | Mapping[str, Any] | None


def custom_split(
    split: Wanted,
    y: Tensor,
    kind: Kind,
    *,
    fold: int | None = None,
    seed: int = 0,
    validate_on_test: bool = False,
    places: Sequence[int] | None = None,
    count: int | None = None,
) -> tuple[Split, str]:
    """The split asked for, as positions among the graphs that are used, and what it is in words.

    Parameters
    ----------
    split
        ``"random"`` (80/10/10 by ``seed``), ``"stratified"`` (ten folds by ``seed``), the file of a split
        (:func:`read_split`), or a mapping from ``"train"``, ``"val"`` (or ``"valid"``) and ``"test"`` to
        indices. ``None``: stratified if there is a ``fold``, else random.
    y
        The targets of the graphs that are used.
    kind
        What they are.
    fold, validate_on_test
        Which of the ten folds is tested, and whether it is validated on, too.
    places, count
        Where in their file those graphs stand, and how many it holds, if some are left out: what is said
        of others in ``split`` is of no consequence.

    Examples
    --------
    >>> given = {"train": [3, 0], "valid": [1], "test": [4]}
    >>> parts, words = custom_split(given, torch.zeros(5), "regression")
    >>> {part: index.tolist() for part, index in parts.items()}, words
    ({'train': [3, 0], 'val': [1], 'test': [4]}, 'as given, 1 graph in no part')
    """
    check_folds(split, fold, validate_on_test)
    if split == "stratified" or (split is None and fold is not None):
        if kind == "regression" or (y.dim() > 1 and y.shape[1] != 1):
            raise OsanError(
                f"stratified folds need one target of classes, got {kind} with "
                f"{1 if y.dim() == 1 else y.shape[1]} target(s); give the file of a split for each fold"
            )
        parts = stratified_fold(y.reshape(-1), fold or 0, seed, same=validate_on_test)
        same = ", validated on test" if validate_on_test else ""
        return parts, f"stratified fold {fold or 0} of 10, seed {seed}{same}"
    if split is None or split == "random":
        return random_split(len(y), seed), f"random 80/10/10, seed {seed}"
    if split == "scaffold":
        raise OsanError(
            "split: scaffold splits molecules of a table, but these are graphs; "
            "expected random, stratified or the file of a split"
        )
    many = len(y) if count is None else count
    if isinstance(split, Mapping):
        whole, words = indices_of(split, many, "split"), "as given"
    elif os.path.isfile(split):
        whole, words = read_split(Path(split), many), f"as in {Path(split).name}"
    else:
        raise OsanError(
            f"split: expected random, stratified or the file of a split, got {str(split)!r}, which is no file"
        )
    parts = _kept(whole, many, places)
    left = len(y) - sum(map(len, parts.values()))
    return parts, words + (f", {left} graph{'' if left == 1 else 's'} in no part" if left else "")


def check_folds(split: Wanted, fold: int | None, validate_on_test: bool) -> None:
    """Raise if a split is none, or a fold is asked for of a split that has none."""
    if not (split is None or isinstance(split, str | os.PathLike | Mapping)):
        raise OsanError(
            "split: expected a word, the file of a split, or a mapping from train, val and test to indices, "
            f"got {type(split).__name__}"
        )
    if fold is not None and (isinstance(fold, bool) or not isinstance(fold, Integral)):
        raise OsanError(f"fold: expected an integer from 0 to 9, got {fold!r}")
    folds = split == "stratified" or (split is None and fold is not None)
    if fold is not None and not folds:
        name = str(split) if isinstance(split, str | os.PathLike) else "given"
        raise OsanError(
            f"fold={fold} was asked for, but the split {name!r} has no folds; expected stratified (or none)"
        )
    if validate_on_test and not folds:
        raise OsanError("validate_on_test goes with folds (fold=0, 1, ...), but the split has none")


def read_split(path: Path, count: int) -> Split:
    """The split that a file says, of graphs 0 to ``count - 1``.

    - ``.json``: an object with the lists ``train``, ``val`` (or ``valid``, ``validation``) and ``test``;
    - ``.pt``: such a mapping to tensors or arrays, as OGB's ``split_dict.pt``; nothing else is built from it;
    - any other (also ``.gz``): text with one of these words per graph and line, after a header if it has one.

    Raises
    ------
    OsanError
        Naming the file and what is wrong: a part that is missing or empty, an index out of range or twice.
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
            raise OsanError(f"{path}: not JSON ({error})") from None
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
    """The split in a mapping of three parts to indices from 0 to ``count - 1``."""
    if not isinstance(content, Mapping):
        raise OsanError(
            f"{where}: expected indices under train, val (or valid) and test, got {type(content).__name__}"
        )
    parts: Split = {}
    for name, indices in content.items():
        part = SYNONYMS.get(str(name).lower())
        if part is None or part in parts:
            what = "a second" if part in parts else "an unknown"
            raise OsanError(f"{where}: {what} part {name!r}; expected train, val (or valid) and test")
        parts[part] = _integers(indices, f"{where}, {name}")
    missing = [part for part in PARTS if part not in parts]
    if missing:
        raise OsanError(f"{where}: the part {missing[0]} is missing; expected train, val (or valid) and test")
    return checked({part: parts[part] for part in PARTS}, count, where=f"{where}: ")


def _integers(indices: Any, where: str) -> Tensor:
    """Indices as a tensor of one dimension; an empty list has no type yet and is one of integers."""
    try:
        array = np.asarray(indices)
    except (TypeError, ValueError, RuntimeError) as error:
        raise OsanError(f"{where}: expected a list of integers ({error})") from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        what = f"{array.dtype} of shape {array.shape}" if array.dtype.kind != "O" else type(indices).__name__
        raise OsanError(f"{where}: expected a list of integers, got {what}")
    return torch.from_numpy(array.astype(np.int64))


def _kept(whole: Split, count: int, places: Sequence[int] | None) -> Split:
    """Positions in the file as positions among the graphs that are used; the others are dropped."""
    if places is None:
        return whole
    position = torch.full((count,), -1)
    position[torch.tensor(places, dtype=torch.long)] = torch.arange(len(places))
    parts = {part: position[index] for part, index in whole.items()}
    kept = {part: index[index >= 0] for part, index in parts.items()}
    return checked(kept, len(places), where="of the rows that can be used, ")
