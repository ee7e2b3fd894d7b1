"""Your molecules: a table with SMILES and targets becomes a task."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.data.custom.fragments import MoleculeReader, joined, smiles_columns, texts_of
from osan.data.custom.graphs import class_targets
from osan.data.custom.rejected import Rejected, write_rejected
from osan.data.custom.splits import check_custom, custom_split
from osan.data.descriptors import describe
from osan.data.flat import flatten
from osan.data.formats.table import SMILES_HINT, Table, has_column, is_missing, number, read_table
from osan.data.formats.times import times
from osan.data.metrics import check_kind, default_metric
from osan.data.naming import num_folds, table_columns
from osan.data.splits import SplitRequest, given_split, scaffold_split, time_split
from osan.data.task import Features, Task, make_task
from osan.errors import OsanError
from osan.extras import optional
from osan.words import Fragments, Kind

# How tables write the values of a binary target, besides 1 and 0.
_WORDS = {"true": "1", "false": "0", "yes": "1", "no": "0"}
# With these begin cells that say between which values a measurement is.
_LIMITS = ("<", ">", "~", "≤", "≥")
# What the reason of a rejected row ends with if the same molecule has another target elsewhere.
OTHER_TARGET = " with another target"
# And with this if it has targets that were missing there.
FURTHER_TARGET = ", which gets its targets"
# What to do about a column that a table does not have.
_TARGET_HINT = "name the targets with --target (in Python, targets=...)"
_SPLIT_HINT = (
    "a split is random, scaffold, kfold, time:COLUMN, a file, or a column that holds train, val and test"
)
_DESCRIPTOR_HINT = "descriptors are rdkit2d, morgan, morgan:N and columns of numbers"


def load_table(
    path: str | os.PathLike[str],
    smiles: str | Sequence[str] = "smiles",
    targets: str | Sequence[str] = "y",
    *,
    kind: Kind = "regression",
    split: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    fold: int | None = None,
    seed: int = 0,
    validate_on_test: bool = False,
    rejected: str | os.PathLike[str] | None = None,
    metric: str | None = None,
    descriptors: Sequence[str] = (),
    fragments: Fragments = "keep",
) -> Task:
    """Load molecules from a CSV, TSV or Parquet file.

    Rows that cannot be used are left out: missing or unreadable SMILES, no atoms, no target, or a molecule
    that occurred before; see :func:`read_molecules`. Vertices and edges have OGB's features.

    Parameters
    ----------
    path
        The file, with a header.
    smiles, targets
        Names of columns. A row may lack some of its targets. Several columns of SMILES make one graph per
        row, without edges between the molecules; a further vertex feature is the column of an atom.
    kind
        ``"regression"``; ``"binary"`` (each target is 0 or 1, also written as false or true, no or yes); or
        ``"multiclass"`` (one column with any names of classes).
    split
        ``"random"`` (80/10/10 by ``seed``; the default), ``"scaffold"``, ``"time:COLUMN"`` (the latest tenth
        is the test set; see :func:`~osan.data.formats.times.times`), a column with ``train``, ``val`` or
        ``test``, or anything that :func:`osan.data.task_from_graphs` takes: ``"kfold"``, ``"stratified"``,
        the file of a split, or a mapping to indices. Files and mappings count all rows from 0, also rejected
        ones.
    fold, seed, validate_on_test
        As in :func:`osan.data.task_from_graphs`.
    rejected
        Where to write the rejected rows, as a CSV file of line, smiles and reason; by default nowhere.
    metric
        By default ``"mae"``, ``"rocauc"`` or ``"accuracy"``, depending on the kind.
    descriptors
        Numbers of whole molecules beside their graphs: ``"rdkit2d"``, ``"morgan:N"``, and names of columns;
        see :mod:`osan.data.descriptors`.
    fragments
        What is kept of salts and mixtures: see :class:`~osan.data.custom.fragments.MoleculeReader`.

    Raises
    ------
    OsanError
        If the file is damaged or no row can be used. The message names the line.
    """
    path = Path(path)
    columns = [targets] if isinstance(targets, str) else list(targets)
    if not columns:
        raise OsanError("targets: expected at least one column, got none")
    check_kind(kind)
    request = SplitRequest(split, fold, seed, validate_on_test)
    check_custom(request)
    column, of_times = _split_column(request, path)
    sources = smiles_columns(smiles)
    wanted = [*sources, *columns, *table_columns(descriptors)]
    extra = [] if column is None or column in wanted else [column]
    hints = {**dict.fromkeys(extra, _SPLIT_HINT), **dict.fromkeys(wanted, _DESCRIPTOR_HINT)}
    hints |= {**dict.fromkeys(columns, _TARGET_HINT), **dict.fromkeys(sources, SMILES_HINT)}
    table = read_table(path, [*wanted, *extra], hints=hints)
    y, classes = _targets(table, columns, kind)
    molecules, rows, bad = read_molecules(table, sources, y, fragments, table_columns(descriptors))
    if rejected is not None:
        write_rejected(Path(rejected), bad)
    if not molecules:
        reasons = "; ".join(f"line {r.line}: {r.reason}" for r in bad[:3]) or "it has no rows"
        raise OsanError(f"{path}: expected at least one usable row, got 0 of {len(table.lines)} ({reasons})")
    from ogb.utils.features import get_bond_feature_dims

    graphs = flatten(molecules)
    if descriptors:
        numbers = described(table, sources, rows, descriptors, fragments=fragments)
        graphs = graphs.with_tensors(descriptors=numbers)
    lines = [table.lines[row] for row in rows]
    # Of several molecules, the first one's scaffold counts.
    further = {"scaffold": lambda: scaffold_split(texts_of(table, sources[0], rows, fragments))}
    if column is not None:
        cells = [table.columns[column][row] for row in rows]
        places = [f"{path}, line {line}, column {column}" for line in lines]
        further[f"time:{column}" if of_times else column] = lambda: (
            time_split(times(cells, places, table.decimal_comma))
            if of_times
            else given_split(cells, str(path), lines)
        )
    parts, words = custom_split(
        request, graphs.tensors["y"], kind, rows=rows, count=len(table.lines), further=further
    )
    return make_task(
        path.name,
        graphs,
        parts,
        kind=kind,
        metric=metric or default_metric(kind, molecules=True),
        vertex_features=atom_features(len(sources)),
        edge_features=Features(sizes=tuple(get_bond_feature_dims())),
        num_targets=len(classes) or len(columns),
        classes=classes,
        lines=tuple(lines),
        normalize=kind == "regression",
        split=words,
        source=str(path),
        license="yours",
    )


def atom_features(columns: int = 1) -> Features:
    """OGB's atom features and, if there are several columns of SMILES, which one an atom comes from.

    >>> atom_features().sizes, atom_features(2).sizes[-1]
    ((119, 5, 12, 12, 10, 6, 6, 2, 2), 2)
    """
    from ogb.utils.features import get_atom_feature_dims

    return Features(sizes=(*get_atom_feature_dims(), *([columns] if columns > 1 else [])))


def described(
    table: Table,
    smiles: str | Sequence[str],
    rows: Sequence[int],
    names: Sequence[str],
    keep: bool = True,
    fragments: Fragments = "keep",
) -> Tensor:
    """The descriptors of the molecules in some rows of a table, shape ``[rows, columns]``."""
    numbers: dict[str, list[float]] = {}
    for name in table_columns(names):
        if name not in table.columns:
            raise OsanError(f"descriptors: expected a table with the column {name!r}, got one without it")
        cells, where = table.columns[name], f"{table.path}, line {{}}, column {name}"
        numbers[name] = [
            number(cells[row], where.format(table.lines[row]), table.decimal_comma) for row in rows
        ]
    return describe(texts_of(table, smiles, rows, fragments), names, numbers, keep=keep)


def read_molecules(
    table: Table,
    smiles: str | Sequence[str],
    y: Tensor,
    fragments: Fragments = "keep",
    beside: Sequence[str] = (),
) -> tuple[list[Data], list[int], list[Rejected]]:
    """The usable molecules of a table, their rows, and the rejected rows.

    Two rows are equal if their canonical SMILES by RDKit agree, in every column, and so do their cells in the
    columns ``beside``, such as the pH of a measurement. The first one is kept, and gets the targets that it
    lacks from those of the others that do not contradict it.
    """
    optional("ogb.utils.features", "molecules", "reading SMILES")
    molecules, rows, bad = [], [], []
    seen: dict[tuple[str, ...], int] = {}
    places = {line: row for row, line in enumerate(table.lines)}
    absent = missing(y).tolist()
    y = y.clone()  # what the graphs hold are views of it
    cells = zip(*(table.columns[name] for name in smiles_columns(smiles)), strict=True)
    conditions = [table.columns[name] for name in beside if name in table.columns]
    with MoleculeReader(fragments) as reader:
        for row, (line, texts) in enumerate(zip(table.lines, cells, strict=True)):
            first = None
            found = [reader.read(text) for text in texts]
            reason = next((problem for _, problem in found if problem), "")
            if not reason and absent[row]:
                reason = "missing target"
            if not reason:
                names = [reader.canonical(molecule) for molecule, _ in found]
                first = seen.setdefault((*names, *(column[row].strip() for column in conditions)), line)
                if first == line:
                    target = y[row : row + 1]
                    molecules.append(joined([featurize(molecule, target) for molecule, _ in found]))
                    rows.append(row)
                    continue
                reason = f"duplicate of line {first}"
                reason += _join_targets(y[places[first]], y[row])
            bad.append(Rejected(line, ".".join(texts), reason, first))
    return molecules, rows, bad


def _join_targets(kept: Tensor, other: Tensor) -> str:
    """Fill in the targets that a row lacks from an equal one; what the reason to leave that out ends with."""
    lacks, has = _unknown(kept), ~_unknown(other)
    if bool((~lacks & has & (kept != other)).any()):
        return OTHER_TARGET  # which of the two is right? the first one counts, whole
    if not bool((lacks & has).any()):
        return ""
    kept.copy_(torch.where(lacks, other, kept))
    return FURTHER_TARGET


def read_smiles(texts: Sequence[str]) -> list[Data]:
    """The molecules of SMILES strings, without targets; an error names the first that cannot be used.

    >>> [molecule.num_nodes for molecule in read_smiles(["CCO", "CCO", "C"])]
    [3, 3, 1]
    """
    table = Table(Path(), {"smiles": list(texts)}, list(range(len(texts))), header=["smiles"], rows=[])
    molecules, rows, bad = read_molecules(table, "smiles", torch.zeros(len(texts), 1))
    found = dict(zip(rows, molecules, strict=True))
    for each in bad:
        if each.duplicate_of is None:
            raise OsanError(f"row {each.line}: expected the SMILES of a molecule, got {each.smiles[:80]!r}")
        found[each.line] = found[each.duplicate_of]
    return [
        Data(x=one.x, edge_index=one.edge_index, edge_attr=one.edge_attr) for _, one in sorted(found.items())
    ]


def featurize(mol: Any, y: Tensor) -> Data:
    """Convert an RDKit molecule: OGB's nine atom and three bond features, two arcs for each bond."""
    x = [_atom_row(mol.GetAtomWithIdx(i)) for i in range(mol.GetNumAtoms())]
    tails: list[int] = []
    heads: list[int] = []
    attributes: list[list[int]] = []
    for i in range(mol.GetNumBonds()):
        bond = mol.GetBondWithIdx(i)
        u, v = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        tails += (u, v)
        heads += (v, u)
        row = _bond_row(bond)
        attributes += (row, row)
    return Data(
        x=torch.from_numpy(np.array(x, dtype=np.int64)),
        edge_index=torch.from_numpy(np.array((tails, heads), dtype=np.int64)),
        edge_attr=torch.from_numpy(np.array(attributes, dtype=np.int64).reshape(-1, 3)),
        y=y,
    )


