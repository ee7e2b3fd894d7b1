"""``osan wl enough``: how many subgraphs separate graphs, at best and at random."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osan.cli.options import Json, MaxMemory, console, memory_limit, print_json, progress_bar
from osan.cli.wl import (
    Directed,
    Hops,
    K,
    MarkCenter,
    Neighborhood,
    Operation,
    Ordered,
    What,
    given_settings,
    one_graph,
)

if TYPE_CHECKING:
    from osan.wl import Enough, EnoughRow


def enough(
    a: Annotated[str, typer.Argument(help="A graph (file or graph6 text); alone: a table of pairs.")],
    b: Annotated[str | None, typer.Argument(help="Another graph.")] = None,
    k: K = None,
    neighborhood: Neighborhood = None,
    ordered: Ordered = None,
    operation: Operation = None,
    what: What = None,
    hops: Hops = None,
    mark_center: MarkCenter = False,
    directed: Directed = False,
    max_m: Annotated[
        int | None,
        typer.Option("--max-m", help="Up to how many random subgraphs; enough for 0.99 by default."),
    ] = None,
    max_memory: MaxMemory = None,
    out: Annotated[
        Path | None, typer.Option(help="Draw the curve of a table of pairs into this .svg or .png file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """How many subgraphs separate A from B, or the pairs of a table: at best, and if drawn at random."""
    from osan.errors import OsanError
    from osan.wl import enough, enough_pairs

    settings = given_settings(
        neighborhood=neighborhood,
        ordered=ordered,
        operation=operation,
        what=what,
        hops=hops,
        mark_center=mark_center,
    )
    limit = memory_limit(max_memory)
    if b is not None:
        if out is not None:
            raise OsanError("--out: expected a table of pairs, got two graphs")
        pair = one_graph(a, directed), one_graph(b, directed)
        found = enough(*pair, k, max_m=max_m, max_memory=limit, **settings)
        print_json(_plain(found)) if as_json else _print(found)
        return
    from osan.graphs import read_pairs

    if out is not None:
        from osan.report.pictures import checked_suffix

        suffix = checked_suffix(out)  # before the work
    if not os.path.exists(a):  # Path.exists raises for graph6 text that is too long for a name
        raise OsanError(f"B: expected another graph, or a table of pairs alone, got {a!r} alone, not a file")
    pairs = read_pairs(Path(a))
    with progress_bar() as bar:
        task = bar.add_task("pairs", total=len(pairs))
        rows = enough_pairs(
            pairs,
            k,
            max_m=10 if max_m is None else max_m,
            max_memory=limit,
            tick=lambda: bar.advance(task),
            **settings,
        )
    if out is not None:
        from osan.files import write_bytes
        from osan.report.pictures import rendered
        from osan.wl import draw_enough

        write_bytes(out, rendered(draw_enough(rows), suffix))
    print_json([row.__dict__ for row in rows]) if as_json else _print_rows(rows)


def _plain(found: Enough) -> dict[str, object]:
    return {
        "test": str(found.test),
        "subgraphs": list(found.totals),
        "smallest": found.smallest,
        "graph": None if found.graph is None else "ab"[found.graph],
        "chosen": None if found.chosen is None else found.chosen.tolist(),
        "reached": found.reached,
        "distances": [float(distance) for distance in found.distances],
    }


def _print(found: Enough) -> None:
    out = console()
    if found.smallest is None or found.chosen is None or found.graph is None:
        out.print(f"{found.test}: no number of subgraphs separates the graphs")
        return
    members = ", ".join(str(tuple(v for v in row if v >= 0)) for row in found.chosen.tolist())
    subgraphs = "subgraph" if found.smallest == 1 else "subgraphs"
    out.print(f"{found.test}: {found.smallest} {subgraphs} at best: {members} of graph {'AB'[found.graph]}")
    from rich.table import Table

    table = Table(title=f"random subgraphs, of {' and '.join(map(str, found.totals))}")
    for heading in ("subgraphs", "distance", "best accuracy"):
        table.add_column(heading, justify="right")
    for m, distance in enumerate(map(float, found.distances)):
        table.add_row(str(m), f"{distance:.4f}", f"{(1 + distance) / 2:.4f}")
    out.print(table)


def _print_rows(rows: list[EnoughRow]) -> None:
    from rich.table import Table

    shown = [m for m in (1, 3, 10) if rows and m < len(rows[0].distances)]
    table = Table(title="Subgraphs at best, and the best accuracy with m random ones")
    table.add_column("category")
    levels = list(rows[0].reached)[-1:] if rows else []
    for heading in ("pairs", "at best", *(f"m for {x}" for x in levels), *(f"m = {m}" for m in shown)):
        table.add_column(heading, justify="right")
    for row in rows:
        best = ", ".join(f"{'never' if m is None else m}: {count}" for m, count in row.smallest.items())
        reached = ["-" if row.reached[x] is None else str(row.reached[x]) for x in levels]
        accuracy = [f"{(1 + row.distances[m]) / 2:.3f}" for m in shown]
        table.add_row(row.category, str(row.pairs), best, *reached, *accuracy)
    console().print(table)
