"""Options and output that several commands share."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

SPLIT_HELP = "Own file: random, stratified or the file of a split; own table: also scaffold or a column."
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
MaxMemory = Annotated[
    str | None,
    typer.Option("--max-memory", help="Refuse what needs more, e.g. 4GB; default: half of what is free."),
]


class Format(StrEnum):
    """How a table is printed."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


def memory_limit(text: str | None) -> int | None:
    """Bytes of ``--max-memory``."""
    from osan.memory import parse_size

    return None if text is None else parse_size(text)


def print_json(value: Any) -> None:
    """Write a value as JSON, whatever rich thinks of it."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def console() -> Console:
    """Where tables go; brackets are printed as they are, for they may be part of a SMILES or a path."""
    from rich.console import Console

    return Console(markup=False)


def progress_bar() -> Progress:
    """A progress bar on stderr, so that stdout holds the result only; none if nobody is watching."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    # Before version 15 rich ends even a disabled bar with an empty line.
    console.quiet = not console.is_terminal
    return Progress(*columns, console=console, transient=True, disable=console.quiet)
