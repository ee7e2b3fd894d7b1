"""Many settings in one figure: mean and deviation of each, beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from osan.errors import OsanError
from osan.report.records import Group, scale_of
from osan.report.text import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HERE, _PAPER = "#d95f02", "#555555"


def panels_of(groups: Sequence[Group]) -> dict[tuple[str, str], list[Group]]:
    """The groups of each dataset and metric, which share a scale."""
    out: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        out.setdefault(scale_of(group), []).append(group)
    return out


def plot_comparison(groups: Sequence[Group]) -> Figure:
    """Plot one panel per dataset and one line per setting: ours (dot) and the paper's (square), ± deviation.

    Parameters
    ----------
    groups
        The result of :func:`osan.report.group_records`.
    """
    from matplotlib.figure import Figure

    panels = panels_of(groups)
    if not panels:
        raise OsanError("groups: expected at least one finished run, got none")
    heights = [len(some) + 1.6 for some in panels.values()]
    figure = Figure(figsize=(8.0, 0.6 + 0.3 * sum(heights)), layout="constrained")
    axes = figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axis, ((dataset, metric), some) in zip(axes, panels.items(), strict=True):
        _draw(axis, dataset, metric, some)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=2, fontsize=8, frameon=False)
    return figure


def _draw(axis: Axes, dataset: str, metric: str, some: Sequence[Group]) -> None:
    for shift, marker, color, label, filled, values in (
        (0.14, "o", _HERE, "here", True, [(group.mean, group.std) for group in some]),
        (-0.14, "s", _PAPER, "paper", False, [(group.paper, group.paper_std) for group in some]),
    ):
        known = [(y, mean, std) for y, (mean, std) in enumerate(values) if mean is not None]
        axis.errorbar(
            [mean for _, mean, _ in known],
            [len(some) - 1 - y + shift for y, _, _ in known],
            xerr=[std or 0.0 for *_, std in known],
            fmt=marker,
            color=color,
            markerfacecolor=color if filled else "white",
            markersize=5,
            linewidth=1.2,
            label=label,
        )
    names = [group.name.split("/", 1)[-1] for group in some]
    runs = [f"{name}  ({group.runs})" for name, group in zip(names, some, strict=True)]
    axis.set_yticks(range(len(some) - 1, -1, -1), runs, fontsize=8, parse_math=False)
    axis.set_ylim(-0.7, len(some) - 0.3)
    title(axis, f"{dataset}: {metric} on the test split (runs)", fontsize=9, loc="left")
    axis.tick_params(axis="x", labelsize=8)
    axis.grid(axis="x", alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
