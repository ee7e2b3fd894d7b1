"""A run in a notebook: what it is, its scores, and its learning curves."""

from __future__ import annotations

from html import escape

from osan.report.curves import has_curve, plot_curves
from osan.report.pictures import data_uri, svg
from osan.report.runs import Run
from osan.shown import html_table


def run_html(run: Run) -> str:
    """The HTML of a run; all that comes from settings and files is escaped."""
    result, settings = run.result, run.settings
    facts = {
        "folder": run.folder,
        "data": settings.data.dataset,
        "policy": settings.selection.policy or "none",
        "seed": settings.seed,
        "state": "finished" if result else run.error or "unfinished",
    }
    parts = [html_table([], facts.items(), settings.name)]
    if result is not None:
        epochs = f"Test split, after epoch {result.best_epoch + 1} of {result.epochs}"
        parts.append(html_table(list(result.scores), [list(result.scores.values())], epochs))
    if has_curve(run):
        source = data_uri(svg(plot_curves({settings.name: [run]})).encode())
        parts.append(f'<img src="{source}" alt="{escape(f"Learning curves of {settings.name}")}">')
    return "<div>" + "".join(parts) + "</div>"
