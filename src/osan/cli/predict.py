"""``osan predict``: a trained model on new molecules or graphs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osan.cli.options import Json, print_json
from osan.errors import OsanError

if TYPE_CHECKING:
    from osan.training.module import Learner

# Files that are graphs by their names; see osan.graphs.read_graphs.
_GRAPHS = (".pt", ".g6", ".s6", ".graph6", ".sparse6", ".edges", ".edgelist", ".el", ".gml", ".graphml")


def predict(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    given: Annotated[
        str,
        typer.Argument(
            metavar="MOLECULES|GRAPHS",
            help="A table with SMILES, one SMILES string, or a file or folder of graphs, as for training.",
        ),
    ],
    smiles: Annotated[str | None, typer.Option(help="The column with SMILES (default: the run's).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where predictions of a file go (default: predictions.csv).")
    ] = None,
    rejected: Annotated[
        Path | None, typer.Option(help="Where the bad rows of a table are listed (default: rejected.csv).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict all molecules of a table, a single one, or all graphs of a file, with the spread over samples.

    A table is written with the predictions behind its own columns, those of graphs with their places in the
    file. Those of a single molecule are printed, as are all with --json; then files are written only where
    --out and --rejected say so.
    """
    from osan.training.prediction import takes_molecules
    from osan.training.run import load_model

    learner, settings, info = load_model(run)
    if _are_graphs(given, takes_molecules(info)):
        if smiles is not None or rejected is not None:
            raise OsanError(f"--smiles and --rejected go with a table of molecules; {given} holds graphs")
        _predict_graphs(learner, given, out, as_json)
    else:
        _predict_molecules(learner, given, smiles or settings.data.smiles, out, rejected, as_json)


def _are_graphs(given: str, takes_molecules: bool) -> bool:
    """Whether a file or folder holds graphs: by its name, else by what the run was trained on."""
    from osan.data.formats.table import is_table

    # pathlib cannot bear the length of some SMILES
    if not os.path.exists(given):
        if takes_molecules:
            return False
        raise OsanError(f"{given[:80]!r} does not exist; the run takes a file or folder of graphs")
    if is_table(given):
        return False
    named = Path(given.removesuffix(".gz")).suffix.lower() in _GRAPHS
    return named or not takes_molecules or any(Path(given).glob("*_A.txt"))


def _predict_graphs(learner: Learner, given: str, out: Path | None, as_json: bool) -> None:
    from osan.training.columns import distinct, write_csv
    from osan.training.prediction import predict_graphs

    if not as_json:
        out = out or Path("predictions.csv")
    _check_names(given, out)
    columns, values = predict_graphs(learner, Path(given))
    header, rows = distinct(["graph", *columns]), [[i, *row] for i, row in enumerate(values.tolist())]
    if out is not None:
        write_csv(out, header, rows, "\t" if ".tsv" in out.name.lower() else ",")
    if as_json:
        print_json({"predictions": [dict(zip(header, row, strict=True)) for row in rows], "rejected": []})
    else:
        typer.echo(f"{len(rows)} graphs predicted, in {out}")


def _predict_molecules(
    learner: Learner, given: str, column: str, out: Path | None, rejected: Path | None, as_json: bool
) -> None:
    from osan.data.custom.molecules import write_rejected
    from osan.data.formats.table import read_table
    from osan.training.columns import distinct
    from osan.training.prediction import one_molecule, predict_table, write_predicted

    of_file = os.path.isfile(given)
    if of_file:
        table = read_table(Path(given), [column], whole=True)
        if not as_json:
            out, rejected = out or Path("predictions.csv"), rejected or Path("rejected.csv")
        _check_names(given, out, rejected)
    else:
        table = one_molecule(given, column)
    predicted = predict_table(learner, table, column)
    bad = predicted.rejected
    if bad and not of_file:
        raise OsanError(
            f"{given[:80]!r} is neither a file nor a SMILES string that can be used ({bad[0].reason})"
        )
    if out is not None:
        write_predicted(out, predicted)
    if rejected is not None and bad:
        write_rejected(rejected, bad)
    if as_json:
        names = distinct(predicted.header)
        rows = [dict(zip(names, row, strict=True)) for row in predicted.rows]
        told = [{"line": each.line, "smiles": each.smiles, "reason": each.reason} for each in bad]
        print_json({"predictions": rows, "rejected": told})
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
    """Raise if a file to be written is the given one itself, or is of a kind that is not written."""
    from osan.data.formats.table import is_table

    for path in written:
        if path is not None and path.exists() and path.samefile(table):
            what = "table" if is_table(table) else "file"
            raise OsanError(f"{path} is the {what} itself; name another file by --out or --rejected")
        if path is not None and path.suffix.lower() in (".parquet", ".pq", ".gz"):
            raise OsanError(f"{path}: predictions are written as text; name a .csv or .tsv file")
