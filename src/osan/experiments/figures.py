"""The figures in the paper's seventeen tables, one row per figure."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

from osan.errors import OsanError

# The numbers that the paper prints over its tables, in their order; two tables have two parts.
_NUMBERS = ("1a", "1b", "2a", "2b", *(str(i) for i in range(3, 16)))
# Methods that the authors ran; all others are quoted from other papers.
_RUN = ("Baseline", "Random", "I-MLE", "ESAN")


@dataclass(frozen=True)
class PaperRow:
    """One figure of the paper.

    ``operation``, ``type``, ``size`` and ``subgraphs`` are as printed, empty if they do not apply;
    ``seconds`` is the inference time on the test split, ``None`` if the paper does not give it.
    """

    table: str
    dataset: str
    downstream: str
    method: str
    operation: str
    type: str
    size: str
    subgraphs: str
    metric: str
    value: float
    std: float
    seconds: float | None
    seconds_std: float | None

    @property
    def quoted(self) -> bool:
        """Whether the figure is quoted from another paper, for comparison."""
        return not self.method.startswith(_RUN)


@cache
def paper_rows() -> tuple[PaperRow, ...]:
    """Every figure of the paper, in the order of its tables.

    >>> rows = paper_rows()
    >>> len(rows), rows[0].method, rows[0].value
    (259, 'Baseline', 1.193)
    """
    text = files("osan.experiments").joinpath("results.csv").read_text(encoding="utf-8")
    numbers = ("value", "std", "seconds", "seconds_std")
    rows = []
    for line in csv.DictReader(text.splitlines()):
        parsed = {key: (float(line[key]) if line[key] else None) for key in numbers}
        rows.append(PaperRow(**{**line, **parsed}))  # type: ignore[arg-type]
    return tuple(rows)


def tables() -> dict[str, list[PaperRow]]:
    """The rows of each of the paper's tables, by the label of the table.

    >>> len(tables()), len(tables()["t_mol"])
    (17, 25)
    """
    out: dict[str, list[PaperRow]] = {}
    for row in paper_rows():
        out.setdefault(row.table, []).append(row)
    return out


def table_numbers() -> dict[str, str]:
    """The label of each of the paper's tables by its number in the paper.

    >>> table_numbers()["1a"], table_numbers()["15"]
    ('t_mol', 'tab:molbace_method')
    """
    return dict(zip(_NUMBERS, tables(), strict=True))


def table_name(name: str) -> str:
    """The full label of one of the paper's tables, by its label or its number; ``tab:`` may be left out.

    >>> table_name("exp"), table_name("t_mol"), table_name("1b")
    ('tab:exp', 't_mol', 't_al')
    >>> table_name("t_mole")
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: unknown table 't_mole'; did you mean 't_mol'?
    """
    known = list(tables())
    for candidate in (name, f"tab:{name}", table_numbers().get(name.lower())):
        if candidate in known:
            return candidate
    close = get_close_matches(name, known, n=1)
    both = (f"{label} ({number})" for number, label in table_numbers().items())
    hint = f"did you mean {close[0]!r}?" if close else f"the paper has {', '.join(both)}"
    raise OsanError(f"unknown table {name!r}; {hint}")
