"""``osan runs``: what the finished runs came to, whether the paper has them or not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from osan.cli.options import Format, Json, console, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osan.report.records import Group, Record


_MOST = ("run", "metric", "here", "paper", "runs", "difference")
_TEXT = ("run", "metric")
_OPTIONAL = ("paper", "difference", "samples apart", "selected on test", "gradients")


def runs(
    source: Annotated[
        Path, typer.Argument(help="The folder of runs, or a CSV file that --each --format csv has written.")
    ] = Path("runs"),
    under: Annotated[str, typer.Option(help="Only names that begin so, such as exp or zinc/gin.")] = "",
    each: Annotated[bool, typer.Option("--each", help="A line per run instead of one per setting.")] = False,
    format: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.text,
    against: Annotated[
        str,
        typer.Option(metavar="NAME", help="Also the difference to this setting, over common seeds."),
    ] = "",
    columns: Annotated[
        str, typer.Option(metavar="NAMES", help="Only these columns, such as run,here,runs.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Draw here and paper into this .svg or .png file.")] = None,
    json: Json = False,
) -> None:
    """List finished runs: mean and deviation over seeds, the paper's figure, epochs and times."""
    from osan.errors import OsanError
    from osan.report.formats import latex_table, markdown_table
    from osan.report.pictures import checked_suffix
    from osan.report.records import grouped, read_records, to_csv
    from osan.report.runs import is_under

    suffix = "" if out is None else checked_suffix(out)  # before the work
    if each and against:
        raise OsanError("--against compares settings, not runs: leave out --each")
    if columns and (json or format is Format.csv):
        raise OsanError("--columns goes with tables; --json and --format csv have everything")
    everything = read_records(source)
    records = [record for record in everything if is_under(record.name, under)]
    if not records:
        raise OsanError(
            f"no finished run in {source}" + (f" whose name begins with {under!r}" if under else "")
        )
    groups = [group for group in grouped(everything, against) if is_under(group.name, under)]
    if out is not None:
        _draw(groups, out, suffix)
    shown: Sequence[Record] | Sequence[Group] = records if each else groups
    if json:
        print_json([asdict(row) for row in shown])
    elif format is Format.csv:
        typer.echo(to_csv(shown), nl=False)
    else:
        cells = _each_cells(records) if each else _group_cells(groups)
        # A terminal has room for what matters most; the rest is in the other formats.
        most = list(cells) if each or format is not Format.text else [name for name in _MOST if name in cells]
        header = most if not columns else _chosen(columns, list(cells))
        rows = list(zip(*(cells[name] for name in header), strict=True))
        if format is Format.markdown:
            typer.echo(markdown_table(header, rows))
        elif format is Format.latex:
            typer.echo(latex_table(header, rows, left=_TEXT))
        else:
            _print(header, rows)


def _chosen(columns: str, known: list[str]) -> list[str]:
    from osan.errors import OsanError

    wanted = [name.strip() for name in columns.split(",") if name.strip()]
    for name in wanted:
        if name not in known:
            raise OsanError(f"--columns: there is no column {name!r}; there are {', '.join(known)}")
    return wanted


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
    from osan.report.comparison import comparison
    from osan.report.pictures import rendered
    from osan.training.folder import write_bytes

    write_bytes(path, rendered(comparison(groups), suffix))


def _group_cells(groups: Sequence[Group]) -> dict[str, list[str]]:
    """The columns by name; those that may be empty are there only if some group has a figure."""
    from osan.report.table import figure

    columns = {
        "run": [group.name for group in groups],
        "metric": [group.metric for group in groups],
        "here": [figure(group.mean, group.std, 3) for group in groups],
        "paper": [figure(group.paper, group.paper_std, 3) for group in groups],
        "runs": [str(group.runs) for group in groups],
        "difference": [_difference(group) for group in groups],
        "epochs": [f"{group.epochs:.0f}" for group in groups],
        "hours": [_number(group.hours, 2) for group in groups],
        "ms per graph": [_number(group.inference, 2) for group in groups],
        "samples apart": [_number(group.separate, 3) for group in groups],
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


def _difference(group: Group) -> str:
    if group.difference is None:
        return ""
    error = "" if group.difference_error is None else f" ± {group.difference_error:.3f}"
    return f"{group.difference:+.3f}{error}"


def _number(value: float | None, places: int) -> str:
    return "" if value is None else f"{value:.{places}f}"
