"""``osan explore``: two graphs and what tests see of them, as a page for the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def explore(
    a: Annotated[str | None, typer.Argument(help="A file with one graph, or a graph6 text.")] = None,
    b: Annotated[str | None, typer.Argument(help="Another one.")] = None,
    out: Annotated[Path, typer.Option(help="Page to write.")] = Path("explorer.html"),
) -> None:
    """Write a page that shows what Weisfeiler-Leman tests see of two graphs. It needs no network."""
    from osan.cli.wl import one_graph
    from osan.errors import OsanError
    from osan.report.explore import write_explorer

    if (a is None) != (b is None):
        raise OsanError("explore: expected two graphs or none, got one")
    pair = None if a is None or b is None else (one_graph(a, False), one_graph(b, False))
    write_explorer(out, pair)
    typer.echo(f"wrote {out}; open it in a browser")
