"""Your own molecules: a table with SMILES and targets becomes a task."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.data.custom.graphs import METRIC, class_targets
from osan.data.custom.splits import Wanted, check_folds, custom_split
from osan.data.flat import flatten
from osan.data.formats.table import Table, has_column, is_missing, number, read_table
from osan.data.splits import Split, given_split, scaffold_split
from osan.data.task import Features, Kind, Task, make_task
from osan.errors import OsanError
from osan.extras import optional, rdkit
from osan.files import written_whole

# How tables write the two values of a binary target besides 1 and 0.
_WORDS = {"true": "1", "false": "0", "yes": "1", "no": "0"}


@dataclass(frozen=True)
class Rejected:
    """A row that is not used: its line in the file, its SMILES and why; the line of the same molecule."""

    line: int
    smiles: str
    reason: str
    duplicate_of: int | None = None


def load_table(
    path: str | os.PathLike[str],
    smiles: str = "smiles",
    targets: str | Sequence[str] = "y",
    *,
    kind: Kind = "regression",
    split: Wanted = None,
    fold: int | None = None,
    seed: int = 0,
    validate_on_test: bool = False,
    rejected: str | os.PathLike[str] | None = None,
    metric: str | None = None,
) -> Task:
    """Molecules from a CSV, TSV or Parquet file.

    Rows that cannot be used (no or unreadable SMILES, no atoms, no target, a molecule seen before) are
    left out and listed; see :func:`read_molecules`. Vertices and edges carry OGB's features.

    Parameters
    ----------
    path
        The file, with a header.
    smiles, targets
        Names of columns. Some targets of a row may be missing.
    kind
        ``"regression"``; ``"binary"``: each target is 0 or 1, also written as false or true, no or yes;
        ``"multiclass"``: one column of any names.
    split
        ``"random"`` (80/10/10 by ``seed``; the default), ``"scaffold"``, the name of a column that says
        ``train``, ``val`` or ``test``, or what :func:`osan.data.task_from_graphs` takes: ``"stratified"``,
        the file of a split, a mapping to indices. These count the rows from 0, rejected ones included.
    fold, seed, validate_on_test
        As there.
    rejected
        Where to write the rejected rows as a CSV of line, smiles and reason; nowhere by default.
    metric
        By default ``"mae"``, ``"rocauc"`` and ``"accuracy"`` for the three kinds.

    Raises
    ------
    OsanError
        If the file is broken, naming the line, or if no row can be used.
    """
    path = Path(path)
    columns = [targets] if isinstance(targets, str) else list(targets)
    if not columns:
        raise OsanError("targets must name at least one column")
    check_folds(split, fold, validate_on_test)
    extra = [str(split)] if _is_column(split, path) else []
    table = read_table(path, [smiles, *columns, *extra])
    y, classes = _targets(table, columns, kind)
    molecules, rows, bad = read_molecules(table, smiles, y)
    if rejected is not None:
        write_rejected(Path(rejected), bad)
    if not molecules:
        reasons = "; ".join(f"line {r.line}: {r.reason}" for r in bad[:3]) or "it has no rows"
        raise OsanError(f"{path}: none of its {len(table.lines)} rows can be used ({reasons})")
    from ogb.utils.features import get_atom_feature_dims, get_bond_feature_dims

    graphs = flatten(molecules)
    if extra or split == "scaffold":
        parts, words = _split_of_rows(table, smiles, str(split), rows), str(split)
    else:
        parts, words = custom_split(
            split,
            graphs.tensors["y"],
            kind,
            fold=fold,
            seed=seed,
            validate_on_test=validate_on_test,
            places=rows,
            count=len(table.lines),
        )
    return make_task(
        path.name,
        graphs,
        parts,
        kind=kind,
        metric=metric or {**METRIC, "binary": "rocauc"}[kind],
        vertex_features=Features(sizes=tuple(get_atom_feature_dims())),
        edge_features=Features(sizes=tuple(get_bond_feature_dims())),
        num_targets=len(classes) or len(columns),
        classes=classes,
        lines=tuple(table.lines[row] for row in rows),
        normalize=kind == "regression",
        split=words,
        source=str(path),
        license="yours",
    )


def read_molecules(table: Table, smiles: str, y: Tensor) -> tuple[list[Data], list[int], list[Rejected]]:
    """The usable molecules of a table, their rows, and the rejected rows.

    Two rows hold the same molecule if RDKit's canonical SMILES agree; the first is kept.
    """
    purpose = "reading SMILES"
    kit, _ = rdkit(purpose), optional("ogb.utils.features", "molecules", purpose)
    molecules, rows, bad = [], [], []
    seen: dict[str, int] = {}
    with kit.rdBase.BlockLogs():
        for row, (line, text) in enumerate(zip(table.lines, table.columns[smiles], strict=True)):
            target, first = y[row : row + 1], None
            mol = kit.Chem.MolFromSmiles(text) if text and "\0" not in text else None
            if not text:
                reason = "empty SMILES"
            elif mol is None:
                reason = "unreadable SMILES"
            elif mol.GetNumAtoms() == 0:
                reason = "molecule without atoms"
            elif missing(target):
                reason = "missing target"
            elif (name := kit.Chem.MolToSmiles(mol)) in seen:
                first = seen[name]
                reason = f"duplicate of line {first}"
            else:
                seen[name] = line
                molecules.append(featurize(mol, target))
                rows.append(row)
                continue
            bad.append(Rejected(line, text, reason, first))
    return molecules, rows, bad


def featurize(mol: Any, y: Tensor) -> Data:
    """An RDKit molecule with OGB's nine atom and three bond features; both arcs of each bond."""
    from ogb.utils.features import atom_to_feature_vector, bond_to_feature_vector

    x = [atom_to_feature_vector(atom) for atom in mol.GetAtoms()]
    ends, attributes = [], []
    for bond in mol.GetBonds():
        u, v = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        ends += [(u, v), (v, u)]
        attributes += [bond_to_feature_vector(bond)] * 2
    return Data(
        x=torch.tensor(x),
        edge_index=torch.tensor(ends, dtype=torch.long).reshape(-1, 2).t().contiguous(),
        edge_attr=torch.tensor(attributes, dtype=torch.long).reshape(-1, 3),
        y=y,
    )


