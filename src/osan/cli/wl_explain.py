"""``osan wl explain``: why a test separates two graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from osan.cli.options import MaxMemory, memory_limit
from osan.cli.wl import Chosen, Directed, one_graph, takes_test


@takes_test
def explain(
    a: Annotated[str, typer.Argument(help="A file with one graph, or a graph6 text.")],
    b: Annotated[str, typer.Argument(help="Another one.")],
    chosen: Chosen,
    directed: Directed = False,
    max_memory: MaxMemory = None,
    out: Annotated[Path | None, typer.Option(help="Draw it into this .svg or .png file.")] = None,
) -> None:
    """Why a test separates two graphs: a color that one has more often, unfolded. Exit codes: 0 or 1."""
    from osan.wl import draw_certificate, explain

    if out is not None:
        from osan.report.pictures import checked_suffix

        suffix = checked_suffix(out)  # before the work
    pair = one_graph(a, directed), one_graph(b, directed)
    certificate = explain(*pair, chosen, max_memory=memory_limit(max_memory))
    if certificate is None:
        typer.echo(f"{chosen}: not separated")
        raise typer.Exit(1)
    if out is not None:
        from osan.files import write_bytes
        from osan.report.pictures import rendered

        write_bytes(out, rendered(draw_certificate(certificate), suffix))
    typer.echo(str(certificate))
