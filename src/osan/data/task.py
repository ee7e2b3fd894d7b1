"""A learning task: three splits of one dataset and all that a network and a trainer must know of them."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from osan.data.flat import FlatDataset
from osan.errors import OsanError

Kind = Literal["regression", "binary", "multiclass"]
# Of each column of labels under x or edge_attr, the labels in the order of their codes.
Alphabets = Mapping[str, Sequence[Sequence[Hashable]]]
METRICS = {"mae": "min", "rmse": "min", "accuracy": "max", "rocauc": "max"}


@dataclass(frozen=True)
class Features:
    """What the columns of ``x`` or ``edge_attr`` are, so that a network can build its first layer.

    Either ``sizes``: column i holds integers from 0 to ``sizes[i] - 1`` (embed each, add them up), or
    ``width``: that many real-valued columns (a linear layer).

    >>> Features(sizes=(28,)).categorical, Features(width=16).categorical
    (True, False)
    """

    sizes: tuple[int, ...] = ()
    width: int = 0

    def __post_init__(self) -> None:
        if bool(self.sizes) == bool(self.width):
            raise OsanError(f"features have either sizes or a width, got {self.sizes} and {self.width}")

    @property
    def categorical(self) -> bool:
        """Whether the columns are integers to be embedded."""
        return bool(self.sizes)


@dataclass(frozen=True, eq=False)
class Normalization:
    """Mean and standard deviation of each target over the training split; missing values are left out.

    A constant target keeps the divisor 1.

    >>> scale = Normalization.of(torch.tensor([[1.0], [3.0], [float("nan")]]))
    >>> scale.apply(torch.tensor([[3.0]])), scale.undo(torch.tensor([[1.0]]))
    (tensor([[1.]]), tensor([[3.]]))
    """

    mean: Tensor
    std: Tensor

    @classmethod
    def of(cls, y: Tensor) -> Normalization:
        """The statistics of the rows of ``y`` (double precision inside; population deviation)."""
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
    """One dataset with its splits, as :func:`osan.data.load` and the readers of own files give it.

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
        Width of the network's output: number of targets, or of classes for ``"multiclass"``.
    metric
        ``"mae"``, ``"rmse"``, ``"accuracy"`` or ``"rocauc"``.
    vertex_features, edge_features
        What the columns of ``x`` and ``edge_attr`` are; no edge features: ``None``.
    normalization
        Statistics of the training targets where the protocol trains on normalized ones, else ``None``.
    split
        How the graphs were split, in words.
    source, license
        Where the data come from and on which terms.
    classes
        The names of the classes 0, 1, ... of ``"multiclass"``, where they have some.
    lines
        The line of each graph of the whole dataset, where it comes from a table of one's own.
    alphabets
        Which labels of one's own file of graphs the codes (or the last columns, one-hot) of ``x`` and
        ``edge_attr`` stand for, where there are labels: further files must get the same.
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
        if self.metric not in METRICS:
            raise OsanError(f"unknown metric {self.metric!r}; expected one of {', '.join(METRICS)}")

    @property
    def direction(self) -> str:
        """``"min"`` if a smaller metric is better, else ``"max"``."""
        return METRICS[self.metric]

    @property
    def num_classes(self) -> int | None:
        """The number of classes; ``None`` for regression."""
        return {"regression": None, "binary": 2, "multiclass": self.num_targets}[self.kind]

    @property
    def splits(self) -> dict[str, FlatDataset]:
        """The three splits by name."""
        return {"train": self.train, "val": self.val, "test": self.test}

    @property
    def fingerprint(self) -> str:
        """Checksums of targets, sizes and splits, and of edges and features: another one means other data.

        Older runs have the first half alone; see :meth:`is_that_of`.
        """
        whole = self.train
        first = [whole.tensors["y"], whole.vertex_ptr, whole.edge_ptr, *(s.ids for s in self.splits.values())]
        second = [tensor for name, tensor in sorted(whole.tensors.items()) if name != "y"]
        return _checksum(first) + _checksum(second)

    def is_that_of(self, fingerprint: str) -> bool:
        """Whether these are the data of a fingerprint, as far as an older (shorter or empty) one can tell."""
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
    """The task over ``graphs`` with the split ``parts``; ``y`` is brought into the shape of its kind.

    Parameters are those of :class:`Task`; ``num_targets`` is read off the targets by default, and
    ``normalize`` asks for the statistics of the training split.
    """
    y = graphs.tensors["y"]
    y = y.reshape(-1).long() if kind == "multiclass" else y.float().reshape(len(y), -1)
    graphs = FlatDataset({**graphs.tensors, "y": y}, graphs.vertex_ptr, graphs.edge_ptr)
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