def missing(target: Tensor) -> bool:
    """Whether a row of targets has no value at all (NaN, or -1 for a class)."""
    return bool(target.isnan().all() if target.is_floating_point() else (target < 0).all())


def write_rejected(path: Path, bad: Sequence[Rejected]) -> None:
    """Write ``line,smiles,reason`` rows, whole or not at all."""
    with written_whole(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(("line", "smiles", "reason"))
        writer.writerows((r.line, r.smiles, r.reason) for r in bad)


def _targets(table: Table, columns: list[str], kind: Kind) -> tuple[Tensor, tuple[str, ...]]:
    """Targets in the shape of their kind, missing ones NaN (or class -1), and the names of classes."""
    if kind == "multiclass":
        if len(columns) != 1:
            raise OsanError(f"multiclass takes one target column, got {len(columns)}")
        cells = table.columns[columns[0]]
        return class_targets([None if is_missing(cell) else cell for cell in cells], str(table.path))
    words = _WORDS if kind == "binary" else {}
    y = np.array(
        [
            [
                number(
                    words.get(cell.lower(), cell),
                    f"{table.path}, line {line}, column {c}",
                    table.decimal_comma,
                )
                for line, cell in zip(table.lines, table.columns[c], strict=True)
            ]
            for c in columns
        ]
    ).reshape(len(columns), -1)
    if kind == "binary":
        wrong = np.argwhere(~(np.isnan(y) | (y == 0) | (y == 1)))
        if len(wrong):
            c, row = wrong[0]
            cell = table.columns[columns[c]][row]
            raise OsanError(
                f"{table.path}, line {table.lines[row]}, column {columns[c]}: expected 0 or 1, got {cell!r}"
            )
    elif kind != "regression":
        raise OsanError(f"kind must be regression, binary or multiclass, got {kind!r}")
    return torch.from_numpy(y.T).float(), ()


def _is_column(split: Wanted, path: Path) -> bool:
    """Whether a split is the name of a column: if there is one, or if it can be nothing else."""
    if not isinstance(split, str) or split in ("random", "scaffold"):
        return False
    return has_column(path, split) or not (split == "stratified" or os.path.isfile(split))


def _split_of_rows(table: Table, smiles: str, split: str, rows: list[int]) -> Split:
    """The split by scaffolds, or that in a column."""
    if split == "scaffold":
        return scaffold_split([table.columns[smiles][row] for row in rows])
    names = [table.columns[split][row] for row in rows]
    return given_split(names, str(table.path), [table.lines[row] for row in rows])
