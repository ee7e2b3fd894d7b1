"""``osan predict``: a trained model on new molecules or graphs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osan.cli.options import Json, flag, one_or_many, print_json
from osan.errors import OsanError
from osan.words import counted

if TYPE_CHECKING:
    from osan.training.calibration import Interval
    from osan.training.members import Predictor


def predict(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    given: Annotated[
        str,
        typer.Argument(
            metavar="MOLECULES|GRAPHS",
            help="Table with SMILES, one SMILES string, or file or folder of graphs, as for training.",
        ),
    ],
    smiles: Annotated[
        list[str] | None, typer.Option(help="Column with SMILES (default: as in the run; repeatable).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for predictions (default: predictions.csv).")] = None,
    rejected: Annotated[
        Path | None, typer.Option(help="File for bad rows of a table (default: rejected.csv).")
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Processes for a table of molecules.")] = 1,
    level: Annotated[
        float | None, typer.Option(help="Add intervals that hold this share of truths, e.g. 0.9.")
    ] = None,
    neighbors: Annotated[
        int, typer.Option(min=0, help="Molecules: list so many similar training molecules of each.")
    ] = 0,
    raw_cells: Annotated[
        bool,
        typer.Option("--raw-cells", help="Leave cells that are formulas without an apostrophe in front."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Predict the molecules of a table, one molecule, or the graphs of a file.

    A table is written with prediction columns appended, graphs with their position in the file. Tables may be
    larger than the memory; the same command goes on where an earlier one was stopped. Predictions of a single
    molecule, and all with --json, are printed; then files are written only with --out and --rejected.

    The spread of a prediction is that over samples and members. Without noise, as by default, and with one
    network it is 0: use --level for intervals, or train with --ensemble 5.
    """
    from osan.training.calibration import interval_of
    from osan.training.prediction import check_molecules, takes_molecules
    from osan.training.run import load_predictor

    model = load_predictor(run)
    settings, info = model.settings, model.info
    with flag("level", "--level"):
        interval = interval_of(run, info, level)
    if _are_graphs(given, takes_molecules(info)):
        if smiles or rejected is not None or neighbors:
            raise OsanError(
                f"--smiles, --rejected, --neighbors: expected a table of molecules, got graphs in {given}"
            )
        _predict_graphs(model, given, out, as_json, interval)
        return
    column = one_or_many(smiles) or settings.data.smiles
    if os.path.isfile(given) and not as_json:
        check_molecules(info)
        _predict_file(run, given, column, out, rejected, processes, raw_cells, level, neighbors)
    else:
        _print_molecules(model, given, column, out, rejected, as_json, interval, neighbors)


def _are_graphs(given: str, takes_molecules: bool) -> bool:
    """Whether a file or folder holds graphs, by its name, else by what the run was trained on."""
    from osan.data.formats.table import refuse_foreign
    from osan.data.naming import content_of

    # pathlib raises for long SMILES
    if not os.path.exists(given):
        if takes_molecules:
            return False
        raise OsanError(
            f"graphs: expected a file or folder of graphs, got {given[:80]!r}, which does not exist"
        )
    refuse_foreign(given)
    content = content_of(given)
    return content == "graphs" or (content is None and not takes_molecules)


def _predict_graphs(
    model: Predictor, given: str, out: Path | None, as_json: bool, interval: Interval | None
) -> None:
    from osan.training.columns import distinct, write_csv
    from osan.training.prediction import predict_graphs

    if not as_json:
        out = out or Path("predictions.csv")
    _check_names(given, out)
    columns, values = predict_graphs(model, Path(given), interval=interval)
    header, rows = distinct(["graph", *columns]), [[i, *row] for i, row in enumerate(values.tolist())]
    if out is not None:
        write_csv(out, header, rows, "\t" if ".tsv" in out.name.lower() else ",")
    if as_json:
        print_json({"predictions": [dict(zip(header, row, strict=True)) for row in rows], "rejected": []})
    else:
        typer.echo(f"wrote predictions of {counted(len(rows), 'graph')} to {out}")


