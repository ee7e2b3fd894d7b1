"""``osan brec``: which pairs a network separates, beside what its exact test allows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osan.cli.options import (
    Data,
    Format,
    Formats,
    Json,
    MaxMemory,
    console,
    flag,
    memory_limit,
    print_json,
    progress_bar,
)
from osan.errors import OsanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osan.experiments.brec import BrecRecord, BrecRow

# The columns of a record, as they come in CSV; the others have one line per category.
_RESULT = ("separated", "t_squared", "control", "confirmed", "distance", "steps", "seconds", "note")
_PROTOCOL = ("copies", "dimension", "precision")


def brec(
    model: Annotated[
        str,
        typer.Argument(
            help="gin, 1-osan, vs-1-osan, 2-osan, vs-2-osan, sswl, ds-edge-deleted, dss-edge-deleted, a "
            "settings file, or module:name of a function from a PyG batch to embeddings (or of what makes "
            "one)."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Records, written after every pair; a second call goes on.  [runs/brec/MODEL.json]"
        ),
    ] = None,
    pairs: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Only these pairs, by position, e.g. 0-59,110.")
    ] = "",
    file: Annotated[
        Path | None, typer.Option(help="Another file of pairs; by default the 400 pairs of BREC.")
    ] = None,
    copies: Annotated[int, typer.Option(help="Relabeled copies of each graph.")] = 32,
    dimension: Annotated[int, typer.Option(help="Dimension of the embeddings.")] = 16,
    confidence: Annotated[float, typer.Option(help="Confidence of the F distribution.")] = 0.95,
    steps: Annotated[int, typer.Option(help="Steps of training at most.")] = 40,
    batch_size: Annotated[int, typer.Option(help="Graphs in a step of training.")] = 32,
    learning_rate: Annotated[float, typer.Option(help="Of Adam.")] = 1e-3,
    float32: Annotated[bool, typer.Option("--float32", help="Single precision.")] = False,
    seconds: Annotated[
        float | None, typer.Option(help="Processor time for a pair; others are listed as not finished.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of weights and copies.")] = 0,
    ceiling: Annotated[
        str, typer.Option(metavar="NAME", help="The named model whose exact test bounds a custom one.")
    ] = "",
    show: Annotated[
        bool, typer.Option("--show", help="Run nothing; show what the records hold so far.")
    ] = False,
    data: Data = None,
    max_memory: MaxMemory = None,
    format: Formats = Format.text,
    as_json: Json = False,
) -> None:
    """Train a network on each pair of BREC, and count the pairs that it separates."""
    from osan.data import brec as corpus
    from osan.experiments.brec import MODELS, Protocol, brec_model, brec_rows, read_records, run_brec
    from osan.graphs import read_pairs
    from osan.parts import resolve

    test = None if not ceiling else brec_model(resolve(ceiling, MODELS, "--ceiling")).test
    protocol = Protocol(
        copies=copies,
        dimension=dimension,
        confidence=confidence,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        precision="float32" if float32 else "float64",
        seconds=seconds,
        seed=seed,
    )
    given = corpus(data) if file is None else read_pairs(file)
    only = parse_numbers(pairs) if pairs else list(range(len(given)))
    name = Path(model).stem.replace(":", ".") + ("-float32" if float32 else "")
    path = out or Path("runs", "brec", f"{name}.json")
    chosen = brec_model(model, test=test)
    if show:  # all of these are known, so nothing runs
        only = [i for i in only if i in read_records(path, chosen.name)]
    with progress_bar() as bar, flag("pairs", "--pairs"):
        task = bar.add_task(f"{chosen.name} on pairs", total=len(only))
        records = run_brec(
            chosen,
            given,
            protocol,
            only=only,
            records=path,
            test=test,
            max_memory=memory_limit(max_memory),
            retry=not show,
            tick=lambda record: bar.advance(task),
        )
    rows = brec_rows(records)
    bound = test or chosen.test
    header, cells = _cells(rows, "" if bound is None else str(bound))
    if as_json:
        print_json({"model": chosen.name, "records": str(path), "rows": [asdict(row) for row in rows]})
    elif format is Format.csv:
        from osan.report.formats import csv_table

        typer.echo(csv_table(*_lines(chosen.name, records)))
    elif format is Format.markdown:
        from osan.report.formats import markdown_table

        typer.echo(markdown_table(header, cells))
    elif format is Format.latex:
        from osan.report.formats import latex_table

        typer.echo(latex_table(header, cells, left=header[:1]))
    else:
        _print(chosen.name, header, cells, rows[-1], path)


def _lines(name: str, records: Sequence[BrecRecord]) -> tuple[list[str], list[list[object]]]:
    """One line for each pair."""
    header = ["model", "pair", "category", "vertices", "possible", *_RESULT, *_PROTOCOL]
    lines: list[list[object]] = []
    for record in records:
        own: list[object] = [name, record.pair, record.category, record.vertices, record.possible]
        result = [getattr(record.result, column) for column in _RESULT]
        shown = [float(f"{cell:.3g}") if isinstance(cell, float) else cell for cell in result]
        lines.append([*own, *shown, *(getattr(record.protocol, column) for column in _PROTOCOL)])
    return header, lines


def parse_numbers(text: str) -> list[int]:
    """The numbers of a text such as ``"0-2,7"``.

    >>> parse_numbers("0-2,7")
    [0, 1, 2, 7]
    """
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and (not last.isdigit() or int(last) < int(first))):
            raise OsanError(f"--pairs: expected numbers such as 0-59,110, got {text!r}")
        numbers.extend(range(int(first), int(last if dash else first) + 1))
    return list(dict.fromkeys(numbers))


def _cells(rows: Sequence[BrecRow], test: str) -> tuple[list[str], list[list[str]]]:
    bound = f"ceiling ({test})" if test else "ceiling"
    header = ["category", "pairs", "separated", bound, "missed", "false", "not finished", "s"]
    cells = [
        [
            row.category,
            str(row.pairs),
            str(row.separated),
            "" if row.ceiling is None else str(row.ceiling),
            *(str(len(numbers)) for numbers in (row.missed, row.false, row.unfinished)),
            f"{row.seconds:.0f}",
        ]
        for row in rows
    ]
    return header, cells


def _print(name: str, header: list[str], cells: list[list[str]], last: BrecRow, path: Path) -> None:
    from rich.table import Table

    table = Table(title=f"{name}: pairs separated")
    for heading in header:
        table.add_column(heading, justify="left" if heading == "category" else "right")
    for row in cells:
        table.add_row(*row)
    out = console()
    out.print(table)
    out.print(f"Controls (copies of one graph) told apart: {len(last.unreliable)} of {last.pairs}.")
    for what, numbers in (
        ("Missed", last.missed),
        ("Separated against the test", last.false),
        ("Not finished", last.unfinished),
    ):
        if numbers:
            out.print(f"{what}: pairs {', '.join(map(str, numbers))}.")
    out.print(f"Records: {path}")
