"""Readers of the published datasets, based on the loaders of PyG and OGB.

Each takes a writable folder with the layout that the loader expects. The loader downloads raw files that
are missing there.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from osan.data.flat import FlatDataset, concatenate, from_collated
from osan.data.formats.rows import read_folds, read_index_files
from osan.data.formats.saved import PYG_CLASSES, allowed
from osan.data.formats.tu import check_tu
from osan.data.published.cache import Processed
from osan.data.published.catalog import SUBSET
from osan.data.published.checks import check_ogb, check_qm9, check_zinc
from osan.data.task import Features
from osan.errors import OsanError

CHARACTERIZED = 130_831  # molecules of QM9 that PyG keeps


def read_zinc(root: Path) -> Processed:
    """ZINC-12k: one of 28 atom types per vertex, one of 4 bond types per edge."""
    from torch_geometric.datasets import ZINC

    if (root / "raw").is_dir():
        check_zinc(root / "raw")
    with loader():
        datasets = [ZINC(str(root), subset=True, split=split) for split in ("train", "val", "test")]
    parts = [from_collated(dataset._data, dataset.slices) for dataset in datasets]
    ends = np.cumsum([0] + [len(part) for part in parts])
    indices = {
        name: torch.arange(start, stop)
        for name, start, stop in zip(("train", "val", "test"), ends, ends[1:], strict=False)
    }
    return Processed(concatenate(parts), Features(sizes=(28,)), Features(sizes=(4,)), indices)


def read_qm9(root: Path) -> Processed:
    """QM9, 12,000 molecules: 13 atom features and 3D coordinates, 4 bond types, the first 12 targets.

    From a folder with all molecules, ``permutation(130831)[:12000]`` of numpy's seed 42 is taken. A folder
    with 12,000 molecules must hold this subset.
    """
    import rdkit  # noqa: F401  Without it, PyG looks for another raw file.
    from torch_geometric.datasets import QM9

    from osan.data.published.qm9 import atom_flags

    if (root / "raw").is_dir():
        check_qm9(root / "raw")
    with loader():
        dataset = QM9(str(root))
    whole = from_collated(dataset._data, dataset.slices)
    position, index = dataset._data.pos, None
    if len(whole) >= CHARACTERIZED:
        index = np.random.RandomState(42).permutation(CHARACTERIZED)[: sum(SUBSET)]
        molecules = dataset._data.idx[torch.from_numpy(index)]
    else:
        molecules = dataset._data.idx
    whole = whole.with_tensors(
        x=torch.cat([whole.tensors["x"], position], dim=1), y=whole.tensors["y"][:, :12]
    )
    graphs = whole if index is None else compact(whole.subset(torch.from_numpy(index)))
    x, edge_attr = atom_flags(root / "raw" / "gdb9.sdf", molecules.tolist(), graphs)
    graphs = graphs.with_tensors(x=x, edge_attr=edge_attr)
    return Processed(graphs, Features(width=16), Features(width=4), ranges(len(graphs)))


def read_ogb(root: Path, name: str) -> Processed:
    """An ``ogbg-mol*`` dataset with OGB's categorical features and its scaffold split."""
    from ogb.graphproppred import PygGraphPropPredDataset
    from ogb.utils.features import get_atom_feature_dims, get_bond_feature_dims

    if root.is_dir():
        check_ogb(root)
    with loader():
        dataset = PygGraphPropPredDataset(name, root=str(root.parent))
        split = dataset.get_idx_split()
    graphs = from_collated(dataset._data, dataset.slices)
    return Processed(
        graphs.with_tensors(y=graphs.tensors["y"].float()),
        Features(sizes=tuple(get_atom_feature_dims())),
        Features(sizes=tuple(get_bond_feature_dims())),
        {"train": split["train"], "val": split["valid"], "test": split["test"]},
    )


def read_tu_dataset(root: Path, name: str) -> Processed:
    """A TU dataset as PyG reads it: vertex and edge labels one-hot, continuous attributes left out."""
    from torch_geometric.datasets import TUDataset

    raw = root / "raw"
    if raw.is_dir():
        check_tu(raw, name)
    with loader():
        dataset = TUDataset(str(root.parent), name)
    graphs = from_collated(dataset._data, dataset.slices)
    edge_attr = graphs.tensors.get("edge_attr")
    edge = Features(width=edge_attr.shape[1]) if edge_attr is not None else None
    indices = read_folds(root / "10fold_idx", len(graphs)) | read_index_files(root, len(graphs))
    return Processed(graphs, Features(width=graphs.tensors["x"].shape[1]), edge, indices)


def compact(subset: FlatDataset) -> FlatDataset:
    """The graphs of a subset in a separate storage, numbered from 0."""
    batch = subset.batch(torch.arange(len(subset)))
    arcs = batch._slice_dict["edge_index"]
    tensors = {name: batch[name] for name in subset.tensors}
    owner = torch.repeat_interleave(arcs.diff())
    tensors["edge_index"] = batch.edge_index - batch.ptr[owner]
    return FlatDataset(tensors, batch.ptr, arcs)


def with_distances(processed: Processed) -> Processed:
    """Add the Euclidean length of every arc as a column of ``edge_attr``.

    The last three columns of ``x`` are the coordinates (paper, "Downstream and baseline models").
    """
    graphs = processed.graphs
    offset = torch.repeat_interleave(graphs.vertex_ptr[:-1], graphs.edge_ptr.diff())
    u, v = graphs.tensors["edge_index"] + offset
    position = graphs.tensors["x"][:, -3:]
    length = (position[u] - position[v]).norm(dim=1, keepdim=True)
    edge_attr = torch.cat([graphs.tensors["edge_attr"], length], dim=1)
    features = Features(width=edge_attr.shape[1])
    return replace(processed, graphs=graphs.with_tensors(edge_attr=edge_attr), edge_features=features)


def ranges(count: int) -> dict[str, Tensor]:
    """Training, validation and test graphs one after the other, as in the subsets of 12,000 graphs."""
    if count != sum(SUBSET):
        raise OsanError(f"expected the {sum(SUBSET)} graphs of the published subset, got {count}")
    train, val, test = torch.split(torch.arange(count), list(SUBSET))
    return {"train": train, "val": val, "test": test}


@contextlib.contextmanager
def loader() -> Iterator[None]:
    """The context of a loader of PyG or OGB: it may read its processed files, and its output is hidden.

    ogb 1.3.6 calls ``torch.load`` as before torch 2.6, which built objects of any class. Here only the few
    classes of PyG that its files contain are allowed. There is no other way to turn off progress bars.
    """
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
        allowed(PYG_CLASSES),
    ):
        # ogb passes read-only arrays of pandas to torch, which copies them right away.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        yield
