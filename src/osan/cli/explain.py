"""``osan explain``: which vertices or edges a trained network removes, keeps or marks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from osan.cli.options import Json, console, print_json


def explain(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    graph: Annotated[str, typer.Argument(help="A SMILES string, or a position in the test split.")],
    out: Annotated[Path | None, typer.Option(help="Draw into this .svg or .png file.")] = None,
    samples: Annotated[int, typer.Option(min=1, help="Perturbed samples to draw.")] = 100,
    data: Annotated[Path | None, typer.Option(help="Folder of raw files (default: $OSAN_DATA).")] = None,
    json: Json = False,
) -> None:
    """Say, and draw, how often each vertex or edge is chosen in each subgraph."""
    from osan.report.drawing import save_picture
    from osan.report.explain import explain as explained
    from osan.report.explain import first_arcs
    from osan.report.pictures import checked_suffix

    if out is not None:
        checked_suffix(out)
    found = explained(run, graph, samples, data)
    if out is not None:
        save_picture(found, out)
    if json:
        print_json(found.plain())
        return
    from rich.table import Table

    from osan.report.molecule import is_molecule, vertex_names

    of_edges = found.edges is not None
    title = f"{found.name}: {found.policy}, how often {found.word} ({found.samples} samples)"
    drawn = Table(title=title)
    vertex, edge = ("atom", "bond") if is_molecule(found.graph) else ("vertex", "edge")
    drawn.add_column(edge if of_edges else vertex)
    values = found.edges if found.edges is not None else found.vertices
    assert values is not None  # one of the two is there
    for i in range(values.size(1)):
        drawn.add_column(f"subgraph {i + 1}", justify="right")
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
        typer.echo(f"{out} written")
