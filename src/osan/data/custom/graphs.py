"""Your graphs: graph6 with a file of labels, a list of PyG ``Data``, or a TU folder becomes a task."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.data.convert import from_graphs
from osan.data.custom.splits import custom_split
from osan.data.flat import FlatDataset, flatten
from osan.data.formats.saved import plain_list, read_pt
from osan.data.formats.table import number, refuse_foreign
from osan.data.formats.tu import read_tu
from osan.data.metrics import check_kind, default_metric
from osan.data.naming import content_of
from osan.data.splits import Split, SplitRequest
from osan.data.task import Alphabets, Features, Task, make_task
from osan.errors import OsanError
from osan.files import read_text
from osan.graphs import read_graphs
from osan.words import Kind


def load_graphs(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    kind: Kind = "regression",
    split: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    fold: int | None = None,
    seed: int = 0,
    validate_on_test: bool = False,
    metric: str | None = None,
) -> Task:
    """Load graphs from a file or folder; by default they are split 80/10/10 at random.

    Parameters
    ----------
    path
        A ``.pt`` file written by ``torch.save(list_of_data, path)`` (only tensors and PyG's classes are
        accepted), a TU folder (``NAME_A.txt``, ...), or any file that :func:`osan.graphs.read_graphs` reads,
        such as graph6.
    labels
        For files that :func:`osan.graphs.read_graphs` reads: a text file with one line per graph, its
        targets separated by blanks or commas.
    kind
        The kind of the targets; see :class:`osan.data.Task`. In ``labels``, classes may have any names.
    split, fold, seed, validate_on_test
        As in :func:`task_from_graphs`.
    metric
        By default ``"mae"`` for regression, else ``"accuracy"``.
    """
    path = Path(path)
    refuse_foreign(path)
    check_kind(kind)
    if labels is not None and has_targets(path):
        raise OsanError(f"labels: expected none, for {path} contains targets, got {str(labels)!r}")
    if labels is None and not has_targets(path):
        hint = "" if content_of(path) else "; a table of molecules is a .csv, .tsv or .parquet file"
        raise OsanError(f"labels: expected a text file with one line per graph of {path}, got none{hint}")
    graphs, alphabets = read_flat(path)
    classes: tuple[str, ...] = ()
    if labels is not None:
        cells = _label_lines(Path(labels), len(graphs))
        y, classes = _label_targets(cells, kind, Path(labels))
        graphs = graphs.with_tensors(y=y)
    check_targets(graphs, kind, str(path))
    request = SplitRequest(split, fold, seed, validate_on_test)
    parts = custom_split(request, graphs.tensors["y"], kind)
    return _task(path.name, graphs, parts, kind, metric, str(path), classes, alphabets)


def task_from_graphs(
    graphs: Sequence[Data],
    *,
    kind: Kind = "regression",
    split: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    fold: int | None = None,
    seed: int = 0,
    validate_on_test: bool = False,
    metric: str | None = None,
    name: str = "graphs",
) -> Task:
    """Make a task from graphs in memory: a list of PyG ``Data`` or a PyG dataset.

    Parameters
    ----------
    graphs
        Each with ``edge_index``, ``x`` or ``num_nodes``, one row of targets ``y`` and, in all or none,
        ``edge_attr``. Integer columns are categories, all others are numbers.
    kind
        ``"regression"``, ``"binary"`` or ``"multiclass"``.
    split
        ``"random"`` (80/10/10 by ``seed``; the default), ``"stratified"`` (ten folds by ``seed``),
        ``"kfold"`` or ``"kfold:N"`` (folds whatever the targets), the file of a split, or a mapping of
        ``"train"``, ``"val"`` (or ``"valid"``) and ``"test"`` to indices, such as OGB's ``get_idx_split()``
        returns. Graphs in no part are left out; ``Task.split`` has their number.
    fold
        Which fold is tested, from 0; by default of ten, stratified if there is one target with classes. The
        next fold is for validation.
    seed
        Seed of random splits and of folds.
    validate_on_test
        Validate on the tested fold.
    metric
        By default ``"mae"`` for regression, else ``"accuracy"``.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> edges = torch.tensor([[0, 1], [1, 0]])
    >>> graphs = [Data(x=torch.rand(3, 4), edge_index=edges, y=torch.tensor([float(i)])) for i in range(6)]
    >>> task = task_from_graphs(graphs, split={"train": [5, 0, 3], "valid": [1], "test": torch.tensor([4])})
    >>> task.train.y.tolist(), task.vertex_features.width, task.split
    ([[5.0], [0.0], [3.0]], 4, 'as given, 1 graph in no part')
    """
    check_kind(kind)
    flat = flatten(plain_list(list(graphs), name))
    check_targets(flat, kind, name)
    parts = custom_split(SplitRequest(split, fold, seed, validate_on_test), flat.tensors["y"], kind)
    return _task(name, flat, parts, kind, metric, "in memory")


def _task(
    name: str,
    graphs: FlatDataset,
    split: tuple[Split, str],
    kind: Kind,
    metric: str | None,
    source: str,
    classes: tuple[str, ...] = (),
    alphabets: Alphabets | None = None,
) -> Task:
    """A task from checked graphs; their features are described by their values."""
    edge_attr = graphs.tensors.get("edge_attr")
    return make_task(
        name,
        graphs,
        split[0],
        kind=kind,
        metric=metric or default_metric(kind),
        vertex_features=describe(graphs.tensors["x"], "x"),
        edge_features=None if edge_attr is None else describe(edge_attr, "edge_attr"),
        classes=classes,
        alphabets=alphabets,
        normalize=kind == "regression",
        split=split[1],
        source=source,
        license="yours",
    )


def has_targets(path: Path) -> bool:
    """Whether the file or folder contains targets, so that no labels are needed."""
    return path.is_dir() or path.suffix.lower() == ".pt"


def read_flat(
    path: Path, alphabets: Alphabets | None = None, targets: bool = True
) -> tuple[FlatDataset, Alphabets]:
    """Read the graphs of a file or folder, and the alphabets of their labels.

    Parameters
    ----------
    path
        As in :func:`load_graphs`.
    alphabets
        Those of the training graphs: labels get the same codes, and new labels are an error. By default the
        labels of this file.
    targets
        Whether to read the targets ``y``, if the file contains them.
    """
    if path.is_dir():
        return read_tu(path if any(path.glob("*_A.txt")) else path / "raw", alphabets, targets)
    if path.suffix.lower() == ".pt":
        return flatten(read_pt(path, targets)), {}
    plain = read_graphs(path)
    found = {v for g in plain for v in g.vertex_labels or ()}
    if alphabets is None:
        alphabets = {"x": [sorted(found, key=lambda v: (str(type(v)), v))]} if found else {}
    elif found and "x" not in alphabets:
        raise OsanError(f"{path}: expected vertices without labels, as in training, got labels")
    elif not found and "x" in alphabets:
        raise OsanError(f"{path}: expected vertices with labels, as in training, got none")
    known = alphabets["x"][0] if found else None
    try:
        flat = from_graphs(plain, torch.zeros(len(plain)), known)
    except OsanError as error:
        raise OsanError(f"{path}: {error}") from None
    return flat.with_tensors(y=None), alphabets


def class_targets(names: Sequence[str | None], where: str) -> tuple[Tensor, tuple[str, ...]]:
    """The number of each class name (-1 if missing), and the names in sorted order, as numbers if all are.

    >>> class_targets(["b", "a", None, "b"], "file")
    (tensor([ 1,  0, -1,  1]), ('a', 'b'))
    """
    present = {name for name in names if name is not None}
    numeric = all(re.fullmatch(r"-?[0-9]{1,18}", name) for name in present)
    classes = sorted(present, key=int if numeric else None)
    if len(classes) < 2:
        raise OsanError(f"{where}: expected at least two classes, got {classes}")
    code = {name: i for i, name in enumerate(classes)}
    return torch.tensor([-1 if name is None else code[name] for name in names]), tuple(classes)


def describe(values: Tensor, what: str) -> Features:
    """Describe columns: non-negative integers are categories, all others are numbers."""
    if values.shape[1] == 0:
        raise OsanError(f"{what}: expected at least one column, got none; leave it out")
    if values.is_floating_point():
        if not bool(values.isfinite().all()):
            row = int((~values.isfinite()).any(1).nonzero()[0])
            raise OsanError(f"{what}: expected finite numbers, got {values[row].tolist()} in row {row}")
        return Features(width=values.shape[1])
    if len(values) and int(values.min()) < 0:
        raise OsanError(f"{what}: expected categories from 0, got {int(values.min())}")
    return Features(
        sizes=tuple((values.max(dim=0).values + 1).tolist()) if len(values) else (1,) * values.shape[1]
    )


def _label_lines(path: Path, count: int) -> list[list[str]]:
    """The words of each line; there must be as many lines as graphs."""
    lines = read_text(path).split("\n")
    if lines and not lines[-1].strip():
        lines.pop()
    if len(lines) != count:
        raise OsanError(
            f"{path}, line {min(len(lines), count) + 1}: expected {count} lines, one per graph, "
            f"got {len(lines)}"
        )
    rows = [line.replace(",", " ").split() for line in lines]
    for i, row in enumerate(rows, 1):
        if len(row) != len(rows[0]) or not row:
            raise OsanError(f"{path}, line {i}: expected {max(1, len(rows[0]))} values, got {len(row)}")
    return rows


def _label_targets(rows: list[list[str]], kind: Kind, path: Path) -> tuple[Tensor, tuple[str, ...]]:
    """The targets, and the names of the classes for ``"multiclass"``."""
    if kind == "multiclass":
        if len(rows[0]) != 1:
            raise OsanError(f"{path}, line 1: expected one class per line, got {len(rows[0])} values")
        return class_targets([row[0] for row in rows], str(path))
    cells = [[number(cell, f"{path}, line {i}") for cell in row] for i, row in enumerate(rows, 1)]
    return torch.tensor(cells).float(), ()


def check_targets(graphs: FlatDataset, kind: Kind, path: str) -> None:
    """Raise unless the graphs have targets ``y`` that fit their kind."""
    if "y" not in graphs.tensors:
        raise OsanError(f"{path}: expected graphs with targets y, got none")
    y = graphs.tensors["y"].reshape(len(graphs), -1).double()
    if y.shape[1] == 0:
        raise OsanError(f"{path}: expected at least one target y per graph, got none")
    if kind == "regression":
        wrong, expected = y.isinf(), "a finite number"
    elif kind == "binary":
        wrong, expected = ~(y.isnan() | (y == 0) | (y == 1)), "0 or 1"
    else:
        wrong, expected = (y < 0) | (y % 1 != 0), "one integer from 0"
        wrong |= y.shape[1] != 1
    bad = wrong.any(dim=1).nonzero()
    if len(bad):
        graph = int(bad[0])
        raise OsanError(f"{path}, graph {graph}: expected {expected} for {kind}, got {y[graph].tolist()}")
