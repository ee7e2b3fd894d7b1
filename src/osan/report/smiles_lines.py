"""Which molecule is on which line of the table of a run."""

from __future__ import annotations

from pathlib import Path

from osan.data.custom.fragments import smiles_columns
from osan.data.formats.table import read_table
from osan.data.naming import content_of
from osan.errors import OsanError
from osan.training.settings import Settings


def smiles_lines(settings: Settings) -> dict[int, str]:
    """The SMILES on each line of the table that a run was trained on; empty if it is none, or gone."""
    path = Path(settings.data.dataset)
    try:
        if content_of(path) != "table":
            return {}
        columns = smiles_columns(settings.data.smiles)
        table = read_table(path, columns)
    except OsanError:
        return {}
    texts = zip(*(table.columns[name] for name in columns), strict=True)
    return dict(zip(table.lines, map(".".join, texts), strict=True))
