"""Columns of times: dates, or numbers such as years."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone

from osan.data.formats.table import is_missing, number
from osan.errors import OsanError

_MONTH = re.compile(r"\d{4}-\d{2}")


def times(cells: Sequence[str], where: Sequence[str], decimal_comma: bool = False) -> list[float]:
    """Cells as numbers in the order of time: all are numbers, or all are dates in the form of ISO 8601.

    Dates may lack the day, and have a time of day; without a time zone they count as UTC.

    Parameters
    ----------
    cells
        The text of each cell.
    where
        Its place, for the error.
    decimal_comma
        Whether numbers may have a decimal comma.

    Examples
    --------
    >>> first, second = times(["2024-05", "2024-05-01T12:00"], ["", ""])
    >>> second - first
    43200.0
    >>> times(["2019", "2020.5"], ["", ""])
    [2019.0, 2020.5]
    >>> times(["5/1/24"], ["a.csv, line 2"])
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: a.csv, line 2: expected a number or a date such as 2024-05-31, got '5/1/24'
    """
    out: list[float] = []
    of_dates = False
    for place, (cell, here) in enumerate(zip(cells, where, strict=True)):
        value = None if is_missing(cell) else _number(cell, decimal_comma)
        is_date = value is None
        value = _date(cell) if is_date else value
        if value is None:
            raise OsanError(f"{here}: expected a number or a date such as 2024-05-31, got {cell[:40]!r}")
        if place and is_date != of_dates:
            words = ("a date", "a number") if of_dates else ("a number", "a date")
            raise OsanError(f"{here}: expected {words[0]} as in the rows before, got {cell[:40]!r}")
        of_dates = is_date
        out.append(value)
    return out


def _number(cell: str, decimal_comma: bool) -> float | None:
    try:
        return number(cell, "", decimal_comma)
    except OsanError:
        return None


def _date(cell: str) -> float | None:
    text = f"{cell}-01" if _MONTH.fullmatch(cell) else cell
    try:
        when = datetime.fromisoformat(re.sub("[Zz]$", "+00:00", text))  # Python 3.10 knows no Z
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=timezone.utc)).timestamp()
