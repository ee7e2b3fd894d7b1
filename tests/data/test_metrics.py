"""One table of metrics, used by tasks, readers and scores."""

from typing import get_args

import pytest
import torchmetrics.functional.classification as classification
import torchmetrics.functional.regression as regression

from osan.data import METRICS, load
from osan.data.metrics import KINDS, check_kind, default_metric, metrics_for
from osan.errors import OsanError
from osan.training.scores import COMPUTED
from osan.words import MetricName


def test_every_kind_has_one_default_among_its_metrics():
    assert set(get_args(MetricName)) == set(METRICS)
    for kind in KINDS:
        for column in ("default", "default_for_molecules"):
            assert sum(kind in getattr(metric, column) for metric in METRICS.values()) == 1
        assert {default_metric(kind), default_metric(kind, molecules=True)} <= set(metrics_for(kind))


def test_the_references_exist():
    for metric in METRICS.values():
        for name in metric.reference:
            assert hasattr(classification, name) or hasattr(regression, name)


def test_scores_compute_every_metric():
    assert set(COMPUTED) == set(METRICS)


def test_wrong_kinds_and_metrics():
    with pytest.raises(OsanError, match="kind: expected regression, binary or multiclass, got 'nope'"):
        check_kind("nope")
    assert load("planted-motif", num_graphs=10, metric="rmse").metric == "rmse"
    with pytest.raises(
        OsanError, match="metric: expected mae, rmse, r2 or spearman for regression, got 'accuracy'"
    ):
        load("planted-motif", num_graphs=10, metric="accuracy")
