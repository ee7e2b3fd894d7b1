"""``osan sweep``: do the missing runs of a table of the paper, or of a plan."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osan import interrupts
from osan.cli.options import RUNS, Json, Runs, flag, print_json
from osan.errors import OsanError
from osan.words import counted

if TYPE_CHECKING:
    from osan.training.jobs import Event, Job


def sweep(
    table: Annotated[
        str,
        typer.Argument(help="Table of the paper (t_mol, exp, 6, ...), 'all', or a plan (TOML or YAML file)."),
    ],
    seeds: Annotated[
        str | None, typer.Option(help="Seeds, e.g. 0-4 or 0,3,7 (default: as many as the paper or the plan).")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(help="Only runs whose name matches or contains this, e.g. '*/baseline,imle'."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of parallel runs (default: one per processor).")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads per run (default: processors divided by runs).")
    ] = None,
    max_hours: Annotated[
        float | None, typer.Option(help="Stop after this time; the same command continues.")
    ] = None,
    ray: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on this Ray cluster.")] = None,
    gpus: Annotated[float, typer.Option(help="With --ray: GPUs per run, also a fraction.")] = 0.0,
    runs: Runs = RUNS,
    finished: Annotated[
        Path | None,
        typer.Option(
            help="CSV file of runs that are not done again (osan runs --each --format csv).",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the runs.")] = False,
    as_json: Json = False,
) -> None:
    """Do all missing runs, several at a time. A failed run is recorded and does not stop the others.

    Interrupted runs are continued, failed runs are tried again. The exit code is 1 if some runs failed.
    """
    from osan.training.jobs import available_cpus, run_locally

    if max_hours is not None and max_hours <= 0:
        raise OsanError(f"--max-hours: expected a positive number, got {max_hours:g}")
    todo, done = _wanted(table, seeds, only, runs)
    if finished is not None:
        todo, recorded = _without(todo, finished)
        done += recorded
    if dry_run:
        _show_plan(todo, done, as_json)
        return
    parallel = min(jobs or available_cpus(), max(1, len(todo)))
    share = threads or max(1, available_cpus() // parallel)
    deadline = None if max_hours is None else time.monotonic() + 3600.0 * max_hours
    if ray is not None and todo:
        from osan.experiments.cluster import run_on_ray

        events = run_on_ray(todo, ray, threads or 1, gpus, deadline)
    else:
        events = run_locally(todo, parallel, share, deadline)
    with flag("ray", "--ray"):
        ended = follow(events, len(todo), quiet=as_json)
    counts = {state: sum(e.state == state for e in ended) for state in ("finished", "failed", "interrupted")}
    counts["interrupted"] += len(todo) - len(ended)
    if as_json:
        failures = [{"run": str(e.job), "error": e.error} for e in ended if e.state == "failed"]
        print_json({"already": done, **counts, "failures": failures, "runs": str(runs)})
    else:
        typer.echo(
            f"{counted(counts['finished'], 'run')} finished, {counts['failed']} failed, "
            f"{counts['interrupted']} left to do; {done} {'was' if done == 1 else 'were'} finished before."
        )
    if counts["failed"]:
        raise typer.Exit(1)


def _wanted(table: str, seeds: str | None, only: str | None, runs: Path) -> tuple[list[Job], int]:
    """The missing jobs, and the number of finished ones."""
    from osan.experiments import find_recipes, missing_jobs, parse_seeds, plan_jobs, read_plan

    with flag("only", "--only"), flag("seeds", "--seeds"):
        wanted = None if seeds is None else parse_seeds(seeds)
        if table.endswith((".toml", ".yaml", ".yml")):
            return plan_jobs(read_plan(Path(table), only), runs, only, wanted)
        recipes = find_recipes(table, only)
    settings = [recipe.settings for recipe in recipes]
    if wanted is not None:
        todo = missing_jobs(settings, wanted, runs)
        return todo, len(recipes) * len(wanted) - len(todo)
    own = {recipe.key: recipe.runs for recipe in recipes}
    todo = missing_jobs(settings, range(max(own.values())), runs)
    todo = [job for job in todo if job.settings.seed < own[job.settings.name]]
    return todo, sum(own.values()) - len(todo)


def _without(todo: list[Job], finished: Path) -> tuple[list[Job], int]:
    """The jobs that a CSV file does not have, and the number of those that it has."""
    from osan.report.records import read_records

    if not finished.is_file():
        raise OsanError(f"--finished: expected a CSV file of runs, got {finished}")
    known = {(each.name, each.seed) for each in read_records(finished)}
    left = [job for job in todo if (job.settings.name, job.settings.seed) not in known]
    return left, len(todo) - len(left)


def follow(events: Generator[Event], total: int, quiet: bool = False) -> list[Event]:
    """Show the progress of runs and return how they ended; Ctrl-C ends them and the command."""
    from osan.training.bars import watched

    try:
        return watched(events, total, quiet)
    except KeyboardInterrupt:
        typer.echo("osan: interrupted; the same command continues", err=True)
        raise typer.Exit(interrupts.exit_code()) from None


def _show_plan(todo: list[Job], done: int, as_json: bool) -> None:
    if as_json:
        print_json({"already": done, "missing": [str(job) for job in todo]})
        return
    for job in todo:
        typer.echo(str(job))
    typer.echo(f"{counted(len(todo), 'run')} to do, {done} finished.")
