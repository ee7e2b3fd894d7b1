"""Files written by ``torch.save``: only known classes are built from them, and their content is checked."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data.data import Data, DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import EdgeStorage, GlobalStorage, NodeStorage

from osan.errors import OsanError
from osan.memory import require_free

PYG_CLASSES: list[Any] = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage, NodeStorage, EdgeStorage]


@contextmanager
def allowed(classes: Sequence[Any]) -> Iterator[None]:
    """Let ``torch.load`` build these classes, too, for a while.

    torch's own context also forgets classes that were allowed before, such as those of PyG.

    >>> before = torch.serialization.get_safe_globals()
    >>> with allowed([Path, *before]):
    ...     Path in torch.serialization.get_safe_globals()
    True
    >>> set(map(str, torch.serialization.get_safe_globals())) == set(map(str, before))
    True
    """
    known = torch.serialization.get_safe_globals()
    with torch.serialization.safe_globals([each for each in classes if each not in known]):
        yield


def load_safely(path: Path, what: str, classes: Sequence[Any]) -> Any:
    """Load a file of plain values, tensors and the given classes only; ``what`` is for the error."""
    _check_unpacked_size(path)
    try:
        with warnings.catch_warnings(), allowed(classes):
            warnings.simplefilter("ignore")  # torch warns of odd pickle protocols in damaged files
            return torch.load(path, weights_only=True, map_location="cpu")
    except FileNotFoundError:
        raise OsanError(f"{path} cannot be read: No such file or directory") from None
    except Exception as error:  # torch raises nearly anything on damaged files
        reason = " ".join(str(error).split())[:200]
        raise OsanError(f"{path}: expected {what} that can be loaded safely ({reason})") from error


def _check_unpacked_size(path: Path) -> None:
    """Refuse an archive that would fill the memory when it is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return  # not an archive, or a damaged one: torch will say so
    require_free(2 * unpacked, f"{path}: the content unpacked", "split the file")


def read_pt(path: Path, targets: bool = True) -> list[Data]:
    """A list of PyG ``Data`` written by ``torch.save``; no other class is built from the file."""
    content = load_safely(path, "a list of PyG Data", PYG_CLASSES)
    if not isinstance(content, list | tuple) or not content:
        raise OsanError(f"{path}: expected a list of PyG Data, got {type(content).__name__}")
    try:
        return plain_list(content, str(path), targets)
    except OsanError:
        raise
    except Exception as error:  # so does PyG on odd content
        reason = " ".join(str(error).split())[:200]
        raise OsanError(
            f"{path}: expected a list of PyG Data that can be loaded safely ({reason})"
        ) from error


def plain_list(graphs: Sequence[Any], where: str, targets: bool = True) -> list[Data]:
    """Each ``Data`` with its known tensors only, checked, and without ``y`` unless ``targets``.

    Raises
    ------
    OsanError
        The message names the graph. One target per vertex is an error, too.
    """
    out = [_plain(data, f"{where}, graph {i}", targets) for i, data in enumerate(graphs)]
    if targets:
        _check_rows(out, where)
    return out


def _check_rows(graphs: Sequence[Data], where: str) -> None:
    """Raise if every graph has as many rows of targets as vertices."""
    rows = [len(data.y) if data.y.dim() else 1 for data in graphs]
    if rows == [data.num_nodes for data in graphs] and max(rows, default=1) > 1:
        i = rows.index(max(rows))
        raise OsanError(
            f"{where}, graph {i}: expected one row of targets per graph, got one target per vertex (y of "
            f"shape {tuple(graphs[i].y.shape)}, {rows[i]} vertices); reshape y to (1, {rows[i]}) if these "
            "are targets of the graph, or write a training loop as in docs/index.md"
        )


def _plain(data: Any, where: str, targets: bool) -> Data:
    """The known tensors, checked, with integers as int64 and numbers as float32."""
    _check_data(data, where, targets)
    out = Data(edge_index=data.edge_index, num_nodes=int(data.num_nodes))
    for name in ("x", "edge_attr", *(["y"] if targets else [])):
        value = data.get(name)
        if value is not None:
            out[name] = value.detach().float() if value.is_floating_point() else value.detach().long()
    return out


def _check_data(data: Any, where: str, targets: bool) -> None:
    """Raise unless ``data`` is a ``Data`` whose tensors fit together."""
    if not isinstance(data, Data):
        raise OsanError(f"{where}: expected a PyG Data, got {type(data).__name__}")
    for name in ("edge_index", *(["y"] if targets else [])):
        if not isinstance(data.get(name), Tensor):
            raise OsanError(f"{where}: expected a tensor {name}, got {type(data.get(name)).__name__}")
    edge_index = data.edge_index
    if edge_index.dtype != torch.long or edge_index.dim() != 2 or len(edge_index) != 2:
        raise OsanError(
            f"{where}: expected edge_index of type int64 and shape (2, arcs), "
            f"got {edge_index.dtype} and {tuple(edge_index.shape)}"
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
            raise OsanError(f"{where}: expected a dense tensor {name} of shape (rows, columns), got another")
        if rows is not None and len(value) != rows:
            raise OsanError(f"{where}: expected {rows} rows of {name}, one per arc, got {len(value)}")
    if data.get("x") is None and not isinstance(data.get("num_nodes"), int):
        raise OsanError(f"{where}: expected x or num_nodes, got neither")
