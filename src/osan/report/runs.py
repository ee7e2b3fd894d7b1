"""The runs under a folder, and their mean over seeds."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from osan.data.naming import FOLDS, num_folds
from osan.errors import OsanError, one_line
from osan.training.averages import mean, mean_std
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

if TYPE_CHECKING:
    import pandas

    from osan.report.frequencies import Frequencies
    from osan.report.run_page import Page


@dataclass(frozen=True, repr=False)
class Run:
    """A run folder: finished (with ``result``), failed or damaged (with ``error``), or unfinished.

    The settings of a damaged run may be unreadable; then only their name and seed count. :func:`osan.train`
    and :func:`osan.open_run` return one. In a notebook it shows its scores and learning curves.
    """

    folder: Path
    settings: Settings
    result: Result | None
    error: str = ""
    damaged: bool = False

    @property
    def repeat(self) -> int:
        """The seed; if every fold is a run, the folds of one split are one repeat."""
        wanted, seed = self.settings.data, self.settings.seed
        return seed // (num_folds(wanted.split) or FOLDS) if wanted.fold == "seed" else seed

    @property
    def scores(self) -> dict[str, float]:
        """Every metric on the test split; empty unless the run is finished."""
        return {} if self.result is None else dict(self.result.scores)

    def predict(
        self,
        molecules: Any,
        *,
        smiles: str | Sequence[str] | None = None,
        level: float | None = None,
        neighbors: int = 0,
    ) -> pandas.DataFrame:
        """Predict molecules, with the columns of ``osan predict``.

        Rows that cannot be used have no prediction (NaN); a warning says how many and why the first.

        Parameters
        ----------
        molecules
            A list of SMILES strings or one of them, a DataFrame, a mapping of names to columns, or the path
            of a table; for a run on graphs, the path of a file of graphs.
        smiles
            The column with SMILES, or several; those of the run by default.
        level
            The level of intervals, such as 0.9, if they are wanted.
        neighbors
            How many of the most similar training molecules are added, with ``in_domain``, whether the
            molecule is like those at all.

        Returns
        -------
        DataFrame
            The given columns, and the predictions. A DataFrame keeps its index, columns and all rows.
        """
        from osan.report.frames import predict_frame

        return predict_frame(self.folder, molecules, smiles, level, neighbors)

    def explain(self, which: str | int, *, samples: int = 100, data: Path | None = None) -> Frequencies:
        """What the network looks at in a molecule (SMILES), or in a graph of the test split (its position).

        ``samples`` and ``data`` are as in :func:`osan.report.explain`.
        """
        from osan.report.frequencies import explain

        return explain(self.folder, str(which), samples, data)

    def report(self, out: str | Path | None = None, *, worst: int = 12, data: Path | None = None) -> Page:
        """Write a page about the run, as ``osan report RUN`` does, and return it.

        ``out`` is ``report.html`` in the folder of the run by default; see
        :func:`osan.report.write_run_page`.
        """
        from osan.report.run_page import write_run_page

        return write_run_page(self, None if out is None else Path(out), worst=worst, data=data)

    @cached_property
    def metrics(self) -> dict[str, list[float]]:
        """The columns of ``metrics.csv``; incomplete lines are skipped, a cell without a number is NaN."""
        try:
            with (self.folder / METRICS).open(encoding="utf-8", errors="replace", newline="") as stream:
                header, *lines = [line for line in csv.reader(stream) if line] or [[]]
        except (OSError, csv.Error):
            return {}
        rows = [line for line in lines if len(line) == len(header)]
        return {name: [_number(row[i]) for row in rows] for i, name in enumerate(header)}

    def __repr__(self) -> str:
        result = self.result
        state = f"test {result.metric} {result.value:.4f}" if result else self.error or "unfinished"
        return f"Run({str(self.folder)!r}: {state})"

    def _repr_html_(self) -> str:
        from osan.report.shown_runs import run_html

        return run_html(self)


def open_run(folder: str | Path) -> Run:
    """The run in a folder that :func:`osan.train` or the command wrote.

    Raises
    ------
    OsanError
        If there is none, or it is damaged.
    """
    folder = Path(folder)
    settings_of(folder)
    run = read_run(folder)
    if run.damaged:
        raise OsanError(f"{folder}: {run.error}")
    return run


def find_runs(runs: str | Path, under: str = "") -> list[Run]:
    """All runs below the folder ``runs``, sorted by name and seed; names begin with ``under``.

    A run with a damaged file has ``damaged`` set, and the reason as its ``error``.

    Raises
    ------
    OsanError
        If the folder does not exist.
    """
    runs = Path(runs)
    if not runs.is_dir():
        raise OsanError(
            f"runs: expected a folder of runs (osan train and osan sweep make it), got {str(runs)!r}"
        )
    found = [read_run(path.parent, runs) for path in runs.glob(f"**/seed-*/{SETTINGS}")]
    chosen = [run for run in found if is_under(run.settings.name, under)]
    return sorted(chosen, key=lambda run: (run.settings.name, run.settings.seed))


def is_under(name: str, under: str) -> bool:
    """Whether a name begins with the parts of ``under``.

    >>> is_under("zinc/gin/baseline", "zinc/gin"), is_under("zinc/gin/baseline", "zin"), is_under("exp", "")
    (True, False, True)
    """
    return not under or (name + "/").startswith(under.rstrip("/") + "/")


def read_run(folder: Path, runs: Path | None = None) -> Run:
    """Read the run in a folder; a damaged one is named after its folder below ``runs``."""
    try:
        error = str(read_json(folder / FAILED).get("error", "")) if (folder / FAILED).is_file() else ""
        result = read_result(folder) if (folder / RESULT).is_file() else None
        return Run(folder, settings_of(folder), result, "" if result else error)
    except (OsanError, OSError) as error:
        return Run(folder, _stand_in(folder, runs), None, f"damaged: {one_line(error)}", damaged=True)


def _stand_in(folder: Path, runs: Path | None) -> Settings:
    """Settings with the name and the seed that a folder has."""
    name = str(folder.parent.relative_to(runs)) if runs is not None else folder.parent.name
    digits = folder.name.removeprefix("seed-")
    known = {"name": "" if name == "." else name, "seed": int(digits) if digits.isdecimal() else 0}
    try:
        return Settings().changed(known)
    except OsanError:  # a name or number that no run has
        return Settings(name="damaged")


def by_name(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Group runs that differ only in the seed; damaged ones are left out."""
    out: dict[str, list[Run]] = {}
    for run in runs:
        if run.damaged:
            continue
        out.setdefault(run.settings.name, []).append(run)
    return out


