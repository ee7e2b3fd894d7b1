"""The one door to data: a name, a table of molecules, a file of graphs or a TU folder becomes a task."""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from osan.data.custom.graphs import load_graphs
from osan.data.custom.molecules import load_table
from osan.data.formats.table import refuse_foreign
from osan.data.generated.tasks import GENERATED
from osan.data.naming import content_of, find_path
from osan.data.published.catalog import PUBLISHED
from osan.data.published.loading import load_published
from osan.data.published.paths import Folder
from osan.data.splits import SplitRequest
from osan.data.task import Task
from osan.errors import OsanError
from osan.parts import calling, resolve
from osan.words import Fragments, Kind


def load(
    dataset: str | os.PathLike[str],
    root: Folder = None,
    *,
    smiles: str | Sequence[str] | None = None,
    targets: str | Sequence[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    kind: Kind | None = None,
    metric: str | None = None,
    split: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    fold: int | None = None,
    seed: int = 0,
    validate_on_test: bool = False,
    descriptors: Sequence[str] = (),
    fragments: Fragments | None = None,
    rejected: str | os.PathLike[str] | None = None,
    cache: Folder = None,
    download: bool = False,
    **options: Any,
) -> Task:
    """Load a dataset by name, a table of molecules, a file of graphs, or a TU folder.

    Parameters
    ----------
    dataset
        One of :func:`names`; or the path of a table (CSV, TSV, Parquet; see :func:`load_table`); or the path
        of a file or folder of graphs (graph6, ``.pt``, TU, ...; see :func:`load_graphs`); or
        ``"module:name"``, a function that is called with ``seed`` and ``options``, and returns a
        :class:`Task`.
    root
        Named datasets: the folder of raw files, by default ``$OSAN_DATA``. Nothing is written there.
    smiles, targets
        Tables: the column of SMILES (by default ``"smiles"``), or several, and those of targets (by default
        ``"y"``).
    labels
        Files of graphs without targets: a text file with one line per graph.
    kind
        Tables and files: ``"regression"`` (the default), ``"binary"`` or ``"multiclass"``.
    metric
        One of :data:`osan.data.METRICS` for the kind; by default the usual one of the data.
    split
        ``"random"`` (80/10/10 by ``seed``), ``"stratified"`` (ten folds by ``seed``), ``"official"`` (named
        datasets), ``"kfold"`` or ``"kfold:N"`` (tables and files: folds whatever the targets),
        ``"scaffold"``, ``"time:COLUMN"`` or a column of train, val and test (tables), the file of a split or
        a mapping of the parts to indices (tables and files). By default the usual one of the data.
    fold
        Which fold is tested, from 0, if the split has folds.
    seed
        Seed of random splits and folds, and of generated datasets.
    validate_on_test
        Validate on the tested fold, as published results on EXP do. The model is then selected on the test
        graphs.
    descriptors
        Tables: numbers of whole molecules, such as ``["rdkit2d", "morgan"]``: see
        :mod:`osan.data.descriptors`.
    fragments
        Tables: what is kept of salts and mixtures, ``"keep"`` (all, the default) or ``"largest"``.
    rejected
        Tables: where to write the rows that cannot be used, as a CSV file.
    cache
        Named datasets: the folder of processed files, by default ``$OSAN_CACHE``, else ``~/.cache/osan``.
    download
        Named datasets: whether missing raw files may be downloaded, into the cache.
    options
        Options of single datasets: ``distances=True`` for ``qm9``; sizes of the generated ones.

    Raises
    ------
    OsanError
        If the dataset is unknown, a file is damaged, or a parameter does not apply to the dataset.

    Examples
    --------
    >>> task = load("planted-motif", num_graphs=50)
    >>> task.kind, task.metric, task.direction, [len(part) for part in task.splits.values()]
    ('regression', 'mae', 'min', [40, 5, 5])
    >>> import pathlib, tempfile
    >>> table = pathlib.Path(tempfile.mkdtemp(), "molecules.csv")
    >>> _ = table.write_text("smiles,logS\\nC,-0.9\\nCC,-1.4\\nCCC,-1.9\\nCCO,1.1\\n")
    >>> load(table, smiles="smiles", targets=["logS"]).num_targets
    1
    """
    request = SplitRequest(split, fold, seed, validate_on_test)
    path = find_path(dataset)
    if path is None:
        name = str(dataset)
        table = {"smiles": smiles, "targets": targets, "descriptors": descriptors or None}
        table["fragments"] = fragments
        _refuse(name, "a named dataset", **table, labels=labels, kind=kind)
        if name not in PUBLISHED:
            return _generate(name, request, metric, options)
        _check_options(name, options, PUBLISHED[name].options)
        return load_published(
            name, root, cache=cache, download=download, request=request, metric=metric, options=options
        )
    _check_options(str(path), options, ())
    common: dict[str, Any] = {
        "kind": kind or "regression",
        "metric": metric,
        "split": split,
        "fold": fold,
        "seed": seed,
        "validate_on_test": validate_on_test,
    }
    if content_of(path) == "table":
        _refuse(str(path), "a table, whose targets are columns", labels=labels)
        of_table: dict[str, Any] = {"descriptors": descriptors, "fragments": fragments or "keep"}
        return load_table(path, smiles or "smiles", targets or "y", rejected=rejected, **of_table, **common)
    refuse_foreign(path)
    table = {"smiles": smiles, "targets": targets, "descriptors": descriptors or None}
    _refuse(str(path), "a file of graphs", **table, fragments=fragments)
    return load_graphs(path, labels=labels, **common)


def _generate(name: str, request: SplitRequest, metric: str | None, options: Mapping[str, Any]) -> Task:
    if request != SplitRequest(seed=request.seed):
        raise OsanError(
            f"{name}: expected no split, fold or validate_on_test, since it is generated with a split"
        )
    make = resolve(name, GENERATED, "dataset")
    _check_options(name, options, inspect.signature(make).parameters.keys() - {"seed"})
    with calling(name, "dataset"):
        task = make(seed=request.seed, **options)
    if not isinstance(task, Task):
        raise OsanError(f"dataset: expected an osan.data.Task from {name!r}, got {type(task).__name__}")
    return task if metric is None else replace(task, metric=metric)


def _check_options(name: str, options: Mapping[str, Any], known: Collection[str]) -> None:
    for option in options:
        if option not in known:
            expected = f"one of the options {', '.join(sorted(known))}" if known else "no options"
            raise OsanError(f"{name}: expected {expected}, got {option!r}")


def _refuse(name: str, what: str, **given: Any) -> None:
    """Raise if a parameter is given that does not apply."""
    for parameter, value in given.items():
        if value is not None:
            raise OsanError(f"{parameter}: expected none, for {name} is {what}, got {value!r}")
