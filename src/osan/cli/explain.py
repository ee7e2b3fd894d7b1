"""``osan explain``: which vertices or edges a trained network deletes, keeps or marks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from osan.cli.options import Data, Json, console, print_json
from osan.words import counted


def explain(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    graph: Annotated[
        str | None, typer.Argument(help="SMILES string, or position in the test split; not with --page.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Draw into this .svg or .png file.")] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write a page about many graphs: choices and their effects.")
    ] = None,
    graphs: Annotated[int, typer.Option(min=1, help="With --page: number of test graphs.")] = 50,
    samples: Annotated[int, typer.Option(min=1, help="Number of perturbed samples.")] = 100,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Show how often each vertex or edge is chosen in each subgraph, or write a page about many graphs.

    For an ensemble: how often it is chosen in any subgraph, as the mean over members and for each of them,
    and how far members agree (Cohen's kappa: 1 if they choose the same, 0 if they agree as often as by
    chance).
    """
    from osan.errors import OsanError

    if (graph is None) == (page is None):
        raise OsanError("explain: expected a graph or --page, got " + ("both" if page else "neither"))
    if page is not None:
        from osan.report.choice_page import write_choice_page

        count = write_choice_page(run, page, graphs=graphs, samples=samples, data=data)
        typer.echo(f"wrote {page} ({counted(count, 'graph')} of the test split)")
        return
    assert graph is not None
    from osan.report.drawing import save_picture
    from osan.report.frequencies import explain as frequencies_of
    from osan.report.frequencies import first_arcs
    from osan.report.pictures import checked_suffix

    if out is not None:
        checked_suffix(out)
    found = frequencies_of(run, graph, samples, data)
    if out is not None:
        save_picture(found, out)
    if as_json:
        print_json(found.plain())
        return
    from rich.table import Table

    from osan.report.molecule import is_molecule, vertex_names

    of_edges = found.edges is not None
    drawn = Table(title=found.caption)
    vertex, edge = ("atom", "bond") if is_molecule(found.graph) else ("vertex", "edge")
    drawn.add_column(edge if of_edges else vertex)
    values = found.edges if found.edges is not None else found.vertices
    assert values is not None  # exactly one of the two is given
    for name in found.columns:
        drawn.add_column(name, justify="right")
    names = vertex_names(found.graph)
    labels = (
        {e: f"{names[u]} - {names[v]}" for (u, v), e in first_arcs(found.graph.edge_index).items()}
        if of_edges
        else dict(enumerate(names))
    )
    for row, label in labels.items():
        drawn.add_row(label, *[f"{value:.0%}" for value in values[row].tolist()])
    console().print(drawn)
    if out is not None:
        typer.echo(f"wrote {out}")
