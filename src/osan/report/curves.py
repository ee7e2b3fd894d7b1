"""Learning curves: the validation metric and the training loss of runs over the epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from osan.errors import OsanError
from osan.report.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A run of one seed is a thin line, the mean over the seeds that are still running a thick one.
_THIN, _THICK = 0.35, 1.0


def validation_column(run: Run) -> str:
    """The name of the column of ``metrics.csv`` that decides which epoch is best."""
    names = [name for name in run.metrics if name.startswith("val_")]
    if not names:
        raise OsanError(f"{run.folder}: metrics.csv has no column val_...; it has {', '.join(run.metrics)}")
    metric = run.result.metric if run.result is not None else run.settings.data.metric
    return f"val_{metric}" if f"val_{metric}" in names else names[0]


def curves(groups: Mapping[str, Sequence[Run]], title: str = "") -> Figure:
    """Validation metric (left) and training loss (right), a color for each group of runs.

    Parameters
    ----------
    groups
        Runs by the name that the legend shows; those without metrics are left out.
    """
    from matplotlib.figure import Figure

    drawn = {name: [run for run in runs if run.metrics.get("epoch")] for name, runs in groups.items()}
    drawn = {name: runs for name, runs in drawn.items() if runs}
    if not drawn:
        raise OsanError("there is nothing to draw: none of the runs has recorded an epoch")
    figure = Figure(figsize=(9.0, 3.2 + 0.16 * len(drawn)), layout="constrained")
    left, right = figure.subplots(1, 2)
    for position, (name, runs) in enumerate(drawn.items()):
        color = f"C{position % 10}"
        style = ("-", "--", ":")[position // 10 % 3]
        for panel, column in ((left, validation_column(runs[0])), (right, "train_loss")):
            lines = [np.array(run.metrics[column]) for run in runs if column in run.metrics]
            if len(lines) > 1:
                for line in lines:
                    panel.plot(line, style, color=color, alpha=_THIN, linewidth=0.8)
            if lines:
                panel.plot(_mean(lines), style, color=color, alpha=_THICK, linewidth=1.6, label=name)
    first = next(iter(drawn.values()))[0]
    left.set(xlabel="epoch", ylabel=validation_column(first).replace("val_", "validation "))
    right.set(xlabel="epoch", ylabel="training loss")
    for panel in (left, right):
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=1 if max(map(len, labels)) > 50 else 2,
        fontsize=8,
        frameon=False,
    )
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


def _mean(lines: Sequence[np.ndarray]) -> np.ndarray:
    """The mean at each epoch over the runs that have come so far."""
    table = np.full((len(lines), max(map(len, lines))), np.nan)
    for row, line in zip(table, lines, strict=True):
        row[: len(line)] = line
    counts = (~np.isnan(table)).sum(axis=0)
    return np.where(counts, np.nansum(table, axis=0) / np.maximum(counts, 1), np.nan)
