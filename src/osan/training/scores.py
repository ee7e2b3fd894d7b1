"""Losses and metrics for targets some of which may be missing."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torchmetrics import Metric
from torchmetrics.functional import mean_absolute_error, mean_squared_error, r2_score, spearman_corrcoef
from torchmetrics.functional.classification import (
    binary_accuracy,
    binary_auroc,
    binary_average_precision,
    binary_calibration_error,
    multiclass_accuracy,
    multiclass_calibration_error,
    multiclass_matthews_corrcoef,
)
from torchmetrics.utilities import dim_zero_cat

from osan.data.metrics import custom_metric, is_custom
from osan.errors import OsanError
from osan.parts import calling

Loss = Callable[[Tensor, Tensor], Tensor]
# Losses of single values, of the shape of the targets.
LOSSES: dict[str, Loss] = {
    "mae": lambda prediction, y: (prediction - y).abs(),
    "mse": lambda prediction, y: (prediction - y).square(),
    "huber": lambda prediction, y: F.huber_loss(prediction, y, reduction="none"),
}


def losses_per_graph(
    prediction: Tensor, y: Tensor, kind: str, loss: str | Loss = "mae", weights: Tensor | None = None
) -> Tensor:
    """One loss per graph: the mean over its targets, missing ones (NaN, class -1) left out.

    Parameters
    ----------
    prediction
        Shape ``[graphs, targets]``, or ``[graphs, classes]`` for ``"multiclass"``: numbers, or logits.
    y
        As :class:`osan.data.Task` has it; normalized already if wanted.
    kind
        ``"regression"``, ``"binary"`` (cross-entropy) or ``"multiclass"`` (cross-entropy).
    loss
        Of regression: ``"mae"``, ``"mse"``, or ``"huber"``, which is half the square of an error up to 1, and
        its size minus 1/2 above. Of any kind: a function that is called with predictions and targets, and
        returns one loss for each target, of the shape of ``y``.
    weights
        Of classes: see :func:`class_weights`.

    Examples
    --------
    >>> y = torch.tensor([[1.0, float("nan")], [float("nan"), float("nan")]])
    >>> losses_per_graph(torch.tensor([[3.0, 9.0], [1.0, 1.0]]), y, "regression")
    tensor([2., 0.])
    """
    if kind == "multiclass":
        present, target = y >= 0, y.clamp(min=0)
        each = _losses(prediction, target, kind, loss)
        each = each if weights is None else each * weights[target]
        return torch.where(present, each, 0.0)
    present = ~y.isnan()
    target = torch.where(present, y, 0.0)
    each = _losses(prediction, target, kind, loss)
    if kind == "binary" and weights is not None:
        each = each * torch.where(target > 0, weights[:, 1], weights[:, 0])
    # Not a product with the mask: a prediction for a missing target must not matter, even if infinite.
    each = torch.where(present, each, 0.0)
    return each.sum(1) / present.sum(1).clamp(min=1)


def _losses(prediction: Tensor, y: Tensor, kind: str, loss: str | Loss) -> Tensor:
    """One loss for each target."""
    if kind == "multiclass" and isinstance(loss, str):
        return F.cross_entropy(prediction, y, reduction="none")
    if kind == "binary" and isinstance(loss, str):
        return F.binary_cross_entropy_with_logits(prediction, y, reduction="none")
    if isinstance(loss, str):
        return LOSSES[loss](prediction, y)
    with calling(loss, "training.loss"):
        each = loss(prediction, y)
    if not isinstance(each, Tensor) or each.shape != y.shape:
        given = list(each.shape) if isinstance(each, Tensor) else type(each).__name__
        raise OsanError(
            f"training.loss: expected losses of shape {list(y.shape)}, one for each target, from "
            f"{getattr(loss, '__name__', type(loss).__name__)!r}, got {given}"
        )
    return each


def class_weights(y: Tensor, kind: str, classes: int) -> Tensor:
    """Weights by which every class counts as much as the others, and graphs count 1 on average.

    With n known targets in C classes, a class of n_c has :math:`n / (C n_c)`, as scikit-learn's
    ``class_weight="balanced"``; C counts the classes that occur, and the others have 0.

    Parameters
    ----------
    y
        The targets of training, shape ``[graphs, targets]``, or ``[graphs]`` for ``"multiclass"``.
    kind, classes
        The kind of task, and its number of classes if there are several.

    Returns
    -------
    Tensor
        Shape ``[targets, 2]`` for ``"binary"``, ``[classes]`` for ``"multiclass"``.

    Examples
    --------
    >>> class_weights(torch.tensor([[1.0], [0.0], [0.0], [0.0]]), "binary", 2)
    tensor([[0.6667, 2.0000]])
    """
    if kind == "multiclass":
        counts = torch.bincount(y[y >= 0], minlength=classes).float()
    else:
        counts = torch.stack([(y == value).sum(0) for value in (0, 1)], dim=-1).float()
    there = (counts > 0).sum(-1, keepdim=True).clamp(min=1)
    return torch.where(counts > 0, counts.sum(-1, keepdim=True) / (there * counts.clamp(min=1)), 0.0)


def score(prediction: Tensor, y: Tensor, kind: str, metric: str) -> Tensor:
    """The metric of a whole split: the mean over targets of the metric over the graphs that have the target.

    ROC-AUC and the others that need it have both classes, R2 and Spearman different values; other targets are
    left out of the mean, as in OGB.

    >>> score(torch.tensor([[1.0], [4.0]]), torch.tensor([[1.0], [0.0]]), "regression", "mae")
    tensor(2., dtype=torch.float64)
    """
    prediction, y = prediction.cpu(), y.cpu()  # not every device has float64
    if kind == "multiclass":
        present = y >= 0
        if not bool(present.any()):
            raise OsanError(f"{metric}: expected a graph with a known class, got none")
        compute = _custom(metric, kind) if is_custom(metric) else OF_CLASSES[metric]
        return compute(prediction[present].double(), y[present]).double()
    of_target = _custom(metric, kind) if is_custom(metric) else COMPUTED[metric]
    values = []
    for column in range(y.size(1)):
        present = ~y[:, column].isnan()
        predicted, target = prediction[present, column].double(), y[present, column].double()
        value = of_target(predicted, target) if len(target) else None
        if value is not None:
            values.append(value)
    if not values:
        raise OsanError(f"{metric}: expected a target with known values (rocauc: of both classes), got none")
    return torch.stack(values).mean()


def _custom(metric: str, kind: str) -> Callable[[Tensor, Tensor], Tensor]:
    """A custom metric of numbers, or of probabilities and classes. One of torchmetrics may be a class."""
    found = custom_metric(metric)

    def compute(predicted: Tensor, target: Tensor) -> Tensor:
        if kind != "regression":
            predicted = torch.sigmoid(predicted) if kind == "binary" else predicted.softmax(1)
            target = target.long()
        with calling(metric, "metric"):
            function: Callable[[Tensor, Tensor], Any] = found
            if isinstance(found, type):
                classes = "num_classes" in inspect.signature(found).parameters and kind == "multiclass"
                function = found(num_classes=predicted.size(1)) if classes else found()
            value = torch.as_tensor(function(predicted, target))
        if value.numel() != 1:
            raise OsanError(f"metric: expected one number from {metric!r}, got shape {list(value.shape)}")
        return value.detach().double().reshape(())

    return compute


def _rmse(predicted: Tensor, target: Tensor) -> Tensor:
    return mean_squared_error(predicted, target, squared=False)


def _accuracy(predicted: Tensor, target: Tensor) -> Tensor:
    return binary_accuracy((predicted > 0).long(), target.long()).double()


def _rocauc(predicted: Tensor, target: Tensor) -> Tensor | None:
    """ROC-AUC, or ``None`` if only one class is present."""
    if bool(target.min() == target.max()):
        return None
    return binary_auroc(_ranks(predicted), target.long()).double()


def _r2(predicted: Tensor, target: Tensor) -> Tensor | None:
    return None if bool(target.min() == target.max()) else r2_score(predicted, target)


def _spearman(predicted: Tensor, target: Tensor) -> Tensor | None:
    """The correlation of ranks; 0 if all predictions are equal."""
    if bool(target.min() == target.max()):
        return None
    if bool(predicted.min() == predicted.max()):
        return predicted.new_zeros(())
    return spearman_corrcoef(predicted, target)


def _prauc(predicted: Tensor, target: Tensor) -> Tensor | None:
    if not bool(target.max() > 0):
        return None
    return binary_average_precision(_ranks(predicted), target.long()).double()


def _mcc(predicted: Tensor, target: Tensor) -> Tensor | None:
    if bool(target.min() == target.max()):
        return None
    return _matthews((predicted > 0).long(), target.long(), 2)


def _matthews(predicted: Tensor, target: Tensor, classes: int) -> Tensor:
    """Matthews' correlation; 0 if all predictions, or all targets, are one class.

    scikit-learn says the same. torchmetrics puts small numbers for the 0 / 0 of two classes, which may be far
    from 0: 0.6 for 24 predictions of class 0 with two graphs of class 1.
    """
    if bool((predicted == predicted[0]).all()) or bool((target == target[0]).all()):
        return torch.zeros((), dtype=torch.double)
    return multiclass_matthews_corrcoef(predicted, target, num_classes=classes).double()


def _balanced(predicted: Tensor, target: Tensor) -> Tensor | None:
    if bool(target.min() == target.max()):
        return None
    return _recalls((predicted > 0).long(), target.long())


def _logloss(predicted: Tensor, target: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(predicted, target)


def _ece(predicted: Tensor, target: Tensor) -> Tensor:
    return binary_calibration_error(torch.sigmoid(predicted), target.long(), n_bins=15).double()


def _recalls(predicted: Tensor, target: Tensor) -> Tensor:
    """The mean over the classes that occur of the share of their graphs that are found."""
    found = torch.bincount(target, weights=(predicted == target).double())
    number = torch.bincount(target)
    return (found[number > 0] / number[number > 0]).mean()


# How each metric of osan.data.METRICS is computed for one target: from numbers, or from logits.
COMPUTED: dict[str, Callable[[Tensor, Tensor], Tensor | None]] = {
    "mae": mean_absolute_error,
    "rmse": _rmse,
    "r2": _r2,
    "spearman": _spearman,
    "accuracy": _accuracy,
    "rocauc": _rocauc,
    "prauc": _prauc,
    "mcc": _mcc,
    "balanced": _balanced,
    "logloss": _logloss,
    "ece": _ece,
}

# The same for several classes, from one logit for each.
OF_CLASSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "accuracy": lambda logits, y: multiclass_accuracy(
        logits.argmax(1), y, num_classes=logits.size(1), average="micro"
    ),
    "mcc": lambda logits, y: _matthews(logits.argmax(1), y, logits.size(1)),
    "balanced": lambda logits, y: _recalls(logits.argmax(1), y),
    "logloss": F.cross_entropy,
    "ece": lambda logits, y: multiclass_calibration_error(
        logits.softmax(1), y, num_classes=logits.size(1), n_bins=15
    ),
}

# Metrics of probabilities. If samples vote, there are shares of votes instead, which are none.
OF_PROBABILITIES = ("logloss", "ece")


def _ranks(values: Tensor) -> Tensor:
    """Values between 0 and 1 in the same order, ties kept (a sigmoid would round large logits together)."""
    places = torch.unique(values, return_inverse=True)[1]
    return places.double() / max(1, int(places.max()))


class Score(Metric):
    """The metric of a task over all batches (and processes); see :func:`score`."""

    full_state_update = False
    predictions: list[Tensor]
    targets: list[Tensor]

    def __init__(self, kind: str, metric: str) -> None:
        super().__init__()
        self.kind, self.metric = kind, metric
        self.add_state("predictions", [], dist_reduce_fx="cat")
        self.add_state("targets", [], dist_reduce_fx="cat")

    def update(self, prediction: Tensor, y: Tensor) -> None:
        """Add a batch."""
        self.predictions.append(prediction)
        self.targets.append(y)

    def compute(self) -> Tensor:
        """The metric of all that was added."""
        return score(dim_zero_cat(self.predictions), dim_zero_cat(self.targets), self.kind, self.metric)
