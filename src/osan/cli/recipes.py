"""``osan recipes``: the runs behind the paper's tables."""

from __future__ import annotations

from typing import Annotated

import typer

from osan.cli.options import Json, console, print_json

app = typer.Typer(help="The paper's runs: list them, or show one.", invoke_without_command=True)


@app.callback()
def list_recipes(
    context: typer.Context,
    table: Annotated[str | None, typer.Option(help="Only those of one table, such as t_mol.")] = None,
    as_json: Json = False,
) -> None:
    """List every run of the paper with the figure it reports."""
    if context.invoked_subcommand is not None:
        return
    from osan.errors import OsanError
    from osan.experiments.recipes import recipes, tables

    if table is not None and table not in tables():
        raise OsanError(f"unknown table {table!r}; the paper has {', '.join(tables())}")
    chosen = [
        each for each in recipes().values() if table is None or any(row.table == table for row in each.rows)
    ]
    if as_json:
        print_json(
            [
                {
                    "key": each.key,
                    "runs": each.runs,
                    "metric": each.rows[0].metric,
                    "value": each.rows[0].value,
                    "std": each.rows[0].std,
                    "tables": [row.table for row in each.rows],
                }
                for each in chosen
            ]
        )
        return
    from rich.table import Table

    shown = Table("recipe", "paper", "metric", "tables")
    for each in chosen:
        row = each.rows[0]
        names = ", ".join(dict.fromkeys(row.table for row in each.rows))
        shown.add_row(each.key, f"{row.value:g} ± {row.std:g}", row.metric, names)
    console().print(shown)


@app.command()
def show(key: Annotated[str, typer.Argument(help="Its key, as osan recipes lists it.")]) -> None:
    """Show the settings of one run, ready for osan train --settings, and what the paper reports for it."""
    from osan.experiments.recipes import recipe

    found = recipe(key)
    for row in found.rows:
        typer.echo(f"# {row.table}: {row.metric} {row.value:g} ± {row.std:g} over {found.runs} runs")
    typer.echo(found.settings.to_toml(), nl=False)
