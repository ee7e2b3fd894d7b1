"""Finished runs as flat records, written to CSV and read back."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from osan.errors import OsanError
from osan.experiments.catalog import recipes
from osan.report.runs import Run, Summary, find_runs, over_repeats
from osan.training.averages import mean as average
from osan.training.averages import mean_std
from osan.training.folder import PREDICTIONS


@dataclass(frozen=True)
class Record:
    """One finished run.

    ``repeat`` is the seed or, if every fold is a run, the number of the split. ``value`` is the metric on the
    test split after ``best_epoch``, the epoch with the best ``validation``. ``best_test`` is the best metric
    on the test split over all epochs, if it was recorded. ``separate`` is the metric with every sample scored
    separately, if there are several. ``gradients`` is the share of (graph, subgraph) pairs with a nonzero
    gradient, over all epochs, if selection is learned. ``epoch_seconds`` is the median over the epochs
    (robust to pauses), ``test_seconds`` the median over the passes over the ``test_graphs``.
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
    """The records of one setting: means over repeats, and the paper's figure if it has this setting.

    ``std`` is the sample deviation over repeats, ``None`` for a single one; ``validation`` is the mean of the
    metric on the validation splits, after the same epochs. ``inference`` is in milliseconds
    per graph, ``hours`` is the total training time of all runs. ``difference`` and what follows compare it to
    another setting, see :class:`Difference`.
    """

    name: str
    metric: str
    mean: float
    std: float | None
    runs: int
    repeats: int
    validation: float
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
    validation_difference: float | None
    validation_difference_error: float | None
    larger: int | None
    smaller: int | None
    sign_test: float | None


@dataclass(frozen=True)
class Difference:
    """How a setting differs from another one over common repeats, or over the folds of a single one.

    ``error`` is the standard error of the ``mean``, ``None`` for a single run. The setting has a larger
    metric on ``larger`` repeats (or folds) and a smaller one on ``smaller``.
    """

    mean: float
    error: float | None
    larger: int
    smaller: int

    @property
    def sign_test(self) -> float:
        """The p-value of the two-sided sign test; repeats without a difference do not count.

        >>> Difference(0.1, 0.05, larger=9, smaller=1).sign_test
        0.021484375
        """
        trials = self.larger + self.smaller
        tail = sum(math.comb(trials, few) for few in range(min(self.larger, self.smaller) + 1))
        return min(1.0, 2 * tail / 2**trials)


_RECORD = TypeAdapter(Record)


def record_of(run: Run) -> Record | None:
    """The record of a run; ``None`` for an unfinished one."""
    result = run.result
    if result is None:
        return None
    predictions, times = run.folder / PREDICTIONS, run.metrics.get("seconds", [])
    gradients = run.metrics.get("gradients", [])
    lines = predictions.read_bytes().count(b"\n") if predictions.is_file() else 0
    return Record(
        name=result.key,
        seed=result.seed,
        repeat=run.repeat,
        metric=result.metric,
        value=result.value,
        validation=result.validation,
        best_test=result.best_test,
        separate=result.separate,
        gradients=_rounded(average, gradients),
        epochs=result.epochs,
        best_epoch=result.best_epoch,
        epoch_seconds=_rounded(median, times),
        test_graphs=lines - 1 if lines else None,
        test_seconds=median(result.test_seconds) if result.test_seconds else None,
    )


def _rounded(mean: Callable[[Sequence[float]], float], values: Sequence[float]) -> float | None:
    known = [value for value in values if math.isfinite(value)]
    return round(mean(known), 4) if known else None


def read_records(path: str | Path, damaged: Callable[[Run], None] = lambda run: None) -> list[Record]:
    """Read the records of a folder of runs, or of a CSV file written by :func:`to_csv`.

    ``damaged`` is called with each run that has a damaged file.
    """
    path = Path(path)
    if not path.is_file():
        runs = find_runs(path)
        for run in runs:
            if run.damaged:
                damaged(run)
        found = (record_of(run) for run in runs)
        return [record for record in found if record is not None]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OsanError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    reader = csv.DictReader(lines)
    wanted = [field.name for field in fields(Record)]
    try:
        if reader.fieldnames != wanted:
            names = ", ".join(reader.fieldnames or [])[:200]
            raise OsanError(f"{path}: expected the columns {', '.join(wanted)}, got {names}")
        return [_parsed(line, f"{path}, line {reader.line_num}") for line in reader]
    except csv.Error as error:
        raise OsanError(f"{path}, line {reader.line_num}: broken CSV ({error})") from error


def merged_records(
    paths: Sequence[str | Path], damaged: Callable[[Run], None] = lambda run: None
) -> list[Record]:
    """The records of several folders and CSV files, by name and seed; of equal runs the one that comes last.

    A CSV file of earlier runs, whose folders are gone, is so continued with the folder of new ones.
    """
    if len(paths) == 1:
        return read_records(paths[0], damaged)
    found = {(each.name, each.seed): each for path in paths for each in read_records(path, damaged)}
    return [found[key] for key in sorted(found)]


