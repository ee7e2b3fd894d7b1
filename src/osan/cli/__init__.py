"""The command ``osan``: one small file per command, heavy imports inside the commands."""

from __future__ import annotations

import sys
from shlex import quote
from typing import Annotated, NoReturn

import typer

from osan import __version__
from osan.cli import (
    data,
    demo,
    evaluate,
    explain,
    predict,
    recipes,
    report,
    runs,
    sweep,
    table,
    theory,
    train,
    wl,
)
from osan.errors import OsanError, Unfinished

app = typer.Typer(
    name="osan",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(data.app, name="data")
app.add_typer(wl.app, name="wl")
app.add_typer(recipes.app, name="recipes")
app.command()(theory.theory)
app.command()(train.train)
app.command()(evaluate.evaluate)
app.command()(predict.predict)
app.command()(sweep.sweep)
app.command()(table.table)
app.command()(runs.runs)
app.command()(report.report)
app.command()(explain.explain)
app.command()(demo.demo)


@app.callback()
def version_option(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """See graphs through their (ordered) subgraphs."""
    if version:
        typer.echo(f"osan {__version__}")
        raise typer.Exit


def main() -> None:
    """Run ``osan``; what the user can mend is one line on stderr and exit code 2."""
    try:
        code = app(standalone_mode=False)
    except Unfinished as error:
        _fail(f"{error} (osan train --resume {quote(error.folder)})")
    except OsanError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("osan: interrupted\n")
        sys.exit(130)
    except Exception as error:
        # Wrong usage: typer's errors come from click or from its own copy of it, depending on its version.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]
            sys.exit(2)
        _fail(f"{error.format_message()} (osan --help lists what there is)")
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> NoReturn:
    sys.stderr.write(f"osan: {' '.join(message.split())}\n")
    sys.exit(2)
