"""Folders in the TU format: checked line by line, then read by PyG."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch_geometric.io import read_tu_data

from osan.data.flat import FlatDataset, from_collated
from osan.errors import OsanError

# Optional files: does a file have one line per vertex, per arc or per graph?
_OPTIONAL = {
    "node_labels": "vertex",
    "node_attributes": "vertex",
    "edge_labels": "arc",
    "edge_attributes": "arc",
    "graph_labels": "graph",
    "graph_attributes": "graph",
}
_INTEGERS = {"A", "graph_indicator", "node_labels", "edge_labels", "graph_labels"}
# A row of numbers as PyG's reader takes it; strict, since that reader would skip or misread the rest.
_NUMBER = r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*"
_ROW = re.compile(rf"{_NUMBER}(?:,{_NUMBER})*")
_INTEGER_ROW = re.compile(r"\s*[-+]?\d{1,18}\s*(?:,\s*[-+]?\d{1,18}\s*)*")


def tu_prefix(folder: Path) -> str:
    """The dataset's name in a folder of ``NAME_A.txt``, ``NAME_graph_indicator.txt``, ..."""
    found = sorted(p.name.removesuffix("_A.txt") for p in folder.glob("*_A.txt"))
    if len(found) != 1:
        raise OsanError(f"{folder}: expected one file NAME_A.txt of the TU format, found {len(found)}")
    return found[0]


def check_tu(folder: Path, prefix: str) -> int:
    """Check every line of a TU folder and return the number of graphs.

    The files must hold numbers, as many lines as there are vertices, arcs or graphs; vertices are counted
    from 1 and grouped by graph; no arc leaves its graph.

    Raises
    ------
    OsanError
        Names the file and the line.
    """

    def path(name: str) -> Path:
        return folder / f"{prefix}_{name}.txt"

    graph_of = _numbers(path("graph_indicator"), integers=True, columns=1)[:, 0]
    arcs = _numbers(path("A"), integers=True, columns=2)
    step = np.diff(graph_of, prepend=0)
    bad = np.flatnonzero((step < 0) | (step > 1))
    if bad.size:
        raise OsanError(
            f"{path('graph_indicator')}, line {bad[0] + 1}: graph {graph_of[bad[0]]} follows graph "
            f"{graph_of[bad[0] - 1] if bad[0] else 'nothing'}; graphs must be numbered 1, 2, ... in order"
        )
    vertices, graphs = len(graph_of), int(graph_of[-1])
    bad = np.flatnonzero(((arcs < 1) | (arcs > vertices)).any(axis=1))
    if bad.size:
        u, v = arcs[bad[0]]
        raise OsanError(
            f"{path('A')}, line {bad[0] + 1}: joins {u} and {v}, but the vertices are 1 to {vertices}"
        )
    bad = np.flatnonzero(graph_of[arcs[:, 0] - 1] != graph_of[arcs[:, 1] - 1])
    if bad.size:
        u, v = arcs[bad[0]]
        raise OsanError(
            f"{path('A')}, line {bad[0] + 1}: joins vertex {u} of graph {graph_of[u - 1]} and "
            f"vertex {v} of graph {graph_of[v - 1]}"
        )
    expected = {"vertex": vertices, "arc": len(arcs), "graph": graphs}
    for name, what in _OPTIONAL.items():
        if path(name).is_file():
            rows = _numbers(path(name), integers=name in _INTEGERS)
            if len(rows) != expected[what]:
                raise OsanError(
                    f"{path(name)}, line {min(len(rows), expected[what]) + 1}: expected "
                    f"{expected[what]} lines, one per {what}, got {len(rows)}"
                )
    return graphs


def read_tu(folder: Path) -> FlatDataset:
    """The graphs of a TU folder, read by PyG after :func:`check_tu`; ``y`` has one row per graph."""
    prefix = tu_prefix(folder)
    graphs = check_tu(folder, prefix)
    data, slices, _ = read_tu_data(str(folder), prefix)
    if data.y is None:
        raise OsanError(
            f"{folder}: neither {prefix}_graph_labels.txt nor {prefix}_graph_attributes.txt found"
        )
    # PyG takes as many targets as vertices for targets of the vertices.
    data.y = data.y.reshape(graphs, -1)
    return from_collated(data, slices)


def _numbers(path: Path, integers: bool, columns: int | None = None) -> npt.NDArray[Any]:
    """The rows of a file of comma-separated numbers; the first wrong line is named."""
    try:
        text = path.read_bytes().decode("ascii")
    except FileNotFoundError:
        raise OsanError(f"{path} is missing; a TU folder needs it") from None
    except OSError as error:
        raise OsanError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        place = error.object[: error.start].count(b"\n") + 1
        raise OsanError(
            f"{path}, line {place}: expected numbers, found the byte {error.object[error.start]}"
        ) from error
    lines = text.split("\n")
    if lines[-1]:
        # PyG's reader would silently drop this line.
        raise OsanError(f"{path}, line {len(lines)}: the last line must end with a line break")
    lines.pop()
    pattern = _INTEGER_ROW if integers else _ROW
    width = columns
    for place, line in enumerate(lines, 1):
        if not pattern.fullmatch(line):
            kind = "integers" if integers else "numbers"
            raise OsanError(f"{path}, line {place}: expected {kind} separated by commas, got {line[:40]!r}")
        count = line.count(",") + 1
        width = width or count
        if count != width:
            raise OsanError(f"{path}, line {place}: expected {width} values, got {count}")
    if not lines:
        raise OsanError(f"{path}, line 1: the file is empty")
    values = np.fromstring(",".join(lines), dtype=np.int64 if integers else np.float64, sep=",")
    return values.reshape(len(lines), -1)
