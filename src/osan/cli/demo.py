"""``osan demo``: plain GIN, random and learned subgraphs on graphs that GIN cannot distinguish."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from osan.cli.options import RUNS, Json, Runs, console, print_json
from osan.errors import OsanError


def demo(
    runs: Runs = RUNS,
    out: Annotated[Path, typer.Option(help="Page to write.")] = Path("demo.html"),
    picture: Annotated[Path, typer.Option(help="Picture to write.")] = Path("demo.svg"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the networks.")] = 0,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each run.")] = 80,
    as_json: Json = False,
) -> None:
    """Train three networks, compare them, and write a page and a picture. Takes a few minutes."""
    from osan.cli.sweep import follow
    from osan.experiments.demo import NAMES, demo_settings
    from osan.experiments.sweep import available_cpus, missing_jobs, run_locally
    from osan.report.drawing import save_picture
    from osan.report.frequencies import explain
    from osan.report.page import write_page
    from osan.report.pictures import checked_suffix
    from osan.report.runs import by_name, find_runs, summarize
    from osan.training.folder import run_folder

    checked_suffix(picture)
    settings = demo_settings(seed, epochs)
    # The slow ones first.
    jobs = missing_jobs(settings[::-1], [seed], runs)
    parallel = min(available_cpus(), 3)
    ended = follow(
        run_locally(jobs, parallel, max(1, available_cpus() // parallel)), len(jobs), quiet=as_json
    )
    wrong = [event for event in ended if event.state != "finished"]
    if wrong:
        raise OsanError(f"{wrong[0].job} {wrong[0].state}: {wrong[0].error or 'run osan demo again'}")
    groups = by_name(run for run in find_runs(runs, "demo") if run.settings.seed == seed)
    reached = {name: summary.mean for name in NAMES if (summary := summarize(groups[name]))}
    learned = explain(run_folder(runs, settings[-1]), "0")
    save_picture(learned, picture)
    write_page(runs, out, title="osan demo: seeing through subgraphs", under="demo", examples=1)
    if as_json:
        print_json({"accuracy": reached, "page": str(out), "picture": str(picture)})
        return
    from rich.table import Table

    table = Table(title="Pairs of graphs that 1-WL cannot distinguish: which one is twisted?")
    table.add_column("network")
    table.add_column("test accuracy", justify="right")
    table.add_column("seconds", justify="right")
    for name, words in NAMES.items():
        result = groups[name][0].result
        table.add_row(words, f"{reached[name]:.1%}", f"{result.seconds:.0f}" if result else "")
    console().print(table)
    typer.echo(f"wrote {out} (tables, learning curves) and {picture} (what the network marks)")
