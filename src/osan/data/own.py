"""Your own graphs: graph6 with a file of labels, a PyG list, or a TU folder becomes a task."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.data.convert import from_graphs
from osan.data.flat import FlatDataset, flatten
from osan.data.published import PYG_CLASSES
from osan.data.splits import random_split
from osan.data.table import number, read_text
from osan.data.task import Features, Kind, Task, make_task
from osan.data.tu import read_tu
from osan.errors import OsanError
from osan.graphs import read_graphs

METRIC = {"regression": "mae", "binary": "accuracy", "multiclass": "accuracy"}


def load_graphs(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    kind: Kind = "regression",
    seed: int = 0,
    metric: str | None = None,
) -> Task:
    """Graphs from a file or folder, split 80/10/10 at random by ``seed``.

    Parameters
    ----------
    path
        A file of ``Data`` objects (``.pt``, saved by ``torch.save(list_of_data, path)``; nothing but plain
        tensors and PyG's own classes is accepted), a TU folder (``NAME_A.txt``, ...), or any file of graphs
        that :func:`osan.graphs.read_graphs` takes, such as graph6.
    labels
        For files of the last sort: a text file of one line per graph, with the targets separated by blanks
        or commas.
    kind
        What the targets are; see :class:`~osan.data.task.Task`. Classes may have any names in ``labels``.
    metric
        By default ``"mae"`` for regression, else ``"accuracy"``.
    """
    path = Path(path)
    if kind not in METRIC:
        raise OsanError(f"kind must be regression, binary or multiclass, got {kind!r}")
    classes: tuple[str, ...] = ()
    if path.is_dir():
        raw = path if list(path.glob("*_A.txt")) else path / "raw"
        graphs = read_tu(raw)
    elif path.suffix.lower() == ".pt":
        graphs = flatten(read_pt(path))
    elif labels is None:
        raise OsanError(f"{path}: a file of graphs needs labels, a text file with one line per graph")
    else:
        plain = read_graphs(path)
        alphabet = sorted({v for g in plain for v in g.vertex_labels or ()}, key=lambda v: (str(type(v)), v))
        cells = _label_lines(Path(labels), len(plain))
        y, classes = _label_targets(cells, kind, Path(labels))
        graphs = from_graphs(plain, y, alphabet or None)
    check_targets(graphs, kind, path)
    edge_attr = graphs.tensors.get("edge_attr")
    return make_task(
        path.name,
        graphs,
        random_split(len(graphs), seed),
        kind=kind,
        metric=metric or METRIC[kind],
        vertex_features=describe(graphs.tensors["x"], "x"),
        edge_features=None if edge_attr is None else describe(edge_attr, "edge_attr"),
        classes=classes,
        normalise=kind == "regression",
        split=f"random 80/10/10, seed {seed}",
        source=str(path),
        licence="yours",
    )


def read_pt(path: Path) -> list[Data]:
    """A list of PyG ``Data`` written by ``torch.save``; no other class is ever built from the file."""
    try:
        with warnings.catch_warnings(), torch.serialization.safe_globals(PYG_CLASSES):
            warnings.simplefilter("ignore")  # on damaged files torch warns of odd pickle protocols
            content = torch.load(path, weights_only=True, map_location="cpu")
        if not isinstance(content, list | tuple) or not content:
            raise OsanError(f"{path}: expected a list of PyG Data, got {type(content).__name__}")
        return [_plain(data, f"{path}, graph {i}") for i, data in enumerate(content)]
    except OsanError:
        raise
    except FileNotFoundError:
        raise OsanError(f"{path} does not exist") from None
    except Exception as error:  # torch and PyG raise nearly anything on damaged files
        reason = " ".join(str(error).split())[:200]
        raise OsanError(f"{path}: not a list of PyG Data that can be loaded safely ({reason})") from error


def class_targets(names: Sequence[str | None], where: str) -> tuple[Tensor, tuple[str, ...]]:
    """Class numbers of names in sorted order (as numbers if all are), -1 where missing, and that order.

    >>> class_targets(["b", "a", None, "b"], "file")
    (tensor([ 1,  0, -1,  1]), ('a', 'b'))
    """
    present = {name for name in names if name is not None}
    numeric = all(re.fullmatch(r"-?[0-9]{1,18}", name) for name in present)
    classes = sorted(present, key=int if numeric else None)
    if len(classes) < 2:
        raise OsanError(f"{where}: classification needs at least two classes, got {classes}")
    code = {name: i for i, name in enumerate(classes)}
    return torch.tensor([-1 if name is None else code[name] for name in names]), tuple(classes)


def describe(values: Tensor, what: str) -> Features:
    """Columns of non-negative integers are categories, all others numbers."""
    if values.shape[1] == 0:
        raise OsanError(f"{what} has no columns; leave it out")
    if values.is_floating_point():
        if not bool(values.isfinite().all()):
            raise OsanError(
                f"{what} must be finite, but row {int((~values.isfinite()).any(1).nonzero()[0])} is not"
            )
        return Features(width=values.shape[1])
    if len(values) and int(values.min()) < 0:
        raise OsanError(f"{what} holds {int(values.min())}; categories must be integers from 0")
    return Features(
        sizes=tuple((values.max(dim=0).values + 1).tolist()) if len(values) else (1,) * values.shape[1]
    )


def _label_lines(path: Path, count: int) -> list[list[str]]:
    """The words of each line; as many lines as graphs."""
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
    """Targets, and the names of the classes if that is what they are."""
    if kind == "multiclass":
        if len(rows[0]) != 1:
            raise OsanError(f"{path}, line 1: expected one class per line, got {len(rows[0])} values")
        return class_targets([row[0] for row in rows], str(path))
    cells = [[number(cell, f"{path}, line {i}") for cell in row] for i, row in enumerate(rows, 1)]
    return torch.tensor(cells).float(), ()


def check_targets(graphs: FlatDataset, kind: Kind, path: Path) -> None:
    """Raise unless ``y`` is there and fits its kind."""
    if "y" not in graphs.tensors:
        raise OsanError(f"{path}: the graphs have no targets y")
    y = graphs.tensors["y"].reshape(len(graphs), -1).double()
    if y.shape[1] == 0:
        raise OsanError(f"{path}: the targets y are empty")
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
        raise OsanError(f"{path}, graph {graph}: a {kind} target must be {expected}, got {y[graph].tolist()}")


def _check_data(data: Any, where: str) -> None:
    """Raise unless ``data`` is a ``Data`` whose tensors fit together."""
    if not isinstance(data, Data):
        raise OsanError(f"{where}: expected a PyG Data, got {type(data).__name__}")
    for name in ("edge_index", "y"):
        if not isinstance(data.get(name), Tensor):
            raise OsanError(f"{where}: {name} must be a tensor, got {type(data.get(name)).__name__}")
    edge_index = data.edge_index
    if edge_index.dtype != torch.long or edge_index.dim() != 2 or len(edge_index) != 2:
        raise OsanError(
            f"{where}: edge_index must be int64 of shape (2, arcs), "
            f"got {edge_index.dtype} of {tuple(edge_index.shape)}"
        )
    for name, rows in (("x", None), ("edge_attr", edge_index.shape[1])):
        value = data.get(name)
        if value is None:
            continue
        if (
            not isinstance(value, Tensor)
            or value.dim() not in (1, 2)
            or value.is_complex()
            or value.is_sparse
        ):
            raise OsanError(f"{where}: {name} must be a dense tensor of shape (rows, columns)")
        if rows is not None and len(value) != rows:
            raise OsanError(f"{where}: {name} must have {rows} rows, one per arc, got {len(value)}")
    if data.get("x") is None and not isinstance(data.get("num_nodes"), int):
        raise OsanError(f"{where}: the number of vertices is unknown; give x or num_nodes")


def _plain(data: Any, where: str) -> Data:
    """The tensors that count, once checked, with integers as int64 and numbers as float32."""
    _check_data(data, where)
    out = Data(edge_index=data.edge_index, num_nodes=int(data.num_nodes))
    for name in ("x", "edge_attr", "y"):
        value = data.get(name)
        if value is not None:
            out[name] = value.detach().float() if value.is_floating_point() else value.detach().long()
    return out
