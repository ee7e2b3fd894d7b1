"""The paper's figures, one row per figure, as its seventeen tables report them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

# Everything else in the column "method" is quoted from another paper.
_OWN = ("Baseline", "Random", "I-MLE", "ESAN")


@dataclass(frozen=True)
class PaperRow:
    """One figure of the paper.

    ``operation``, ``type``, ``size`` and ``subgraphs`` are as printed there, empty where they do not apply;
    ``seconds`` is the time of inference on the test split, where the paper gives it.
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
        """Whether the figure is another paper's, shown for comparison and not run."""
        return not self.method.startswith(_OWN)


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
    """The rows of each of the paper's tables, by the label that the paper gives it.

    >>> len(tables()), len(tables()["t_mol"])
    (17, 25)
    """
    out: dict[str, list[PaperRow]] = {}
    for row in paper_rows():
        out.setdefault(row.table, []).append(row)
    return out
