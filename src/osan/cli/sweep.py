"""``osan sweep``: run what is missing of a table of the paper."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osan.cli.options import Json, print_json
from osan.errors import OsanError

if TYPE_CHECKING:
    from rich.progress import TaskID

    from osan.experiments.sweep import Event, Job

_STYLES = {"finished": "green", "failed": "red", "interrupted": "yellow"}


def sweep(
    table: Annotated[
        str, typer.Argument(help="A table of the paper (t_mol, exp, ...), 'all', or a plan (a TOML file).")
    ],
    seeds: Annotated[str | None, typer.Option(help="Seeds, such as 0-4 (the default) or 0,3,7.")] = None,
    only: Annotated[str | None, typer.Option(help="Only recipes whose key matches, e.g. '*imle*'.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time; one per processor by default.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads per run; the processors shared out by default.")
    ] = None,
    max_hours: Annotated[
        float | None, typer.Option(help="Stop after this time; the next sweep goes on from there.")
    ] = None,
    ray: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on this Ray cluster.")] = None,
    gpus: Annotated[float, typer.Option(help="With --ray: GPUs per run, may be a fraction.")] = 0.0,
    runs: Annotated[Path, typer.Option(help="The folder of runs.")] = Path("runs"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would run.")] = False,
    json: Json = False,
) -> None:
    """Run what is missing, several runs at a time; failures are recorded and the rest go on.

    Interrupted runs are continued, and failed ones are tried again. Exit code 1 if some failed.
    """
    from osan.experiments.sweep import available_cpus, run_locally

    if max_hours is not None and max_hours <= 0:
        raise OsanError(f"--max-hours must be positive, got {max_hours:g}")
    todo, done = _wanted(table, seeds, only, runs)
    if dry_run:
        _show_plan(todo, done, json)
        return
    parallel = min(jobs or available_cpus(), max(1, len(todo)))
    share = threads or max(1, available_cpus() // parallel)
    deadline = None if max_hours is None else time.monotonic() + 3600.0 * max_hours
    if ray is not None and todo:
        from osan.experiments.cluster import run_on_ray

        events = run_on_ray(todo, ray, threads or 1, gpus, deadline)
    else:
        events = run_locally(todo, parallel, share, deadline)
    ended = follow(events, len(todo), quiet=json)
    counts = {state: sum(e.state == state for e in ended) for state in ("finished", "failed", "interrupted")}
    counts["interrupted"] += len(todo) - len(ended)
    if json:
        failures = [{"run": str(e.job), "error": e.error} for e in ended if e.state == "failed"]
        print_json({"already": done, **counts, "failures": failures, "runs": str(runs)})
    else:
        typer.echo(
            f"{counts['finished']} runs finished, {counts['failed']} failed, "
            f"{counts['interrupted']} left to do; {done} were there before."
        )
    if counts["failed"]:
        raise typer.Exit(1)


def _wanted(table: str, seeds: str | None, only: str | None, runs: Path) -> tuple[list[Job], int]:
    """The jobs that are missing, and how many are not."""
    from osan.experiments.plans import plan_jobs, read_plan
    from osan.experiments.sweep import chosen_recipes, parse_seeds, plan

    if table.endswith((".toml", ".yaml", ".yml")):
        if seeds is not None or only is not None:
            raise OsanError(f"--seeds and --only go with a table; {table} says itself what to run")
        return plan_jobs(read_plan(Path(table)), runs)
    recipes, wanted = chosen_recipes(table, only), parse_seeds(seeds or "0-4")
    todo = plan([recipe.settings for recipe in recipes], wanted, runs)
    return todo, len(recipes) * len(wanted) - len(todo)


def follow(events: Generator[Event], total: int, quiet: bool = False) -> list[Event]:
    """Show what happens to the runs, and return how they ended; Ctrl-C ends them and the command."""
    # Closed at once, so that the runs are ended before the command is.
    try:
        with closing(events):
            return _shown(events, total, quiet)
    except KeyboardInterrupt:
        typer.echo("osan: interrupted; the same command goes on from here", err=True)
        raise typer.Exit(130) from None


def _shown(events: Generator[Event], total: int, quiet: bool) -> list[Event]:
    """A bar for the whole and one for each run."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, quiet=quiet)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    ended: list[Event] = []
    with Progress(*columns, console=console, transient=True) as progress:
        whole = progress.add_task("runs", total=total)
        bars: dict[Path, TaskID] = {}
        for event in events:
            job = event.job
            if job.folder not in bars:
                epochs = job.settings.training.epochs
                bars[job.folder] = progress.add_task(str(job), total=epochs)
            progress.update(bars[job.folder], completed=event.epochs)
            if event.state in ("finished", "failed", "interrupted"):
                ended.append(event)
                progress.remove_task(bars[job.folder])
                progress.advance(whole)
                words = f"{event.state} {job}" + (f": {event.error}" if event.error else "")
                progress.console.print(escape(words), style=_STYLES[event.state], highlight=False)
    return ended


def _show_plan(todo: list[Job], done: int, as_json: bool) -> None:
    if as_json:
        print_json({"already": done, "missing": [str(job) for job in todo]})
        return
    for job in todo:
        typer.echo(str(job))
    typer.echo(f"{len(todo)} runs to do, {done} finished.")
