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
from osan.training.calibration import Interval
from osan.training.members import Predictor, outputs, votes
from osan.training.tasks import TaskInfo


def predicted_columns(
    model: Predictor, together: Tensor, each: Tensor, interval: Interval | None = None
) -> tuple[list[str], Tensor]:
    """Names and values, the latter of shape ``[graphs, columns]``.

    Each target has a column ``predicted_NAME``, in its unit; classes have ``probability_NAME`` (of class 1,
    or of each class). Scores are computed from these predictions, or from the logits behind the
    probabilities. ``..._spread`` is the standard deviation over the perturbed samples of all members; for an
    ensemble, ``..._spread_members`` and ``..._spread_choice`` are its parts, see :func:`spreads`. If samples
    vote, the probability is that of their mean output, and ``votes_NAME`` is the share of votes, which is
    scored. Intervals have ``NAME_low`` and ``NAME_high``, and for classes ``calibrated_NAME``.

    Parameters
    ----------
    model
        The trained network, or ensemble.
    together, each
        Its predictions, and those of every sample of every member; see
        :func:`~osan.training.evaluation.predict_members`.
    interval
        Intervals, or sets of classes, to add.
    """
    info = model.info
    classes = info.kind == "multiclass"
    names = info.class_names if classes else info.targets
    by_vote = votes(model)
    word = "predicted" if info.kind == "regression" else "probability"
    value = outputs(model, together, each)
    values = {f"{word}_{{}}": meaning(value, info)}
    values |= {f"{word}_{{}}_{part}": spread for part, spread in spreads(meaning(each, info)).items()}
    if by_vote:
        # A single column holds the share of class 1 minus 1/2.
        values["votes_{}"] = together if classes else together + 0.5
    if interval is not None:
        values |= interval.columns(value)
    header = distinct(form.format(name) for name in names for form in values)
    return header, torch.stack([value.double() for value in values.values()], dim=-1).flatten(1)


def spreads(each: Tensor) -> dict[str, Tensor]:
    r"""Standard deviations of predictions of shape ``[members, samples, graphs, targets]``.

    With :math:`x_{ms}` the prediction of sample s of member m, the law of total variance says

    .. math:: \operatorname{Var} x = \operatorname{Var}_m (E_s x_{ms}) + E_m (\operatorname{Var}_s x_{ms}).

    ``spread`` is the root of the left side, ``spread_members`` and ``spread_choice`` are those of the two
    terms: how far members differ, and how far the noise in the choice of subgraphs moves a member. All divide
    by the number of predictions. A single member has ``spread`` only.

    >>> parts = spreads(torch.tensor([[1.0, 3.0], [4.0, 8.0]]).reshape(2, 2, 1, 1))
    >>> {name: round(value.item() ** 2, 4) for name, value in parts.items()}
    {'spread': 6.5, 'spread_members': 4.0, 'spread_choice': 2.5}
    """
    whole = each.flatten(0, 1)
    out = {"spread": _deviation(whole)}
    if len(each) > 1:
        within = (each - each.mean(1, keepdim=True)).square().mean((0, 1)).sqrt()
        out |= {"spread_members": _deviation(each.mean(1)), "spread_choice": within}
    return out


def _deviation(values: Tensor) -> Tensor:
    return (values - values.mean(0)).square().mean(0).sqrt()


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
    """Write one line per graph: its index in the dataset (and line in its table), targets, predictions.

    Classes have the name of their column in the table; those of other graphs are called ``class``.
    """
    if info.kind == "multiclass":
        names = list(info.targets) if lines else ["class"]
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
