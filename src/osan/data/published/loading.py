"""The function that turns the name of a dataset into a task."""

from __future__ import annotations

import inspect
import os
import shutil
from pathlib import Path
from typing import Any

from osan.data.generated.tasks import EMBEDDED
from osan.data.published import cache as store
from osan.data.published.cache import Processed
from osan.data.published.catalog import PUBLISHED, Source
from osan.data.published.paths import cache_root, data_root, fingerprint, stage, workspace
from osan.data.splits import (
    Split,
    check_fold,
    checked,
    fold_split,
    random_split,
    stratified_fold,
    subset_split,
)
from osan.data.task import Task, make_task
from osan.errors import OsanError

Folder = str | os.PathLike[str] | None


def load(
    name: str,
    root: Folder = None,
    *,
    cache: Folder = None,
    download: bool = False,
    split: str | None = None,
    fold: int | None = None,
    seed: int = 0,
    validate_on_test: bool = False,
    **options: Any,
) -> Task:
    """A dataset by name, with its splits, metric and feature description.

    Parameters
    ----------
    name
        One of :func:`names`.
    root
        The folder of raw files; ``$OSAN_DATA`` by default. It is only read.
    cache
        The folder for processed files; ``$OSAN_CACHE`` by default, else ``~/.cache/osan``.
    download
        Whether missing raw files may be fetched, into the cache.
    split
        ``"official"``, ``"random"`` (80/10/10 by ``seed``) or ``"stratified"`` (ten folds by ``seed``),
        where the dataset has it; its usual one by default.
    fold
        Which fold is tested, from 0, where the split has folds.
    seed
        Seed of random and stratified splits, and of the embedded generators.
    validate_on_test
        Take the test fold for validation too, as published results on EXP do; the model is then selected
        on the test graphs.
    options
        What single datasets understand: ``distances=True`` for ``qm9``; sizes of the embedded ones.

    Examples
    --------
    >>> task = load("planted-motif", num_graphs=50)
    >>> task.kind, task.metric, task.direction, [len(part) for part in task.splits.values()]
    ('regression', 'mae', 'min', [40, 5, 5])
    """
    if name in EMBEDDED:
        if split is not None or fold is not None or validate_on_test:
            raise OsanError(
                f"{name} is generated with its split; split, fold and validate_on_test do not apply"
            )
        return EMBEDDED[name](seed=seed, **_allowed(name, options, _parameters(EMBEDDED[name])))
    source = find(name)
    wanted = _allowed(name, options, tuple(source.options))
    processed = prepare(source, root, cache, download)
    for option, value in wanted.items():
        processed = source.options[option](processed) if value else processed
    parts, words = _split(source, processed, split, fold, seed, validate_on_test)
    return make_task(
        name,
        processed.graphs,
        parts,
        kind=source.kind,
        metric=source.metric,
        vertex_features=processed.vertex_features,
        edge_features=processed.edge_features,
        normalize=source.normalize,
        split=words,
        source=source.source,
        license=source.license,
    )


def names() -> tuple[str, ...]:
    """Every name that :func:`load` knows: the published datasets, then the embedded ones."""
    return (*PUBLISHED, *EMBEDDED)


def find(name: str) -> Source:
    """The published dataset of that name."""
    if name not in PUBLISHED:
        raise OsanError(f"unknown dataset {name!r}; known are {', '.join(names())}")
    return PUBLISHED[name]


def locate(source: Source, root: Folder = None, cache: Folder = None) -> Path | None:
    """The folder that holds all raw files of a dataset: the data folder, else the downloads, else none."""
    for place in (data_root(root), cache_root(cache) / "raw"):
        if place is not None and not source.missing(place):
            return place
    return None


def cached_file(source: Source, place: Path, cache: Folder = None) -> Path:
    """Where the processed dataset is or will be; the name changes with the raw files."""
    key = fingerprint(source.raw_files(place), store.FORMAT, source.name)
    return cache_root(cache) / f"{source.name}-{key}.safetensors"


