"""Tables of text with line numbers: CSV (also compressed) and Parquet."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from osan.errors import OsanError
from osan.extras import optional
from osan.files import read_text

_SUFFIXES = {".csv", ".tsv", ".parquet", ".pq"}


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a file is taken for a table, by its name.

    >>> is_table("a.csv.gz"), is_table("a.pt")
    (True, False)
    """
    return not _SUFFIXES.isdisjoint(suffix.lower() for suffix in Path(path).suffixes)


@dataclass(frozen=True)
class Table:
    """The cells of the wanted columns as text, empty where missing, and the line on which each row starts.

    For Parquet, which has no lines, row i has the number i + 1. Where semicolons separate the cells, as
    spreadsheets do in countries that write 1,5 for one and a half, numbers may have a decimal comma.
    ``header`` and ``rows`` are the whole table as it is, if that was asked for, else empty.
    """

    path: Path
    columns: dict[str, list[str]]
    lines: list[int]
    decimal_comma: bool = False
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def read_table(path: Path, columns: Sequence[str], whole: bool = False) -> Table:
    """The given columns of a ``.csv``, ``.tsv`` (each also with ``.gz``) or ``.parquet`` file with a header.

    A ``.csv`` file has commas, semicolons or tabs: the first with which its header has the columns. If the
    ``whole`` table is asked for, all its cells are kept, too.

    Raises
    ------
    OsanError
        For anything that is not such a table, naming the file and the line.
    """
    if len(set(columns)) != len(columns):
        raise OsanError(f"a column is asked for twice: {', '.join(columns)}")
    if path.suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path, columns, whole)
    text = read_text(path)
    rows: list[list[str]] = []
    lines: list[int] = []
    start = 1
    try:
        separator = "\t" if ".tsv" in path.name.lower() else _separator(text, columns)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        for row in reader:
            if row:
                rows.append(row)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise OsanError(f"{path}, line {start}: broken CSV ({error})") from error
    if not rows:
        raise OsanError(f"{path}, line 1: the file is empty; expected a header")
    header = [name.strip() for name in rows[0]]
    for column in columns:
        if header.count(column) != 1:
            many = "no column" if column not in header else "more than one column"
            raise OsanError(
                f"{path}, line {lines[0]}: {many} {column!r}; the header has {', '.join(header)[:200]}"
            )
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(header):
            raise OsanError(
                f"{path}, line {line}: expected {len(header)} fields as in the header, got {len(row)}"
            )
    place = {column: header.index(column) for column in columns}
    cells = {column: [row[i].strip() for row in rows[1:]] for column, i in place.items()}
    kept = (header, rows[1:]) if whole else ([], [])
    return Table(path, cells, lines[1:], separator == ";", *kept)


def has_column(path: Path, name: str) -> bool:
    """Whether a table has (exactly one) column of that name."""
    try:
        read_table(path, [name])
    except OsanError:
        return False
    return True


def _separator(text: str, columns: Sequence[str]) -> str:
    for separator in (",", ";", "\t"):
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        header = {name.strip() for name in next(filter(None, reader), [])}
        if header.issuperset(columns):
            return separator
    return ","


def is_missing(text: str) -> bool:
    """Whether a cell says that there is no value: empty, ``NA``, ``NaN`` and the like."""
    return text.strip().lower() in ("", "na", "nan", "n/a", "null")


def number(text: str, where: str, decimal_comma: bool = False) -> float:
    """A finite number, or NaN for a missing value (see :func:`is_missing`; ``None`` is no number either).

    >>> number(" 1e3", "file, line 2"), number("", "file, line 3")
    (1000.0, nan)
    """
    if is_missing(text) or text.strip().lower() == "none":
        return float("nan")
    plain = text.replace(",", ".") if decimal_comma and "." not in text else text
    try:
        value = float(plain.replace("_", "x"))  # Python reads 1_000 as a number, no one else does
    except ValueError:
        raise OsanError(f"{where}: expected a number, got {text[:40]!r}") from None
    if value in (float("inf"), float("-inf")):
        raise OsanError(f"{where}: expected a finite number, got {text[:40]!r}")
    return value


def _read_parquet(path: Path, columns: Sequence[str], whole: bool) -> Table:
    arrow = optional("pyarrow", "parquet", "reading Parquet")
    parquet = optional("pyarrow.parquet", "parquet", "reading Parquet")
    try:
        file = parquet.ParquetFile(path)
        header = file.schema_arrow.names
        for column in columns:
            if header.count(column) != 1:
                raise OsanError(
                    f"{path}: no single column {column!r}; the file has {', '.join(header)[:200]}"
                )
        table = file.read(columns=None if whole else list(columns))
        texts = [["" if v is None else str(v) for v in column.to_pylist()] for column in table.columns]
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise OsanError(f"{path}: not a readable Parquet file ({error})") from error
    place = {column: table.column_names.index(column) for column in columns}
    cells = {column: [text.strip() for text in texts[i]] for column, i in place.items()}
    kept = (table.column_names, [list(row) for row in zip(*texts, strict=True)]) if whole else ([], [])
    return Table(path, cells, list(range(1, table.num_rows + 1)), False, *kept)
