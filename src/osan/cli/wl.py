"""``osan wl``: color graphs, distinguish pairs, compare tests."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from osan.cli.options import Json, MaxMemory, console, memory_limit, print_json, progress_bar

if TYPE_CHECKING:
    from rich.progress import Progress

    from osan.graphs import Graph
    from osan.wl import CorpusRow, WLTest

    Chosen = WLTest
else:
    Chosen = Any  # read as an annotation by takes_test, without importing the tests

app = typer.Typer(
    help="Weisfeiler-Leman tests on your graphs.",
    epilog="Next: osan wl distinguish EhEG EwCW; --test oswl tells this pair apart, 1-WL does not.",
    no_args_is_help=True,
)

TestName = Annotated[
    str,
    typer.Option(
        "--test",
        help="wl, oswl, vs-oswl, id, nested, kernel, dss, swl, pswl, gswl, sswl, or one of the last four "
        "after vs-; also titles such as 2-WL.",
        metavar="NAME",
    ),
]
K = Annotated[int | None, typer.Option("--k", help="Size of tuples or subsets; 1 by default.")]
Neighborhood = Annotated[
    str | None, typer.Option(help="Aggregate over N(v) ('edges') or V(G) ('all').", metavar="edges|all")
]
Ordered = Annotated[bool | None, typer.Option("--ordered/--unordered", help="Tuples or subsets of vertices.")]
Operation = Annotated[
    str | None, typer.Option(help="What to do with chosen vertices or edges.", metavar="mark|delete|select")
]
What = Annotated[str | None, typer.Option(help="What to choose.", metavar="vertex|edge|ego")]
Hops = Annotated[int | None, typer.Option(help="Radius of ego-nets; the whole component by default.")]
MarkCenter = Annotated[bool, typer.Option("--mark-center", help="Mark the center of every ego-net.")]
Oblivious = Annotated[bool, typer.Option("--oblivious", help="Oblivious instead of folklore k-WL.")]
Aggregations = Annotated[
    str | None, typer.Option(help="What SWL sees, of Lu, Lv, Gu, Gv, Puu, Pvv, Pvu.", metavar="Lu+Gv")
]
Directed = Annotated[bool, typer.Option("--directed", help="Edges of edge lists are arcs.")]
Rounds = Annotated[int | None, typer.Option(help="Stop after this many rounds.")]


def given_settings(**options: str | int | bool | None) -> dict[str, Any]:
    """The options that were given; flags that were not given are False."""
    given = {key: value for key, value in options.items() if value is not None}
    return {key: value for key, value in given.items() if value is not False or key == "ordered"}


# The options that describe a test, in the order of the help, with their defaults.
_TEST_OPTIONS: dict[str, tuple[Any, Any]] = {
    "test": (TestName, "wl"),
    "k": (K, None),
    "neighborhood": (Neighborhood, None),
    "ordered": (Ordered, None),
    "operation": (Operation, None),
    "what": (What, None),
    "hops": (Hops, None),
    "mark_center": (MarkCenter, False),
    "oblivious": (Oblivious, False),
    "aggregations": (Aggregations, None),
}


def takes_test(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options that describe a test in place of its parameter ``chosen``, the test."""
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for each in signature.parameters.values():
        parameters += (
            [each]
            if each.name != "chosen"
            else [
                inspect.Parameter(name, each.kind, default=default, annotation=annotation)
                for name, (annotation, default) in _TEST_OPTIONS.items()
            ]
        )

    @wraps(command)
    def run(**given: Any) -> None:
        from osan.wl.settings import make_test

        options = {name: given.pop(name) for name in _TEST_OPTIONS}
        name, k = options.pop("test"), options.pop("k")
        command(chosen=make_test(name, k, **given_settings(**options)), **given)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