# OGB looks up every feature in a list, which takes most of the time of reading a molecule; there are few
# different atoms and bonds.
_rows: dict[tuple[Any, ...], list[int]] = {}
_MOST_ROWS = 50_000


def _atom_row(atom: Any) -> list[int]:
    """OGB's features of an atom, which depend on exactly these values."""
    key = (
        atom.GetAtomicNum(),
        atom.GetChiralTag(),
        atom.GetTotalDegree(),
        atom.GetFormalCharge(),
        atom.GetTotalNumHs(),
        atom.GetNumRadicalElectrons(),
        atom.GetHybridization(),
        atom.GetIsAromatic(),
        atom.IsInRing(),
    )
    row = _rows.get(key)
    if row is None:
        from ogb.utils.features import atom_to_feature_vector

        row = _keep(key, atom_to_feature_vector(atom))
    return row


def _bond_row(bond: Any) -> list[int]:
    """OGB's features of a bond, which depend on exactly these values."""
    key = (bond.GetBondType(), bond.GetStereo(), bond.GetIsConjugated())
    row = _rows.get(key)
    if row is None:
        from ogb.utils.features import allowable_features, bond_to_feature_vector, safe_index

        if str(bond.GetStereo()) in allowable_features["possible_bond_stereo_list"]:
            row = _keep(key, bond_to_feature_vector(bond))
        else:
            # Atropisomers, which newer versions of RDKit know: OGB has no feature for them.
            kind = safe_index(allowable_features["possible_bond_type_list"], str(bond.GetBondType()))
            row = _keep(key, [kind, 0, int(bond.GetIsConjugated())])
    return row


