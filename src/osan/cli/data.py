"""``osan data``: which datasets there are, what is in them, and getting them ready."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from osan.cli.options import SPLIT_HELP, Json, console, print_json

app = typer.Typer(help="Datasets: list them, look at one, get one ready.", no_args_is_help=True)

Data = Annotated[Path | None, typer.Option("--data", help="Folder of raw files (default: $OSAN_DATA).")]


@app.command("list")
def list_datasets(data: Data = None, as_json: Json = False) -> None:
    """List every dataset and whether it is ready."""
    from osan.data.summary import overview

    rows = overview(data)
    if as_json:
        print_json(rows)
        return
    from rich.table import Table

    table = Table("dataset", "ready", "task", "source")
    for row in rows:
        table.add_row(row["name"], row["ready"], row["task"], row["source"])
    console().print(table)


@app.command()
def info(name: str, data: Data = None, as_json: Json = False) -> None:
    """Graphs, vertices, edges, labels, splits, source and license of one dataset."""
    from osan.data.published.corpora import CORPORA
    from osan.data.summary import corpus_facts, describe_dataset

    facts = corpus_facts(name, data) if name in CORPORA else describe_dataset(name, data)
    _show(facts, as_json)


@app.command()
def prepare(
    name: Annotated[str, typer.Argument(help="A dataset, or a file or folder of your own.")],
    data: Data = None,
    smiles: Annotated[str, typer.Option(help="Own table: the column with SMILES.")] = "smiles",
    target: Annotated[list[str] | None, typer.Option(help="Own table: a target column (repeatable).")] = None,
    labels: Annotated[Path | None, typer.Option(help="Own graphs: file with one line per graph.")] = None,
    kind: Annotated[str, typer.Option(help="Own file: regression, binary or multiclass.")] = "regression",
    split: Annotated[str, typer.Option(help=SPLIT_HELP)] = "random",
    seed: Annotated[int, typer.Option(help="Own file: seed of the random split.")] = 0,
    rejected: Annotated[Path, typer.Option(help="Own table: where to list bad rows.")] = Path("rejected.csv"),
    as_json: Json = False,
) -> None:
    """Process a dataset into the cache, downloading what is missing; or check a file of your own."""
    from osan.data import load_graphs, load_table, names
    from osan.data.formats.table import is_table
    from osan.data.summary import describe_dataset, statistics

    if name in names() or not (Path(name).suffix or Path(name).exists()):
        _download(name, data)
        _show(describe_dataset(name, data), as_json)
        return
    own: Any = kind  # checked by the readers
    if not is_table(name):
        _show(statistics(load_graphs(name, labels=labels, kind=own, split=split, seed=seed)), as_json)
        return
    task = load_table(name, smiles, target or ["y"], kind=own, split=split, seed=seed, rejected=rejected)
    with rejected.open(encoding="utf-8", newline="") as stream:
        bad = sum(1 for _ in csv.reader(stream)) - 1
    _show({**statistics(task), "rejected": f"{bad} rows, listed in {rejected}"}, as_json)


def _download(name: str, data: Path | None) -> None:
    """Load with a bar that shows how much has arrived; loaders tell no total."""
    from threading import Event, Thread

    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from osan.data import load
    from osan.data.published.paths import cache_root

    cache = cache_root()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    stderr = Console(file=sys.stderr)  # this very stream, for loaders' own output is swallowed meanwhile
    done = Event()
    with Progress(*columns, console=stderr, transient=True) as progress:
        bar = progress.add_task(name, total=None)

        def watch() -> None:
            while not done.wait(0.5):
                size = sum(_size(p) for folder in cache.glob(".work-*") for p in folder.rglob("*"))
                progress.update(bar, description=f"{name}: {size / 1e6:.1f} MB on disk")

        watcher = Thread(target=watch, daemon=True)
        watcher.start()
        try:
            load(name, data, download=True)
        finally:
            done.set()
            watcher.join()


def _size(path: Path) -> int:
    """The size of a file that may vanish meanwhile; links count nothing."""
    try:
        return 0 if path.is_symlink() or not path.is_file() else path.stat().st_size
    except OSError:
        return 0


def _show(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(facts)
        return
    from rich.table import Table

    table = Table(show_header=False)
    for key, value in facts.items():
        if value is None:
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{part} {count}" for part, count in value.items())
        table.add_row(key, f"{value:.2f}" if isinstance(value, float) else str(value))
    console().print(table)
