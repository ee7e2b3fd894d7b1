"""The predictions of a finished run on its test split, as arrays."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from osan.data.formats.cells import harmless
from osan.errors import OsanError
from osan.training.calibration import CALIBRATION, LEVEL, ends, read_calibration
from osan.training.columns import distinct
from osan.training.folder import PREDICTIONS
from osan.training.tasks import TaskInfo

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scored:
    """The content of ``predictions.csv``.

    Parameters
    ----------
    info
        The facts of the task.
    y
        The targets, NaN where missing; shape ``[graphs, targets]``. Of several classes, the number of the
        class; shape ``[graphs, 1]``.
    predicted
        Numbers or probabilities; shape ``[graphs, targets]``, or ``[graphs, classes]``.
    lines
        The line of each graph in its table; empty if it comes from elsewhere.
    lower, upper
        The ends of conformal intervals at :data:`~osan.training.calibration.LEVEL`, of the shape of
        ``predicted``, if the run stored a calibration; see :func:`~osan.training.calibration.ends`.
    """

    info: TaskInfo
    y: Array
    predicted: Array
    lines: list[int]
    lower: Array | None = None
    upper: Array | None = None

    @property
    def errors(self) -> Array:
        """How wrong each prediction is, shape ``[graphs]``; NaN without a target.

        Numbers: the absolute error, of several targets the mean of those errors over the spread of each
        target. Classes: one minus the probability of the right class, of several targets their mean.
        """
        if self.info.kind == "multiclass":
            known = self.y[:, 0] >= 0
            right = self.predicted[np.arange(len(self.y)), np.where(known, self.y[:, 0], 0).astype(int)]
            return np.where(known, 1.0 - right, np.nan)
        each = np.abs(self.predicted - self.y)
        if self.info.kind == "regression" and self.y.shape[1] > 1:
            scale = np.array([_spread(column) for column in self.y.T])
            each = each / scale
        count = (~np.isnan(each)).sum(1)
        return np.where(count > 0, np.nansum(each, 1) / np.maximum(count, 1), np.nan)

    def worst(self, count: int) -> list[int]:
        """The positions of the largest errors, largest first."""
        order = np.argsort(-np.nan_to_num(self.errors, nan=-1.0), kind="stable")
        return [int(i) for i in order[:count] if not np.isnan(self.errors[i])]


def read_scored(folder: Path, info: TaskInfo) -> Scored:
    """Read the predictions of a finished run.

    Raises
    ------
    OsanError
        If the file is missing or damaged.
    """
    path = folder / PREDICTIONS
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as stream:
            header, *rows = [row for row in csv.reader(stream) if row] or [[]]
    except (OSError, csv.Error) as error:
        raise OsanError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    classes = info.kind == "multiclass"
    targets = list(info.targets)
    word = "predicted" if info.kind == "regression" else "probability"
    names = [f"{word}_{name}" for name in (info.class_names if classes else info.targets)]
    has_lines = header[1:2] == ["line"] and (targets[0] != "line" or "line_2" in header)
    # Classes of graphs have no column that names them, and those of tables were once called so, too.
    if classes and header[2 if has_lines else 1 :][:1] == ["class"]:
        targets = ["class"]
    # Names and classes are in the file as cells that no spreadsheet runs.
    first = [harmless(name) for name in distinct(["graph", *(["line"] if has_lines else []), *targets])]
    if header[: len(first)] != first or any(len(row) != len(header) for row in rows):
        raise OsanError(f"{path}: expected the predictions of this run, got another or a damaged table")
    place = {name: i for i, name in reversed(list(enumerate(header))) if i >= len(first)}

    def numbers(columns: list[str]) -> Array | None:
        if not all(name in place for name in columns):
            return None
        return np.array([[float(row[place[name]]) for name in columns] for row in rows]).reshape(
            len(rows), -1
        )

    try:
        predicted = numbers(names)
        if predicted is None:
            raise OsanError(f"{path}: expected the columns {', '.join(names)[:200]}")
        skip = len(first) - len(targets)
        code = {harmless(name): str(i) for i, name in enumerate(info.class_names)} if classes else {}
        cells: list[list[Any]] = [
            [code.get(cell, cell) or "nan" for cell in row[skip : len(first)]] for row in rows
        ]
        return Scored(
            info,
            np.array(cells, dtype=np.float64).reshape(len(rows), len(targets)),
            predicted,
            [int(row[1]) for row in rows] if has_lines else [],
            *_interval(folder, info, predicted),
        )
    except ValueError as error:
        if isinstance(error, OsanError):
            raise
        raise OsanError(f"{path}: expected numbers ({error})") from error


def _interval(folder: Path, info: TaskInfo, predicted: Array) -> tuple[Array | None, Array | None]:
    """The ends of intervals, if the run has some."""
    if not (folder / CALIBRATION).is_file():
        return None, None
    outputs = torch.from_numpy(predicted)
    if info.kind != "regression":
        outputs = torch.logit(outputs) if info.kind == "binary" else torch.log(outputs)
    low, high = ends(outputs, read_calibration(folder, info), LEVEL)
    return low.numpy(), high.numpy()


def _spread(column: Array) -> float:
    known = column[~np.isnan(column)]
    return float(known.std()) or 1.0 if len(known) else 1.0
