"""``osan data``: list, inspect and prepare datasets."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from osan.cli.options import SPLIT_HELP, Data, Json, console, one_or_many, print_json
from osan.errors import OsanError
from osan.files import write_bytes
from osan.words import counted

if TYPE_CHECKING:
    from osan.data.task import Task

app = typer.Typer(
    help="List, inspect and prepare datasets.",
    epilog="Next: osan data list for all names; osan data prepare your.csv --target logS checks your table.",
    no_args_is_help=True,
)


@app.command("list")
def list_datasets(data: Data = None, as_json: Json = False) -> None:
    """List all datasets and whether they are ready."""
    from osan.data.overview import overview

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
    """Show graphs, vertices, edges, labels, splits, source and license of a dataset."""
    from osan.data.published.catalog import CORPORA
    from osan.data.summary import corpus_facts, describe_dataset

    facts = corpus_facts(name, data) if name in CORPORA else describe_dataset(name, data)
    _show(facts, as_json)


@app.command()
def prepare(
    name: Annotated[str, typer.Argument(help="Dataset, or your file or folder.")],
    data: Data = None,
    smiles: Annotated[
        list[str] | None, typer.Option(help="Your table: column with SMILES (repeatable).")
    ] = None,
    fragments: Annotated[str, typer.Option(help="Your table: keep or largest.")] = "keep",
    target: Annotated[list[str] | None, typer.Option(help="Your table: target column (repeatable).")] = None,
    labels: Annotated[Path | None, typer.Option(help="Your graphs: file with one line per graph.")] = None,
    kind: Annotated[str, typer.Option(help="Your file: regression, binary or multiclass.")] = "regression",
    split: Annotated[str, typer.Option(help=SPLIT_HELP)] = "random",
    seed: Annotated[int, typer.Option(help="Your file: seed of the random split.")] = 0,
    rejected: Annotated[
        Path | None, typer.Option(help="Your table: file for bad rows (default: rejected.csv, if any).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Download a dataset and process it into the cache, or check your file."""
    from osan.data import load
    from osan.data.naming import content_of, find_path
    from osan.data.summary import describe_dataset, statistics

    path = find_path(name)
    if path is None:
        _download(name, data)
        _show(describe_dataset(name, data), as_json)
        return
    chosen: dict[str, Any] = {"labels": labels, "kind": kind, "split": split, "seed": seed}
    facts: dict[str, Any] = {}
    if content_of(path) != "table":
        task = load(path, **chosen)
    else:
        chosen |= {"smiles": one_or_many(smiles), "targets": target, "fragments": fragments}
        with TemporaryDirectory() as place:
            found = Path(place, "rejected.csv")
            try:
                task = load(path, rejected=found, **chosen)
            finally:
                facts["rejected"] = _listed(found, rejected)
    _check_trainable(task, target or [])
    _show({**statistics(task), **facts}, as_json)


def _listed(found: Path, asked: Path | None) -> str:
    """Keep a file of bad rows if there are some, or if it was asked for; how many, and where they are."""
    if not found.is_file():
        return ""
    with found.open(encoding="utf-8", newline="") as stream:
        bad = sum(1 for _ in csv.reader(stream)) - 1
    if not bad and asked is None:
        return counted(bad, "row")
    place = asked or Path("rejected.csv")
    write_bytes(place, found.read_bytes())
    return f"{counted(bad, 'row')}, listed in {place}"


def _check_trainable(task: Task, targets: list[str]) -> None:
    """Raise if ``osan train`` would refuse the data, as those of a single class."""
    from osan.training.evaluation import check_scorable
    from osan.training.settings import Settings
    from osan.training.tasks import TaskInfo

    info = TaskInfo.of(task, Settings().changed({"data.targets": targets}))
    try:
        check_scorable(task, info)
    except OsanError as error:
        raise OsanError(f"{task.name} can be read, but not trained on: {error}") from None


@app.command()
def limits(
    name: Annotated[str, typer.Argument(help="Dataset, or your file or folder.")],
    layers: Annotated[
        int | None, typer.Option(min=0, help="Rounds of the tests, as a network with so many layers.")
    ] = None,
    structure: Annotated[
        bool, typer.Option("--structure", help="Without features of vertices and edges.")
    ] = False,
    data: Data = None,
    smiles: Annotated[
        list[str] | None, typer.Option(help="Your table: column with SMILES (repeatable).")
    ] = None,
    target: Annotated[list[str] | None, typer.Option(help="Your table: target column (repeatable).")] = None,
    labels: Annotated[Path | None, typer.Option(help="Your graphs: file with one line per graph.")] = None,
    kind: Annotated[str, typer.Option(help="Your file: regression, binary or multiclass.")] = "regression",
    as_json: Json = False,
) -> None:
    """Show the best score that any network can have, with and without subgraphs.

    A network that is bounded by a test gives graphs of the same color the same prediction.
    """
    from osan.cli.options import progress_bar
    from osan.data import load
    from osan.data.naming import content_of, find_path
    from osan.experiments.dataset_limits import TESTS
    from osan.experiments.dataset_limits import limits as limits_of

    path = find_path(name)
    own: dict[str, Any] = {} if path is None else {"kind": kind, "labels": labels}
    if path is not None and content_of(path) == "table":
        own |= {"smiles": one_or_many(smiles), "targets": target}
    task = load(name, data, **own)
    with progress_bar() as bar:
        step = bar.add_task("reading graphs", total=len(TESTS) + 1)

        def follow(test: object) -> None:
            bar.update(step, advance=1, description=str(test))

        found = limits_of(task, layers=layers, structure=structure, progress=follow)
    best = f"best {task.metric}"
    rows: list[dict[str, Any]] = [
        {"test": str(x.test), "colors": x.colors, "confused": x.confused, best: x.best} for x in found
    ]
    if as_json:
        print_json({"dataset": task.name, "graphs": len(task.whole), "limits": rows})
        return
    from rich.table import Table

    table = Table(
        "test", "colors", "graphs confused", best, title=f"{task.name}: {counted(len(task.whole), 'graph')}"
    )
    for row in rows:
        table.add_row(row["test"], str(row["colors"]), str(row["confused"]), f"{row[best]:.4f}")
    console().print(table)


def _download(name: str, data: Path | None) -> None:
    """Load a dataset and show how much has arrived; the total is unknown."""
    from threading import Event, Thread

    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from osan.data import load
    from osan.data.published.paths import cache_root

    cache = cache_root()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    stderr = Console(file=sys.stderr)  # this very stream, since the output of loaders is suppressed meanwhile
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
    """The size of a file, 0 if it is gone or a link."""
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
