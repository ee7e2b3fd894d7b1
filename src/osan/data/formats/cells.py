"""Cells of tables that come from elsewhere: written so that no spreadsheet runs them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


def harmless(cell: str) -> str:
    """A cell that spreadsheets show as text: one that begins a formula gets an apostrophe in front.

    Numbers, and signs alone, stay as they are.

    >>> [harmless(cell) for cell in ("=1+1", "@SUM(A1)", "-2+3", "-0.5", "-", "CCO")]
    ["'=1+1", "'@SUM(A1)", "'-2+3", '-0.5', '-', 'CCO']
    """
    if not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    return cell if len(cell.strip()) < 2 or _NUMBER.fullmatch(cell.strip()) else "'" + cell


def csv_text(rows: Iterable[Sequence[Any]], separator: str = ",", raw: bool = False) -> str:
    """Rows as CSV, with every digit of a number; texts are :func:`harmless` unless ``raw``."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    for row in rows:
        cells = row if raw else [harmless(cell) if isinstance(cell, str) else cell for cell in row]
        writer.writerow(cells)
    return stream.getvalue()
