"""Columns that are computed once for a dataset and kept in the cache."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from osan.data.published.paths import Folder, cache_root
from osan.errors import OsanError
from osan.files import read_bytes, sealed, unsealed, write_bytes


def cached_columns(digest: Any, rows: int, make: Callable[[], Tensor], cache: Folder = None) -> Tensor:
    """What ``make`` returns, from the cache if it is there.

    Parameters
    ----------
    digest
        A hash (of :mod:`hashlib`) of everything that the columns depend on.
    rows
        The number of rows.
    make
        Computes the columns.
    cache
        The folder of the cache.
    """
    path = Path(cache_root(cache)) / "structure" / f"{digest.hexdigest()[:32]}.safetensors"
    if path.is_file():
        try:
            tensor = load(unsealed(read_bytes(path)) or b"")["columns"]
            if len(tensor) == rows:
                return tensor
        except (SafetensorError, OsanError, LookupError):
            pass  # damaged: it is made again
    made = make().contiguous()
    with suppress(OsanError):  # a cache that cannot be written costs time, not the run
        write_bytes(path, sealed(save({"columns": made})))
    return made
