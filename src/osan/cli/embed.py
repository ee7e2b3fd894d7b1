"""``osan embed``: what a trained network knows of molecules, as numbers for other methods."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from osan.cli.options import flag, one_or_many
from osan.errors import OsanError
from osan.words import counted


def embed(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    molecules: Annotated[Path, typer.Argument(help="Table with SMILES.")],
    out: Annotated[Path, typer.Option(help="File to write: .npz or .parquet.")] = Path("embeddings.npz"),
    smiles: Annotated[
        list[str] | None, typer.Option(help="Column with SMILES, repeatable (default: those of the run).")
    ] = None,
) -> None:
    """Write the pooled features of each molecule, from which the head of the network predicts.

    They are the mean over samples. Rows that cannot be used are left out. The table has to fit into memory.
    """
    from osan.data.custom.fragments import smiles_columns
    from osan.data.formats.table import SMILES_HINT, read_table
    from osan.data.naming import table_columns
    from osan.training.embedding import embed_table, write_embedded
    from osan.training.run import load_predictor

    if out.suffix.lower() not in (".npz", ".parquet", ".pq"):
        raise OsanError(f"--out: expected a .npz or .parquet file, got {out}")
    if out.exists() and os.path.exists(molecules) and out.samefile(molecules):
        raise OsanError(f"--out: expected another file, got {out}, the table itself")
    model = load_predictor(run)
    column = one_or_many(smiles) or model.settings.data.smiles
    wanted = [*smiles_columns(column), *table_columns(model.settings.data.descriptors)]
    hints = dict.fromkeys(smiles_columns(column), SMILES_HINT)
    table = read_table(molecules, wanted, whole=True, hints=hints)
    embedded = embed_table(model, table, column)
    with flag("out", "--out"):
        write_embedded(out, embedded)
    count, width = embedded.rows.shape
    typer.echo(f"wrote embeddings of {counted(count, 'molecule')}, {counted(width, 'number')} each, to {out}")
    if embedded.rejected:
        first = embedded.rejected[0]
        said = f"{counted(len(embedded.rejected), 'row')} cannot be used; first: line {first.line}"
        typer.echo(f"{said}, {first.reason}", err=True)
