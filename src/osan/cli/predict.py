"""``osan predict``: a trained model on new molecules."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from osan.cli.options import Json, print_json
from osan.errors import OsanError


def predict(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    molecules: Annotated[
        str, typer.Argument(help="A CSV, TSV or Parquet file with SMILES, or one SMILES string.")
    ],
    smiles: Annotated[str | None, typer.Option(help="The column with SMILES (default: the run's).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where predictions of a file go (default: predictions.csv).")
    ] = None,
    rejected: Annotated[
        Path | None, typer.Option(help="Where its bad rows are listed (default: rejected.csv).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict every molecule of a table, or a single one, with the spread over perturbed samples.

    The table is written with the predictions behind its own columns. Those of a single molecule are printed,
    as are all with --json; then files are written only where --out and --rejected say so.
    """
    from osan.data.molecules import write_rejected
    from osan.data.table import read_table
    from osan.training.columns import distinct
    from osan.training.prediction import one_molecule, predict_table, write_predicted
    from osan.training.run import load_model

    learner, settings, _ = load_model(run)
    column = smiles or settings.data.smiles
    of_file = os.path.isfile(molecules)  # pathlib cannot bear the length of some SMILES
    if of_file:
        table = read_table(Path(molecules), [column], whole=True)
        if not as_json:
            out, rejected = out or Path("predictions.csv"), rejected or Path("rejected.csv")
        _check_names(molecules, out, rejected)
    else:
        table = one_molecule(molecules, column)
    predicted = predict_table(learner, table, column)
    bad = predicted.rejected
    if bad and not of_file:
        raise OsanError(
            f"{molecules[:80]!r} is neither a file nor a SMILES string that can be used ({bad[0].reason})"
        )
    if out is not None:
        write_predicted(out, predicted)
    if rejected is not None and bad:
        write_rejected(rejected, bad)
    if as_json:
        names = distinct(predicted.header)
        rows = [dict(zip(names, row, strict=True)) for row in predicted.rows]
        print_json({"predictions": rows, "rejected": [asdict(each) for each in bad]})
        return
    if out is None:
        for name, value in zip(predicted.columns, predicted.values[0], strict=True):
            typer.echo(f"{name} {value:.6g}")
        return
    typer.echo(f"{len(predicted.values)} molecules predicted, in {out}")
    if bad:
        typer.echo(
            f"{len(bad)} rows could not be used, listed in {rejected}; "
            f"first: line {bad[0].line}, {bad[0].reason}",
            err=True,
        )


def _check_names(table: str, *written: Path | None) -> None:
    """Raise if a file to be written is the table itself, or is of a kind that is not written."""
    for path in written:
        if path is not None and path.exists() and path.samefile(table):
            raise OsanError(f"{path} is the table itself; name another file by --out or --rejected")
        if path is not None and path.suffix.lower() in (".parquet", ".pq", ".gz"):
            raise OsanError(f"{path}: predictions are written as text; name a .csv or .tsv file")
