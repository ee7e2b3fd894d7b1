"""``osan runs``: what the finished runs came to, whether the paper has them or not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osan.cli.options import Format, Json, console, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osan.report.records import Group, Record


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
        header, rows = _each_cells(records) if each else _group_cells(groups)
        if format is Format.markdown:
            typer.echo(markdown_table(header, rows))
            return
        if format is Format.latex:
            typer.echo(latex_table(header, rows, left=2))
            return
        from rich.table import Table

        # A terminal has room for what matters most; the rest is in the other formats.
        most = slice(6 if against else 5)
        drawn = Table()
        for i, heading in enumerate(header[most]):
            drawn.add_column(heading, justify="left" if i < 2 else "right", no_wrap=i > 0, overflow="fold")
        for cells in rows:
            drawn.add_row(*cells[most])
        console().print(drawn)


def _draw(groups: Sequence[Group], path: Path, suffix: str) -> None:
    from osan.report.comparison import comparison
    from osan.report.pictures import rendered
    from osan.training.folder import write_bytes

    write_bytes(path, rendered(comparison(groups), suffix))


def _group_cells(groups: Sequence[Group]) -> tuple[list[str], list[list[str]]]:
    from osan.report.table import figure

    compared = any(group.difference is not None for group in groups)
    header = ["run", "metric", "here", "paper", "runs", *(["difference"] if compared else [])]
    header += ["epochs", "hours", "ms per graph"]
    optional = {
        "samples apart": [group.separate for group in groups],
        "selected on test": [group.best_test for group in groups],
        "gradients": [group.gradients for group in groups],
    }
    more = {name: values for name, values in optional.items() if any(each is not None for each in values)}
    rows = [
        [
            group.name,
            group.metric,
            figure(group.mean, group.std, 3),
            figure(group.paper, group.paper_std, 3),
            str(group.runs),
            *([_difference(group)] if compared else []),
            f"{group.epochs:.0f}",
            _number(group.hours, 2),
            _number(group.inference, 2),
            *(_number(values[i], 3) for values in more.values()),
        ]
        for i, group in enumerate(groups)
    ]
    return [*header, *more], rows


def _each_cells(records: Sequence[Record]) -> tuple[list[str], list[list[str]]]:
    header = ["run", "metric", "test", "validation", "seed", "epochs", "best epoch", "seconds per epoch"]
    return header, [
        [
            each.name,
            each.metric,
            f"{each.value:.4f}",
            f"{each.validation:.4f}",
            str(each.seed),
            str(each.epochs),
            str(each.best_epoch + 1),
            _number(each.epoch_seconds, 2),
        ]
        for each in records
    ]


def _difference(group: Group) -> str:
    if group.difference is None:
        return ""
    error = "" if group.difference_error is None else f" ± {group.difference_error:.3f}"
    return f"{group.difference:+.3f}{error}"


def _number(value: float | None, places: int) -> str:
    return "" if value is None else f"{value:.{places}f}"
