"""Settings that hold wherever they are read: absolute paths of custom files."""

from __future__ import annotations

import os
from pathlib import Path

from osan.data.formats.table import has_column
from osan.data.naming import content_of, find_path
from osan.training.settings import Settings


def located(settings: Settings) -> Settings:
    """The same settings with absolute paths of custom files.

    Raises
    ------
    OsanError
        If the dataset is neither a known name nor a file.
    """
    wanted, path = settings.data, find_path(settings.data.dataset)
    if path is None:
        return settings
    changes = {"data.dataset": str(path.resolve())}
    if wanted.labels is not None:
        changes["data.labels"] = str(Path(wanted.labels).resolve())
    split = wanted.split
    # A column of the table takes precedence over a file of that name.
    if split and os.path.isfile(split) and not (content_of(path) == "table" and has_column(path, split)):
        changes["data.split"] = str(Path(split).resolve())
    return settings.changed(changes)
