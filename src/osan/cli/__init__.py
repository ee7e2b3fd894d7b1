"""The command ``osan``: one small file per command, heavy imports inside the commands."""

from __future__ import annotations

import sys

import click
import typer

from osan.cli.data import app as data_app
from osan.errors import OsanError

app = typer.Typer(
    name="osan",
    help="See graphs through their (ordered) subgraphs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data")


def main() -> None:
    """Run ``osan``; what the user can mend is one line on stderr and exit code 2."""
    try:
        code = app(standalone_mode=False)
    except OsanError as error:
        sys.stderr.write(f"osan: {' '.join(str(error).split())}\n")
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("osan: interrupted\n")
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)
