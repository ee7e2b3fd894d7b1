"""Where the files of a published dataset are, raw and processed."""

from __future__ import annotations

from pathlib import Path

from osan.data.published.catalog import PUBLISHED, Source
from osan.data.published.paths import Folder, cache_root, data_root, fingerprint
from osan.errors import OsanError

# Increased whenever the meaning of a cached file changes, so that older files are rebuilt.
FORMAT = "2"


def find(name: str) -> Source:
    """The published dataset of that name."""
    if name not in PUBLISHED:
        raise OsanError(f"dataset: expected one of {', '.join(PUBLISHED)}, got {name!r}")
    return PUBLISHED[name]


def locate(source: Source, root: Folder = None, cache: Folder = None) -> Path | None:
    """The folder with all raw files of a dataset: the data folder, else the downloads, else ``None``."""
    for place in (data_root(root), cache_root(cache) / "raw"):
        if place is not None and not source.missing(place):
            return place
    return None


def cached_file(source: Source, place: Path, cache: Folder = None) -> Path:
    """The path of the processed dataset. Its name changes with the raw files."""
    key = fingerprint(source.raw_files(place), FORMAT, source.name)
    return cache_root(cache) / f"{source.name}-{key}.safetensors"


def where_to_put(source: Source, root: Folder = None) -> str:
    """A sentence: which files are missing, where they belong, and how to get them."""
    place = data_root(root)
    lacking = source.missing(place) if place is not None else [f"{source.folder}/{f}" for f in source.files]
    fetch = (
        f"or download them with `osan data prepare {source.name}`"
        if source.downloads
        else "there is no download"
    )
    return (
        f"{source.name} needs the files {', '.join(lacking)} in "
        f"{place or 'the data folder ($OSAN_DATA)'}; {fetch}"
    )
