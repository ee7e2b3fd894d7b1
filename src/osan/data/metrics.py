"""The kinds of tasks and the metrics that score them: one table for all rooms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from osan.errors import OsanError
from osan.parts import resolve
from osan.words import Kind

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Metric:
    """A metric.

    Parameters
    ----------
    kinds
        The kinds of tasks that it scores.
    direction
        ``"min"`` if smaller is better, else ``"max"``.
    default
        The kinds that it scores by default.
    default_for_molecules
        The kinds that it scores by default in tables of molecules.
    reference
        The functions of torchmetrics that compute it, in :func:`osan.training.scores.score`.
    """

    kinds: tuple[Kind, ...]
    direction: Literal["min", "max"]
    default: tuple[Kind, ...] = ()
    default_for_molecules: tuple[Kind, ...] = ()
    reference: tuple[str, ...] = ()


#: ``prauc`` is the average precision, ``mcc`` Matthews' correlation, ``balanced`` the mean recall of the
#: classes, ``ece`` the expected calibration error in 15 bins of the probability of class 1, or, of several
#: classes, of the predicted one.
METRICS: dict[str, Metric] = {
    "mae": Metric(
        kinds=("regression",),
        direction="min",
        default=("regression",),
        default_for_molecules=("regression",),
        reference=("mean_absolute_error",),
    ),
    "rmse": Metric(kinds=("regression",), direction="min", reference=("mean_squared_error",)),
    "r2": Metric(kinds=("regression",), direction="max", reference=("r2_score",)),
    "spearman": Metric(kinds=("regression",), direction="max", reference=("spearman_corrcoef",)),
    "accuracy": Metric(
        kinds=("binary", "multiclass"),
        direction="max",
        default=("binary", "multiclass"),
        default_for_molecules=("multiclass",),
        reference=("binary_accuracy", "multiclass_accuracy"),
    ),
    "rocauc": Metric(
        kinds=("binary",), direction="max", default_for_molecules=("binary",), reference=("binary_auroc",)
    ),
    "prauc": Metric(kinds=("binary",), direction="max", reference=("binary_average_precision",)),
    "mcc": Metric(
        kinds=("binary", "multiclass"),
        direction="max",
        reference=("multiclass_matthews_corrcoef",),
    ),
    "balanced": Metric(
        kinds=("binary", "multiclass"), direction="max", reference=("multiclass_accuracy", "binary_recall")
    ),
    "logloss": Metric(kinds=("binary", "multiclass"), direction="min"),
    "ece": Metric(
        kinds=("binary", "multiclass"),
        direction="min",
        reference=("binary_calibration_error", "multiclass_calibration_error"),
    ),
}


def check_kind(kind: str) -> None:
    """Raise unless ``kind`` is one of the kinds of tasks."""
    if kind not in KINDS:
        raise OsanError(f"kind: expected {', '.join(KINDS[:-1])} or {KINDS[-1]}, got {kind!r}")


def metrics_for(kind: Kind) -> tuple[str, ...]:
    """The metrics that score a kind of task.

    >>> metrics_for("binary")
    ('accuracy', 'rocauc', 'prauc', 'mcc', 'balanced', 'logloss', 'ece')
    """
    return tuple(name for name, metric in METRICS.items() if kind in metric.kinds)


def metric_words(kind: Kind) -> str:
    """The metrics of a kind of task, in words.

    >>> metric_words("regression")
    'mae, rmse, r2 or spearman'
    """
    *names, last = metrics_for(kind)
    return f"{', '.join(names)} or {last}"


def default_metric(kind: Kind, molecules: bool = False) -> str:
    """The metric of a kind of task if none is given; tables of molecules have their usual one.

    >>> default_metric("binary"), default_metric("binary", molecules=True)
    ('accuracy', 'rocauc')
    """
    check_kind(kind)
    return next(
        name
        for name, metric in METRICS.items()
        if kind in (metric.default_for_molecules if molecules else metric.default)
    )


def check_metric(metric: str, kind: Kind) -> None:
    """Raise unless ``metric`` scores tasks of that kind.

    >>> check_metric("rocauc", "regression")
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: metric: expected mae, rmse, r2 or spearman for regression, got 'rocauc'
    """
    if is_custom(metric):
        direction(metric)
    elif metric not in metrics_for(kind):
        raise OsanError(f"metric: expected {metric_words(kind)} for {kind}, got {metric!r}")


def is_custom(metric: str) -> bool:
    """Whether a metric is ``"module:name"`` instead of one of the table."""
    return ":" in metric and metric not in METRICS


def custom_metric(metric: str) -> Any:
    """What ``"module:name"`` stands for: a function, or a class of torchmetrics.

    >>> custom_metric("torchmetrics:ExplainedVariance").__name__
    'ExplainedVariance'
    """
    found = resolve(metric, {}, "metric")
    if not callable(found):
        raise OsanError(f"metric: expected a function or a class, got {metric!r}, a {type(found).__name__}")
    return found


def direction(metric: str) -> Literal["min", "max"]:
    """``"min"`` if a smaller metric is better, else ``"max"``.

    A custom one says so by its attribute ``higher_is_better``, as most of torchmetrics do.

    >>> direction("mae"), direction("torchmetrics:ExplainedVariance")
    ('min', 'max')
    """
    if not is_custom(metric):
        return METRICS[metric].direction
    higher = getattr(custom_metric(metric), "higher_is_better", None)
    if not isinstance(higher, bool):
        raise OsanError(
            f"metric: expected True or False as attribute higher_is_better of {metric!r}, got {higher!r}"
        )
    return "max" if higher else "min"