@dataclass(frozen=True)
class Summary:
    """Mean and deviation over repeats.

    ``std`` is the sample deviation (divisor n - 1), ``None`` for a single repeat. ``runs`` counts finished
    runs. If every fold is a run, a repeat is the mean over the folds of one split.
    """

    mean: float
    std: float | None
    runs: int
    repeats: int
    seconds: float | None
    seconds_std: float | None


def summarize(runs: Sequence[Run]) -> Summary | None:
    """Summarize the finished runs of one setting; ``None`` if there is none.

    ``seconds`` is the mean time of one pass over the test split (loading batches, sampling, both networks and
    the loss) over all passes of all runs.
    """
    finished = [(run, run.result) for run in runs if run.result is not None]
    if not finished:
        return None
    repeats = over_repeats((run.repeat, result.value) for run, result in finished)
    passes = [second for _, result in finished for second in result.test_seconds]
    seconds, seconds_std = mean_std(passes) if passes else (None, None)
    return Summary(*mean_std(repeats), len(finished), len(repeats), seconds, seconds_std)


def over_repeats(values: Iterable[tuple[int, float]]) -> list[float]:
    """One value per repeat: the mean over the values of the same one.

    >>> over_repeats([(0, 1.0), (0, 3.0), (1, 4.0)])
    [2.0, 4.0]
    """
    repeats: dict[int, list[float]] = {}
    for repeat, value in values:
        repeats.setdefault(repeat, []).append(value)
    return [mean(some) for some in repeats.values()]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
