"""Predictions as named columns: the same in the ``predictions.csv`` of a run and for new data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from osan.data import FlatDataset
from osan.data.formats.cells import csv_text
from osan.files import write_bytes
from osan.training.evaluation import votes
from osan.training.module import Learner
from osan.training.tasks import TaskInfo


def predicted_columns(learner: Learner, joined: Tensor, each: Tensor) -> tuple[list[str], Tensor]:
    """Names and values, the latter of shape ``[graphs, columns]``.

    Each target has a column ``predicted_NAME``, in its unit; classes have ``probability_NAME`` (of class 1,
    or of each class). Scores are computed from these predictions, or from the logits behind the
    probabilities. ``..._spread`` is the standard deviation over the perturbed samples. If samples vote, the
    probability is that of their mean output, and ``votes_NAME`` is the share of votes, which is scored.

    Parameters
    ----------
    learner
        The trained network.
    joined, each
        Its predictions, and those of every sample; see :func:`~osan.training.evaluation.predict_samples`.
    """
    info = learner.info
    classes = info.kind == "multiclass"
    names = info.class_names if classes else info.targets
    by_vote = votes(learner)
    word = "predicted" if info.kind == "regression" else "probability"
    of_samples = meaning(each, info)
    values = {
        f"{word}_{{}}": meaning(each.mean(0) if by_vote else joined, info),
        f"{word}_{{}}_spread": (of_samples - of_samples.mean(0)).square().mean(0).sqrt(),
    }
    if by_vote:
        # A single column holds the share of class 1 minus 1/2.
        values["votes_{}"] = joined if classes else joined + 0.5
    header = distinct(form.format(name) for name in names for form in values)
    return header, torch.stack([value.double() for value in values.values()], dim=-1).flatten(1)


def meaning(prediction: Tensor, info: TaskInfo) -> Tensor:
    """The meaning of a network's output: the number itself, or the probabilities behind logits.

    Double precision keeps large logits distinct, and with them the order that ROC-AUC depends on.
    """
    if info.kind == "regression":
        return prediction
    logits = prediction.double()
    return torch.sigmoid(logits) if info.kind == "binary" else torch.softmax(logits, -1)


def numbered(names: Sequence[str], taken: Collection[str]) -> list[str]:
    """The names; if one is taken, all with the first number appended for which none is.

    >>> numbered(["a", "b"], taken={"b", "a_2"})
    ['a_3', 'b_3']
    """
    out, count = list(names), 1
    while not set(out).isdisjoint(taken):
        count += 1
        out = [f"{name}_{count}" for name in names]
    return out


def distinct(names: Iterable[str]) -> list[str]:
    """The names, with a number appended to repeated ones.

    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a_2']
    """
    out: dict[str, None] = {}
    for name in names:
        out.update(dict.fromkeys(numbered([name], out)))
    return list(out)


def write_predictions(
    path: Path,
    graphs: FlatDataset,
    columns: tuple[list[str], Tensor],
    info: TaskInfo,
    lines: Sequence[int] = (),
) -> None:
    """Write one line per graph: its index in the dataset (and line in its table), targets, predictions."""
    if info.kind == "multiclass":
        names = ["class"]
        targets = [[info.class_names[i]] for i in graphs.y.tolist()]
    else:
        names = list(info.targets)
        # A missing target is an empty cell.
        targets = [["" if t != t else t for t in target] for target in graphs.y.tolist()]
    predicted, values = columns
    header = distinct(["graph", *(["line"] if lines else []), *names, *predicted])
    places = [[i, lines[i]] if lines else [i] for i in graphs.ids.tolist()]
    rows = zip(places, targets, values.tolist(), strict=True)
    write_csv(path, header, ([*place, *target, *value] for place, target, value in rows))


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ",") -> None:
    """Write a table, whole or not at all; see :func:`~osan.data.formats.cells.csv_text`."""
    write_bytes(path, csv_text([header, *rows], separator).encode(errors="surrogateescape"))
