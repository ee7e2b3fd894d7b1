"""Options and output that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from osan.errors import OsanError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

SPLIT_HELP = (
    "Your file: random, kfold, kfold:5, stratified, or a file with a split; your table: also scaffold, "
    "time:COLUMN or a column."
)
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Data = Annotated[Path | None, typer.Option("--data", help="Folder of raw files (default: $OSAN_DATA).")]
Runs = Annotated[Path, typer.Option("--runs", help="Folder of runs.")]
RUNS = Path("runs")
MaxMemory = Annotated[
    str | None,
    typer.Option("--max-memory", help="Memory limit, e.g. 4GB (default: half of the free memory)."),
]


class Format(str, Enum):
    """The formats of a table."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


Formats = Annotated[Format, typer.Option("--format", help="Output format.")]


@contextmanager
def flag(name: str, option: str) -> Iterator[None]:
    """Name the command-line option in errors about the argument ``name``.

    >>> with flag("seeds", "--seeds"):
    ...     raise OsanError("seeds: expected numbers, got 'x'")
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: --seeds: expected numbers, got 'x'
    """
    try:
        yield
    except OsanError as error:
        text = str(error)
        if not text.startswith(f"{name}:"):
            raise
        raise type(error)(option + text.removeprefix(name)) from None


def one_or_many(values: list[str] | None) -> str | list[str] | None:
    """The value of an option that may be repeated: one as it is, several as a list.

    >>> one_or_many(["a"]), one_or_many(["a", "b"]), one_or_many(None)
    ('a', ['a', 'b'], None)
    """
    return values[0] if values and len(values) == 1 else values or None


def memory_limit(text: str | None) -> int | None:
    """The bytes of ``--max-memory``."""
    from osan.memory import parse_size

    return None if text is None else parse_size(text)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def console(*, stderr: bool = False) -> Console:
    """A console that prints names as they are: brackets and colons in them are no markup."""
    from rich.console import Console

    return Console(markup=False, emoji=False, stderr=stderr)


def progress_bar() -> Progress:
    """A progress bar on stderr; hidden if stderr is no terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    description = TextColumn("{task.description}", markup=False)
    shown = console(stderr=True)
    # Before version 15 rich ends even a disabled bar with an empty line.
    shown.quiet = not shown.is_terminal
    return Progress(
        description,
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=shown,
        transient=True,
        disable=shown.quiet,
    )
