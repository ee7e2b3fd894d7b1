"""``osan report``: all runs on one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[Path, typer.Option(help="The folder of runs.")] = Path("runs"),
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    under: Annotated[str, typer.Option(help="Only runs whose name begins so, e.g. ogbg-molesol.")] = "",
    title: Annotated[str, typer.Option(help="The heading.")] = "osan runs",
    examples: Annotated[int, typer.Option(min=0, help="How many settings to draw an example of.")] = 3,
    data: Annotated[Path | None, typer.Option(help="Folder of raw files (default: $OSAN_DATA).")] = None,
) -> None:
    """Write tables, learning curves and example subgraphs of all runs into one page without links."""
    from rich.console import Console

    from osan.report.page import write_page

    console = Console(stderr=True)
    with console.status("reading runs") as status:
        write_page(runs, out, title=title, under=under, examples=examples, data=data, progress=status.update)
    typer.echo(f"{out} written")