def to_csv(rows: Sequence[Record] | Sequence[Group]) -> str:
    """Records or groups as CSV; missing figures are empty cells."""
    stream = io.StringIO()
    kind = type(rows[0]) if rows else Record
    writer = csv.DictWriter(stream, [field.name for field in fields(kind)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return stream.getvalue()


def group_records(records: Sequence[Record], against: str = "") -> list[Group]:
    """Group records by name, in order of appearance.

    ``against`` is the name of the setting to which ``difference`` is taken.
    """
    compared = differences(records, against) if against else {}
    validated = differences(records, against, "validation") if against else {}
    by_name: dict[str, list[Record]] = {}
    for record in records:
        by_name.setdefault(record.name, []).append(record)
    return [_group(name, some, compared.get(name), validated.get(name)) for name, some in by_name.items()]


def summarize_records(some: Sequence[Record]) -> Summary | None:
    """Summarize the records of one setting, as :func:`osan.report.runs.summarize` does with runs."""
    if not some:
        return None
    repeats = over_repeats((each.repeat, each.value) for each in some)
    passes = [each.test_seconds for each in some if each.test_seconds is not None]
    seconds, seconds_std = mean_std(passes) if passes else (None, None)
    return Summary(*mean_std(repeats), len(some), len(repeats), seconds, seconds_std)


def differences(
    records: Sequence[Record], name: str, split: Literal["test", "validation"] = "test"
) -> dict[str, Difference]:
    """The difference of each setting to the one called ``name``, on the test or the validation split.

    Runs with the same seed share split and shuffling, so their differences may vary less than the figures. If
    every fold is a run, a repeat is the mean over the folds of a split; unless there are several splits with
    as many folds each, folds are compared one by one. Their training splits overlap, so the standard error is
    then too small, for ten folds by a factor of about 1.45 (Nadeau and Bengio, "Inference for the
    generalization error", 2003). Settings with another dataset or metric, or without a common seed, are left
    out.
    """

    def figure(record: Record) -> float:
        return record.value if split == "test" else record.validation

    reference = {(each.repeat, each.seed): each for each in records if each.name == name}
    if not reference:
        known = sorted({each.name for each in records})
        raise OsanError(f"against: expected a finished run, one of {', '.join(known)}, got {name!r}")
    gaps: dict[str, dict[tuple[int, int], float]] = {}
    for each in records:
        place = each.repeat, each.seed
        other = reference.get(place)
        if other and each.name != name and scale_of(each) == scale_of(other):
            gaps.setdefault(each.name, {})[place] = figure(each) - figure(other)
    return {key: _difference([(place[0], gap) for place, gap in some.items()]) for key, some in gaps.items()}


def _difference(pairs: Sequence[tuple[int, float]]) -> Difference:
    folds = set(Counter(repeat for repeat, _ in pairs).values())
    repeats = over_repeats(pairs)
    if len(repeats) == 1 or len(folds) > 1:
        repeats = [value for _, value in pairs]
    mean, std = mean_std(repeats)
    return Difference(
        mean,
        None if std is None else std / len(repeats) ** 0.5,
        larger=sum(each > 0 for each in repeats),
        smaller=sum(each < 0 for each in repeats),
    )


def scale_of(row: Record | Group) -> tuple[str, str]:
    """Dataset and metric; figures can be compared if both are equal."""
    return row.name.split("/")[0], row.metric


def _group(
    name: str, some: Sequence[Record], compared: Difference | None, validated: Difference | None
) -> Group:
    repeats = over_repeats((each.repeat, each.value) for each in some)
    mean, std = mean_std(repeats)
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
        repeats=len(repeats),
        validation=average(over_repeats((each.repeat, each.validation) for each in some)),
        best_test=_mean([each.best_test for each in some]),
        separate=_mean([each.separate for each in some]),
        gradients=_mean([each.gradients for each in some]),
        epochs=average(each.epochs for each in some),
        best_epoch=average(each.best_epoch for each in some),
        hours=sum(timed) / 3600.0 if timed else None,
        inference=average(passes) if passes else None,
        paper=row.value if row else None,
        paper_std=row.std if row else None,
        difference=None if compared is None else compared.mean,
        difference_error=None if compared is None else compared.error,
        validation_difference=None if validated is None else validated.mean,
        validation_difference_error=None if validated is None else validated.error,
        larger=None if compared is None else compared.larger,
        smaller=None if compared is None else compared.smaller,
        sign_test=None if compared is None else compared.sign_test,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean, if no value is missing."""
    known = [value for value in values if value is not None]
    return average(known) if len(known) == len(values) else None


def _parsed(line: dict[str, Any], where: str) -> Record:
    try:
        return _RECORD.validate_python({field.name: line[field.name] or None for field in fields(Record)})
    except ValidationError as error:
        first = error.errors()[0]
        name = first["loc"][0]
        raise OsanError(f"{where}, {name}: got {line[str(name)]!r}: {first['msg']}") from None
