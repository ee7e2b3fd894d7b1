"""The paper's tables with our figures beside the paper's, and our runs that the paper does not have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osan.experiments.catalog import Recipe, recipes
from osan.experiments.figures import PaperRow, table_name, tables
from osan.report.formats import csv_table, latex_table, markdown_table
from osan.report.records import Record, read_records, summarize_records
from osan.report.runs import Run, Summary, by_name, find_runs, summarize

_OPERATION = re.compile(r"(?:cover )?(delete|select|mark) (?:(\d+) )?(.+)")


@dataclass(frozen=True)
class Line:
    """A line of a table: a figure of the paper, or runs of ours only.

    ``table`` is the first row of the table, which holds its label, dataset, network and metric. ``paper`` is
    ``None`` for runs that are not in the paper. ``key`` is the name of the runs, ``None`` for a quoted
    figure. ``policy`` is the policy of runs of ours only. ``failed`` counts failed and damaged runs,
    ``changed`` finished runs whose settings differ from the recipe.
    """

    table: PaperRow
    paper: PaperRow | None
    key: str | None
    ours: Summary | None
    policy: str = ""
    failed: int = 0
    changed: int = 0

    @property
    def choice(self) -> dict[str, str]:
        """The first columns; runs of ours only have their name as method."""
        row = self.paper
        if row is not None:
            names = ("method", "operation", "type", "size", "subgraphs")
            return {name: getattr(row, name) for name in names}
        start = f"{self.table.dataset}/"
        method = (self.key or "").removeprefix(start)
        text, _, count = self.policy.partition(" x ")
        found = _OPERATION.fullmatch(text)
        operation, size, kind = found.groups() if found else ("", "", text)
        return {
            "method": method,
            "operation": operation,
            "type": kind,
            "size": size or "",
            "subgraphs": (count or "1") if text else "",
        }

    def plain(self) -> dict[str, Any]:
        """The line as a flat dictionary, for CSV and JSON."""
        row, ours, top = self.paper, self.ours, self.table
        timed = ours is not None and _shows_time(row)
        return {
            "table": top.table,
            "dataset": top.dataset,
            "downstream": top.downstream,
            **self.choice,
            "metric": top.metric,
            "recipe": self.key,
            "paper": row.value if row else None,
            "paper_std": row.std if row else None,
            "mean": ours.mean if ours else None,
            "std": ours.std if ours else None,
            "runs": ours.runs if ours else 0,
            "repeats": ours.repeats if ours else 0,
            "failed": self.failed,
            "changed": self.changed,
            "paper_seconds": row.seconds if row else None,
            "paper_seconds_std": row.seconds_std if row else None,
            "seconds": ours.seconds if ours and timed else None,
            "seconds_std": ours.seconds_std if ours and timed else None,
        }


def _shows_time(row: PaperRow | None) -> bool:
    """Whether to show our times in a line: if the paper has one there, or has no such line."""
    return row is None or row.seconds is not None


def table_lines(
    name: str, runs: Path | Mapping[str, Sequence[Run]], *, paper_only: bool = False
) -> list[Line]:
    """The lines of one of the paper's tables, filled from runs.

    Parameters
    ----------
    name
        The label of the table; ``tab:`` may be left out.
    runs
        A folder of runs, runs by name, or a CSV file of finished runs (``osan runs --each --format csv``).
    paper_only
        Whether to leave out runs that are not in the paper. By default they follow the paper's rows if they
        have the dataset, the network (``network.like``) and the metric of the table, whatever their policy,
        estimator or other parts.
    """
    rows = tables()[table_name(name)]
    if isinstance(runs, Path) and runs.is_file():
        return _published(rows, read_records(runs), paper_only)
    found = find_runs(runs) if isinstance(runs, Path) else []
    known = by_name(found) if isinstance(runs, Path) else runs
    damaged = Counter(run.settings.name for run in found if run.damaged)
    behind = _behind()
    lines = []
    for row in rows:
        recipe = behind.get(row)
        if recipe is None:
            lines.append(Line(rows[0], row, None, None))
            continue
        some = known.get(recipe.key, [])
        failed = damaged[recipe.key] + sum(bool(run.error) for run in some)
        changed = sum(_changed(run, recipe) for run in some)
        ours = summarize(some)
        lines.append(Line(rows[0], row, recipe.key, ours, failed=failed, changed=changed))
    return lines if paper_only else lines + _ours_only(rows, behind, known)


def _behind() -> dict[PaperRow, Recipe]:
    """The recipe behind each row of the paper; quoted rows have none."""
    return {row: recipe for recipe in recipes().values() for row in recipe.rows}


def _published(rows: Sequence[PaperRow], records: Sequence[Record], paper_only: bool) -> list[Line]:
    """The lines of a table, filled from records, which have names but no settings."""
    behind = _behind()
    known: dict[str, list[Record]] = {}
    for record in records:
        if record.metric == rows[0].metric.lower():
            known.setdefault(record.name, []).append(record)
    keys = [behind[row].key if row in behind else None for row in rows]
    lines = [
        Line(rows[0], row, key, summarize_records(known.get(key, [])) if key else None)
        for row, key in zip(rows, keys, strict=True)
    ]
    if paper_only:
        return lines
    # A name begins with the dataset and the network.
    begin = {tuple(key.split("/")[:2]) for key in keys if key}
    others = [name for name in known if name not in recipes() and tuple(name.split("/")[:2]) in begin]
    return lines + [Line(rows[0], None, name, summarize_records(known[name])) for name in others]


def _ours_only(
    rows: Sequence[PaperRow], behind: Mapping[PaperRow, Recipe], known: Mapping[str, Sequence[Run]]
) -> list[Line]:
    """Lines for the runs that belong to a table but are not in the paper."""
    if not known:
        return []
    like = {behind[row].settings.network.like for row in rows if row in behind}
    lines = []
    for name, some in known.items():
        settings = some[0].settings
        metrics = {run.result.metric for run in some if run.result is not None}
        if (
            name not in recipes()
            and settings.data.dataset == rows[0].dataset
            and settings.network.like in like
            and metrics <= {rows[0].metric.lower()}
        ):
            failed = sum(bool(run.error) for run in some)
            policy = settings.selection.policy or ""
            lines.append(Line(rows[0], None, name, summarize(some), policy, failed))
    return lines


def _changed(run: Run, recipe: Recipe) -> bool:
    """Whether a finished run has other settings than its recipe."""
    if run.result is None:
        return False
    return bool(run.settings.differences(recipe.settings.changed({"seed": run.settings.seed})))


def headings(lines: Sequence[Line]) -> list[str]:
    """The headings of :func:`rows_of`."""
    metric = lines[0].table.metric
    better = "lower is better" if metric in ("RMSE", "MAE") else "higher is better"
    out = ["method", "operation", "type", "size", "subgraphs", f"paper, {metric} ({better})", "here", "runs"]
    return [*out, "paper, seconds", "here, seconds"] if _timed(lines) else out


def rows_of(lines: Sequence[Line]) -> list[list[str]]:
    """All lines as text, with as many decimals as in the paper."""
    return [_cells(line, _timed(lines)) for line in lines]


def markdown(lines: Sequence[Line]) -> str:
    """A table as GitHub Markdown."""
    return markdown_table(headings(lines), rows_of(lines))


def latex(lines: Sequence[Line]) -> str:
    """A table as LaTeX; needs the package booktabs."""
    return latex_table(headings(lines), rows_of(lines), left=("method", "operation", "type"))


def comma_separated(lines: Sequence[Line]) -> str:
    """A table as CSV with full precision; missing figures are empty cells."""
    records = [line.plain() for line in lines]
    return csv_table(list(records[0]), [list(record.values()) for record in records])


def _cells(line: Line, timed: bool) -> list[str]:
    row, ours, places = line.paper, line.ours, decimals(line.table)
    choice = line.choice
    if row is None or line.key is None:
        choice["method"] += " (ours only)" if row is None else " (quoted)"
    remarks = {"failed": line.failed, "with other settings": line.changed}
    remark = ", ".join(f"{count} {what}" for what, count in remarks.items() if count)
    runs = f"{ours.runs if ours else 0}" + (f" ({remark})" if remark else "")
    out = [
        *choice.values(),
        figure(row.value, row.std, places) if row else "",
        figure(ours.mean, ours.std, places) if ours else "",
        runs if line.key is not None else "",
    ]
    if timed:
        out.append(figure(row.seconds, row.seconds_std, 3) if row else "")
        out.append(figure(ours.seconds, ours.seconds_std, 3) if ours and _shows_time(row) else "")
    return out


def decimals(row: PaperRow) -> int:
    """The decimals of the paper's figures: two for figures above ten, else three."""
    return 2 if row.dataset in ("alchemy", "qm9") else 3


def figure(mean: float | None, std: float | None, places: int) -> str:
    """A mean and, if there is one, its deviation.

    >>> figure(1.05349, 0.08, 3), figure(1.0, None, 2)
    ('1.053 ± 0.080', '1.00')
    """
    if mean is None:
        return ""
    return f"{mean:.{places}f}" if std is None else f"{mean:.{places}f} ± {std:.{places}f}"


def _timed(lines: Sequence[Line]) -> bool:
    return any(line.paper is not None and line.paper.seconds is not None for line in lines)
