"""``osan wl hash``, ``identify`` and ``dimension``: what a test says about one graph among all others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osan.cli.options import Json, MaxMemory, flag, memory_limit, print_json
from osan.cli.wl import Chosen, Directed, one_graph, takes_test

if TYPE_CHECKING:
    from osan.graphs import Graph

OneGraph = Annotated[str, typer.Argument(help="A file with one graph, or a graph6 text.")]
Among = Annotated[
    Path | None,
    typer.Option(help="A file of graphs to compare with; by default all of this size, up to 7 vertices."),
]


@takes_test
def hash_(
    graph: Annotated[str, typer.Argument(help="A file with any number of graphs, or a graph6 text.")],
    chosen: Chosen,
    directed: Directed = False,
    max_memory: MaxMemory = None,
    as_json: Json = False,
) -> None:
    """A portable hash of the color of each graph: equal for graphs that the test does not separate."""
    from osan.graphs import read_graphs
    from osan.wl import color_hash

    exists = os.path.exists(graph)  # Path.exists raises for graph6 text that is too long for a name
    graphs = read_graphs(graph, directed=directed) if exists else [one_graph(graph, directed)]
    limit = memory_limit(max_memory)
    hashes = [color_hash(each, chosen, max_memory=limit) for each in graphs]
    if as_json:
        print_json({"test": str(chosen), "hashes": hashes})
    else:
        typer.echo("\n".join(hashes))


@takes_test
def identify(
    graph: OneGraph,
    chosen: Chosen,
    among: Among = None,
    directed: Directed = False,
    max_memory: MaxMemory = None,
    as_json: Json = False,
) -> None:
    """Whether a test separates a graph from all others, and which ones it does not."""
    from osan.wl import lookalikes

    plain, others = one_graph(graph, directed), _graphs(among, directed)
    with flag("among", "--among"):
        found = lookalikes(plain, chosen, among=others, max_memory=memory_limit(max_memory))
    names = [_name(each) for each in found]
    if as_json:
        print_json({"test": str(chosen), "identified": not found, "lookalikes": names})
    elif not found:
        typer.echo(f"{chosen}: identified")
    else:
        typer.echo("\n".join([f"{chosen}: not identified, not separated from:", *names]))


def dimension(
    graph: OneGraph,
    max_k: Annotated[int, typer.Option(help="Up to this k-WL.")] = 3,
    among: Among = None,
    directed: Directed = False,
    max_memory: MaxMemory = None,
    as_json: Json = False,
) -> None:
    """The Weisfeiler-Leman dimension of a graph: the smallest k for which k-WL identifies it."""
    from osan.wl import dimension

    plain, others = one_graph(graph, directed), _graphs(among, directed)
    with flag("among", "--among"):
        found = dimension(plain, max_k, among=others, max_memory=memory_limit(max_memory))
    if as_json:
        print_json({"dimension": found, "max_k": max_k})
    else:
        typer.echo(str(found) if found is not None else f"more than {max_k}")


def _graphs(path: Path | None, directed: bool) -> list[Graph] | None:
    from osan.graphs import read_graphs

    return None if path is None else read_graphs(path, directed=directed)


def _name(graph: Graph) -> str:
    """The graph6 of a graph without labels, else its name."""
    from osan.graphs import encode_graph6

    if graph.vertex_labels is None and graph.edge_labels is None:
        return encode_graph6(graph)
    return graph.name or repr(graph)
