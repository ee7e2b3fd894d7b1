"""``osan tune``: search for good settings for your data."""

from __future__ import annotations

import re
import sys
from shlex import quote
from typing import Annotated

import typer

from osan import interrupts
from osan.cli.options import RUNS, SPLIT_HELP, Data, Json, Runs, flag, one_or_many, print_json, progress_bar
from osan.errors import OsanError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


def tune(
    dataset: Annotated[str, typer.Argument(help="Your file, or a dataset (osan data list).")],
    policy: Annotated[str | None, typer.Argument(help='Policy, e.g. "mark 1 vertex".')] = None,
    trials: Annotated[int, typer.Option(min=1, help="Number of trials.")] = 30,
    within: Annotated[
        str | None, typer.Option("--time", help="Stop after this time, e.g. 90s, 30m or 2h.")
    ] = None,
    smiles: Annotated[
        list[str] | None, typer.Option(help="Your table: column with SMILES (repeatable).")
    ] = None,
    target: Annotated[list[str] | None, typer.Option(help="Your table: target column (repeatable).")] = None,
    kind: Annotated[str | None, typer.Option(help="Your file: regression, binary or multiclass.")] = None,
    split: Annotated[str | None, typer.Option(help=SPLIT_HELP)] = None,
    epochs: Annotated[int | None, typer.Option(help="Largest number of epochs of a trial.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the trials, and of what they try.")] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, as section.key=value (repeatable).")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the search, part of its folder.")] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help='Several trials at a time on this Ray cluster; "local": on all processors of this machine.',
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="With --ray: threads per trial.")] = 1,
    gpus: Annotated[float, typer.Option(min=0, help="With --ray: GPUs per trial, also a fraction.")] = 0.0,
    runs: Runs = RUNS,
    data: Data = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide the progress bar.")] = False,
    as_json: Json = False,
) -> None:
    """Try settings of the network and of training, and write the best ones on validation to best.toml.

    Bad trials are stopped early. The same command goes on after an interruption, or with more trials.
    """
    from osan.experiments import chosen_settings
    from osan.training.locating import located
    from osan.training.ray_trials import Cluster
    from osan.training.settings_files import parsed_changes
    from osan.training.tuning import BEST
    from osan.training.tuning import tune as search

    seconds = None if within is None else parse_time(within)
    options = {
        "seed": seed,
        "training.epochs": epochs,
        "data.smiles": one_or_many(smiles),
        "data.targets": target or None,
        "data.kind": kind,
        "data.split": split,
    }
    changes = {key: value for key, value in options.items() if value is not None}
    changes |= parsed_changes(sets or [])
    settings = located(chosen_settings(dataset, policy).varied(changes, name))
    cluster = None if ray is None else Cluster(ray, threads, gpus)
    folder = runs.joinpath(*settings.name.split("/"), "tune")
    try:
        with progress_bar() as bar, flag("trials", "--trials"), flag("ray", "--ray"):
            shown = bar.add_task("trials", total=trials, visible=not quiet)

            def progress(done: int, best: float | None) -> None:
                said = "trials" if best is None else f"trials, best {best:.4f}"
                bar.update(shown, completed=done, description=said)

            found = search(
                settings, folder, trials, seconds=seconds, data=data, cluster=cluster, progress=progress
            )
    except KeyboardInterrupt:
        sys.stderr.write(f"osan: {interrupts.word()}; the same command continues\n")
        raise typer.Exit(interrupts.exit_code()) from None
    path = folder / BEST
    if as_json:
        print_json(
            {"metric": found.metric, "validation": found.value, "trials": found.states, "settings": str(path)}
        )
        return
    count = ", ".join(f"{number} {state}" for state, number in found.states.items())
    typer.echo(f"best validation {found.metric} {found.value:.4f} of trials: {count}")
    typer.echo(f"train with them: osan train --settings {quote(str(path))}")


def parse_time(text: str) -> float:
    """Seconds of a time.

    >>> parse_time("90s"), parse_time("30m"), parse_time("1.5h")
    (90.0, 1800.0, 5400.0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([smh]?)", text.strip())
    if match is None or float(match[1]) <= 0:
        raise OsanError(f"--time: expected a time such as 90s, 30m or 2h, got {text!r}")
    return float(match[1]) * _UNITS[match[2]]
