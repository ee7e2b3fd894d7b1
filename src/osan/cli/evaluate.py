"""``osan evaluate``: score the model of a finished run on a split."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, cast

import typer

from osan.cli.options import Data, Json, print_json
from osan.errors import OsanError
from osan.words import counted


def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    split: Annotated[str, typer.Option(help="train, val or test.")] = "test",
    samples: Annotated[
        int | None, typer.Option(min=1, help="Number of perturbed samples (default: that of the run).")
    ] = None,
    noise: Annotated[
        str, typer.Option(help="Noise (default: that of the run): gumbel, sum-of-gamma, gaussian or none.")
    ] = "",
    noise_scale: Annotated[float, typer.Option(min=0, help="Scale of --noise.")] = 1.0,
    level: Annotated[
        float, typer.Option(help="Level of the intervals, or sets of classes, whose coverage is shown.")
    ] = 0.9,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Score the best model of a run on any split, with any number of samples and any noise.

    If subgraphs are learned, also print the agreement of the choices of different samples (Cohen's kappa): 1
    if they are always the same, 0 if noise alone decides; for an ensemble, their mean over its members. The
    coverage is the share of targets in conformal intervals (classes: in prediction sets) from validation.
    """
    from osan.selection import Noise
    from osan.training.calibration import CALIBRATION, coverage, read_calibration
    from osan.training.evaluation import predict_members, sample_agreement, scores
    from osan.training.members import members_of, outputs
    from osan.training.run import load_predictor
    from osan.training.tasks import load_task

    if split not in ("train", "val", "test"):
        raise OsanError(f"--split: expected train, val or test, got {split!r}")
    model = load_predictor(run)
    settings, info = model.settings, model.info
    task = load_task(settings, data)
    if not task.is_that_of(info.fingerprint):
        typer.echo(
            f"osan: {settings.data.dataset} has changed since the run was trained; its {split} split may "
            "contain other graphs, even graphs that the model was trained on",
            err=True,
        )
    graphs = task.splits[split]
    other = Noise(cast(Any, noise), noise_scale) if noise else None
    size = settings.training.batch_size
    together, each = predict_members(model, graphs, size, samples, other)
    logits = outputs(model, together, each)
    values = scores(together, graphs.y, info, logits)
    found = None
    if (run / CALIBRATION).is_file():
        found = coverage(logits, graphs.y, read_calibration(run, info), level)
    number = max(2, samples or 5)
    kappas = [sample_agreement(each, graphs, size, number, other) for each in members_of(model)]
    known = [value for value in kappas if value is not None]
    kappa = fmean(known) if known else None
    if as_json:
        more = {"agreement": kappa, "intervals": found}
        print_json({"run": str(run), "split": split, "graphs": len(graphs), **values, **more})
        return
    for name, value in values.items():
        typer.echo(f"{split} {name} {value:.4f} ({counted(len(graphs), 'graph')})")
    if found is not None:
        width = "infinite" if found["width"] is None else f"{found['width']:.4g} wide on average"
        typer.echo(f"{split} coverage {found['coverage']:.4f} of intervals at level {level:g}, {width}")
    if kappa is not None:
        typer.echo(f"{split} agreement of samples {kappa:.4f}")
