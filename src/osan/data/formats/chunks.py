"""Tables that need not fit into memory: some rows at a time."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from osan.data.formats.parquet import open_parquet, parquet_cells, readable, require_memory, require_rows
from osan.data.formats.table import Table, check_columns, check_fields, read_header
from osan.errors import OsanError
from osan.files import encoding_of, open_unpacked

# Longer lines are no table.
_LONGEST_LINE = 1 << 24
# Bytes of memory for a field, and at the most for the rows that are read at a time, or one row.
_FIELD, _MOST = 60, 1 << 28


def table_chunks(
    path: Path, columns: Sequence[str], size: int = 10_000, hints: Mapping[str, str] | None = None
) -> Iterator[Table]:
    """Whole rows as :func:`~osan.data.formats.table.read_table` reads them, ``size`` at a time.

    Raises
    ------
    OsanError
        If the file is no such table; for a damaged row, when it is reached.
    """
    if path.suffix.lower() in (".parquet", ".pq"):
        yield from _parquet_chunks(path, columns, size, hints)
        return
    header, separator = read_header(path, columns, hints)
    line = 1
    with open_unpacked(path) as packed:
        text = io.TextIOWrapper(packed, encoding=encoding_of(path), newline="")
        reader = csv.reader(_lines(text, path), delimiter=separator, strict=True)
        first = True
        try:
            while True:
                rows: list[list[str]] = []
                lines: list[int] = []
                taken = 0
                while len(rows) < size and taken < _MOST:
                    row = next(reader, None)
                    if row is None:
                        break
                    if row and first:
                        first = False
                        check_columns([name.strip() for name in row], columns, path, line)
                    elif row:
                        rows.append(row)
                        lines.append(line)
                        taken += _FIELD * len(row) + sum(map(len, row))
                    line = reader.line_num + 1
                if not rows:
                    break
                check_fields(rows, lines, len(header), path)
                place = {column: header.index(column) for column in columns}
                cells = {column: [row[i].strip() for row in rows] for column, i in place.items()}
                yield Table(path, cells, lines, separator == ";", header, rows)
        except csv.Error as error:
            raise OsanError(f"{path}, line {line}: broken CSV ({error})") from error
        except UnicodeDecodeError as error:
            raise OsanError(
                f"{path}, after line {line}: expected UTF-8 text ({error.reason}); save the file as UTF-8"
            ) from error
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise OsanError(
                f"{path}, line {line}: the compressed file is cut off or damaged ({error})"
            ) from error


def _lines(text: io.TextIOWrapper, path: Path) -> Iterator[str]:
    number = 0
    while line := text.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            raise OsanError(f"{path}, line {number}: expected lines of at most {_LONGEST_LINE} characters")
        yield line


def _parquet_chunks(
    path: Path, columns: Sequence[str], size: int, hints: Mapping[str, str] | None
) -> Iterator[Table]:
    file, first = open_parquet(path), 1
    header = list(file.schema_arrow.names)
    check_columns(header, columns, path, hints=hints)
    with readable(path):
        require_memory(file, path, size)
        batches = file.iter_batches(batch_size=size)
    while True:
        with readable(path):
            batch = next(batches, None)
            if batch is None:
                break
            texts = parquet_cells(batch, path, first)
        cells = {column: [text.strip() for text in texts[header.index(column)]] for column in columns}
        rows = [list(row) for row in zip(*texts, strict=True)]
        yield Table(path, cells, list(range(first, first + batch.num_rows)), False, header, rows)
        first += batch.num_rows
    require_rows(file, path, first - 1)