def prepare(source: Source, root: Folder = None, cache: Folder = None, download: bool = False) -> Processed:
    """The processed dataset, from the cache if it is there and sound, else from its raw files."""
    place = locate(source, root, cache)
    if place is not None:
        file = cached_file(source, place, cache)
        if file.is_file():
            try:
                return store.read(file)
            except OsanError:
                file.unlink()  # damaged: built again below
    elif not (download and source.downloads):
        raise OsanError(where_to_put(source, root))
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
    """Run the reader; whatever the loaders of others raise on broken files or networks is said in a line."""
    try:
        return source.read(work)
    except OsanError as error:
        # Say where the file really is, not where it was staged.
        real = str(error).replace(str(work), str(place / source.folder if place else work))
        raise OsanError(f"{source.name}: {real}") from error
    except ImportError as error:
        raise OsanError(f"{source.name} needs {error.name}: pip install 'osan[molecules]'") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        if place is None:
            raise OsanError(
                f"{source.name} could not be downloaded ({reason}); {where_to_put(source)}"
            ) from error
        raise OsanError(
            f"{source.name}: the raw files in {place / source.folder} could not be read ({reason}); "
            "replace them by the published ones"
        ) from error


def _keep(work: Path, target: Path) -> None:
    """Move downloaded raw files to their place for good; each folder appears whole."""
    shutil.rmtree(work / "processed", ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(work, target)


def where_to_put(source: Source, root: Folder = None) -> str:
    """One sentence: which files are missing, where they go, and how to fetch them."""
    place = data_root(root)
    lacking = source.missing(place) if place is not None else [f"{source.folder}/{f}" for f in source.files]
    fetch = (
        f"or run `osan data prepare {source.name}` with a network"
        if source.downloads
        else "it has no download"
    )
    return (
        f"{source.name} needs the files {', '.join(lacking)} in "
        f"{place or 'the folder that OSAN_DATA (or --data) names'}; {fetch}"
    )


def _allowed(name: str, options: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    for option in options:
        if option not in known:
            raise OsanError(f"{name} has no option {option!r}; it has {', '.join(known) or 'none'}")
    return options


def _parameters(function: Any) -> tuple[str, ...]:
    return tuple(parameter for parameter in inspect.signature(function).parameters if parameter != "seed")


def _split(
    source: Source, processed: Processed, split: str | None, fold: int | None, seed: int, same: bool
) -> tuple[Split, str]:
    """The split asked for, and what it is in words."""
    indices, count = processed.indices, len(processed.graphs)
    if split is None:
        split = source.splits[0]
        if fold is not None and split == "random" and "stratified" in source.splits:
            split = "stratified"
        if split == "official" and not indices and "random" in source.splits:
            split = "random"
    if split not in source.splits:
        raise OsanError(f"{source.name} has no split {split!r}; it has {', '.join(source.splits)}")
    if fold is not None and (split == "random" or (split == "official" and not source.folds)):
        raise OsanError(f"the {split} split of {source.name} has no folds, but fold={fold} was asked for")
    kept_apart = "fold0/val" in indices  # validation graphs are published with each fold
    if same and (split == "random" or (split == "official" and (not source.folds or kept_apart))):
        raise OsanError(
            f"the {split} split of {source.name} says itself what is validated on; leave out validate_on_test"
        )
    fold = fold or 0
    if split == "random":
        if source.subset:
            return subset_split(count, source.subset, seed), f"random {source.subset} of {count}, seed {seed}"
        return random_split(count, seed), f"random 80/10/10, seed {seed}"
    if split == "stratified":
        parts = stratified_fold(processed.graphs.tensors["y"].reshape(-1), fold, seed, same=same)
        return checked(parts, count, overlap=same), f"stratified fold {fold} of 10, seed {seed}"
    if not indices:
        raise OsanError(f"{source.name}: the files of the official split are not there")
    if not source.folds:
        return checked({part: indices[part] for part in ("train", "val", "test")}, count), "official"
    check_fold(fold, source.folds)
    words = f"official fold {fold} of {source.folds}"
    if f"fold{fold}/val" in indices:
        return checked(
            {part: indices[f"fold{fold}/{part}"] for part in ("train", "val", "test")}, count
        ), words
    tests = [indices[f"fold{i}/test"] for i in range(source.folds)]
    parts = fold_split(tests, fold, same)
    return checked(parts, count, overlap=same), words
