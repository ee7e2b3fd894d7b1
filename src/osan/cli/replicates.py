"""``osan train --replicates``: several seeds of one training, as a table."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer

from osan import interrupts
from osan.cli.options import flag, print_json
from osan.words import counted

if TYPE_CHECKING:
    from osan.training.settings import Settings


def train_replicates(
    settings: Settings,
    count: int,
    runs: Path,
    quiet: bool,
    data: Path | None,
    processes: int | None,
    as_json: bool,
) -> None:
    """Train the replicates that are missing, and print every metric: mean and, of several, deviation."""
    from dataclasses import asdict

    from osan.training.folder import run_folder
    from osan.training.replicates import replicate, replicate_settings

    with flag("replicates", "--replicates"):
        folder = run_folder(runs, replicate_settings(settings, count)[0]).parent
    try:
        found = replicate(settings, count, runs, progress=not quiet, data=data, processes=processes)
    except KeyboardInterrupt:
        sys.stderr.write(f"osan: {interrupts.word()}; the same command continues\n")
        raise typer.Exit(interrupts.exit_code()) from None
    if as_json:
        scores = {name: asdict(value) for name, value in found.items()}
        print_json({"replicates": count, "scores": scores, "folder": str(folder)})
        return
    width = max(map(len, found))
    for name, value in found.items():
        spread = "" if value.deviation is None else f" +- {value.deviation:.4f}"
        typer.echo(f"test {name:{width}} {value.mean:.4f}{spread}")
    what = "mean and standard deviation of " if count > 1 else ""
    typer.echo(f"{what}{counted(count, 'run')} in {quote(str(folder))}")
