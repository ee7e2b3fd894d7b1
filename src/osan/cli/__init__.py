"""The command ``osan``: one small file per command, heavy imports inside the commands."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from shlex import quote
from typing import Annotated, NoReturn

import typer

from osan import __version__, interrupts
from osan.cli import (
    brec,
    data,
    demo,
    embed,
    evaluate,
    explain,
    explore,
    predict,
    recipes,
    report,
    runs,
    sweep,
    table,
    theory,
    train,
    tune,
    wl,
    wl_enough,
    wl_explain,
    wl_identify,
)
from osan.cli.plain_flags import with_plain_flags
from osan.errors import OsanError, Unfinished

# Exit codes; "osan wl distinguish" exits with 1 for graphs that it does not separate.
_WRONG, _BUG, _PIPE_CLOSED = 2, 70, 141

_NEXT = """Next: osan demo trains six small networks in two minutes.

osan train molecules.csv --target logS trains on your table; osan predict RUN more.csv applies it.

osan explore writes a page in which you see which graphs look alike; osan wl has the same tests as commands.

osan COMMAND --help explains each command."""

app = typer.Typer(
    name="osan",
    epilog=_NEXT,
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(data.app, name="data")
wl.app.command()(wl_enough.enough)
wl.app.command()(wl_explain.explain)
wl.app.command("hash")(wl_identify.hash_)
wl.app.command()(wl_identify.identify)
wl.app.command()(wl_identify.dimension)
app.add_typer(wl.app, name="wl")
app.add_typer(recipes.app, name="recipes")
app.command()(theory.theory)
app.command()(brec.brec)
app.command()(train.train)
app.command()(tune.tune)
app.command()(evaluate.evaluate)
app.command()(predict.predict)
app.command()(embed.embed)
app.command()(sweep.sweep)
app.command()(table.table)
app.command()(runs.runs)
app.command()(report.report)
app.command()(explain.explain)
app.command()(explore.explore)
app.command()(demo.demo)
with_plain_flags(app)


@app.callback()
def version_option(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """See graphs through their (ordered) subgraphs."""
    if version:
        typer.echo(f"osan {__version__}")
        raise typer.Exit


def main() -> None:
    """Run ``osan`` and exit.

    The code is 0 or the command's, 2 for wrong usage and errors that the user can fix (one line on stderr),
    70 for a bug (with its traceback), 130 after Ctrl-C, 143 after SIGTERM and 141 if the reader of the output
    is gone. Only a command itself exits with 1.
    """
    warnings.formatwarning = _formatted
    try:
        _check_words(sys.argv[1:])
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except Unfinished as error:
        _fail(f"{error} (osan train --resume {quote(error.folder)})")
    except OsanError as error:
        if interrupts.caused(error):
            interrupts.leave()
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        interrupts.leave()
    except SystemExit:
        # Typer ends with code 1 if the reader of the output is gone, as in "osan recipes | head".
        sys.exit(_PIPE_CLOSED)
    except Exception as error:
        if interrupts.caused(error):  # numba and others wrap it
            interrupts.leave()
        _fail_unforeseen(error)
    sys.exit(code if isinstance(code, int) else 0)


_formatted_by_python = warnings.formatwarning


def _formatted(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A warning of osan in one line; those of others as Python shows them."""
    if os.path.dirname(os.path.dirname(__file__)) + os.sep in filename:
        return f"osan: warning: {' '.join(str(message).split())}\n"
    return _formatted_by_python(message, category, filename, lineno, line)


def _check_words(words: Sequence[str]) -> None:
    """Refuse words that are no text: they could be neither printed nor stored in settings."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise OsanError(f"{word!a}: expected UTF-8 text; rename the file") from None
    # Names of files below a folder may be no text, either.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _fail(message: str) -> NoReturn:
    sys.stderr.write(f"osan: {' '.join(message.split())}\n")
    sys.exit(_WRONG)


def _fail_unforeseen(error: Exception) -> NoReturn:
    """Report wrong usage, output that cannot be written, or a bug."""
    # Typer's errors come from click or from its own copy of it, depending on its version.
    if hasattr(error, "format_message"):
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]
            sys.exit(_WRONG)
        _fail(f"{error.format_message()} (see osan --help)")
    if isinstance(error, MemoryError):
        _fail("memory does not suffice; give less data at a time")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EPIPE, errno.EIO):
        # Else Python tries to write the rest once more, and fails, when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if error.errno == errno.EPIPE:
            sys.exit(_PIPE_CLOSED)
        _fail(f"output cannot be written: {error.strerror}")
    traceback.print_exception(error)
    sys.stderr.write("osan: this is a bug in osan or in a custom part, see the traceback above\n")
    sys.exit(_BUG)
