"""A learning task: the splits of one dataset and what a network and a trainer must know about it."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from osan.data.flat import FlatDataset
from osan.data.metrics import check_metric, direction
from osan.errors import OsanError
from osan.words import Kind

# For each column of labels in x or edge_attr, the labels in the order of their codes.
Alphabets = Mapping[str, Sequence[Sequence[Hashable]]]


@dataclass(frozen=True)
class Features:
    """Describes the columns of ``x`` or ``edge_attr``, so that a network can build its first layer.

    Parameters
    ----------
    sizes
        Categories: column i holds integers from 0 to ``sizes[i] - 1``, each with an embedding.
    width
        Numbers: how many real-valued columns there are, for a linear layer. Give either this or ``sizes``.

    >>> Features(sizes=(28,)).categorical, Features(width=16).categorical
    (True, False)
    """

    sizes: tuple[int, ...] = ()
    width: int = 0

    def __post_init__(self) -> None:
        if bool(self.sizes) == bool(self.width):
            raise OsanError(f"features: expected either sizes or width, got {self.sizes} and {self.width}")

    @property
    def categorical(self) -> bool:
        """Whether the columns are categories."""
        return bool(self.sizes)


@dataclass(frozen=True, eq=False)
class Normalization:
    """Mean and standard deviation of each target over the training split, without missing values.

    A constant target has the standard deviation 1.

    >>> scale = Normalization.of(torch.tensor([[1.0], [3.0], [float("nan")]]))
    >>> scale.apply(torch.tensor([[3.0]])), scale.undo(torch.tensor([[1.0]]))
    (tensor([[1.]]), tensor([[3.]]))
    """

    mean: Tensor
    std: Tensor

    @classmethod
    def of(cls, y: Tensor) -> Normalization:
        """The statistics of the rows of ``y``: population deviation, computed in double precision."""
        values = y.double()
        mean = values.nanmean(dim=0)
        std = (values - mean).square().nanmean(dim=0).sqrt()
        mean = mean.nan_to_num(0.0)
        # Rounding leaves a constant column a deviation of about 1e-16 times its size.
        std = torch.where(std > 1e-12 * (1.0 + mean.abs()), std, torch.ones_like(std))
        return cls(mean.float(), std.float())

    def apply(self, y: Tensor) -> Tensor:
        """``(y - mean) / std``."""
        return (y - self.mean.to(y.device)) / self.std.to(y.device)

    def undo(self, y: Tensor) -> Tensor:
        """``y * std + mean``."""
        return y * self.std.to(y.device) + self.mean.to(y.device)


@dataclass(frozen=True, eq=False)
class Task:
    """A dataset with its splits, as :func:`osan.data.load` returns it.

    Parameters
    ----------
    name
        The dataset.
    train, val, test
        Subsets of one flat storage; ``graph_id`` counts through the whole dataset.
    kind
        ``"regression"`` and ``"binary"``: ``y`` is float of shape (graphs, targets), NaN where missing;
        ``"multiclass"``: ``y`` is integer of shape (graphs,).
    num_targets
        Width of the network's output: the number of targets, or of classes for ``"multiclass"``.
    metric
        One of :data:`osan.data.METRICS`, or ``"module:name"``.
    vertex_features, edge_features
        Describe the columns of ``x`` and ``edge_attr``; ``None`` if there are no edge features.
    normalization
        Statistics of the training targets if the network is trained on normalized ones, else ``None``.
    split
        A description of the split.
    source, license
        Where the data come from, and their terms of use.
    classes
        The names of the classes 0, 1, ... of ``"multiclass"``, if they have names.
    lines
        The line of each graph of the whole dataset in its table, for tables of molecules.
    alphabets
        The labels that the codes (or the last columns, one-hot) of ``x`` and ``edge_attr`` stand for, for
        files of labeled graphs. Files to predict must get the same codes.
    """

    name: str
    train: FlatDataset
    val: FlatDataset
    test: FlatDataset
    kind: Kind
    num_targets: int
    metric: str
    vertex_features: Features
    edge_features: Features | None
    normalization: Normalization | None
    split: str
    source: str
    license: str
    classes: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    alphabets: Alphabets = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_metric(self.metric, self.kind)

    @property
    def direction(self) -> Literal["min", "max"]:
        """``"min"`` if a smaller metric is better, else ``"max"``."""
        return direction(self.metric)

    @property
    def num_classes(self) -> int | None:
        """The number of classes; ``None`` for regression."""
        return {"regression": None, "binary": 2, "multiclass": self.num_targets}[self.kind]

    @property
    def splits(self) -> dict[str, FlatDataset]:
        """The three splits by name."""
        return {"train": self.train, "val": self.val, "test": self.test}

    @property
    def whole(self) -> FlatDataset:
        """All graphs in the order of the dataset, also those in no split."""
        return self.train.subset(torch.arange(len(self.train.vertex_ptr) - 1))

    @property
    def fingerprint(self) -> str:
        """Two checksums, of targets, sizes and splits, and of edges and features. They identify the data.

        Older runs have only the first one; see :meth:`is_that_of`.
        """
        whole = self.train
        first = [whole.tensors["y"], whole.vertex_ptr, whole.edge_ptr, *(s.ids for s in self.splits.values())]
        # Structural columns follow from the edges, and a run may add them.
        second = [whole.tensors[name] for name in ("edge_attr", "edge_index", "x") if name in whole.tensors]
        return _checksum(first) + _checksum(second)

    def is_that_of(self, fingerprint: str) -> bool:
        """Whether the data have this fingerprint; the shorter ones of older runs are compared in part."""
        return self.fingerprint.startswith(fingerprint)


def _checksum(parts: Iterable[Tensor]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(str(tuple(part.shape)).encode() + part.contiguous().numpy().tobytes())
    return digest.hexdigest()


def make_task(
    name: str,
    graphs: FlatDataset,
    parts: Mapping[str, Tensor],
    *,
    kind: Kind,
    metric: str,
    vertex_features: Features,
    edge_features: Features | None = None,
    num_targets: int | None = None,
    classes: tuple[str, ...] = (),
    lines: tuple[int, ...] = (),
    alphabets: Alphabets | None = None,
    normalize: bool = False,
    split: str = "generated by seed",
    source: str = "generated",
    license: str = "MIT",
) -> Task:
    """A task from ``graphs`` and the split ``parts``; ``y`` gets the shape of its kind.

    The parameters are those of :class:`Task`. By default ``num_targets`` comes from the targets;
    ``normalize`` computes the statistics of the training split.
    """
    y = graphs.tensors["y"]
    y = y.reshape(-1).long() if kind == "multiclass" else y.float().reshape(len(y), -1)
    graphs = graphs.with_tensors(y=y)
    train, val, test = (graphs.subset(parts[part]) for part in ("train", "val", "test"))
    return Task(
        name=name,
        train=train,
        val=val,
        test=test,
        kind=kind,
        num_targets=num_targets or (int(y.max()) + 1 if kind == "multiclass" else y.shape[1]),
        metric=metric,
        vertex_features=vertex_features,
        edge_features=edge_features,
        normalization=Normalization.of(train.y) if normalize else None,
        split=split,
        source=source,
        license=license,
        classes=classes,
        lines=lines,
        alphabets=alphabets or {},
    )
