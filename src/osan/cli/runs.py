"""``osan runs``: the results of finished runs, whether they are in the paper or not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from osan.cli.options import RUNS, Format, Formats, Json, console, flag, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osan.report.records import Group, Record
    from osan.report.runs import Run


_MAIN = ("run", "metric", "here", "paper", "runs", "difference")
_TEXT = ("run", "metric")
_ON_REQUEST = ("validation", "on validation")
_DIFFERENCES = ("difference", "on validation", "larger")
_OPTIONAL = ("paper", *_DIFFERENCES, "per-sample score", "selected on test", "gradients")


def runs(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of runs, or CSV files written with --each --format csv. Later ones replace equal "
            "runs of earlier ones.",
            show_default=str(RUNS),
        ),
    ] = None,
    under: Annotated[
        str, typer.Option(help="Only runs whose names begin with this, e.g. exp or zinc/gin.")
    ] = "",
    only: Annotated[
        str | None,
        typer.Option(help="Only runs whose name matches or contains this, e.g. '*/baseline,imle'."),
    ] = None,
    each: Annotated[
        bool, typer.Option("--each", help="One line per run instead of one per setting.")
    ] = False,
    format: Formats = Format.text,
    against: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Add the difference to this setting (common seeds or folds) and a sign test."
        ),
    ] = "",
    columns: Annotated[
        str, typer.Option(metavar="NAMES", help="Only these columns, e.g. run,validation,here.")
    ] = "",
    short: Annotated[
        bool, typer.Option("--short", help="Leave out the parts that all names begin and end with.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Plot ours and the paper's figures into this .svg or .png file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List finished runs with mean and deviation over seeds, the paper's figure, epochs and times."""
    from osan.errors import OsanError
    from osan.experiments.catalog import matches
    from osan.report.formats import latex_table, markdown_table
    from osan.report.pictures import checked_suffix
    from osan.report.records import group_records, merged_records, to_csv
    from osan.report.runs import is_under

    suffix = "" if out is None else checked_suffix(out)  # before the work
    if each and against:
        raise OsanError("--against: expected settings, got single runs; leave out --each")
    if columns and (as_json or format is Format.csv):
        raise OsanError("--columns: expected a text, Markdown or LaTeX table; JSON and CSV have all columns")
    if short and (as_json or format is Format.csv):
        raise OsanError("--short: expected a text, Markdown or LaTeX table; JSON and CSV have whole names")
    sources = sources or [RUNS]
    everything = merged_records(sources, damaged=_warn)

    def wanted(name: str) -> bool:
        return is_under(name, under) and matches(name, only)

    records = [record for record in everything if wanted(record.name)]
    if not records:
        whose = [f"begin with {under!r}"] if under else []
        whose += [f"match {only!r}"] if only else []
        named = f" whose names {' and '.join(whose)}" if whose else ""
        raise OsanError(f"{', '.join(map(str, sources))}: expected finished runs{named}, got none")
    with flag("against", "--against"):
        groups = [group for group in group_records(everything, against) if wanted(group.name)]
    if out is not None:
        _draw(groups, out, suffix)
        # The table, or JSON, goes to stdout alone, so that it can be piped.
        typer.echo(f"wrote {out}", err=True)
    shown: Sequence[Record] | Sequence[Group] = records if each else groups
    if as_json:
        print_json([asdict(row) for row in shown])
    elif format is Format.csv:
        typer.echo(to_csv(shown), nl=False)
    else:
        cells = _each_cells(records) if each else _group_cells(groups)
        cells["run"] = _shortened(cells["run"]) if short else cells["run"]
        # A terminal has room for the main columns; the other formats have all but those on request.
        known = _MAIN if format is Format.text else [name for name in cells if name not in _ON_REQUEST]
        main = list(cells) if each else [name for name in known if name in cells]
        header = main if not columns else _chosen(columns, list(cells))
        rows = list(zip(*(cells[name] for name in header), strict=True))
        if format is Format.markdown:
            typer.echo(markdown_table(header, rows))
        elif format is Format.latex:
            typer.echo(latex_table(header, rows, left=_TEXT))
        else:
            _print(header, rows)


