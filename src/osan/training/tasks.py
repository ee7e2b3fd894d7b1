"""From the settings of the data to a task, and the facts of it that a network needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from osan.data import Features, Normalization, Task, load, with_structure
from osan.data.descriptors import num_scaled, statistics
from osan.data.metrics import is_custom, metric_words, metrics_for
from osan.data.naming import FOLDS, content_of, find_path, num_folds
from osan.errors import OsanError
from osan.nn.gaussian_process import MOST_POINTS
from osan.training.scores import class_weights
from osan.training.settings import CUSTOM, Settings
from osan.words import Kind


def load_task(
    settings: Settings, data: Path | None = None, rejected: Path | None = None, task: Task | None = None
) -> Task:
    """Load the task of the settings: a known dataset, a table of molecules, or a file of graphs.

    Parameters
    ----------
    settings
        The settings of the run; its seed determines the fold if ``data.fold`` is ``"seed"``.
    data
        The folder of raw files; ``$OSAN_DATA`` by default.
    rejected
        Where to list the rows of a table that cannot be used.
    task
        A custom task instead; metric and limit of the settings apply to it as well.
    """
    wanted = settings.data
    if wanted.dataset.startswith(f"{CUSTOM}:") and task is None:
        raise OsanError("task: expected the custom task of the run, got none; pass it as task=")
    if task is None:
        task = _load(settings, data, rejected)
    elif wanted.metric is not None:
        if not is_custom(wanted.metric) and wanted.metric not in metrics_for(task.kind):
            raise OsanError(
                f"data.metric: expected {metric_words(task.kind)} for {task.kind}, got {wanted.metric}"
            )
        task = replace(task, metric=wanted.metric)
    task = with_structure(task, wanted.encodings, settings.selection.scored)
    if wanted.limit is None:
        return task
    few = slice(0, wanted.limit)
    train = task.train[few]
    scale = None if task.normalization is None else Normalization.of(train.y)
    return replace(task, train=train, val=task.val[few], test=task.test[few], normalization=scale)


def _load(settings: Settings, data: Path | None, rejected: Path | None) -> Task:
    """The task as it is stored."""
    wanted = settings.data
    fold, seed = fold_and_seed(settings)
    chosen: dict[str, Any] = {
        "split": wanted.split,
        "fold": fold,
        "seed": seed,
        "validate_on_test": wanted.validate_on_test,
        "metric": wanted.metric,
    }
    path = find_path(wanted.dataset)
    if path is not None:
        chosen |= {"labels": wanted.labels, "kind": wanted.kind}
        if content_of(path) == "table":
            chosen |= {"smiles": wanted.smiles, "targets": wanted.targets or None, "rejected": rejected}
    if wanted.fragments != "keep":
        chosen["fragments"] = wanted.fragments
    if wanted.descriptors:
        chosen["descriptors"] = wanted.descriptors
    for option in chosen.keys() & wanted.options.keys():
        raise OsanError(f"data.options: expected options of the dataset, got {option!r}; set data.{option}")
    return load(wanted.dataset, data, **chosen, **wanted.options)


def fold_and_seed(settings: Settings) -> tuple[int | None, int]:
    """The fold to test on, and the seed of the split; the seed of the run gives both if ``fold = "seed"``."""
    wanted = settings.data
    if wanted.fold != "seed":
        return wanted.fold, wanted.seed
    folds = num_folds(wanted.split) or FOLDS
    return settings.seed % folds, settings.seed // folds


@dataclass(frozen=True)
class TaskInfo:
    """The facts of a task that its network and predictions depend on; stored with the weights.

    ``degrees`` is the histogram of degrees of the training graphs and ``num_ranks`` the largest number of
    vertices of any graph; ``mean`` and ``std`` are empty if targets are not normalized, ``classes`` if they
    have no names. ``descriptors`` is their number of columns, of which the first have ``descriptor_mean`` and
    ``descriptor_std``. ``balance`` holds the weights of classes, empty if they do not count alike.
    ``points`` is the number of training graphs in the Gaussian process that the network is blended with.
    ``fingerprint`` identifies the training data, ``alphabets`` maps codes to labels of a
    file of graphs, ``split`` describes how the graphs were split.
    """

    dataset: str
    kind: Kind
    metric: str
    direction: Literal["min", "max"]
    targets: tuple[str, ...]
    num_targets: int
    vertex_features: Features
    edge_features: Features | None
    mean: tuple[float, ...]
    std: tuple[float, ...]
    degrees: tuple[int, ...]
    num_ranks: int
    classes: tuple[str, ...] = ()
    fingerprint: str = ""
    alphabets: Mapping[str, Any] = field(default_factory=dict)
    split: str = ""
    descriptors: int = 0
    descriptor_mean: tuple[float, ...] = ()
    descriptor_std: tuple[float, ...] = ()
    balance: tuple[float, ...] = ()
    points: int = 0

    @classmethod
    def of(cls, task: Task, settings: Settings) -> TaskInfo:
        """The facts of a task."""
        given = tuple(settings.data.targets)
        count = 1 if task.kind == "multiclass" else task.num_targets
        unnamed = ("y",) if count == 1 else tuple(f"y{i}" for i in range(count))
        scale = task.normalization
        numbers = task.train.tensors.get("descriptors")
        numbers = torch.zeros(len(task.train.vertex_ptr) - 1, 0) if numbers is None else numbers
        names = settings.data.descriptors
        scaled = numbers[task.train.ids, : num_scaled(names)] if names else numbers[task.train.ids]
        center, spread = (tuple(column.tolist()) for column in statistics(scaled))
        return cls(
            dataset=task.name,
            kind=task.kind,
            metric=task.metric,
            direction=task.direction,
            targets=given if len(given) == count else unnamed,
            num_targets=task.num_targets,
            vertex_features=task.vertex_features,
            edge_features=task.edge_features,
            mean=() if scale is None else tuple(scale.mean.tolist()),
            std=() if scale is None else tuple(scale.std.tolist()),
            degrees=degree_histogram(task),
            num_ranks=max(int(part.num_vertices.max()) for part in task.splits.values()),
            classes=task.classes,
            fingerprint=task.fingerprint,
            alphabets=task.alphabets,
            split=task.split,
            descriptors=numbers.size(1),
            descriptor_mean=center,
            descriptor_std=spread,
            balance=_balance(task) if settings.training.balance else (),
            points=min(len(task.train), MOST_POINTS) if settings.network.blend and numbers.size(1) else 0,
        )

    @property
    def normalization(self) -> Normalization | None:
        """The statistics of the training targets."""
        return Normalization(torch.tensor(self.mean), torch.tensor(self.std)) if self.mean else None

    @property
    def class_weights(self) -> Tensor | None:
        """The weights of classes; see :func:`osan.training.scores.class_weights`."""
        if not self.balance:
            return None
        weights = torch.tensor(self.balance)
        return weights if self.kind == "multiclass" else weights.view(-1, 2)

    @property
    def class_names(self) -> tuple[str, ...]:
        """A name for each class of ``"multiclass"``, by default its number."""
        return self.classes or tuple(map(str, range(self.num_targets)))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that makes sense, the metric of the task first."""
        return (self.metric, *(name for name in metrics_for(self.kind) if name != self.metric))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> TaskInfo:
        """The inverse of :meth:`to_json`, after a passage through a file."""
        try:
            return _INFO.validate_python(content)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise OsanError(
                f"task: expected the facts of a task, got damaged ones ({place}: {first['msg']})"
            ) from None


_INFO = TypeAdapter(TaskInfo)


def _balance(task: Task) -> tuple[float, ...]:
    if task.kind == "regression":
        raise OsanError("training.balance: expected classes to balance, got regression")
    return tuple(class_weights(task.train.y, task.kind, task.num_targets).flatten().tolist())


def degree_histogram(task: Task) -> tuple[int, ...]:
    """How many vertices of the training graphs have degree 0, 1, 2, ... (in-degree, as PyG counts)."""
    train = task.train
    degrees: list[Tensor] = []
    for positions in torch.split(torch.arange(len(train)), 4096):
        batch = train.batch(positions)
        degrees.append(torch.bincount(batch.edge_index[1], minlength=batch.num_nodes))
    return tuple(torch.bincount(torch.cat(degrees)).tolist())
