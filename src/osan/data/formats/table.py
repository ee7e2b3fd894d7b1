"""Tables of text with line numbers: CSV (also compressed) and Parquet."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from osan.data.formats.parquet import open_parquet, parquet_cells, readable, require_memory, require_rows
from osan.errors import OsanError
from osan.files import read_start, read_text
from osan.memory import require_free

_SUFFIXES = {".csv", ".tsv", ".parquet", ".pq"}
_HEADER = 1 << 22  # bytes that hold any header
_ROW, _FIELD = 200, 60  # bytes of memory that each takes
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+(e[-+]?[0-9]+)?", re.IGNORECASE)
# Files of molecules that are not read, and how to make a table of them.
_FROM_SHEET = "save the sheet as CSV"
_FROM_MOLECULES = "RDKit's PandasTools.LoadSDF(path, smilesName='smiles').to_csv(...) does it for .sdf"
_FROM_LINES = "put a first line with the word smiles and rename it to .csv"
_FOREIGN = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), _FROM_SHEET),
    **dict.fromkeys((".sdf", ".sd", ".mol", ".mol2"), _FROM_MOLECULES),
    **dict.fromkeys((".smi", ".smiles"), _FROM_LINES),
}
# What to do about a table without the column of SMILES.
SMILES_HINT = "name the column of SMILES with --smiles (in Python, smiles=...)"


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a table, by its name.

    >>> is_table("a.csv.gz"), is_table("a.pt")
    (True, False)
    """
    return not _SUFFIXES.isdisjoint(suffix.lower() for suffix in Path(path).suffixes)


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds molecules in a format that is not read as a table, by its name.

    >>> is_foreign("a.sdf.gz"), is_foreign("a.XLSX"), is_foreign("gdb9.sdf.csv")
    (True, True, False)
    """
    return _suffix(path) in _FOREIGN and not is_table(path)


def refuse_foreign(path: str | os.PathLike[str]) -> None:
    """Raise for a file that :func:`is_foreign`, and say how to make a table of it."""
    if is_foreign(path):
        raise OsanError(
            f"{path}: expected molecules in a .csv, .tsv or .parquet file, got {_suffix(path)}; "
            f"{_FOREIGN[_suffix(path)]}"
        )


def _suffix(path: str | os.PathLike[str]) -> str:
    return Path(os.fspath(path).lower().removesuffix(".gz")).suffix


@dataclass(frozen=True)
class Table:
    """Columns of a table as text.

    Parameters
    ----------
    path
        The file.
    columns
        The cells of each wanted column, empty if missing.
    lines
        The line on which each row starts. Parquet has no lines: row i has the number i + 1.
    decimal_comma
        Whether numbers may have a decimal comma (1,5 for one and a half), as in tables with semicolons.
    header, rows
        The whole table, if it was asked for, else empty.
    """

    path: Path
    columns: dict[str, list[str]]
    lines: list[int]
    decimal_comma: bool = False
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def read_table(
    path: Path, columns: Sequence[str], whole: bool = False, hints: Mapping[str, str] | None = None
) -> Table:
    """Read columns of a ``.csv``, ``.tsv`` (each also with ``.gz``) or ``.parquet`` file with a header.

    A ``.csv`` file has commas, semicolons or tabs: the first of these for which the header has the columns.
    With ``whole``, all cells are kept. ``hints`` say what to do if a column is not there.

    Raises
    ------
    OsanError
        If the file is no such table. The message names the file and the line.
    """
    refuse_foreign(path)
    if len(set(columns)) != len(columns):
        raise OsanError(f"columns: expected different names, got {', '.join(columns)}")
    if _is_parquet(path):
        return _read_parquet(path, columns, whole, hints)
    text = read_text(path)
    rows: list[list[str]] = []
    lines: list[int] = []
    start = 1
    try:
        separator = "\t" if ".tsv" in path.name.lower() else _separator(text, columns)
        needed = _ROW * text.count("\n") + _FIELD * text.count(separator) + 2 * len(text)
        require_free(needed, f"{path}: the table", "split the file")
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        for row in reader:
            if row:
                rows.append(row)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise OsanError(f"{path}, line {start}: broken CSV ({error})") from error
    if not rows:
        raise OsanError(f"{path}, line 1: expected a header, got an empty file")
    header = [name.strip() for name in rows[0]]
    check_columns(header, columns, path, lines[0], hints)
    check_fields(rows, lines, len(header), path)
    place = {column: header.index(column) for column in columns}
    cells = {column: [row[i].strip() for row in rows[1:]] for column, i in place.items()}
    kept = (header, rows[1:]) if whole else ([], [])
    return Table(path, cells, lines[1:], separator == ";", *kept)


def check_columns(
    header: Sequence[str],
    columns: Sequence[str],
    path: Path,
    line: int | None = None,
    hints: Mapping[str, str] | None = None,
) -> None:
    """Raise unless a header has each of the columns once; ``hints`` say what to do about one that is not."""
    for column in columns:
        if header.count(column) != 1:
            where = f"{path}, line {line}" if line is not None else f"{path}"
            hint = "rename all but one of them" if column in header else (hints or {}).get(column, "")
            if any(_is_number(name) for name in header):
                hint = "the first line has to name the columns"
            raise OsanError(
                f"{where}: expected one column {column!r}, got {header.count(column)} in the header "
                f"{', '.join(header)[:200]}{_similar(column, header)}{hint and f'; {hint}'}"
            )


def _is_number(name: str) -> bool:
    """Whether a name in a header is a measured value, as in a table without a header."""
    try:
        return "." in name and math.isfinite(float(name))
    except ValueError:
        return False


def _similar(column: str, header: Sequence[str]) -> str:
    """Which column of the header was probably meant, in words, if any."""
    if column in header:
        return ""
    plain = {name.lower(): name for name in header[:1000]}
    close = get_close_matches(column.lower(), plain, n=1, cutoff=0.6)
    return f"; did you mean {plain[close[0]]!r}?" if close else ""


def check_fields(rows: Sequence[Sequence[str]], lines: Sequence[int], width: int, path: Path) -> None:
    """Raise unless all rows have as many fields as the header."""
    for line, row in zip(lines, rows, strict=True):
        if len(row) != width:
            raise OsanError(f"{path}, line {line}: expected {width} fields as in the header, got {len(row)}")


def read_header(
    path: Path, columns: Sequence[str], hints: Mapping[str, str] | None = None
) -> tuple[list[str], str]:
    """The names of the columns of a text file, and the separator that makes ``columns`` some of them."""
    refuse_foreign(path)
    text = read_start(path, _HEADER)
    separator = "\t" if ".tsv" in path.name.lower() else _separator(text, columns)
    try:
        header = _first_row(text, separator)
    except csv.Error as error:
        raise OsanError(f"{path}, line 1: broken CSV ({error})") from error
    if not header:
        raise OsanError(f"{path}, line 1: expected a header, got an empty file")
    check_columns(header, columns, path, 1, hints)
    return header, separator


def count_rows(path: Path) -> int:
    """About how many rows a table has: its lines, without the header and empty ones."""
    if _is_parquet(path):
        return int(open_parquet(path).metadata.num_rows)
    return max(0, sum(1 for line in read_text(path).splitlines() if line.strip()) - 1)


def has_column(path: Path, name: str) -> bool:
    """Whether a table has exactly one column of that name; only its header is read."""
    try:
        return _header(path, name).count(name) == 1
    except (OsanError, csv.Error):
        return False


def _header(path: Path, name: str) -> list[str]:
    """The names of the columns; the separator is the one that makes ``name`` a column, if any."""
    if _is_parquet(path):
        return list(open_parquet(path).schema_arrow.names)
    text = read_start(path, _HEADER)
    return _first_row(text, "\t" if ".tsv" in path.name.lower() else _separator(text, [name]))


def _first_row(text: str, separator: str) -> list[str]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return [name.strip() for name in next(filter(None, reader), [])]


def _separator(text: str, columns: Sequence[str]) -> str:
    """The first for which the header has the columns; else that with most of them, or with most names."""
    headers: dict[str, list[str]] = {}
    for separator in (",", ";", "\t"):
        headers[separator] = _first_row(text, separator)
        if set(headers[separator]).issuperset(columns):
            return separator
    return max(headers, key=lambda s: (len(set(headers[s]).intersection(columns)), len(headers[s])))


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def is_missing(text: str) -> bool:
    """Whether a cell is empty, ``NA``, ``NaN``, Excel's ``#N/A`` or similar."""
    return text.strip().lower() in ("", "na", "nan", "n/a", "#n/a", "null")


