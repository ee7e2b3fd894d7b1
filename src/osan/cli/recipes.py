"""``osan recipes``: the runs behind the paper's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from osan.cli.options import Format, Formats, Json, console, print_json

if TYPE_CHECKING:
    from osan.experiments.catalog import Recipe

app = typer.Typer(
    help="List the paper's runs, or show one.",
    epilog="Next: osan recipes show KEY; osan train --recipe KEY; osan sweep TABLE for a whole table.",
    invoke_without_command=True,
)
_HEADINGS = ("recipe", "paper", "metric", "tables")


@app.callback()
def list_recipes(
    context: typer.Context,
    table: Annotated[str, typer.Option(help="Only recipes of this table, e.g. t_mol or 1a.")] = "all",
    only: Annotated[
        str | None,
        typer.Option(help="Only recipes whose key matches or contains this, e.g. '*/baseline,imle'."),
    ] = None,
    format: Formats = Format.text,
    as_json: Json = False,
) -> None:
    """List the runs of the paper with the figures that it reports."""
    if context.invoked_subcommand is not None:
        return
    from osan.cli.options import flag
    from osan.experiments.catalog import find_recipes

    with flag("only", "--only"):
        chosen = find_recipes(table, only)
    if as_json:
        print_json([_plain(each) for each in chosen])
        return
    rows = [_cells(each) for each in chosen]
    if format is Format.text:
        _print(rows)
        return
    from osan.report.formats import csv_table, latex_table, markdown_table

    if format is Format.csv:
        typer.echo(csv_table(_HEADINGS, rows))
    elif format is Format.markdown:
        typer.echo(markdown_table(_HEADINGS, rows))
    else:
        typer.echo(latex_table(_HEADINGS, rows, left=_HEADINGS))


def _plain(recipe: Recipe) -> dict[str, object]:
    row = recipe.rows[0]
    return {
        "key": recipe.key,
        "runs": recipe.runs,
        "metric": row.metric,
        "value": row.value,
        "std": row.std,
        "tables": [row.table for row in recipe.rows],
    }


def _cells(recipe: Recipe) -> list[str]:
    row = recipe.rows[0]
    tables = ", ".join(dict.fromkeys(row.table for row in recipe.rows))
    return [recipe.key, f"{row.value:g} ± {row.std:g}", row.metric, tables]


def _print(rows: list[list[str]]) -> None:
    """Print a table whose keys are whole: they are copied and pasted."""
    from rich.table import Table

    shown = Table()
    shown.add_column(_HEADINGS[0], no_wrap=True, min_width=max(len(row[0]) for row in rows))
    for heading in _HEADINGS[1:]:
        shown.add_column(heading, overflow="fold")
    for row in rows:
        shown.add_row(*row)
    out = console()
    if not out.is_terminal:
        out.width = 200  # a pipe has no width
    out.print(shown)


@app.command()
def show(key: Annotated[str, typer.Argument(help="Key of a recipe, as listed by osan recipes.")]) -> None:
    """Show the settings of a recipe, for osan train --settings, and the figures of the paper."""
    from osan.experiments.catalog import recipe

    found = recipe(key)
    for row in found.rows:
        typer.echo(f"# {row.table}: {row.metric} {row.value:g} ± {row.std:g} over {found.runs} runs")
    typer.echo(found.settings.to_toml(), nl=False)