@app.command()
@takes_test
def color(
    file: Annotated[Path, typer.Argument(help="graph6, edge list, GML, GraphML, SMILES, table of pairs.")],
    chosen: Chosen,
    directed: Directed = False,
    rounds: Rounds = None,
    max_memory: MaxMemory = None,
    out: Annotated[Path | None, typer.Option(help="Draw the colors into this .svg or .png file.")] = None,
    as_json: Json = False,
) -> None:
    """Color the graphs of FILE jointly; graphs with equal colors are not distinguished."""
    if out is not None:
        from osan.report.pictures import checked_suffix

        suffix = checked_suffix(out)  # before the work
    from osan.graphs import read_graphs
    from osan.wl import refine

    graphs = read_graphs(file, directed=directed)
    with progress_bar() as bar:
        coloring = refine(
            graphs,
            chosen,
            rounds=rounds,
            max_memory=memory_limit(max_memory),
            progress=follow(bar, str(chosen), rounds),
        )
    if out is not None:
        from osan.files import write_bytes
        from osan.report.pictures import rendered
        from osan.wl import draw

        write_bytes(out, rendered(draw(graphs, coloring), suffix))
        if not as_json:
            typer.echo(f"wrote {out} (the first graphs if there are many)")
    if as_json:
        print_json(
            {
                "test": str(chosen),
                "rounds": coloring.rounds,
                "stable": coloring.stable,
                "graph_colors": coloring.graph_colors.tolist(),
                "vertex_colors": _lists(coloring.vertex_colors),
                "subgraph_colors": _lists(coloring.subgraph_colors),
            }
        )
        return
    from rich.table import Table

    end = "stable" if coloring.stable else "stopped"
    table = Table(title=f"{chosen}: {end} after {coloring.rounds} round{'s' * (coloring.rounds != 1)}")
    parts = coloring.vertex_colors or coloring.subgraph_colors or ()
    of = "vertex colors" if coloring.vertex_colors is not None else "subgraph colors"
    for heading in ("graph", "vertices", "edges", "color", of):
        table.add_column(heading, justify="left" if heading == "graph" else "right")
    for i, graph in enumerate(graphs):
        distinct = len(set(parts[i].tolist()))
        row = (
            graph.name or str(i),
            graph.num_vertices,
            graph.num_edges,
            coloring.graph_colors[i],
            distinct,
        )
        table.add_row(*map(str, row))
    console().print(table)


def follow(bar: Progress, title: str, rounds: int | None) -> Callable[[int, int], None]:
    """Show the rounds of a refinement as they are done."""
    task = bar.add_task(title, total=rounds)
    return lambda done, count: bar.update(task, completed=done, description=f"{title}: {count} colors")


def _lists(arrays: Any) -> list[list[int]] | None:
    return None if arrays is None else [array.tolist() for array in arrays]


def one_graph(source: str, directed: bool) -> Graph:
    """The only graph of a file, or the graph a graph6 text stands for."""
    from osan.errors import OsanError
    from osan.graphs import decode_graph6, read_graphs

    if os.path.exists(source):  # Path.exists raises for graph6 text that is too long for a name
        graphs = read_graphs(Path(source), directed=directed)
        if len(graphs) != 1:
            raise OsanError(f"{source}: expected one graph, got {len(graphs)}")
        return graphs[0]
    try:
        return decode_graph6(source)
    except OsanError as error:
        # Neither dots nor slashes are in graph6, but in most names of files.
        reason = "" if set("./") & set(source) else f", and not graph6 ({error})"
        raise OsanError(
            f"graph: expected a file or graph6 text, got {source!r}: no such file{reason}"
        ) from None


@app.command()
@takes_test
def distinguish(
    a: Annotated[str, typer.Argument(help="A file with one graph, or a graph6 text.")],
    b: Annotated[str, typer.Argument(help="Another one.")],
    chosen: Chosen,
    directed: Directed = False,
    rounds: Rounds = None,
    max_memory: MaxMemory = None,
    as_json: Json = False,
) -> None:
    """Distinguish two graphs. The exit code is 0 if separated, 1 if not, and 2 or more after an error."""
    from osan.wl import distinguishes

    graphs = one_graph(a, directed), one_graph(b, directed)
    with progress_bar() as bar:
        verdict = distinguishes(
            *graphs,
            test=chosen,
            rounds=rounds,
            max_memory=memory_limit(max_memory),
            progress=follow(bar, str(chosen), rounds),
        )
    if as_json:
        print_json({"test": str(chosen), "separated": verdict})
    else:
        typer.echo(f"{chosen}: {'separated' if verdict else 'not separated'}")
    raise typer.Exit(0 if verdict else 1)


