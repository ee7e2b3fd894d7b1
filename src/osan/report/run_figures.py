"""Figures of one run, as SVG that takes the colors of the page around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torchmetrics.functional.classification import binary_precision_recall_curve, binary_roc

from osan.figures import empty_figure
from osan.report.curves import has_curve, validation_column
from osan.report.pictures import svg
from osan.report.runs import Run
from osan.report.scored import Array

# Stands for the color of the text until the figure is drawn.
_INK = "#010203"
_BLUE, _ORANGE = "#3d8fd1", "#d9822b"
_SIZE = (3.9, 3.1)
# Of classes; curves of more than these are not told apart.
COLORS = (_BLUE, _ORANGE, "#2fa37c", "#c667a8", "#8f8f2d", "#7f78d2", "#b5543c", "#5e8791")
_BINS = 10


def parity(y: Array, predicted: Array, lower: Array | None = None, upper: Array | None = None) -> str:
    """Predictions over targets, with the diagonal; intervals are vertical lines."""
    figure, panel = _panel("target", "prediction")
    if lower is not None and upper is not None and np.isfinite(upper - lower).all():
        panel.vlines(y, lower, upper, color=_BLUE, alpha=0.25, linewidth=1)
    size, alpha = (6.0, 0.9) if len(y) < 100 else (3.2, 0.6)
    panel.plot(y, predicted, "o", color=_BLUE, markersize=size, alpha=alpha, markeredgewidth=0)
    low, high = (float(f(np.concatenate([y, predicted]))) for f in (np.min, np.max))
    margin = 0.04 * (high - low) or 1.0
    ends = (low - margin, high + margin)
    panel.plot(ends, ends, "--", color=_INK, linewidth=0.8)
    panel.set(xlim=ends, ylim=ends)
    panel.locator_params(nbins=5)  # numbers such as -12.5 would touch each other
    return _drawn(figure)


def residuals(y: Array, predicted: Array) -> str:
    """The histogram of prediction minus target."""
    figure, panel = _panel("prediction - target", "graphs")
    error = predicted - y
    panel.hist(error, bins=min(40, max(5, int(len(y) ** 0.5))), color=_BLUE, alpha=0.8)
    panel.yaxis.get_major_locator().set_params(integer=True)
    panel.axvline(0.0, color=_INK, linewidth=0.8, linestyle="--")
    panel.axvline(float(error.mean()), color=_ORANGE, linewidth=1.4)
    return _drawn(figure)


def roc(labels: Sequence[Array], probabilities: Sequence[Array]) -> str:
    """The rate of true over that of false positives, one line per class, of the first eight."""
    figure, panel = _panel("false positive rate", "true positive rate")
    panel.plot([0, 1], [0, 1], "--", color=_INK, linewidth=0.8)
    for color, label, probability in zip(COLORS, labels, probabilities, strict=False):
        false, true, _ = binary_roc(torch.from_numpy(probability), torch.from_numpy(label).long())
        panel.plot(false.numpy(), true.numpy(), color=color, linewidth=1.6)
    panel.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    return _drawn(figure)


def precision_recall(labels: Sequence[Array], probabilities: Sequence[Array]) -> str:
    """Precision over recall, one line per class; dotted: the share of the class."""
    figure, panel = _panel("recall", "precision")
    for color, label, probability in zip(COLORS, labels, probabilities, strict=False):
        precision, recall, _ = binary_precision_recall_curve(
            torch.from_numpy(probability), torch.from_numpy(label).long()
        )
        panel.step(recall.numpy(), precision.numpy(), color=color, linewidth=1.6, where="post")
        panel.axhline(float(label.mean()), color=color, linewidth=0.9, linestyle=":")
    panel.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    return _drawn(figure)


def calibration(label: Array, probability: Array) -> str:
    """The share of positives over the predicted probability in ten bins; larger dots have more graphs."""
    figure, panel = _panel("predicted probability", "observed share")
    panel.plot([0, 1], [0, 1], "--", color=_INK, linewidth=0.8)
    mean, share, count = bins(label, probability)
    panel.plot(mean, share, "-", color=_BLUE, linewidth=1.2)
    panel.scatter(mean, share, s=12 + 110 * count / count.sum(), color=_BLUE, linewidths=0)
    panel.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    return _drawn(figure)


def bins(label: Array, probability: Array, number: int = _BINS) -> tuple[Array, Array, Array]:
    """Mean probability, share of positives and number of graphs in each of some equal bins that has any.

    >>> [part.tolist() for part in bins(np.array([0.0, 1.0, 1.0]), np.array([0.1, 0.3, 0.9]), 2)]
    [[0.2, 0.9], [0.5, 1.0], [2.0, 1.0]]
    """
    place = np.minimum((probability * number).astype(int), number - 1)
    count = np.bincount(place, minlength=number).astype(np.float64)
    there = count > 0
    mean = np.bincount(place, probability, number)[there] / count[there]
    share = np.bincount(place, label, number)[there] / count[there]
    return mean, share, count[there]


def learning(run: Run) -> dict[str, str]:
    """The curves of a run by what they show; a line is at the best epoch. Empty without curves."""
    if not has_curve(run):
        return {}
    columns: Mapping[str, str] = {
        validation_column(run): validation_column(run).replace("val_", "validation "),
        "train_loss": "training loss",
        "kappa": "kappa, agreement of samples",
    }
    out = {}
    for column, words in columns.items():
        values = run.metrics.get(column)
        if not values or np.isnan(values).all():
            continue
        figure, panel = _panel("epoch", words)
        epochs = range(1, len(values) + 1)
        panel.plot(epochs, values, "o-" if len(values) == 1 else "-", color=_BLUE, linewidth=1.6)
        if run.result is not None:
            panel.axvline(run.result.best_epoch + 1, color=_ORANGE, linewidth=1.2)
        out[words] = _drawn(figure)
    return out


def _panel(xlabel: str, ylabel: str) -> tuple[Any, Any]:
    figure = empty_figure(*_SIZE)
    figure.patch.set_alpha(0.0)
    panel = figure.subplots()
    panel.patch.set_alpha(0.0)
    panel.set(xlabel=xlabel, ylabel=ylabel)
    panel.tick_params(colors=_INK, labelsize=9)
    for label in (panel.xaxis.label, panel.yaxis.label):
        label.set_color(_INK)
        label.set_size(10)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(_INK)
    panel.grid(color=_INK, alpha=0.15)
    return figure, panel


def _drawn(figure: Any) -> str:
    """The SVG, in the color of the text around it."""
    return svg(figure).replace(_INK, "currentColor")
