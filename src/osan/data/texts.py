"""Readers of the datasets kept as text: EXP, CEXP and CSL. No loader of theirs works without unpickling."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import download_url

from osan.data.cache import Processed
from osan.data.convert import from_graphs
from osan.data.published import quiet, read_index_lines
from osan.data.task import Features
from osan.errors import OsanError
from osan.graphs import read_csl, read_sat_pairs


def read_sat(root: Path, file: str, url: str = "", sha256: str = "") -> Processed:
    """Planar-SAT graphs with 0/1 vertex labels; graphs 2i and 2i + 1 form a pair of unequal classes."""
    path = root / file
    if url and not path.is_file():
        with quiet():
            download_url(url, str(root))
        received = hashlib.sha256(path.read_bytes()).hexdigest()
        if received != sha256:
            raise OsanError(f"{url}: checksum {received}, expected {sha256}")
    graphs, labels = read_sat_pairs(path)
    flat = from_graphs(graphs, torch.tensor(labels))
    return Processed(flat, Features(sizes=(2,)), None, {})


def read_csl_folder(root: Path) -> Processed:
    """The 150 published graphs, ten classes of 15, without labels, and their five folds."""
    graphs, labels = read_csl(root / "csl.tsv")
    indices: dict[str, Tensor] = {}
    for part in ("train", "val", "test"):
        path = root / f"CSL_{part}.index"
        lines = read_index_lines(path, len(graphs))
        if len(lines) != 5:
            raise OsanError(f"{path}: expected 5 lines, one per fold, got {len(lines)}")
        indices |= {f"fold{i}/{part}": torch.tensor(line) for i, line in enumerate(lines)}
    return Processed(from_graphs(graphs, torch.tensor(labels)), Features(sizes=(1,)), None, indices)