def _keep(key: tuple[Any, ...], row: list[int]) -> list[int]:
    if len(_rows) >= _MOST_ROWS:
        _rows.clear()
    _rows[key] = row
    return row


def missing(y: Tensor) -> Tensor:
    """Which rows of targets have no value at all (NaN, or -1 for a class).

    >>> missing(torch.tensor([[1.0, torch.nan], [torch.nan, torch.nan]]))
    tensor([False,  True])
    """
    absent = _unknown(y)
    return absent.reshape(len(y), -1).all(1) if absent.numel() else torch.zeros(len(y), dtype=torch.bool)


def _unknown(y: Tensor) -> Tensor:
    return y.isnan() if y.is_floating_point() else y < 0


def _targets(table: Table, columns: list[str], kind: Kind) -> tuple[Tensor, tuple[str, ...]]:
    """The targets in the shape of their kind, NaN (or class -1) if missing, and the names of classes."""
    if kind == "multiclass":
        if len(columns) != 1:
            raise OsanError(f"targets: expected one column for multiclass, got {len(columns)}")
        cells = table.columns[columns[0]]
        return class_targets([None if is_missing(cell) else cell for cell in cells], str(table.path))
    words = _WORDS if kind == "binary" else {}
    y = np.array(
        [
            [
                _target(
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
                f"{table.path}, line {table.lines[row]}, column {columns[c]}: expected 0 or 1, got {cell!r}; "
                "other classes are for the kind multiclass (--kind multiclass)"
            )
    return torch.from_numpy(y.T).float(), ()


def _target(cell: str, where: str, decimal_comma: bool) -> float:
    """A number; for a word instead of one, the error says what to do."""
    try:
        return number(cell, where, decimal_comma)
    except OsanError as error:
        hint = "; if it is missing, leave the cell empty"
        if cell[:1].isalpha() and "finite" not in str(error):
            hint = f"; names of classes are for the kind multiclass (--kind multiclass){hint}"
        if cell[:1] in _LIMITS:
            hint = "; a limit is no measured value: write the number alone, or leave the cell empty"
        raise OsanError(f"{error}{hint}") from None


def _split_column(request: SplitRequest, path: Path) -> tuple[str | None, bool]:
    """The column that gives the split, if any, and whether it holds times.

    It is the one of that name, or whatever is neither a known split nor a file.
    """
    split = request.split
    if not isinstance(split, str) or split in ("random", "scaffold"):
        return None, False
    if has_column(path, split):
        return split, False
    if split.startswith("time:"):
        return split.removeprefix("time:"), True
    known = num_folds(split) or os.path.isfile(split)
    return None if known else split, False
