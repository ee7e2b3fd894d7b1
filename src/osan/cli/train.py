"""``osan train``: train a setting of the paper or your own, from data to score."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from osan import interrupts
from osan.cli.options import RUNS, SPLIT_HELP, Data, Json, Runs, one_or_many, print_json
from osan.cli.replicates import train_replicates
from osan.errors import OsanError

if TYPE_CHECKING:
    from osan.training.folder import Result
    from osan.training.settings import Settings

Given = Annotated[str | None, typer.Argument(help="Dataset (osan data list), or your file.")]
Policy = Annotated[
    str | None,
    typer.Argument(help='Policy, e.g. "mark 1 vertex" (default: whole graphs; your file: two marks).'),
]
Sets = Annotated[
    list[str] | None, typer.Option("--set", help="Any setting, as section.key=value (repeatable).")
]
Targets = Annotated[list[str] | None, typer.Option(help="Your table: target column (repeatable).")]


def train(
    dataset: Given = None,
    policy: Policy = None,
    subgraphs: Annotated[str | None, typer.Option(help="Number of subgraphs per graph, or all.")] = None,
    selection: Annotated[
        str | None, typer.Option(help="Estimator: imle (the default), random, simple, ..., or module:name.")
    ] = None,
    weigher: Annotated[
        str | None,
        typer.Option(help="Weights: learned, neutral, prior, centrality, degree, ..., or module:name."),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            help="gin (the default), gcn, pna, an architecture such as few-marks, few-vertices (few-marks "
            "without the whole graph), or module:name."
        ),
    ] = None,
    encodings: Annotated[
        str | None,
        typer.Option(
            help="Structural encodings: cse, rwse, lap, distance, several as cse:16,lap:8, or none."
        ),
    ] = None,
    descriptors: Annotated[
        str | None,
        typer.Option(help="Your table: rdkit2d, morgan, or columns, as rdkit2d,morgan,pH, or none."),
    ] = None,
    like_the_paper: Annotated[
        bool, typer.Option("--like-the-paper", help="Your file: the paper's settings, not the best ones.")
    ] = False,
    recipe: Annotated[
        str | None, typer.Option(help="Run of the paper (osan recipes), or any key of that form.")
    ] = None,
    settings: Annotated[Path | None, typer.Option(help="TOML or YAML file of settings.")] = None,
    sets: Sets = None,
    seed: Annotated[int | None, typer.Option(help="Seed of weights, noise and the order of batches.")] = None,
    ensemble: Annotated[
        int | None, typer.Option(min=1, help="Number of networks that predict together, in one run folder.")
    ] = None,
    replicates: Annotated[
        int | None, typer.Option(min=1, help="Number of runs with other seeds (and random splits).")
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(min=1, help="Members or replicates trained at a time (default: one per processor)."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Largest number of epochs.")] = None,
    devices: Annotated[int | None, typer.Option(help="Number of processes or GPUs.")] = None,
    optimizer: Annotated[
        str | None, typer.Option(help="adam (the default), adamw, sgd, or module:name.")
    ] = None,
    schedule: Annotated[
        str | None, typer.Option(help="constant, steps, cosine, one-cycle, plateau, or module:name.")
    ] = None,
    logger: Annotated[
        list[str] | None,
        typer.Option(help="Logger: csv, tensorboard, wandb, mlflow or module:name (repeatable)."),
    ] = None,
    smiles: Annotated[
        list[str] | None, typer.Option(help="Your table: column with SMILES (repeatable).")
    ] = None,
    fragments: Annotated[
        str | None, typer.Option(help="Your table: keep (the default) or largest, of salts and mixtures.")
    ] = None,
    target: Targets = None,
    labels: Annotated[Path | None, typer.Option(help="Your graphs: file with one line per graph.")] = None,
    kind: Annotated[str | None, typer.Option(help="Your file: regression, binary or multiclass.")] = None,
    split: Annotated[str | None, typer.Option(help=SPLIT_HELP)] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run, part of its folder.")] = None,
    runs: Runs = RUNS,
    resume: Annotated[Path | None, typer.Option(help="Continue the run in this folder.")] = None,
    data: Data = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide the progress bar.")] = False,
    as_json: Json = False,
) -> None:
    """Train and score a network. All results are stored in the run folder."""
    from osan.training.folder import MODEL, model_folders, read_json, refuse_python, run_folder, settings_of
    from osan.training.locating import located
    from osan.training.run import is_first_process
    from osan.training.run import train as run
    from osan.training.settings_files import parsed_changes

    try:
        changes = parsed_changes(sets or [])
    except OsanError as error:
        raise OsanError(f"--set {error}") from None
    options = {
        "seed": seed,
        "ensemble": ensemble,
        "training.epochs": epochs,
        "training.optimizer": optimizer,
        "training.schedule": schedule,
        "data.smiles": one_or_many(smiles),
        "data.fragments": fragments,
        "data.targets": target or None,
        "data.labels": None if labels is None else str(labels),
        "data.kind": kind,
        "data.split": split,
        "data.encodings": _listed(encodings),
        "data.descriptors": _listed(descriptors),
    }
    changes = {key: value for key, value in options.items() if value is not None} | changes
    machine = {"machine.devices": devices, "machine.loggers": logger or None}
    changes |= {key: value for key, value in machine.items() if value is not None}
    chosen = {
        "policy": policy,
        "subgraphs": subgraphs,
        "selection": selection,
        "weigher": weigher,
        "network": network,
        "paper": "yes" if like_the_paper else None,
    }
    if resume is not None:
        _only_machine(changes, dataset, recipe, settings, name, replicates, *chosen.values())
        stored, folder = settings_of(resume), resume
        refuse_python(stored, folder)
        wanted = stored.changed(changes)
    else:
        wanted = _wanted(dataset, recipe, settings, **chosen)
        wanted = located(wanted.varied(changes, name))
        folder = run_folder(runs, wanted)
        if replicates is not None:
            train_replicates(wanted, replicates, runs, quiet, data, processes, as_json)
            return
    try:
        result = run(
            wanted, folder, resume=resume is not None, progress=not quiet, data=data, processes=processes
        )
    except KeyboardInterrupt:
        said = f"osan: {interrupts.word()}; continue with: osan train --resume {quote(str(folder))}\n"
        sys.stderr.write(said)
        raise typer.Exit(interrupts.exit_code()) from None
    if is_first_process():
        if wanted.data.split and os.path.isfile(wanted.data.split):
            split = read_json(model_folders(folder)[0] / MODEL)["task"].get("split", "")
            sys.stderr.write(f"osan: split {split}\n")
        _report(result, folder, as_json)


def _listed(text: str | None) -> list[str] | None:
    """The parts of an option between commas; ``none`` means none of them."""
    if text is None:
        return None
    return [] if text == "none" else text.split(",")


def _wanted(
    dataset: str | None,
    recipe: str | None,
    file: Path | None,
    *,
    policy: str | None = None,
    subgraphs: str | None = None,
    selection: str | None = None,
    weigher: str | None = None,
    network: str | None = None,
    paper: str | None = None,
) -> Settings:
    """The settings before changes: those of a recipe, of a file, or of a dataset and a policy."""
    from osan import experiments
    from osan.training.settings_files import read_settings

    ways = {"a dataset": dataset, "--recipe": recipe, "--settings": file, "--resume": None}
    given = [way for way, value in ways.items() if value is not None]
    if len(given) != 1:
        got = " and ".join(given) or "nothing"
        raise OsanError(f"train: expected one of {', '.join(ways)}; got {got}")
    options = {"--subgraphs": subgraphs, "--selection": selection, "--weigher": weigher}
    options |= {"--network": network, "--like-the-paper": paper}
    unused = [name for name, value in {"a policy": policy, **options}.items() if value is not None]
    if dataset is None and unused:
        raise OsanError(
            f"train: {given[0]} says all about the run, so {unused[0]} goes with a dataset only; use "
            "--set selection.policy=..., selection.estimator=... or network.conv=..."
        )
    if recipe is not None:
        return experiments.settings_named(recipe)
    if file is not None:
        return read_settings(file)
    return experiments.chosen_settings(
        dataset or "",
        policy,
        subgraphs=subgraphs,
        selection=selection,
        weigher=weigher,
        network=network,
        like_the_paper=paper is not None,
    )


def _only_machine(changes: dict[str, Any], *ways: object) -> None:
    others = [key for key in changes if not key.startswith("machine.")]
    if others or any(way is not None for way in ways):
        raise OsanError(
            f"--resume continues a run with its own settings; leave out {', '.join(others) or 'the rest'}"
        )


def _report(result: Result, folder: Path, as_json: bool) -> None:
    from dataclasses import asdict
    from statistics import fmean

    if as_json:
        print_json({**asdict(result), "folder": str(folder)})
        return
    how = f"in epoch {result.best_epoch + 1} of {result.epochs}"
    if result.members is not None:
        how = f"with {len(result.members)} members, alone {fmean(result.members):.4f} on average on test"
    elif result.share is not None:
        how += f", {result.share:.0%} network and {1 - result.share:.0%} Gaussian process"
    typer.echo(
        f"test {result.metric} {result.value:.4f} (validation {result.validation:.4f} {how}); "
        f"run folder {quote(str(folder))}"
    )
