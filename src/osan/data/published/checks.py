"""Checks of raw files before third-party loaders read them; errors name the file and the line."""

from __future__ import annotations

import io
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from osan.data.formats.rows import read_index, read_rows
from osan.data.formats.table import number, read_table
from osan.errors import OsanError
from osan.files import read_bytes

# What the pickles of ZINC consist of: plain values and tensors, as torch writes them.
_OF_TENSORS = {
    ("collections", "OrderedDict"),
    ("torch", "reshape"),
    ("torch", "tensor"),
    ("torch._utils", "_rebuild_tensor"),
    ("torch._utils", "_rebuild_tensor_v2"),
}
_QM9_TARGETS = (
    *("A", "B", "C", "mu", "alpha", "homo", "lumo", "gap"),
    *("r2", "zpve", "u0", "u298", "h298", "g298", "cv"),
)


def check_zinc(raw: Path) -> None:
    """Check that the pickles of ZINC hold plain values and tensors only, before PyG unpickles them.

    A pickle can call any function. Checksums are no solution: there are whole files and files of the subset,
    both with the same dictionaries of tensors.
    """
    for part in ("train", "val", "test"):
        path = raw / f"{part}.pickle"
        try:
            with path.open("rb") as stream:
                _Tensors(stream).load()
        except Exception as error:  # a damaged pickle can raise anything
            reason = " ".join(str(error).split())
            raise OsanError(
                f"{path}: expected a pickle of tensors ({reason}); replace it with the published file"
            ) from error


class _Tensors(pickle.Unpickler):
    """Reads a pickle of plain values and tensors without building a tensor; refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("torch.storage", "_load_from_bytes"):
            return _check_storage
        if (module, name) not in _OF_TENSORS:
            raise pickle.UnpicklingError(f"it calls {module}.{name}")
        return _Nothing


class _Nothing:
    """A placeholder for an object that is not built."""

    def __init__(self, *arguments: Any) -> None:
        """Build nothing."""


def _check_storage(content: bytes) -> None:
    """Check the numbers of a tensor, which are a pickle within the pickle."""
    torch.load(io.BytesIO(content), weights_only=True)


def check_ogb(root: Path) -> None:
    """Check line by line that the raw files of an OGB dataset hold numbers and fit together."""

    def rows(name: str, integers: bool = True, columns: int | None = None) -> npt.NDArray[Any]:
        return read_rows(root / "raw" / f"{name}.csv.gz", integers=integers, columns=columns)

    def expect(name: str, found: int, expected: int, what: str) -> None:
        if found != expected:
            path, line = root / "raw" / f"{name}.csv.gz", min(found, expected) + 1
            raise OsanError(f"{path}, line {line}: expected {expected} lines, one per {what}, got {found}")

    vertices, edges = rows("num-node-list", columns=1)[:, 0], rows("num-edge-list", columns=1)[:, 0]
    expect("num-edge-list", len(edges), len(vertices), "graph")
    expect("graph-label", len(rows("graph-label", integers=False)), len(vertices), "graph")
    expect("node-feat", len(rows("node-feat")), int(vertices.sum()), "vertex")
    ends = rows("edge", columns=2)
    expect("edge", len(ends), int(edges.sum()), "edge")
    expect("edge-feat", len(rows("edge-feat")), len(ends), "edge")
    limit = np.repeat(vertices, edges)[:, None]
    bad = np.flatnonzero(((ends < 0) | (ends >= limit)).any(axis=1))
    if bad.size:
        u, v = ends[bad[0]]
        raise OsanError(
            f"{root / 'raw' / 'edge.csv.gz'}, line {bad[0] + 1}: expected vertices from 0 to "
            f"{limit[bad[0], 0] - 1}, got an edge from {u} to {v}"
        )
    for part in ("train", "valid", "test"):
        read_index(root / "split" / "scaffold" / f"{part}.csv.gz", len(vertices))


def check_qm9(raw: Path) -> None:
    """Check that every molecule of the table of targets has numbers and a structure."""
    table = read_table(raw / "gdb9.sdf.csv", _QM9_TARGETS)
    for column in _QM9_TARGETS:
        for line, cell in zip(table.lines, table.columns[column], strict=True):
            where = f"{table.path}, line {line}, column {column}"
            if math.isnan(number(cell, where)):
                raise OsanError(f"{where}: expected a number, got none")
    structures = read_bytes(raw / "gdb9.sdf")
    found = structures.count(b"$$$$")
    if found != len(table.lines):
        line = structures.count(b"\n") + 1
        raise OsanError(
            f"{raw / 'gdb9.sdf'}, line {line}: expected {len(table.lines)} molecules, got {found}"
        )
