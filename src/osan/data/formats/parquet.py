"""Parquet files as text: checked before they are unpacked, which can make them a million times larger."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from osan.errors import OsanError
from osan.extras import optional
from osan.memory import require_free

# What a cell takes as text, without its characters.
_CELL = 100


def open_parquet(path: Path) -> Any:
    """A Parquet file, of which nothing but the description is read yet.

    Texts will be read as a dictionary of different ones, as they are stored: a text of many megabytes may be
    that of every row.
    """
    parquet = optional("pyarrow.parquet", "parquet", "reading Parquet")
    types = optional("pyarrow.types", "parquet", "reading Parquet")
    with readable(path):
        schema = parquet.read_schema(path)
        texts = [field.name for field in schema if _is_text(types, field.type)]
        return parquet.ParquetFile(path, read_dictionary=texts)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say which file is damaged if Arrow cannot read it."""
    arrow = optional("pyarrow", "parquet", "reading Parquet")
    try:
        yield
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise OsanError(f"{path}: expected a readable Parquet file ({reason})") from error


def require_memory(file: Any, path: Path, rows: int | None = None, columns: Sequence[str] = ()) -> None:
    """Refuse a file that would not fit into memory, all of it or ``rows`` at a time.

    Parameters
    ----------
    file, path
        The open file, and its path.
    rows
        How many rows are read at a time.
    columns
        Which columns are read; all by default.
    """
    types = optional("pyarrow.types", "parquet", "reading Parquet")
    for field in file.schema_arrow:
        if types.is_nested(field.type) and (not columns or field.name in columns):
            # Of any size, which only unpacking shows.
            raise OsanError(
                f"{path}, column {field.name}: expected texts, numbers or dates, got {field.type}; leave the "
                "column out"
            )
    known = file.metadata
    unpacked = [known.row_group(i).total_byte_size for i in range(known.num_row_groups)] or [0]
    width = len(columns) or len(file.schema_arrow)
    count = known.num_rows if rows is None else min(rows, known.num_rows)
    needed = 4 * (sum(unpacked) if rows is None else max(unpacked)) + _CELL * count * width
    require_free(needed, f"{path}: the table unpacked", "split the file")


def require_rows(file: Any, path: Path, rows: int) -> None:
    """Refuse a file with other rows than it says: in parts, Arrow ends with the shortest column."""
    said = file.metadata.num_rows
    if rows != said:
        raise OsanError(f"{path}: expected {said} rows, as the file says, got {rows}; it is damaged")


def parquet_cells(table: Any, path: Path, first: int = 1) -> list[list[str]]:
    """The columns of a part of a Parquet file as text; ``first`` is the number of its first row.

    Raises
    ------
    OsanError
        If a cell is longer than those of CSV files may be, or all of them do not fit into memory.
    """
    types = optional("pyarrow.types", "parquet", "reading Parquet")
    characters, most = 0, csv.field_size_limit()
    for name, column in zip(table.schema.names, table.columns, strict=True):
        for chunk in getattr(column, "chunks", [column]):
            longest, total = _lengths(types, chunk)
            if longest > most:
                raise OsanError(
                    f"{path}, from row {first}, column {name}: expected at most {most} characters, got a "
                    f"cell of {longest}"
                )
            characters += total
    require_free(
        4 * characters, f"{path}, from row {first}: the text", "split the file, or leave columns out"
    )
    return [["" if v is None else str(v) for v in column.to_pylist()] for column in table.columns]


def _lengths(types: Any, chunk: Any) -> tuple[int, int]:
    """The length of the longest text, and that of all together, without unpacking them."""
    compute = optional("pyarrow.compute", "parquet", "reading Parquet")
    if types.is_dictionary(chunk.type):
        if not _is_text(types, chunk.type.value_type):
            return 0, 0
        lengths = compute.take(compute.binary_length(chunk.dictionary), chunk.indices)
    elif _is_text(types, chunk.type):
        lengths = compute.binary_length(chunk)
    else:
        return 0, 0
    # 32-bit lengths overflow in a sum.
    lengths = lengths.cast("int64")
    return compute.max(lengths).as_py() or 0, compute.sum(lengths).as_py() or 0


def _is_text(types: Any, kind: Any) -> bool:
    text = types.is_string(kind) or types.is_large_string(kind)
    return bool(text or types.is_binary(kind) or types.is_large_binary(kind))
