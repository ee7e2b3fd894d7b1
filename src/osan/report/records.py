"""Finished runs as flat records: what is published of them, as CSV, and read again."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean, median
from typing import Any

from osan.errors import OsanError
from osan.experiments.recipes import recipes
from osan.report.runs import Run, find_runs, over_repeats
from osan.training.folder import PREDICTIONS


@dataclass(frozen=True)
class Record:
    """One finished run.

    ``repeat`` is the seed, or where every fold is a run the number of the split. ``value`` is the metric on
    the test split after ``best_epoch``, the epoch with the best ``validation``; ``best_test`` the best one on
    the test split over all epochs, where that was watched, and ``separate`` the one with every sample counted
    on its own, where there are several. ``gradients`` is the share of (graph, subgraph) pairs whose scores
    got a gradient other than zero, over all epochs, where selection is learned. ``epoch_seconds`` is the
    median over the epochs (a paused process has long ones), ``test_seconds`` that of the passes over the
    ``test_graphs``.
    """

    name: str
    seed: int
    repeat: int
    metric: str
    value: float
    validation: float
    best_test: float | None
    separate: float | None
    gradients: float | None
    epochs: int
    best_epoch: int
    epoch_seconds: float | None
    test_graphs: int | None
    test_seconds: float | None


@dataclass(frozen=True)
class Group:
    """The records of one setting: means over repeats, and the paper's figure if it has this very setting.

    ``std`` is the sample deviation over repeats, ``None`` for a single one. ``inference`` is in milliseconds
    per graph, ``hours`` the time of training of all runs together. ``difference`` is the one to another
    setting, see :func:`differences`.
    """

    name: str
    metric: str
    mean: float
    std: float | None
    runs: int
    repeats: int
    best_test: float | None
    separate: float | None
    gradients: float | None
    epochs: float
    best_epoch: float
    hours: float | None
    inference: float | None
    paper: float | None
    paper_std: float | None
    difference: float | None
    difference_error: float | None


def record_of(run: Run) -> Record | None:
    """The record of a run; ``None`` if it is not finished."""
    result = run.result
    if result is None:
        return None
    predictions, times = run.folder / PREDICTIONS, run.metrics.get("seconds", [])
    gradients = run.metrics.get("gradients", [])
    lines = predictions.read_text(encoding="utf-8").count("\n") if predictions.is_file() else 0
    return Record(
        name=result.key,
        seed=result.seed,
        repeat=run.repeat,
        metric=result.metric,
        value=result.value,
        validation=result.validation,
        best_test=result.best_test,
        separate=result.separate,
        gradients=round(fmean(gradients), 4) if gradients else None,
        epochs=result.epochs,
        best_epoch=result.best_epoch,
        epoch_seconds=round(median(times), 4) if times else None,
        test_graphs=lines - 1 if lines else None,
        test_seconds=median(result.test_seconds) if result.test_seconds else None,
    )


def read_records(path: str | Path) -> list[Record]:
    """The records of a folder of runs, or of a CSV file of :func:`to_csv`."""
    path = Path(path)
    if not path.is_file():
        found = (record_of(run) for run in find_runs(path))
        return [record for record in found if record is not None]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OsanError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    reader = csv.DictReader(lines)
    wanted = [field.name for field in fields(Record)]
    if reader.fieldnames != wanted:
        raise OsanError(f"{path}: expected the columns {', '.join(wanted)}, as osan runs --each writes them")
    return [_parsed(line, f"{path}, line {reader.line_num}") for line in reader]


def to_csv(rows: Sequence[Record] | Sequence[Group]) -> str:
    """Records (or groups) as CSV, an empty cell where there is no figure."""
    stream = io.StringIO()
    kind = type(rows[0]) if rows else Record
    writer = csv.DictWriter(stream, [field.name for field in fields(kind)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return stream.getvalue()


def grouped(records: Sequence[Record], against: str = "") -> list[Group]:
    """The groups of records with the same name, in the order in which they come.

    ``against`` names the setting that ``difference`` is taken to.
    """
    minus = differences(records, against) if against else {}
    by_name: dict[str, list[Record]] = {}
    for record in records:
        by_name.setdefault(record.name, []).append(record)
    return [_group(name, some, *minus.get(name, (None, None))) for name, some in by_name.items()]


def differences(records: Sequence[Record], name: str) -> dict[str, tuple[float, float | None]]:
    """What each setting comes to minus the one called ``name``, seed by seed: mean and its standard error.

    Runs of one seed share split and shuffling, so that their differences may vary less than the figures do.
    Where every fold is a run, a repeat is the mean over the folds of a split. Settings of other datasets,
    with another metric or without a common seed are left out.
    """
    reference = {each.seed: each for each in records if each.name == name}
    if not reference:
        there = sorted({each.name for each in records})
        raise OsanError(f"there is no finished run {name}; there are {', '.join(there)}")
    pairs: dict[str, list[tuple[int, float]]] = {}
    for each in records:
        other = reference.get(each.seed)
        if other and each.name != name and scale_of(each) == scale_of(other):
            pairs.setdefault(each.name, []).append((each.repeat, each.value - other.value))
    out: dict[str, tuple[float, float | None]] = {}
    for key, some in pairs.items():
        mean, std, repeats = over_repeats(some)
        out[key] = mean, None if std is None else std / repeats**0.5
    return out


def scale_of(row: Record | Group) -> tuple[str, str]:
    """Dataset and metric: figures with the same ones can be compared."""
    return row.name.split("/")[0], row.metric


def _group(
    name: str, some: Sequence[Record], difference: float | None, difference_error: float | None
) -> Group:
    mean, std, repeats = over_repeats((each.repeat, each.value) for each in some)
    timed = [each.epoch_seconds * each.epochs for each in some if each.epoch_seconds is not None]
    passes = [
        1000.0 * each.test_seconds / each.test_graphs
        for each in some
        if each.test_seconds and each.test_graphs
    ]
    row = recipes()[name].rows[0] if name in recipes() else None
    return Group(
        name=name,
        metric=some[0].metric,
        mean=mean,
        std=std,
        runs=len(some),
        repeats=repeats,
        best_test=_mean([each.best_test for each in some]),
        separate=_mean([each.separate for each in some]),
        gradients=_mean([each.gradients for each in some]),
        epochs=fmean(each.epochs for each in some),
        best_epoch=fmean(each.best_epoch for each in some),
        hours=sum(timed) / 3600.0 if timed else None,
        inference=fmean(passes) if passes else None,
        paper=row.value if row else None,
        paper_std=row.std if row else None,
        difference=difference,
        difference_error=difference_error,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean, if every run has the figure."""
    there = [value for value in values if value is not None]
    return fmean(there) if len(there) == len(values) else None


def _parsed(line: dict[str, Any], where: str) -> Record:
    values: dict[str, Any] = {}
    for field in fields(Record):
        text, kind = line[field.name], str(field.type)
        try:
            if text == "" and "None" in kind:
                values[field.name] = None
            else:
                values[field.name] = {"str": str, "int": int}.get(kind.removesuffix(" | None"), float)(text)
        except (TypeError, ValueError):
            raise OsanError(f"{where}: {field.name} is {text!r}, expected a number") from None
    return Record(**values)
