"""Learning curves: validation metric, training loss and agreement of samples over the epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from osan.errors import OsanError
from osan.report.runs import Run
from osan.report.text import legend
from osan.report.text import title as set_title
from osan.training.course import Course

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# One seed is a pale line, the mean over seeds a full one.
_PALE, _FULL = 0.35, 1.0


def has_curve(run: Run) -> bool:
    """Whether a run has recorded an epoch and its validation metric."""
    return bool(run.metrics.get("epoch")) and any(name.startswith("val_") for name in run.metrics)


def validation_column(run: Run) -> str:
    """The column of ``metrics.csv`` that selects the best epoch."""
    names = [name for name in run.metrics if name.startswith("val_")]
    if not names:
        raise OsanError(f"{run.folder}/metrics.csv: expected a column val_..., got {', '.join(run.metrics)}")
    metric = run.result.metric if run.result is not None else run.settings.data.metric
    return f"val_{metric}" if f"val_{metric}" in names else names[0]


def breaks(run: Run) -> list[int]:
    """The epochs before which a run that learns a choice starts over or goes back to the best epoch."""
    course = Course.of(run.settings, learns="kappa" in run.metrics)
    numbers = range(1, len(run.metrics["epoch"]))
    return [number for number in numbers if course.begins(number) or course.goes_on(number)]


def plot_curves(groups: Mapping[str, Sequence[Run]], title: str = "") -> Figure:
    """Plot the validation metric and the training loss over the epochs, one color per group of runs.

    If a run learns which subgraphs to choose, a third panel shows kappa, the agreement of samples on the
    validation split: 0 if noise alone decides, 1 if the choice is settled. Dotted lines are where training
    starts over, and where it goes back to the best epoch so far.

    Parameters
    ----------
    groups
        Runs by their name in the legend; runs without metrics are left out.
    title
        The title of the figure.
    """
    from matplotlib.figure import Figure

    drawn = {name: [run for run in runs if has_curve(run)] for name, runs in groups.items()}
    drawn = {name: runs for name, runs in drawn.items() if runs}
    if not drawn:
        raise OsanError("groups: expected a run with at least one epoch, got none")
    learned = any("kappa" in run.metrics for runs in drawn.values() for run in runs)
    figure = Figure(figsize=(11.5 if learned else 9.0, 3.2 + 0.16 * len(drawn)), layout="constrained")
    panels = figure.subplots(1, 3 if learned else 2)
    handles = []
    for position, runs in enumerate(drawn.values()):
        color = f"C{position % 10}"
        style = ("-", "--", ":")[position // 10 % 3]
        columns = (validation_column(runs[0]), "train_loss", "kappa")
        # The first panel comes last: each group has a line there, and it is the one for the legend.
        for panel, column in list(zip(panels, columns, strict=False))[::-1]:
            lines = [np.array(run.metrics[column]) for run in runs if column in run.metrics]
            if len(lines) > 1:
                for line in lines:
                    panel.plot(line, style, color=color, alpha=_PALE, linewidth=0.8)
            mean = _mean(lines) if lines else np.empty(0)
            (handle,) = panel.plot(mean, style, color=color, alpha=_FULL, linewidth=1.6)
            for epoch in breaks(runs[0]):
                panel.axvline(epoch - 0.5, color=color, linestyle=":", linewidth=0.8)
        handles.append(handle)
    first = next(iter(drawn.values()))[0]
    labels = (validation_column(first).replace("val_", "validation "), "training loss", "kappa")
    for panel, label in zip(panels, labels, strict=False):
        panel.set(xlabel="epoch", ylabel=label)
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    wide = 1 if max(map(len, drawn)) > 50 else 2
    legend(figure, handles, list(drawn), loc="outside lower center", ncols=wide, fontsize=8, frameon=False)
    if title:
        set_title(figure, title, fontsize=11)
    return figure


def _mean(lines: Sequence[np.ndarray]) -> np.ndarray:
    """The mean at each epoch over the runs that have reached it."""
    table = np.full((len(lines), max(map(len, lines))), np.nan)
    for row, line in zip(table, lines, strict=True):
        row[: len(line)] = line
    counts = (~np.isnan(table)).sum(axis=0)
    return np.where(counts, np.nansum(table, axis=0) / np.maximum(counts, 1), np.nan)
