"""The paper's tables with our figures beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osan.experiments.figures import PaperRow
from osan.experiments.recipes import Recipe, recipes, tables
from osan.experiments.sweep import table_name
from osan.report.runs import Run, Summary, by_name, find_runs, summarize


@dataclass(frozen=True)
class Line:
    """A line of a table: the paper's figure, the key of its recipe (``None`` where quoted), and ours.

    ``failed`` counts failed runs, ``changed`` finished ones whose settings are not those of the recipe.
    """

    paper: PaperRow
    key: str | None
    ours: Summary | None
    failed: int = 0
    changed: int = 0

    def plain(self) -> dict[str, Any]:
        """The line as one flat mapping, for CSV and JSON."""
        row, ours = self.paper, self.ours
        return {
            "table": row.table,
            "dataset": row.dataset,
            "downstream": row.downstream,
            "method": row.method,
            "operation": row.operation,
            "type": row.type,
            "size": row.size,
            "subgraphs": row.subgraphs,
            "metric": row.metric,
            "recipe": self.key,
            "paper": row.value,
            "paper_std": row.std,
            "mean": ours.mean if ours else None,
            "std": ours.std if ours else None,
            "runs": ours.runs if ours else 0,
            "repeats": ours.repeats if ours else 0,
            "failed": self.failed,
            "changed": self.changed,
            "paper_seconds": row.seconds,
            "paper_seconds_std": row.seconds_std,
            "seconds": ours.seconds if ours and row.seconds is not None else None,
            "seconds_std": ours.seconds_std if ours and row.seconds is not None else None,
        }


def table_lines(name: str, runs: Path | Mapping[str, Sequence[Run]]) -> list[Line]:
    """The lines of one of the paper's tables, filled from the runs (a folder, or runs by name)."""
    label = table_name(name)
    known = by_name(find_runs(runs)) if isinstance(runs, Path) else runs
    behind = {row: recipe for recipe in recipes().values() for row in recipe.rows}
    lines = []
    for row in tables()[label]:
        recipe = behind.get(row)
        if recipe is None:
            lines.append(Line(row, None, None))
            continue
        own = known.get(recipe.key, [])
        failed, changed = (sum(bool(run.error) for run in own), sum(_changed(run, recipe) for run in own))
        lines.append(Line(row, recipe.key, summarize(own), failed, changed))
    return lines


def _changed(run: Run, recipe: Recipe) -> bool:
    """Whether a finished run is not what the recipe says."""
    if run.result is None:
        return False
    return bool(run.settings.differences(recipe.settings.changed({"seed": run.settings.seed})))


def headings(lines: Sequence[Line]) -> list[str]:
    """The headings of :func:`cells`."""
    arrow = {"RMSE": "lower is better", "MAE": "lower is better"}.get(
        lines[0].paper.metric, "higher is better"
    )
    out = ["method", "operation", "type", "size", "subgraphs"]
    out += [f"paper, {lines[0].paper.metric} ({arrow})", "here", "runs"]
    return [*out, "paper, seconds", "here, seconds"] if _timed(lines) else out


def cells(line: Line, timed: bool) -> list[str]:
    """A line as text, in the number of decimals that the paper gives."""
    row, ours = line.paper, line.ours
    # Enough decimals for the paper's deviation, which has as many as its mean.
    places = decimals(row)
    method = f"{row.method} (quoted)" if line.key is None else row.method
    out = [method, row.operation, row.type, row.size, row.subgraphs, figure(row.value, row.std, places)]
    out.append(figure(ours.mean, ours.std, places) if ours else "")
    remarks = {"failed": line.failed, "with other settings": line.changed}
    remark = ", ".join(f"{count} {what}" for what, count in remarks.items() if count)
    runs = f"{ours.runs if ours else 0}" + (f" ({remark})" if remark else "")
    out.append(runs if line.key is not None else "")
    if timed:
        out.append(figure(row.seconds, row.seconds_std, 3) if row.seconds is not None else "")
        shown = ours is not None and row.seconds is not None and ours.seconds is not None
        out.append(figure(ours.seconds, ours.seconds_std, 3) if ours and shown else "")
    return out


def rows_of(lines: Sequence[Line]) -> list[list[str]]:
    """All lines as text."""
    return [cells(line, _timed(lines)) for line in lines]


def decimals(row: PaperRow) -> int:
    """Two decimals where the paper's figures are above ten, else three."""
    return 2 if row.dataset in ("alchemy", "qm9") else 3


def figure(mean: float | None, std: float | None, places: int) -> str:
    """A mean and, where there is one, its deviation.

    >>> figure(1.05349, 0.08, 3), figure(1.0, None, 2)
    ('1.053 ± 0.080', '1.00')
    """
    if mean is None:
        return ""
    return f"{mean:.{places}f}" if std is None else f"{mean:.{places}f} ± {std:.{places}f}"


def _timed(lines: Sequence[Line]) -> bool:
    return any(line.paper.seconds is not None for line in lines)
