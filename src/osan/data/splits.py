"""Training, validation and test graphs: random, in folds, by scaffold, by time, or as published."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from osan.data.naming import FOLDS, num_folds
from osan.errors import OsanError
from osan.extras import optional, rdkit
from osan.words import Kind

Split = dict[str, Tensor]
PARTS = ("train", "val", "test")
_MOST_ATOMS = 1000  # of molecules whose scaffold is looked for
SYNONYMS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@dataclass(frozen=True)
class SplitRequest:
    """Which split is wanted, whatever the graphs are.

    Parameters
    ----------
    split
        Its name, such as ``"random"``, ``"kfold:5"`` or ``"stratified"``; the file of a split; or a mapping
        of the parts to indices. The usual split of the graphs by default.
    fold
        Which fold is tested, from 0, if the split has folds.
    seed
        Seed of random splits and of folds.
    validate_on_test
        Validate on the tested fold, as published results on EXP do. The model is then selected on the test
        graphs.
    """

    split: str | os.PathLike[str] | Mapping[str, Any] | None = None
    fold: int | None = None
    seed: int = 0
    validate_on_test: bool = False

    def __post_init__(self) -> None:
        if not (self.split is None or isinstance(self.split, str | os.PathLike | Mapping)):
            raise OsanError(
                "split: expected a name, a file, or a mapping of train, val and test to indices, "
                f"got {type(self.split).__name__}"
            )
        if self.fold is not None and (isinstance(self.fold, bool) or not isinstance(self.fold, Integral)):
            raise OsanError(f"fold: expected an integer from 0, got {self.fold!r}")

    def default(self, available: Sequence[str]) -> str:
        """The first available split; stratified instead of random if a fold is wanted.

        >>> SplitRequest(fold=0).default(["random", "stratified"])
        'stratified'
        """
        if self.fold is not None and available[0] == "random" and "stratified" in available:
            return "stratified"
        return available[0]

    def check_folds(self, split: str, folds: int, what: str = "") -> None:
        """Raise if folds are asked for of a split that has none.

        Parameters
        ----------
        split
            The name of the split that was found.
        folds
            How many folds it has; 0 if it has none.
        what
            The name of the dataset, for the error.
        """
        of = f"the split {split!r}{f' of {what}' if what else ''}"
        if self.fold is not None and not folds:
            raise OsanError(f"fold: expected none, for {of} has no folds, got {self.fold}")
        if self.fold is not None:
            check_fold(self.fold, folds)
        if self.validate_on_test and not folds:
            raise OsanError(f"validate_on_test: expected a split with folds, but {of} has none")


def draw_split(request: SplitRequest, split: str, y: Tensor, kind: Kind) -> tuple[Split, str]:
    """A ``"random"``, ``"stratified"`` or ``"kfold"`` split of graphs with the targets ``y``, and its words.

    >>> parts, words = draw_split(SplitRequest(seed=3), "random", torch.zeros(20, 1), "regression")
    >>> [len(part) for part in parts.values()], words
    ([16, 2, 2], 'random 80/10/10, seed 3')
    >>> draw_split(SplitRequest(fold=4), "kfold:5", torch.zeros(20, 1), "regression")[1]
    'fold 4 of 5, seed 0'
    """
    folds = num_folds(split)
    request.check_folds(split, folds)
    if split == "random":
        return random_split(len(y), request.seed), f"random 80/10/10, seed {request.seed}"
    fold, same = request.fold or 0, request.validate_on_test
    words = f"fold {fold} of {folds}, seed {request.seed}{', validated on test' if same else ''}"
    if split != "stratified":
        return kfold_split(len(y), fold, request.seed, folds, same=same), words
    if not can_stratify(y, kind):
        targets = 1 if y.dim() == 1 else y.shape[1]
        raise OsanError(
            f"split: stratified folds need one target with classes, got {kind} with {targets} target(s); "
            "use kfold instead"
        )
    parts = stratified_fold(y.reshape(-1), fold, request.seed, FOLDS, same=same)
    return parts, f"stratified {words}"


def can_stratify(y: Tensor, kind: Kind) -> bool:
    """Whether targets are one class each, so that folds can have equal shares of the classes."""
    return kind != "regression" and (y.dim() == 1 or y.shape[1] == 1)


def random_split(count: int, seed: int, fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)) -> Split:
    """A random split by ``seed``. Validation and test get ``floor(fraction * count)`` graphs, at least one.

    >>> [len(part) for part in random_split(1113, seed=0).values()]
    [891, 111, 111]
    """
    order = np.random.default_rng(seed).permutation(count)
    return _cut(order, fractions)


def subset_split(count: int, sizes: tuple[int, int, int], seed: int) -> Split:
    """Parts of the given sizes out of ``count`` graphs, drawn uniformly at random."""
    if sum(sizes) > count:
        raise OsanError(f"split: expected at least {sum(sizes)} graphs, got {count}")
    order = torch.from_numpy(np.random.default_rng(seed).permutation(count)[: sum(sizes)])
    return dict(zip(PARTS, torch.split(order, list(sizes)), strict=True))


def stratified_fold(labels: Tensor, fold: int, seed: int, folds: int = 10, same: bool = False) -> Split:
    """Test on one fold of scikit-learn's ``StratifiedKFold(folds, shuffle=True, random_state=seed)``.

    The next fold is for validation; the first one follows the last. With ``same``, the test fold is also
    used for validation, as in the published protocol of EXP, which selects the model on it.
    """
    from sklearn.model_selection import StratifiedKFold

    check_fold(fold, folds)
    classes, counts = torch.unique(labels, return_counts=True)
    if len(classes) < 2 or int(counts.min()) < folds:
        raise OsanError(f"split: {folds} stratified folds need at least two classes of {folds} graphs each")
    parts = StratifiedKFold(folds, shuffle=True, random_state=seed).split(
        np.zeros(len(labels)), labels.numpy()
    )
    tests = [torch.from_numpy(test) for _, test in parts]
    return fold_split(tests, fold, same)


def kfold_split(count: int, fold: int, seed: int, folds: int = FOLDS, same: bool = False) -> Split:
    """Test on one fold of scikit-learn's ``KFold(folds, shuffle=True, random_state=seed)``.

    The next fold is for validation; see :func:`stratified_fold`.

    >>> [len(part) for part in kfold_split(20, 0, seed=0, folds=5).values()]
    [12, 4, 4]
    """
    from sklearn.model_selection import KFold

    check_fold(fold, folds)
    if count < folds:
        raise OsanError(f"split: {folds} folds need at least {folds} graphs, got {count}")
    parts = KFold(folds, shuffle=True, random_state=seed).split(np.zeros(count))
    return fold_split([torch.from_numpy(test) for _, test in parts], fold, same)


def time_split(times: Sequence[float], fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)) -> Split:
    """Train on the earliest graphs, validate on later ones, test on the latest.

    The sizes are those of :func:`random_split`; graphs of the same time stay in their order.

    >>> {part: index.tolist() for part, index in time_split([2020, 2018, 2022, 2019]).items()}
    {'train': [1, 3], 'val': [0], 'test': [2]}
    """
    return _cut(np.argsort(np.asarray(times, dtype=np.float64), kind="stable"), fractions)


def fold_split(tests: Sequence[Tensor], fold: int, same: bool = False) -> Split:
    """Test on ``tests[fold]``, validate on the next one (or, with ``same``, on it), train on the others."""
    test, val = tests[fold], tests[fold if same else (fold + 1) % len(tests)]
    held = {fold} if same else {fold, (fold + 1) % len(tests)}
    train = torch.cat([t for i, t in enumerate(tests) if i not in held]).sort().values
    return {"train": train, "val": val, "test": test}


def scaffold_split(smiles: Sequence[str], fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)) -> Split:
    """Split by Bemis-Murcko scaffolds: the most frequent ones go to training, the rarest to test.

    This is the procedure behind OGB's official splits and reproduces them exactly. Molecules with the same
    scaffold (with chirality) form a group. Groups are sorted by size, largest first; among groups of the
    same size, the one whose first molecule comes later is first. They fill training up to 80 %, then
    validation up to 90 %, then test. A molecule of more than 1,000 atoms is a group of its own: RDKit would
    look for its scaffold for minutes.
    """
    scaffolds = optional("rdkit.Chem.Scaffolds.MurckoScaffold", "molecules", "a scaffold split")
    kit = rdkit("a scaffold split")
    groups: dict[str, list[int]] = defaultdict(list)
    with kit.rdBase.BlockLogs():  # RDKit warns of every hydrogen ion
        for i, text in enumerate(smiles):
            large = len(text) > _MOST_ATOMS and kit.Chem.MolFromSmiles(text).GetNumAtoms() > _MOST_ATOMS
            scaffold = text if large else scaffolds.MurckoScaffoldSmiles(smiles=text, includeChirality=True)
            groups[scaffold].append(i)
    ordered = sorted(groups.values(), key=lambda group: (len(group), group[0]), reverse=True)
    first, second = fractions[0] * len(smiles), (fractions[0] + fractions[1]) * len(smiles)
    parts: dict[str, list[int]] = {part: [] for part in PARTS}
    for group in ordered:
        used = len(parts["train"])
        if used + len(group) <= first:
            parts["train"] += group
        elif used + len(parts["val"]) + len(group) <= second:
            parts["val"] += group
        else:
            parts["test"] += group
    split = {part: torch.tensor(index, dtype=torch.long) for part, index in parts.items()}
    few = f"{len(groups)} scaffolds are too few for a scaffold split (try --split random): "
    return check_split(split, len(smiles), where=few)


def given_split(names: Sequence[str], where: str, lines: Sequence[int]) -> Split:
    """The split given by a column of ``train``, ``val`` (or ``valid``, ``validation``) and ``test``."""
    parts: dict[str, list[int]] = {part: [] for part in PARTS}
    for i, name in enumerate(names):
        part = SYNONYMS.get(name.strip().lower())
        if part is None:
            raise OsanError(f"{where}, line {lines[i]}: expected train, val or test, got {name!r}")
        parts[part].append(i)
    index = {part: torch.tensor(places, dtype=torch.long) for part, places in parts.items()}
    return check_split(index, len(names), where=f"{where}: ")


def check_split(split: Split, count: int, overlap: bool = False, where: str = "") -> Split:
    """Return ``split`` if no part is empty, every index exists and, unless ``overlap``, parts are disjoint.

    The error begins with the text ``where``.
    """
    for part in PARTS:
        if not len(split[part]):
            raise OsanError(f"{where}the {part} part of the split is empty ({count} graphs in total)")
    every = torch.cat([split[part] for part in PARTS])
    wrong = every[(every < 0) | (every >= count)]
    if len(wrong):
        raise OsanError(f"{where}the split names graph {int(wrong[0])}, but the graphs are 0 to {count - 1}")
    graphs, counts = torch.unique(every, return_counts=True)
    if not overlap and len(graphs) != len(every):
        graph = int(graphs[counts > 1][0])
        within = " and ".join(part for part in PARTS for _ in range(int((split[part] == graph).sum())))
        raise OsanError(f"{where}the parts of the split overlap: graph {graph} is in {within}")
    return split


def check_fold(fold: int, folds: int) -> None:
    """Raise unless ``fold`` is one of 0 to ``folds - 1``."""
    if not 0 <= fold < folds:
        raise OsanError(f"fold: expected 0 to {folds - 1}, got {fold}")


def _cut(order: np.ndarray, fractions: tuple[float, float, float]) -> Split:
    count = len(order)
    if count < 3:
        raise OsanError(f"split: expected at least 3 graphs, got {count}")
    val, test = (max(1, int(fraction * count)) for fraction in fractions[1:])
    train, validation, testing = torch.split(torch.from_numpy(order), [count - val - test, val, test])
    return {"train": train, "val": validation, "test": testing}
