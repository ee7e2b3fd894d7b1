"""What the validation split says about the errors of a model: intervals, prediction sets, probabilities."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from scipy.optimize import minimize_scalar
from torch import Tensor
from torch.nn import functional as F

from osan.errors import OsanError
from osan.training.folder import read_json, write_json
from osan.training.scores import score
from osan.training.tasks import TaskInfo
from osan.words import counted

CALIBRATION = "calibration.json"
# The level of the coverage that every run reports.
LEVEL = 0.9
# Levels are thousandths: a file holds a half-width for each, however large the validation split is.
_STEPS = 1000
# Beyond, a probability of 0.9 is one of 0.5, or of 1.
_HOTTEST = 20.0
# How strongly temperatures are kept near 1. If the few graphs of a small validation split are all predicted
# right, their loss alone would take T to 0, and probabilities to 1.
_STRENGTH = 4.0


@dataclass(frozen=True)
class Calibration:
    """What is stored of the validation split.

    ``margins[t][i]`` is the :func:`conformal` quantile of the scores of target t at the level (i + 1) / 1000;
    ``None`` stands for infinity. The score of a number is the absolute error, that of a class is 1 minus its
    probability. ``temperature`` divides the logits of classes, see :func:`best_temperature`; 1 for numbers.
    """

    kind: str
    graphs: int
    margins: list[list[float | None]]
    temperature: float = 1.0

    def at(self, level: float) -> Tensor:
        """The margin of every target at a level, which is rounded up to thousandths."""
        index = math.ceil(_checked(level) * _STEPS - 1e-9) - 1
        values = [margins[min(index, _STEPS - 2)] for margins in self.margins]
        return torch.tensor([math.inf if value is None else value for value in values], dtype=torch.float64)


def conformal(scores: NDArray[np.float64], level: float) -> float:
    r"""The :math:`\lceil (n + 1) \, level \rceil`-th smallest of n scores; infinite if there is none.

    A new score, exchangeable with these, is at most as large with a probability of at least ``level``, and of
    at most ``level + 1 / (n + 1)`` if no two are equal (Vovk et al. 2005; Lei et al. 2018).

    >>> conformal(np.array([3.0, 1.0, 2.0, 4.0]), 0.75), conformal(np.array([1.0]), 0.9)
    (4.0, inf)
    """
    rank = math.ceil((len(scores) + 1) * _checked(level) - 1e-9)
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf


def calibrate(prediction: Tensor, y: Tensor, info: TaskInfo) -> Calibration:
    """Calibrate by the predictions (numbers, or logits) and targets of the validation split."""
    temperature = 1.0 if info.kind == "regression" else best_temperature(prediction, y, info.kind)
    margins = []
    for column in _scores(prediction, y, info.kind, temperature):
        known = np.sort(column[~column.isnan()].numpy())
        ranks = [math.ceil((len(known) + 1) * i / _STEPS - 1e-9) for i in range(1, _STEPS)]
        margins.append([float(known[rank - 1]) if rank <= len(known) else None for rank in ranks])
    return Calibration(info.kind, len(y), margins, temperature)


def best_temperature(logits: Tensor, y: Tensor, kind: str) -> float:
    r"""The temperature T for which logits / T fit best, between 1/20 and 20 (Guo et al. 2017).

    It minimizes the sum of the log losses and of :math:`4 \, (1 / T - 1 + \log T)`, minus the logarithm of a
    Gamma density of 1 / T, which keeps T near 1 as long as there are few graphs, and hardly matters if there
    are hundreds.

    >>> logits = torch.tensor([[4.0], [4.0], [-4.0], [4.0]])  # sure, and right in three of four cases
    >>> y = torch.tensor([[1.0], [1.0], [0.0], [0.0]])
    >>> round(best_temperature(logits, y, "binary"), 2)
    1.67
    """
    present = y >= 0  # neither NaN nor class -1
    known, targets = logits.double()[present], y[present]

    def loss(log_temperature: float) -> float:
        scaled = known / math.exp(log_temperature)
        unexpected = _STRENGTH * (math.exp(-log_temperature) - 1 + log_temperature)
        if kind == "binary":
            losses = F.binary_cross_entropy_with_logits(scaled, targets.double(), reduction="sum")
        else:
            losses = F.cross_entropy(scaled, targets, reduction="sum")
        return float(losses) + unexpected

    if not len(targets):
        return 1.0
    # The sum is convex in 1 / T, so it has one minimum in log T, too.
    found = minimize_scalar(loss, bounds=(-math.log(_HOTTEST), math.log(_HOTTEST)), method="bounded")
    return math.exp(float(found.x))


def ends(prediction: Tensor, calibration: Calibration, level: float) -> tuple[Tensor, Tensor]:
    """Lower and upper ends at a level, each of shape ``[graphs, targets]``.

    Of numbers: the prediction minus and plus the margin. Of classes: a prediction set has every class with a
    score up to the margin. The ends are those of the 0/1 indicator of class 1, or of each class: the lower
    one is 1 if no other class is in the set, the upper one is 1 if the class is in it. An empty set has 1, 0.
    """
    margin = calibration.at(level)
    if calibration.kind == "regression":
        return prediction.double() - margin, prediction.double() + margin
    scaled = prediction.double() / calibration.temperature
    if calibration.kind == "binary":
        return (torch.sigmoid(scaled) > margin).double(), (torch.sigmoid(-scaled) <= margin).double()
    inside = 1 - torch.softmax(scaled, -1) <= margin
    others = inside.sum(1, keepdim=True) - inside.long()
    return (others == 0).double(), inside.double()


@dataclass(frozen=True)
class Interval:
    """What predictions get beside them: intervals, or prediction sets, at a level."""

    calibration: Calibration
    level: float

    def columns(self, prediction: Tensor) -> dict[str, Tensor]:
        """Forms of names of columns, and their values, of shape ``[graphs, targets]``; see :func:`ends`."""
        low, high = ends(prediction, self.calibration, self.level)
        scaled = prediction.double() / self.calibration.temperature
        kind, out = self.calibration.kind, dict[str, Tensor]()
        if kind != "regression":
            out["calibrated_{}"] = torch.sigmoid(scaled) if kind == "binary" else torch.softmax(scaled, -1)
        return {**out, "{}_low": low, "{}_high": high}


def interval_of(folder: Path, info: TaskInfo, level: float | None) -> Interval | None:
    """The intervals of a finished run at a level; ``None`` without one."""
    if level is None:
        return None
    found = Interval(read_calibration(folder, info), _checked(level))
    if bool(found.calibration.at(level).isinf().any()):
        warn_of_few(found.calibration.graphs, level, info.kind)
    return found


def warn_of_few(count: int, level: float, kind: str) -> None:
    """Say that intervals, or sets, tell nothing: so few validation graphs do not suffice for the level."""
    word = "intervals are infinite" if kind == "regression" else "sets have all classes"
    few = f"{counted(count, 'validation graph')} {'is' if count == 1 else 'are'} too few"
    warnings.warn(
        f"level: {few} for {level:g}, so {word}; up to "
        f"{math.floor(1000 * count / (count + 1)) / 1000:g} they are not, if all targets are known",
        stacklevel=3,
    )


def coverage(
    prediction: Tensor, y: Tensor, calibration: Calibration, level: float = LEVEL
) -> dict[str, float | None]:
    """How often intervals or prediction sets hold the truth: ``level``, ``coverage`` and mean ``width``.

    The width of a set is its number of classes; that of infinite intervals is ``None``. Targets count as
    often as they are known. For classes also ``temperature``, and ``logloss`` and ``ece`` of the calibrated
    probabilities.
    """
    low, high = ends(prediction, calibration, level)
    if calibration.kind == "multiclass":
        known = y >= 0
        hit, width = high[known].gather(1, y[known][:, None]), high.sum(1)[known]
    else:
        known = ~y.isnan()
        inside = torch.where(y > 0.5, high, 1 - low)
        inside = inside if calibration.kind == "binary" else (low <= y) & (y <= high)
        hit, width = inside[known], (high - low + (calibration.kind == "binary"))[known]
    mean = float(width.mean())
    out: dict[str, float | None] = {
        "level": level,
        "coverage": float(hit.double().mean()),
        "width": mean if math.isfinite(mean) else None,
    }
    if calibration.kind != "regression":
        scaled = prediction.double() / calibration.temperature
        out["temperature"] = calibration.temperature
        out |= {name: float(score(scaled, y, calibration.kind, name)) for name in ("logloss", "ece")}
    return out


def write_calibration(folder: Path, calibration: Calibration) -> None:
    """Store it in the folder of a run."""
    write_json(folder / CALIBRATION, asdict(calibration))


def read_calibration(folder: Path, info: TaskInfo) -> Calibration:
    """That of a finished run.

    Raises
    ------
    OsanError
        If the run has none, since it was trained by an earlier version, or if the file is damaged.
    """
    path = folder / CALIBRATION
    if not path.is_file():
        raise OsanError(
            f"level: expected a run with {CALIBRATION}, got {folder}, which was trained by an earlier "
            "version; train it again"
        )
    try:
        stored = _STORED.validate_python(read_json(path))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise OsanError(f"{path}: expected a calibration, got a damaged one ({place})") from None
    targets = 1 if info.kind == "multiclass" else info.num_targets
    whole = len(stored.margins) == targets and all(len(row) == _STEPS - 1 for row in stored.margins)
    if stored.kind != info.kind or not whole or not stored.temperature > 0:
        raise OsanError(f"{path}: expected the calibration of this run, got another one")
    return stored


def _scores(prediction: Tensor, y: Tensor, kind: str, temperature: float) -> Sequence[Tensor]:
    """How badly each target fits its prediction, NaN where it is missing."""
    if kind == "regression":
        return list((prediction.double() - y).abs().T)
    scaled = prediction.double() / temperature
    if kind == "binary":
        of_others = torch.sigmoid(torch.where(y > 0.5, -scaled, scaled))
        return list(torch.where(y.isnan(), y.double(), of_others).T)
    of_class = torch.softmax(scaled, -1).gather(1, y.clamp(min=0)[:, None])[:, 0]
    return [torch.where(y >= 0, 1 - of_class, math.nan)]


def _checked(level: float) -> float:
    if not 0 < level < 1:
        raise OsanError(f"level: expected a number between 0 and 1, got {level!r}")
    return level


_STORED = TypeAdapter(Calibration)
