"""The runs under a folder, and what several seeds of one setting come to."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev

from osan.errors import OsanError
from osan.training.folder import (
    FAILED,
    METRICS,
    RESULT,
    SETTINGS,
    Result,
    read_json,
    read_result,
    settings_of,
)
from osan.training.settings import Settings


@dataclass(frozen=True)
class Run:
    """A run folder: finished (``result``), failed (``error``), or neither yet."""

    folder: Path
    settings: Settings
    result: Result | None
    error: str = ""

    @property
    def repeat(self) -> int:
        """The seed; where every fold is a run, ten folds of one split are one repeat."""
        return self.settings.seed // 10 if self.settings.data.fold == "seed" else self.settings.seed

    @cached_property
    def metrics(self) -> dict[str, list[float]]:
        """The columns of ``metrics.csv``; a last line that is not whole is left out, a hole is NaN."""
        try:
            with (self.folder / METRICS).open(encoding="utf-8", newline="") as stream:
                header, *lines = [line for line in csv.reader(stream) if line] or [[]]
        except FileNotFoundError:
            return {}
        rows = [line for line in lines if len(line) == len(header)]
        return {name: [_number(row[i]) for row in rows] for i, name in enumerate(header)}


def find_runs(runs: str | Path, under: str = "") -> list[Run]:
    """Every run below the folder ``runs``, by name and seed; ``under`` is the first part of the names.

    Raises
    ------
    OsanError
        If the folder does not exist or a file in it is damaged.
    """
    runs = Path(runs)
    if not runs.is_dir():
        raise OsanError(
            f"there is no folder of runs {runs}; osan train and osan sweep make it, or say --runs"
        )
    found = [read_run(path.parent) for path in runs.glob(f"**/seed-*/{SETTINGS}")]
    chosen = [run for run in found if is_under(run.settings.name, under)]
    return sorted(chosen, key=lambda run: (run.settings.name, run.settings.seed))


def is_under(name: str, under: str) -> bool:
    """Whether the first parts of a name are ``under``.

    >>> is_under("zinc/gin/baseline", "zinc/gin"), is_under("zinc/gin/baseline", "zin"), is_under("exp", "")
    (True, False, True)
    """
    return not under or (name + "/").startswith(under.rstrip("/") + "/")


def read_run(folder: Path) -> Run:
    """The run in one folder."""
    error = str(read_json(folder / FAILED).get("error", "")) if (folder / FAILED).is_file() else ""
    result = read_result(folder) if (folder / RESULT).is_file() else None
    return Run(folder, settings_of(folder), result, "" if result else error)


def by_name(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Runs that differ in the seed only, together."""
    out: dict[str, list[Run]] = {}
    for run in runs:
        out.setdefault(run.settings.name, []).append(run)
    return out


@dataclass(frozen=True)
class Summary:
    """Mean and deviation over repeats.

    ``std`` is the sample deviation (divisor n - 1), ``None`` for a single repeat. ``runs`` counts finished
    runs; where every fold is a run, a repeat is the mean of the folds of one split.
    """

    mean: float
    std: float | None
    runs: int
    repeats: int
    seconds: float | None
    seconds_std: float | None


def summarize(runs: Sequence[Run]) -> Summary | None:
    """The summary of the finished runs of one setting; ``None`` if there is none.

    ``seconds`` is the time of one pass over the test split (retrieval of batches, sampling, both networks
    and the loss), over all repeated passes of all runs.
    """
    finished = [(run, run.result) for run in runs if run.result is not None]
    if not finished:
        return None
    mean, std, repeats = over_repeats((run.repeat, result.value) for run, result in finished)
    passes = [second for _, result in finished for second in result.test_seconds]
    seconds, seconds_std = mean_std(passes) if passes else (None, None)
    return Summary(mean, std, len(finished), repeats, seconds, seconds_std)


def over_repeats(values: Iterable[tuple[int, float]]) -> tuple[float, float | None, int]:
    """Mean and deviation over repeats, and their number; what a repeat has several values of is averaged.

    >>> over_repeats([(0, 1.0), (0, 3.0), (1, 4.0)])
    (3.0, 1.4142135623730951, 2)
    """
    repeats: dict[int, list[float]] = {}
    for repeat, value in values:
        repeats.setdefault(repeat, []).append(value)
    return *mean_std([fmean(some) for some in repeats.values()]), len(repeats)


def mean_std(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample deviation.

    >>> mean_std([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    return fmean(values), stdev(values) if len(values) > 1 else None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
