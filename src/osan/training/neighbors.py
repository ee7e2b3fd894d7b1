"""The training molecules that are most similar to a new one, and whether it is like those at all."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osan.data import FlatDataset
from osan.data.custom.fragments import smiles_columns, texts_of
from osan.data.formats.table import read_table
from osan.data.naming import content_of, find_path
from osan.errors import OsanError
from osan.extras import optional, rdkit
from osan.training.calibration import conformal
from osan.training.members import Predictor
from osan.training.settings import CUSTOM
from osan.training.tasks import load_task

# Circular substructures up to two bonds away (ECFP4).
_RADIUS, _BITS = 2, 2048
# The share of molecules like those of the validation split that are in the domain.
IN_DOMAIN = 0.95
Cell = str | int | float


@dataclass(frozen=True)
class Neighbors:
    """The training molecules of a run, to be compared with others.

    ``least`` is the similarity from which on a molecule is in the domain, minus infinity if that is unknown;
    ``targets`` has one row for each of the ``smiles``, with a cell for each of the ``names``.
    """

    count: int
    names: tuple[str, ...]
    smiles: list[str]
    targets: list[list[Cell]]
    fingerprints: list[Any]
    least: float

    @property
    def columns(self) -> list[str]:
        """The names of the columns of :meth:`of`."""
        parts = ("smiles", *self.names, "similarity")
        return [*(f"neighbor_{i + 1}_{part}" for i in range(self.count) for part in parts), "in_domain"]

    def of(self, smiles: Sequence[str]) -> list[list[Cell]]:
        """SMILES, targets and similarity of the nearest training molecules of each; 1 if it is in the domain.

        The most similar comes first; equally similar ones are in the order of the training split. The last
        cell is empty if nothing says what is in the domain.
        """
        out = []
        for similarities in _similarities(fingerprints(smiles), self.fingerprints):
            order = np.argsort(-similarities, kind="stable")[: self.count]
            cells: list[Cell] = []
            for i in order.tolist():
                cells += [self.smiles[i], *self.targets[i], float(similarities[i])]
            inside = int(similarities.max() >= self.least) if math.isfinite(self.least) else ""
            out.append([*cells, inside])
        return out


def neighbors_of(model: Predictor, count: int) -> Neighbors | None:
    """The training molecules of a run on a table; ``None`` if none are wanted.

    The similarity is that of Tanimoto between Morgan fingerprints (ECFP4, 2048 bits): the share of
    substructures that two molecules have in common. A molecule is in the domain if its nearest training
    molecule is at least as similar as that of all but 5 % of the validation molecules (by
    :func:`~osan.training.calibration.conformal`, so that at least 95 % of molecules like those are). With
    fewer than 19 validation molecules nobody knows; there is a warning.

    Raises
    ------
    OsanError
        If the run was not trained on a table, or the table has changed since.
    """
    if count < 1:
        return None
    settings, info = model.settings, model.info
    dataset = settings.data.dataset
    path = None if dataset.startswith(f"{CUSTOM}:") else find_path(dataset)
    if path is None or content_of(path) != "table":
        raise OsanError(f"neighbors: expected a run on a table of molecules, got one on {dataset}")
    task = load_task(settings)
    if not task.is_that_of(info.fingerprint):
        raise OsanError(
            f"neighbors: {path} has changed since the run was trained, so its molecules are unknown"
        )
    if len(task.train) < count:
        raise OsanError(f"neighbors: expected at most {len(task.train)}, the training molecules, got {count}")
    wanted = settings.data
    table = read_table(Path(path), smiles_columns(wanted.smiles))
    row_of = {line: row for row, line in enumerate(table.lines)}

    def texts(graphs: FlatDataset) -> list[str]:
        rows = [row_of[task.lines[i]] for i in graphs.ids.tolist()]
        return texts_of(table, wanted.smiles, rows, wanted.fragments)

    known = fingerprints(texts(task.train))
    nearest = np.array([row.max() for row in _similarities(fingerprints(texts(task.val)), known)])
    names, targets = info.targets, task.train.y.numpy()
    cells: list[list[Cell]]
    if info.kind == "multiclass":
        cells = [[info.class_names[number]] for number in targets.tolist()]
    else:
        # As few digits as tell these numbers apart, so that -0.44 in single precision is not -0.43999999.
        cells = [["" if value != value else float(str(value)) for value in row] for row in targets]
    least = -conformal(-nearest, IN_DOMAIN)
    if not math.isfinite(least):
        warnings.warn(
            f"neighbors: {len(nearest)} validation molecules are too few to say what is in the domain, so "
            f"in_domain is empty; it takes {math.ceil(IN_DOMAIN / (1 - IN_DOMAIN) - 1e-9)}",
            stacklevel=2,
        )
    return Neighbors(count, names, texts(task.train), cells, known, least)


def fingerprints(smiles: Sequence[str]) -> list[Any]:
    """Morgan fingerprints of readable SMILES."""
    kit = rdkit("similarities")
    kind = optional("rdkit.Chem.rdFingerprintGenerator", "molecules", "similarities")
    generator = kind.GetMorganGenerator(radius=_RADIUS, fpSize=_BITS)
    with kit.rdBase.BlockLogs():
        return [generator.GetFingerprint(kit.Chem.MolFromSmiles(text)) for text in smiles]


def _similarities(new: Sequence[Any], known: list[Any]) -> list[NDArray[np.float64]]:
    bulk = optional("rdkit.DataStructs", "molecules", "similarities").BulkTanimotoSimilarity
    return [np.array(bulk(one, known)) for one in new]
