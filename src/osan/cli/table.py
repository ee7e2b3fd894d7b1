"""``osan table``: a table of the paper with our figures beside the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from osan.cli.options import Format, Json, console, print_json


def table(
    name: Annotated[str, typer.Argument(help="A table of the paper: t_mol, exp, zinc_pna, ...")],
    runs: Annotated[Path, typer.Option(help="The folder of runs.")] = Path("runs"),
    format: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.text,
    json: Json = False,
) -> None:
    """Mean and deviation over finished seeds beside the paper's figure; quoted rows are shown, not run."""
    from osan.report.formats import comma_separated, latex, markdown
    from osan.report.table import headings, rows_of, table_lines

    # A table without any run is the paper's, so a missing folder is no error here.
    lines = table_lines(name, runs if runs.is_dir() else {})
    if json:
        print_json([line.plain() for line in lines])
    elif format is Format.text:
        from rich.table import Table

        row = lines[0].paper
        drawn = Table(title=f"{row.dataset}, {row.downstream} (table {row.table})")
        for i, heading in enumerate(headings(lines)):
            drawn.add_column(heading, justify="left" if i < 3 else "right", overflow="fold")
        for cells in rows_of(lines):
            drawn.add_row(*cells)
        console().print(drawn)
    else:
        write = {Format.markdown: markdown, Format.latex: latex, Format.csv: comma_separated}[format]
        typer.echo(write(lines))
