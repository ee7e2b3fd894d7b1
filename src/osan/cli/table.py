"""``osan table``: a table of the paper with our figures beside the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from osan.cli.options import RUNS, Format, Formats, Json, console, print_json


def table(
    name: Annotated[str, typer.Argument(help="Table of the paper, by label or number: t_mol, exp, 6, ...")],
    runs: Annotated[
        Path, typer.Option("--runs", help="Folder of runs, or a CSV file written by osan runs --each.")
    ] = RUNS,
    format: Formats = Format.text,
    paper_only: Annotated[
        bool, typer.Option("--paper-only", help="Leave out runs that are not in the paper.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show a table of the paper with mean and deviation over our finished seeds.

    Your runs with the dataset and network of the table follow as "ours only", whatever their policy,
    estimator or custom parts.
    """
    from osan.report.table import comma_separated, headings, latex, markdown, rows_of, table_lines

    # Without runs, the table is just the paper's, so the folder may be missing; a file may not.
    lines = table_lines(name, runs if runs.exists() or runs != RUNS else {}, paper_only=paper_only)
    if as_json:
        print_json([line.plain() for line in lines])
    elif format is Format.text:
        from rich.table import Table

        row = lines[0].table
        drawn = Table(title=f"{row.dataset}, {row.downstream} (table {row.table})")
        for i, heading in enumerate(headings(lines)):
            drawn.add_column(heading, justify="left" if i < 3 else "right", overflow="fold")
        for cells in rows_of(lines):
            drawn.add_row(*cells)
        console().print(drawn)
    else:
        write = {Format.markdown: markdown, Format.latex: latex, Format.csv: comma_separated}[format]
        typer.echo(write(lines))