def number(text: str, where: str, decimal_comma: bool = False) -> float:
    """A finite number, or NaN for a missing value: see :func:`is_missing`; also ``None``.

    >>> number(" 1e3", "file, line 2"), number("", "file, line 3")
    (1000.0, nan)
    """
    if is_missing(text) or text.strip().lower() == "none":
        return float("nan")
    plain = text.replace(",", ".") if decimal_comma and "." not in text else text
    plain = plain.replace("−", "-")  # as word processors write it
    try:
        value = float(plain.replace("_", "x"))  # only Python reads 1_000 as a number
    except ValueError:
        comma = not decimal_comma and _DECIMAL_COMMA.fullmatch(plain.strip())
        hint = "; decimal commas are read in tables with semicolons" if comma else ""
        raise OsanError(f"{where}: expected a number, got {text[:40]!r}{hint}") from None
    if value in (float("inf"), float("-inf")):
        raise OsanError(f"{where}: expected a finite number, got {text[:40]!r}")
    return value


def _read_parquet(path: Path, columns: Sequence[str], whole: bool, hints: Mapping[str, str] | None) -> Table:
    file = open_parquet(path)
    check_columns(file.schema_arrow.names, columns, path, hints=hints)
    with readable(path):
        require_memory(file, path, columns=() if whole else columns)
        table = file.read(columns=None if whole else list(columns))
        texts = parquet_cells(table, path)
    require_rows(file, path, table.num_rows)
    place = {column: table.column_names.index(column) for column in columns}
    cells = {column: [text.strip() for text in texts[i]] for column, i in place.items()}
    kept = (table.column_names, [list(row) for row in zip(*texts, strict=True)]) if whole else ([], [])
    return Table(path, cells, list(range(1, table.num_rows + 1)), False, *kept)
