"""Published datasets by name: find the raw files, process them once, and split them."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch import Tensor

from osan.data.published import cache as store
from osan.data.published.cache import Processed
from osan.data.published.catalog import Source
from osan.data.published.paths import Folder, alone, cache_root, stage, workspace
from osan.data.published.places import cached_file, find, locate, where_to_put
from osan.data.splits import PARTS, Split, SplitRequest, check_split, draw_split, fold_split, subset_split
from osan.data.task import Task, make_task
from osan.errors import OsanError


def load_published(
    name: str,
    root: Folder = None,
    *,
    cache: Folder = None,
    download: bool = False,
    request: SplitRequest | None = None,
    metric: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Task:
    """A published dataset by name; the parameters are those of :func:`osan.data.load`."""
    source = find(name)
    processed = prepare(source, root, cache, download)
    for option, value in (options or {}).items():
        processed = source.options[option](processed) if value else processed
    parts, words = _split(source, processed, request or SplitRequest())
    return make_task(
        name,
        processed.graphs,
        parts,
        kind=source.kind,
        metric=metric or source.metric,
        vertex_features=processed.vertex_features,
        edge_features=processed.edge_features,
        normalize=source.normalize,
        split=words,
        source=source.source,
        license=source.license,
    )


def prepare(source: Source, root: Folder = None, cache: Folder = None, download: bool = False) -> Processed:
    """The processed dataset: from the cache if possible, else from its raw files."""
    place = locate(source, root, cache)
    if place is None and not (download and source.downloads):
        raise OsanError(where_to_put(source, root))
    found = _stored(source, place, cache)
    if found is not None:
        return found
    with alone(cache_root(cache), source.name):
        # Another process may have built it meanwhile.
        found = _stored(source, locate(source, root, cache), cache)
        return found or _build(source, locate(source, root, cache), cache)


def _stored(source: Source, place: Path | None, cache: Folder) -> Processed | None:
    """What the cache has of a dataset; nothing if the file is missing or damaged."""
    file = None if place is None else cached_file(source, place, cache)
    with suppress(OsanError):
        return store.read(file) if file is not None and file.is_file() else None
    return None


def _build(source: Source, place: Path | None, cache: Folder) -> Processed:
    """Process the raw files, and keep the result."""
    with workspace(cache_root(cache)) as folder:
        work = folder / source.folder
        if place is not None:
            stage(place / source.folder, work)
        else:
            work.parent.mkdir(parents=True, exist_ok=True)
        processed = _read(source, work, place)
        if place is None:
            place = cache_root(cache) / "raw"
            _keep(work, place / source.folder)
    store.save(processed, cached_file(source, place, cache))
    return processed


def _read(source: Source, work: Path, place: Path | None) -> Processed:
    """Run the reader, and turn whatever third-party loaders raise into one line."""
    try:
        return source.read(work)
    except OsanError as error:
        # Name the real path of the file, not the staged one.
        real = str(error).replace(str(work), str(place / source.folder if place else work))
        raise OsanError(f"{source.name}: {real}") from error
    except ImportError as error:
        raise OsanError(f"{source.name} needs {error.name}: pip install 'osan[molecules]'") from error
    except Exception as error:
        if _is_full(error):
            raise OsanError(
                f"{source.name}: no space left in the cache folder {work}; set OSAN_CACHE to another folder"
            ) from error
        reason = f"{type(error).__name__}: {error}"
        if place is None:
            raise OsanError(
                f"{source.name}: the download failed ({reason}); {where_to_put(source)}"
            ) from error
        raise OsanError(
            f"{source.name}: cannot read the raw files in {place / source.folder} ({reason}); "
            "replace them with the published ones"
        ) from error


def _is_full(error: BaseException | None) -> bool:
    """Whether a full disk caused an error, however a third-party loader reports it."""
    if error is None:
        return False
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    # What torch.save makes of it.
    torn = isinstance(error, RuntimeError) and "PytorchStreamWriter failed writing" in str(error)
    return full or torn or _is_full(error.__cause__ or error.__context__)


def _keep(work: Path, target: Path) -> None:
    """Move downloaded raw files to the cache; each folder appears whole."""
    shutil.rmtree(work / "processed", ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(work, target)


def _split(source: Source, processed: Processed, request: SplitRequest) -> tuple[Split, str]:
    """The split that is wanted, and its description."""
    graphs, indices, count = processed.graphs, processed.indices, len(processed.graphs)
    # Some official splits are files that a data folder may lack.
    available = [way for way in source.splits if way != "official" or indices] or list(source.splits)
    split = request.default(available) if request.split is None else request.split
    if not isinstance(split, str) or split not in source.splits:
        raise OsanError(f"split: expected {' or '.join(source.splits)} for {source.name}, got {split!r}")
    if split == "official":
        return _official(source, request, indices, count)
    if split == "random" and source.subset:
        request.check_folds(split, 0, source.name)
        parts = subset_split(count, source.subset, request.seed)
        return parts, f"random {source.subset} of {count}, seed {request.seed}"
    return draw_split(request, split, graphs.tensors["y"], source.kind)


def _official(
    source: Source, request: SplitRequest, indices: Mapping[str, Tensor], count: int
) -> tuple[Split, str]:
    """The published split, or one of its folds."""
    request.check_folds("official", source.folds, source.name)
    if not indices:
        raise OsanError(f"{source.name}: the files of the official split are missing")
    fold, same = request.fold or 0, request.validate_on_test
    prefix = f"fold{fold}/" if source.folds else ""
    words = f"official fold {fold} of {source.folds}" if source.folds else "official"
    if f"{prefix}val" not in indices:
        parts = fold_split([indices[f"fold{i}/test"] for i in range(source.folds)], fold, same)
        return check_split(parts, count, overlap=same), words
    if same:
        raise OsanError(
            f"validate_on_test: expected false, for the official split of {source.name} comes with "
            "validation graphs, got true"
        )
    return check_split({part: indices[f"{prefix}{part}"] for part in PARTS}, count), words
