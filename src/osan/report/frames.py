"""Predictions of a run as a pandas DataFrame, from SMILES, a DataFrame, a mapping of columns, or a file."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from osan.data.custom.fragments import smiles_columns
from osan.data.formats.table import Table, is_missing, number, read_table
from osan.data.naming import content_of, table_columns
from osan.errors import OsanError
from osan.extras import optional
from osan.training.calibration import interval_of
from osan.training.columns import distinct, numbered
from osan.training.neighbors import neighbors_of
from osan.training.prediction import one_molecule, predict_graphs, predict_table, takes_molecules
from osan.training.run import load_predictor

if TYPE_CHECKING:
    import pandas

    from osan.training.settings import DataSettings


def predict_frame(
    folder: Path,
    given: Any,
    smiles: str | Sequence[str] | None = None,
    level: float | None = None,
    neighbors: int = 0,
) -> pandas.DataFrame:
    """What :meth:`osan.report.Run.predict` returns."""
    pandas = optional("pandas", "molecules", "predictions as a DataFrame")
    model = load_predictor(folder)
    settings, info = model.settings, model.info
    interval = interval_of(folder, info, level)
    if _is_file(given) and content_of(given) != "table" and not takes_molecules(info):
        if neighbors:
            raise OsanError(f"neighbors: expected a table of molecules, got graphs in {given}")
        columns, numbers = predict_graphs(model, Path(given), interval=interval)
        return pandas.DataFrame(numbers.numpy(), columns=distinct(columns))
    column = smiles or settings.data.smiles
    if is_series(given):  # as a DataFrame, so that its index is kept
        given = given.to_frame(smiles_columns(column)[0])
    table = _table(given, column, settings.data)
    similar = neighbors_of(model, neighbors)
    predicted = predict_table(model, table, column, interval=interval, neighbors=similar)
    kept = given if is_frame(given) else _whole_frame(table)
    cells: list[list[Any]] = [[np.nan] * len(predicted.columns) for _ in table.lines]
    for row, values in predicted.values.items():
        cells[row] = [np.nan if value == "" else value for value in values]  # an unknown target of a neighbor
    names = numbered(predicted.columns, list(map(str, kept.columns)))
    bad = predicted.rejected
    if bad:
        said = f"{len(bad)} of {len(table.lines)} rows cannot be used and have no prediction; first: "
        warnings.warn(f"{said}row {bad[0].line}, {bad[0].reason}", stacklevel=3)
    new = pandas.DataFrame(cells, index=kept.index, columns=names)
    if not cells:  # without rows, nothing tells that these are numbers
        new = new.astype(float)
    return pandas.concat([kept, new], axis=1)


def is_frame(given: Any) -> bool:
    """Whether something is a pandas DataFrame; pandas is not imported for the answer."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(given, pandas.DataFrame)


def is_series(given: Any) -> bool:
    """Whether something is a pandas Series; pandas is not imported for the answer."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(given, pandas.Series)


def columns_of(given: Any) -> dict[str, list[str]]:
    """The columns of a DataFrame, or of a mapping of names to values, as text; what is missing is empty.

    >>> columns_of({"smiles": ["C", None], "y": [1, float("nan")]})
    {'smiles': ['C', ''], 'y': ['1', '']}
    """
    if is_frame(given):
        names, values = list(given.columns), [given.iloc[:, i] for i in range(given.shape[1])]
    else:
        names, values = list(given), list(given.values())
    if len({len(column) for column in values}) > 1:
        lengths = ", ".join(f"{name} {len(column)}" for name, column in zip(names, values, strict=True))
        raise OsanError(f"table: expected columns of one length, got {lengths[:200]}")
    texts = [["" if _absent(value) else str(value) for value in column] for column in values]
    header = list(map(str, names))
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise OsanError(f"table: expected columns with different names, got {twice!r} twice")
    return dict(zip(header, texts, strict=True))


def _absent(value: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _is_file(given: Any) -> bool:
    return isinstance(given, str | os.PathLike) and os.path.exists(given)


def _table(given: Any, smiles: str | Sequence[str], wanted: DataSettings) -> Table:
    """What was given as a table with all its columns; rows of a DataFrame count from 1."""
    sources = smiles_columns(smiles)
    needed = [*sources, *table_columns(wanted.descriptors)]
    if _is_file(given):
        return read_table(Path(given), needed, whole=True)
    if isinstance(given, str):
        return one_molecule(given, smiles)
    if is_frame(given) or isinstance(given, Mapping):
        columns = columns_of(given)
    elif isinstance(given, os.PathLike):
        raise OsanError(f"molecules: expected a file, got {os.fspath(given)!r}, which does not exist")
    else:
        texts = ["" if _absent(text) else text for text in given]
        odd = next((text for text in texts if not isinstance(text, str)), "")
        if odd != "":
            raise OsanError(
                "molecules: expected SMILES strings, a DataFrame, a mapping of columns or a file, got a list "
                f"with {type(odd).__name__}"
            )
        columns = {sources[0]: texts}
    for name in needed:
        if name not in columns:
            raise OsanError(f"table: expected a column {name!r}, got {', '.join(columns)[:200] or 'none'}")
    count = len(columns[sources[0]])
    cells = {name: [cell.strip() for cell in columns[name]] for name in needed}
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return Table(Path("table"), cells, list(range(1, count + 1)), header=list(columns), rows=rows)


def _whole_frame(table: Table) -> pandas.DataFrame:
    """A table that was read whole; columns of numbers are numbers."""
    import pandas

    cells = zip(*table.rows, strict=True) if table.rows else [()] * len(table.header)
    columns = [_typed(list(column), table.decimal_comma) for column in cells]
    frame = pandas.DataFrame(dict(enumerate(columns)))
    return frame.set_axis(distinct(table.header), axis=1)


def _typed(cells: Sequence[str], decimal_comma: bool) -> list[Any]:
    """The cells as numbers if all are, or are missing; else as they are."""
    try:
        numbers = [number(cell, "", decimal_comma) for cell in cells]
    except OsanError:
        return list(cells)
    if all(map(is_missing, cells)):
        return list(cells)
    whole = all(value.is_integer() and abs(value) < 2**53 for value in numbers)
    return [int(value) for value in numbers] if whole else numbers
