"""``osan predict``: a trained model on new molecules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def predict(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    table: Annotated[Path, typer.Argument(help="A CSV, TSV or Parquet file with SMILES.")],
    smiles: Annotated[str | None, typer.Option(help="Its column with SMILES.")] = None,
    out: Annotated[Path, typer.Option(help="Where predictions go.")] = Path("predictions.csv"),
    rejected: Annotated[Path, typer.Option(help="Where bad rows are listed.")] = Path("rejected.csv"),
) -> None:
    """Predict every molecule of a table, with the spread over perturbed samples."""
    from osan.data.molecules import write_rejected
    from osan.training.prediction import predict_table, write_predicted
    from osan.training.run import load_model

    learner, settings, _ = load_model(run)
    predicted = predict_table(learner, table, smiles or settings.data.smiles)
    write_predicted(out, predicted)
    typer.echo(f"{len(predicted.rows)} molecules predicted, in {out}")
    if predicted.rejected:
        write_rejected(rejected, predicted.rejected)
        first = predicted.rejected[0]
        count = len(predicted.rejected)
        typer.echo(
            f"{count} rows could not be used, listed in {rejected}; first: line {first.line}, {first.reason}",
            err=True,
        )
