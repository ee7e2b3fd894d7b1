"""Rows of a table that are not used, and the file that lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from osan.data.formats.cells import csv_text
from osan.files import write_bytes


@dataclass(frozen=True)
class Rejected:
    """A row of a table that is not used.

    Parameters
    ----------
    line, smiles
        Its line in the file and its SMILES.
    reason
        Why it is not used.
    duplicate_of
        The line of the same molecule, if that is the reason.
    """

    line: int
    smiles: str
    reason: str
    duplicate_of: int | None = None


def write_rejected(path: Path, bad: Sequence[Rejected]) -> None:
    """Write ``line,smiles,reason`` rows, whole or not at all."""
    write_bytes(path, rejected_text(bad).encode())


def rejected_text(bad: Sequence[Rejected], header: bool = True, raw: bool = False) -> str:
    """The rows ``line,smiles,reason``; cells are :func:`harmless` unless ``raw``."""
    rows = [[str(r.line), r.smiles, r.reason] for r in bad]
    first = [["line", "smiles", "reason"]] if header else []
    return csv_text([*first, *rows], ",", raw)