def _warn(run: Run) -> None:
    typer.echo(f"osan: {run.folder} is {run.error}", err=True)


def _chosen(columns: str, known: list[str]) -> list[str]:
    from osan.errors import OsanError

    wanted = [name.strip() for name in columns.split(",") if name.strip()]
    for name in wanted:
        if name not in known:
            raise OsanError(f"--columns: expected some of {', '.join(known)}, got {name!r}")
    return wanted


def _shortened(names: Sequence[str]) -> list[str]:
    """Names without the parts that all of them begin and end with; at least one part of each is left.

    >>> _shortened(["zinc/gin/baseline/wide", "zinc/gin/imle/x3/wide"])
    ['baseline', 'imle/x3']
    """
    parts = [name.split("/") for name in names]
    for place in (0, -1):
        while min(map(len, parts)) > 1 and len({each[place] for each in parts}) == 1:
            parts = [each[1:] if place == 0 else each[:-1] for each in parts]
    return ["/".join(each) for each in parts]


def _print(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table

    table = Table()
    for i, heading in enumerate(header):
        justify: Literal["left", "right"] = "left" if heading in _TEXT else "right"
        table.add_column(heading, justify=justify, no_wrap=i > 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def _draw(groups: Sequence[Group], path: Path, suffix: str) -> None:
    from osan.files import write_bytes
    from osan.report.comparison import plot_comparison
    from osan.report.pictures import rendered

    write_bytes(path, rendered(plot_comparison(groups), suffix))


def _group_cells(groups: Sequence[Group]) -> dict[str, list[str]]:
    """The columns by name; optional ones only if some group has a figure."""
    from osan.report.table import figure

    columns = {
        "run": [group.name for group in groups],
        "metric": [group.metric for group in groups],
        "validation": [_number(group.validation, 3) for group in groups],
        "here": [figure(group.mean, group.std, 3) for group in groups],
        "paper": [figure(group.paper, group.paper_std, 3) for group in groups],
        "runs": [str(group.runs) for group in groups],
        "difference": [_difference(group.difference, group.difference_error) for group in groups],
        "on validation": [
            _difference(group.validation_difference, group.validation_difference_error) for group in groups
        ],
        "larger": [_larger(group) for group in groups],
        "epochs": [f"{group.epochs:.0f}" for group in groups],
        "hours": [_number(group.hours, 2) for group in groups],
        "ms per graph": [_number(group.inference, 2) for group in groups],
        "per-sample score": [_number(group.separate, 3) for group in groups],
        "selected on test": [_number(group.best_test, 3) for group in groups],
        "gradients": [_number(group.gradients, 3) for group in groups],
    }
    return {name: cells for name, cells in columns.items() if name not in _OPTIONAL or any(cells)}


def _each_cells(records: Sequence[Record]) -> dict[str, list[str]]:
    return {
        "run": [each.name for each in records],
        "metric": [each.metric for each in records],
        "test": [f"{each.value:.4f}" for each in records],
        "validation": [f"{each.validation:.4f}" for each in records],
        "seed": [str(each.seed) for each in records],
        "epochs": [str(each.epochs) for each in records],
        "best epoch": [str(each.best_epoch + 1) for each in records],
        "seconds per epoch": [_number(each.epoch_seconds, 2) for each in records],
    }


def _difference(mean: float | None, error: float | None) -> str:
    if mean is None:
        return ""
    return f"{mean:+.3f}" if error is None else f"{mean:+.3f} ± {error:.3f}"


def _larger(group: Group) -> str:
    """On how many of the common seeds or folds the metric is larger, and the p-value of the sign test."""
    if group.larger is None or group.smaller is None or not group.larger + group.smaller:
        return ""
    return f"{group.larger} of {group.larger + group.smaller} (p = {group.sign_test:.2g})"


def _number(value: float | None, places: int) -> str:
    return "" if value is None else f"{value:.{places}f}"
