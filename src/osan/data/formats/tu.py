"""TU folders: checked line by line, then read by PyG."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.io import read_tu_data

from osan.data.flat import FlatDataset, from_collated
from osan.data.formats.rows import read_rows
from osan.data.task import Alphabets
from osan.errors import OsanError

# Optional files, and what they have one line per.
_OPTIONAL = {
    "node_labels": "vertex",
    "node_attributes": "vertex",
    "edge_labels": "arc",
    "edge_attributes": "arc",
    "graph_labels": "graph",
    "graph_attributes": "graph",
}
# Labels become one-hot columns, one for each integer between the smallest and the largest.
_MAX_LABELS = 4096
_INTEGERS = {"A", "graph_indicator", "node_labels", "edge_labels", "graph_labels"}


def tu_prefix(folder: Path) -> str:
    """The name of the dataset in a folder of ``NAME_A.txt``, ``NAME_graph_indicator.txt``, ..."""
    found = sorted(p.name.removesuffix("_A.txt") for p in folder.glob("*_A.txt"))
    if len(found) != 1:
        raise OsanError(f"{folder}: expected one file NAME_A.txt of the TU format, got {len(found)}")
    return found[0]


def check_tu(folder: Path, prefix: str) -> int:
    """Check every line of a TU folder and return the number of graphs.

    The files must hold numbers, one line per vertex, arc or graph. Vertices are counted from 1 and grouped
    by graph. No arc may leave its graph.

    Raises
    ------
    OsanError
        The message names the file and the line.
    """

    def path(name: str) -> Path:
        return folder / f"{prefix}_{name}.txt"

    graph_of = read_rows(path("graph_indicator"), integers=True, columns=1, line_break=True)[:, 0]
    arcs = read_rows(path("A"), integers=True, columns=2, line_break=True)
    step = np.diff(graph_of, prepend=0)
    bad = np.flatnonzero((step < 0) | (step > 1))
    if bad.size:
        raise OsanError(
            f"{path('graph_indicator')}, line {bad[0] + 1}: expected graphs in the order 1, 2, ..., got "
            f"{graph_of[bad[0]]} after {graph_of[bad[0] - 1] if bad[0] else 'nothing'}"
        )
    vertices, graphs = len(graph_of), int(graph_of[-1])
    bad = np.flatnonzero(((arcs < 1) | (arcs > vertices)).any(axis=1))
    if bad.size:
        u, v = arcs[bad[0]]
        raise OsanError(
            f"{path('A')}, line {bad[0] + 1}: expected vertices from 1 to {vertices}, got the arc {u}, {v}"
        )
    bad = np.flatnonzero(graph_of[arcs[:, 0] - 1] != graph_of[arcs[:, 1] - 1])
    if bad.size:
        u, v = arcs[bad[0]]
        raise OsanError(
            f"{path('A')}, line {bad[0] + 1}: expected arcs within a graph, got one from vertex {u} of graph "
            f"{graph_of[u - 1]} to vertex {v} of graph {graph_of[v - 1]}"
        )
    expected = {"vertex": vertices, "arc": len(arcs), "graph": graphs}
    for name, what in _OPTIONAL.items():
        if not path(name).is_file():
            continue
        rows = read_rows(path(name), integers=name in _INTEGERS, line_break=True)
        if len(rows) != expected[what]:
            raise OsanError(
                f"{path(name)}, line {min(len(rows), expected[what]) + 1}: expected "
                f"{expected[what]} lines, one per {what}, got {len(rows)}"
            )
        high = rows.max(axis=1)
        if name in ("node_labels", "edge_labels") and high.max() - rows.min() >= _MAX_LABELS:
            raise OsanError(
                f"{path(name)}, line {int(high.argmax()) + 1}: expected labels less than {_MAX_LABELS} above "
                f"the smallest one, got {high.max()}; PyG makes a column for each label between them"
            )
    return graphs


def read_tu(
    folder: Path, alphabets: Alphabets | None = None, targets: bool = True
) -> tuple[FlatDataset, Alphabets]:
    """The graphs of a TU folder, read by PyG after :func:`check_tu`, and the alphabets of their labels.

    Parameters
    ----------
    folder
        Labels become one-hot columns after the attributes.
    alphabets
        Those of another folder: labels get the same columns as there, and new labels are an error. By
        default the labels of this folder.
    targets
        Whether to read the targets ``y``, one row per graph.
    """
    prefix = tu_prefix(folder)
    graphs = check_tu(folder, prefix)
    data, slices, sizes = read_tu_data(str(folder), prefix)
    found: dict[str, list[range]] = {}
    codes: dict[str, list[list[int | None]]] = {}
    for name, labels in (("x", "node_labels"), ("edge_attr", "edge_labels")):
        path = folder / f"{prefix}_{labels}.txt"
        if path.is_file():
            rows = read_rows(path, integers=True)
            found[name] = [range(low, high + 1) for low, high in zip(rows.min(0), rows.max(0), strict=True)]
            # PyG also has a column for each number in between; labels that do not occur are not learned.
            codes[name] = [
                [label if label in seen else None for label in map(int, labels)]
                for labels, seen in zip(found[name], map(set, rows.T.tolist()), strict=True)
            ]
        if alphabets is not None:
            width = sizes[f"num_{labels}"]
            new = _recoded(data.get(name), width, found.get(name, []), alphabets.get(name, []), path)
            if new is not None:
                data[name] = new
    if not targets:
        data.y = torch.zeros(graphs)
    elif data.y is None:
        raise OsanError(
            f"{folder}: expected {prefix}_graph_labels.txt or {prefix}_graph_attributes.txt, got neither"
        )
    # If there are as many targets as vertices, PyG assigns them to the vertices.
    data.y = data.y.reshape(graphs, -1)
    flat = from_collated(data, slices)
    if not targets:
        flat = flat.with_tensors(y=None)
    return flat, codes if alphabets is None else alphabets


def _recoded(
    values: Tensor | None,
    width: int,
    found: Sequence[range],
    wanted: Sequence[Sequence[Hashable]],
    path: Path,
) -> Tensor | None:
    """The last ``width`` columns, one-hot over ``found``, as one-hot columns over ``wanted``."""
    if len(found) != len(wanted):
        raise OsanError(f"{path}: expected {len(wanted)} label(s) per line, as in training, got {len(found)}")
    if values is None or not found:
        return values
    columns = [values[:, : values.shape[1] - width]]
    for block, labels, known in zip(
        torch.split(values[:, values.shape[1] - width :], list(map(len, found)), 1),
        found,
        wanted,
        strict=True,
    ):
        place = {label: i for i, label in enumerate(known)}
        new = block.new_zeros(len(block), len(known))
        for i, label in enumerate(labels):
            if label in place:
                new[:, place[label]] = block[:, i]
            elif bool(block[:, i].any()):
                raise OsanError(f"{path}: expected labels that occurred in training, got {label}")
        columns.append(new)
    return torch.cat(columns, dim=1)
