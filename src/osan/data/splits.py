"""Training, validation and test graphs: random, stratified into folds, by scaffold, or as published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from osan.errors import OsanError

Split = dict[str, Tensor]
PARTS = ("train", "val", "test")
SYNONYMS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


def random_split(count: int, seed: int, fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)) -> Split:
    """A random split by ``seed``; validation and test get ``floor(fraction * count)``, but at least one.

    >>> [len(part) for part in random_split(1113, seed=0).values()]
    [891, 111, 111]
    """
    order = np.random.default_rng(seed).permutation(count)
    return _cut(order, fractions)


def subset_split(count: int, sizes: tuple[int, int, int], seed: int) -> Split:
    """Parts of the given sizes out of ``count`` graphs, drawn uniformly at random."""
    if sum(sizes) > count:
        raise OsanError(f"cannot draw {sum(sizes)} graphs out of {count}")
    order = torch.from_numpy(np.random.default_rng(seed).permutation(count)[: sum(sizes)])
    return dict(zip(PARTS, torch.split(order, list(sizes)), strict=True))


def stratified_fold(labels: Tensor, fold: int, seed: int, folds: int = 10, same: bool = False) -> Split:
    """Fold ``fold`` of scikit-learn's ``StratifiedKFold(folds, shuffle=True, random_state=seed)`` is tested.

    Validation is the fold after it (the first after the last); ``same`` gives the published protocol of
    EXP, which validates on the test fold itself and so selects the model on it.
    """
    from sklearn.model_selection import StratifiedKFold

    check_fold(fold, folds)
    classes, counts = torch.unique(labels, return_counts=True)
    if len(classes) < 2 or int(counts.min()) < folds:
        raise OsanError(f"{folds} stratified folds need two classes of at least {folds} graphs each")
    parts = StratifiedKFold(folds, shuffle=True, random_state=seed).split(
        np.zeros(len(labels)), labels.numpy()
    )
    tests = [torch.from_numpy(test) for _, test in parts]
    return fold_split(tests, fold, same)


def fold_split(tests: Sequence[Tensor], fold: int, same: bool = False) -> Split:
    """Test on ``tests[fold]``, validate on the next one, train on all others."""
    test, val = tests[fold], tests[fold if same else (fold + 1) % len(tests)]
    held = {fold} if same else {fold, (fold + 1) % len(tests)}
    train = torch.cat([t for i, t in enumerate(tests) if i not in held]).sort().values
    return {"train": train, "val": val, "test": test}


def scaffold_split(smiles: Sequence[str], fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)) -> Split:
    """Whole Bemis-Murcko scaffolds go to one part: the most frequent to training, the rarest to test.

    The procedure behind OGB's official splits, which it gives back exactly: groups of equal scaffold
    (chirality kept), larger ones first, among equals the one whose first molecule comes later first, fill
    training up to 80 %, then validation up to 90 %, then test.
    """
    from rdkit.Chem.Scaffolds import MurckoScaffold

    groups: dict[str, list[int]] = defaultdict(list)
    for i, text in enumerate(smiles):
        scaffold = MurckoScaffold.MurckoScaffoldSmiles(smiles=text, includeChirality=True)  # type: ignore[no-untyped-call]
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
    return checked(
        {part: torch.tensor(index, dtype=torch.long) for part, index in parts.items()}, len(smiles)
    )


def given_split(names: Sequence[str], where: str, lines: Sequence[int]) -> Split:
    """The split that a column of ``train``, ``val`` (or ``valid``, ``validation``) and ``test`` gives."""
    parts: dict[str, list[int]] = {part: [] for part in PARTS}
    for i, name in enumerate(names):
        part = SYNONYMS.get(name.strip().lower())
        if part is None:
            raise OsanError(f"{where}, line {lines[i]}: the split must be train, val or test, got {name!r}")
        parts[part].append(i)
    index = {part: torch.tensor(places, dtype=torch.long) for part, places in parts.items()}
    return checked(index, len(names), where=f"{where}: ")


def checked(split: Split, count: int, overlap: bool = False, where: str = "") -> Split:
    """``split`` if no part is empty, every index exists and, unless ``overlap``, parts are disjoint.

    What is wrong is said after the text ``where``.
    """
    for part in PARTS:
        if not len(split[part]):
            raise OsanError(f"{where}the {part} part of the split is empty ({count} graphs in all)")
    every = torch.cat([split[part] for part in PARTS])
    wrong = every[(every < 0) | (every >= count)]
    if len(wrong):
        raise OsanError(f"{where}the split names graph {int(wrong[0])}, but the graphs are 0 to {count - 1}")
    graphs, often = torch.unique(every, return_counts=True)
    if not overlap and len(graphs) != len(every):
        graph = int(graphs[often > 1][0])
        within = " and ".join(part for part in PARTS for _ in range(int((split[part] == graph).sum())))
        raise OsanError(f"{where}the parts of the split overlap: graph {graph} is in {within}")
    return split


def check_fold(fold: int, folds: int) -> None:
    """Raise unless ``fold`` is one of 0 to ``folds - 1``."""
    if not 0 <= fold < folds:
        raise OsanError(f"fold must be from 0 to {folds - 1}, got {fold}")


def _cut(order: np.ndarray, fractions: tuple[float, float, float]) -> Split:
    count = len(order)
    if count < 3:
        raise OsanError(f"a split needs at least 3 graphs, got {count}")
    val, test = (max(1, int(fraction * count)) for fraction in fractions[1:])
    train, validation, testing = torch.split(torch.from_numpy(order), [count - val - test, val, test])
    return {"train": train, "val": validation, "test": testing}
