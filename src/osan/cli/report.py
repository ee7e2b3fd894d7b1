"""``osan report``: one run, or all of them, on one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from osan.cli.options import RUNS, Data, Runs, console


def report(
    run: Annotated[
        Path | None, typer.Argument(help="Folder of one finished run (default: all runs).")
    ] = None,
    runs: Runs = RUNS,
    out: Annotated[Path, typer.Option(help="Page to write.")] = Path("report.html"),
    under: Annotated[
        str, typer.Option(help="Only runs whose names begin with this, e.g. ogbg-molesol.")
    ] = "",
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "osan runs",
    examples: Annotated[int, typer.Option(min=0, help="Number of settings of which to draw an example.")] = 3,
    data: Data = None,
) -> None:
    """Write one self-contained page about one run, or about all runs.

    Of one run: scores, parity plot or ROC and calibration, the worst predictions with pictures, what was
    chosen, learning curves, and the command to repeat it. Of all: tables, learning curves and examples.
    """
    from rich.text import Text

    from osan.report import open_run, write_page, write_run_page

    with console(stderr=True).status("reading runs") as status:

        def show(text: str) -> None:
            status.update(Text(text))  # not read as markup

        if run is not None:
            write_run_page(open_run(run), out, data=data, progress=show)
            typer.echo(f"wrote {out}")
            return
        write_page(runs, out, title=title, under=under, examples=examples, data=data, progress=show)
    typer.echo(f"wrote {out}")
