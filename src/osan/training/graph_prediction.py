"""Predictions for new graphs: any file or folder that a run can be trained on, targets or not."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from osan.data import Features, FlatDataset
from osan.data.custom.graphs import describe, read_flat
from osan.errors import OsanError
from osan.training.columns import predicted_columns
from osan.training.evaluation import predict_samples
from osan.training.module import Learner
from osan.training.prediction import most_vertices
from osan.training.tasks import TaskInfo


def predict_graphs(learner: Learner, path: Path, batch_size: int = 128) -> tuple[list[str], Tensor]:
    """Names and values of what is predicted for every graph of a file, of shape ``[graphs, columns]``.

    The columns are those of :func:`~osan.training.columns.predicted_columns`.

    Raises
    ------
    OsanError
        If the graphs do not carry the features that the model was trained with.
    """
    info = learner.info
    graphs, _ = read_flat(path, info.alphabets, targets=False)
    check_features(graphs, info, str(path))
    most, sizes = most_vertices(learner.settings, info), graphs.num_vertices
    if int(sizes.max()) > most:
        raise OsanError(
            f"{path}, graph {int(sizes.argmax())}: {int(sizes.max())} vertices, but the ordered model knows "
            f"ranks for {info.num_ranks}"
        )
    return predicted_columns(learner, *predict_samples(learner, graphs, batch_size))


def check_features(graphs: FlatDataset, info: TaskInfo, where: str) -> None:
    """Raise unless the graphs have features of the kind and number that the model was trained with."""
    for name, expected in (("x", info.vertex_features), ("edge_attr", info.edge_features)):
        values = graphs.tensors.get(name)
        found = None if values is None else describe(values, f"{where}: {name}")
        if _fits(found, expected):
            continue
        trained = f"the model was trained on {info.dataset}, "
        if found is not None and expected is not None and len(found.sizes) == len(expected.sizes) > 0:
            column = next(i for i, size in enumerate(found.sizes) if size > expected.sizes[i])
            raise OsanError(
                f"{where}: column {column} of {name} holds the category {found.sizes[column] - 1}, but "
                f"{trained}where the categories are 0 to {expected.sizes[column] - 1}"
            )
        raise OsanError(f"{where}: {name} has {_words(found)}, but {trained}where it has {_words(expected)}")


def _fits(found: Features | None, expected: Features | None) -> bool:
    if found is None or expected is None:
        return found is expected
    if found.categorical and len(found.sizes) == len(expected.sizes):
        return all(here <= there for here, there in zip(found.sizes, expected.sizes, strict=True))
    return found == expected


def _words(features: Features | None) -> str:
    if features is None:
        return "no columns"
    count = len(features.sizes) or features.width
    return (
        f"{count} column{'' if count == 1 else 's'} of {'categories' if features.categorical else 'numbers'}"
    )