def _predict_file(
    run: Path,
    given: str,
    column: str | list[str],
    out: Path | None,
    rejected: Path | None,
    processes: int,
    raw: bool,
    level: float | None,
    neighbors: int,
) -> None:
    from osan.cli.options import progress_bar
    from osan.training.streaming import Told, predict_file

    out, rejected = out or Path("predictions.csv"), rejected or Path("rejected.csv")
    _check_names(given, out, rejected)
    with flag("neighbors", "--neighbors"), progress_bar() as bar:
        shown = bar.add_task("rows", total=None)

        def progress(told: Told) -> None:
            bar.update(shown, completed=told.molecules + told.rejected)

        told = predict_file(
            run,
            Path(given),
            column,
            out,
            rejected,
            processes=processes,
            raw=raw,
            level=level,
            neighbors=neighbors,
            progress=progress,
        )
    typer.echo(f"wrote predictions of {counted(told.molecules, 'molecule')} to {out}")
    if told.rejected:
        typer.echo(
            f"{counted(told.rejected, 'row')} cannot be used, see {rejected}; first: line {told.first_line}, "
            f"{told.first_reason}",
            err=True,
        )


def _print_molecules(
    model: Predictor,
    given: str,
    column: str | list[str],
    out: Path | None,
    rejected: Path | None,
    as_json: bool,
    interval: Interval | None,
    neighbors: int,
) -> None:
    """Predict one molecule, or a table that fits into memory, and print the predictions."""
    from osan.data.custom.fragments import smiles_columns
    from osan.data.custom.rejected import write_rejected
    from osan.data.formats.table import SMILES_HINT, is_foreign, is_table, read_table
    from osan.data.naming import table_columns
    from osan.training.columns import distinct, write_csv
    from osan.training.neighbors import neighbors_of
    from osan.training.prediction import decimal_commas, one_molecule, predict_table, printed_rows

    of_file = os.path.isfile(given)
    if of_file:
        _check_names(given, out, rejected)
    wanted = [*smiles_columns(column), *table_columns(model.settings.data.descriptors)]
    hints = dict.fromkeys(smiles_columns(column), SMILES_HINT)
    table = (
        read_table(Path(given), wanted, whole=True, hints=hints) if of_file else one_molecule(given, column)
    )
    with flag("neighbors", "--neighbors"):
        similar = neighbors_of(model, neighbors)
    predicted = predict_table(model, table, column, interval=interval, neighbors=similar)
    bad = predicted.rejected
    if bad and not of_file:
        why = "no such file" if is_table(given) or is_foreign(given) else bad[0].reason
        raise OsanError(f"molecules: expected a file or a SMILES string, got {given[:80]!r} ({why})")
    if out is not None:
        separator = "\t" if ".tsv" in out.name.lower() else ";" if table.decimal_comma else ","
        write_csv(out, predicted.header, printed_rows(predicted, decimal_commas(table)), separator)
    if rejected is not None and bad:
        write_rejected(rejected, bad)
    if as_json:
        names = distinct(predicted.header)
        rows = [dict(zip(names, row, strict=True)) for row in predicted.rows]
        told = [{"line": each.line, "smiles": each.smiles, "reason": each.reason} for each in bad]
        print_json({"predictions": rows, "rejected": told})
    elif out is not None:
        typer.echo(f"wrote predictions of {counted(len(predicted.values), 'molecule')} to {out}")
    else:
        for name, value in zip(predicted.columns, predicted.values[0], strict=True):
            typer.echo(f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}")


def _check_names(table: str, *written: Path | None) -> None:
    """Raise if a file to write is the given one itself, or of an unsupported kind."""
    from osan.data.formats.table import is_table

    for path in written:
        if path is not None and path.exists() and path.samefile(table):
            what = "table" if is_table(table) else "file"
            raise OsanError(f"--out, --rejected: expected another file, got {path}, the {what} itself")
        if path is not None and path.suffix.lower() in (".parquet", ".pq", ".gz", ".xlsx", ".xls", ".ods"):
            raise OsanError(f"{path}: expected a .csv or .tsv file, as predictions are written as text")
