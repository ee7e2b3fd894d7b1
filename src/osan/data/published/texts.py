"""Readers of EXP, CEXP and CSL, which are text files; their published loaders unpickle files."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import download_url

from osan.data.convert import from_graphs
from osan.data.formats.rows import read_index_lines
from osan.data.published.cache import Processed
from osan.data.published.readers import loader
from osan.data.task import Features
from osan.errors import OsanError
from osan.graphs import read_graphs

_CLASSES = tuple("0123456789")


def read_sat(root: Path, file: str, url: str = "", sha256: str = "") -> Processed:
    """Planar-SAT graphs with 0/1 vertex labels; graphs 2i and 2i + 1 are a pair of different classes."""
    path = root / file
    if url and not path.is_file():
        with loader():
            download_url(url, str(root))
        received = hashlib.sha256(path.read_bytes()).hexdigest()
        if received != sha256:
            raise OsanError(f"{url}: expected the checksum {sha256}, got {received}")
    graphs = read_graphs(path, format="sat")
    # The lines have just been checked: the class is in the line before the vertices of each graph.
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    starts = np.cumsum([1] + [graph.num_vertices + 1 for graph in graphs[:-1]])
    classes = [int(lines[start][1]) for start in starts]
    if not set(classes) <= {0, 1}:
        raise OsanError(f"{path}: expected the classes 0 and 1, got {sorted(set(classes))}")
    if any(set(graph.vertex_labels or ()) - {0, 1} for graph in graphs):
        raise OsanError(f"{path}: expected the vertex labels 0 and 1, got others")
    flat = from_graphs(graphs, torch.tensor(classes).reshape(-1, 1))
    return Processed(flat, Features(sizes=(2,)), None, {})


def read_csl_folder(root: Path) -> Processed:
    """The 150 published graphs, ten classes of 15 graphs, and their five folds."""
    path = root / "csl.tsv"
    graphs = read_graphs(path, format="table")
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    classes = [row.get("label", "") for row in rows]
    wrong = next((i for i, label in enumerate(classes) if label not in _CLASSES), None)
    if wrong is not None:
        raise OsanError(f"{path}, line {wrong + 2}: expected a label from 0 to 9, got {classes[wrong]!r}")
    y = torch.tensor([int(label) for label in classes])
    indices: dict[str, Tensor] = {}
    for part in ("train", "val", "test"):
        path = root / f"CSL_{part}.index"
        lines = read_index_lines(path, len(graphs))
        if len(lines) != 5:
            raise OsanError(f"{path}: expected 5 lines, one per fold, got {len(lines)}")
        indices |= {f"fold{i}/{part}": torch.tensor(line) for i, line in enumerate(lines)}
    return Processed(from_graphs(graphs, y), Features(sizes=(1,)), None, indices)
