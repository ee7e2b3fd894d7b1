"""``osan evaluate``: the scores of a finished run's model on a split."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from osan.cli.options import Json, print_json
from osan.errors import OsanError


def evaluate(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    split: Annotated[str, typer.Option(help="train, val or test.")] = "test",
    samples: Annotated[int | None, typer.Option(min=1, help="Perturbed samples R.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of raw files (default: $OSAN_DATA).")] = None,
    as_json: Json = False,
) -> None:
    """Score the best model of a run again, on any split and with any number of samples."""
    from osan.training.evaluation import predictions, scores
    from osan.training.run import load_model
    from osan.training.tasks import load_task

    if split not in ("train", "val", "test"):
        raise OsanError(f"--split: expected train, val or test, got {split!r}")
    learner, settings, info = load_model(run)
    task = load_task(settings, data)
    if info.fingerprint and info.fingerprint != task.fingerprint:
        typer.echo(
            f"osan: {settings.data.dataset} is not what it was when the run was trained; its {split} split "
            "may hold other graphs, even such that the model was trained on",
            err=True,
        )
    graphs = task.splits[split]
    values = scores(predictions(learner, graphs, settings.training.batch_size, samples), graphs.y, info)
    if as_json:
        print_json({"run": str(run), "split": split, "graphs": len(graphs), **values})
        return
    for name, value in values.items():
        typer.echo(f"{split} {name} {value:.4f} ({len(graphs)} graphs)")