@app.command()
def ladder(
    file: Annotated[
        str,
        typer.Argument(help="A pair table, or graphs of which all pairs are compared; or a graph, with B."),
    ],
    b: Annotated[str | None, typer.Argument(help="Another graph (file or graph6 text).")] = None,
    max_k: Annotated[int, typer.Option(help="Up to this k-OSWL and (k+1)-WL.")] = 1,
    tests: Annotated[
        list[str] | None,
        typer.Option("--test", help="Only these, e.g. 'oswl 2'; may be repeated.", metavar="'NAME K'"),
    ] = None,
    directed: Directed = False,
    max_memory: MaxMemory = None,
    as_json: Json = False,
) -> None:
    """How many pairs of FILE, or whether two graphs, each test separates, cheapest test first."""
    from osan.errors import OsanError
    from osan.graphs import Pair, read_graphs, read_pairs
    from osan.graphs.files import lists_pairs
    from osan.wl import ladder_tests, survey_graphs, survey_pairs

    chosen = [_parse(text) for text in tests] if tests else ladder_tests(max_k)
    limit = memory_limit(max_memory)
    if b is not None:
        pairs: list[Pair] | None = [Pair(one_graph(file, directed), one_graph(b, directed), "two graphs")]
    else:
        pairs = read_pairs(file) if lists_pairs(file) else None
        if pairs is not None and directed:
            raise OsanError(f"--directed: expected edge lists, got the pair table {file}")
    with progress_bar() as bar:
        if pairs is not None:
            task = bar.add_task("pairs x tests", total=len(pairs) * len(chosen))
            rows = survey_pairs(pairs, chosen, max_memory=limit, tick=lambda: bar.advance(task))
        else:
            task = bar.add_task("tests", total=len(chosen))
            graphs = read_graphs(file, directed=directed)
            if len(graphs) < 2:
                raise OsanError(f"{file}: expected at least two graphs, got one; name another one beside it")
            row = survey_graphs(
                graphs,
                chosen,
                category=f"all pairs of {len(graphs)} graphs",
                max_memory=limit,
                tick=lambda: bar.advance(task),
            )
            rows = [row]
    if as_json:
        print_json([row.__dict__ for row in rows])
    else:
        _print_survey(rows)


def _parse(text: str) -> WLTest:
    from osan.errors import OsanError
    from osan.wl.settings import make_test
    from osan.wl.titles import from_title

    if from_title(text) is not None:
        return make_test(text)
    found = re.fullmatch(r"\s*(\S+)(?:\s+(-?[0-9]+))?\s*", text)
    if found is None:
        raise OsanError(f"--test: expected a name and a k, for example 'oswl 2', got {text!r}")
    return make_test(found[1], int(found[2]) if found[2] else None)


def _print_survey(rows: list[CorpusRow]) -> None:
    from rich.table import Table

    table = Table(title="pairs separated")
    table.add_column("category")
    table.add_column("pairs", justify="right")
    names = list(rows[0].separated) if rows else []
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        counts = ["does not fit" if row.separated[n] is None else str(row.separated[n]) for n in names]
        table.add_row(row.category, str(row.pairs), *counts)
    if len(rows) > 1:
        table.add_section()
        known = [[row.separated[n] for row in rows] for n in names]
        sums = ["-" if None in counts else str(sum(c or 0 for c in counts)) for counts in known]
        table.add_row("all", str(sum(row.pairs for row in rows)), *sums)
    table.add_section()
    table.add_row("seconds", "", *(f"{sum(row.seconds[n] for row in rows):.1f}" for n in names))
    console().print(table)
