"""Whole runs with and without exact sharing have the same results up to rounding."""

import csv

import pytest

from osan.training import train
from osan.training.settings import validated


def run(folder, sharing, policy, precision, **data):
    tree = {
        "data": data,
        "selection": {"policy": policy, "estimator": "random", "samples": 2},
        "network": {"width": 16, "layers": 3},
        "training": {"epochs": 3, "batch_size": 16, "precision": precision},
        "machine": {"accelerator": "cpu", "sharing": sharing},
    }
    result = train(validated(tree), folder / sharing, progress=False)
    rows = list(csv.DictReader((folder / sharing / "metrics.csv").open()))
    return [result.value, result.validation, *(float(row[n]) for row in rows for n in row if "loss" in n)]


@pytest.mark.data
@pytest.mark.parametrize(("precision", "limit", "close"), [("32", 32, 1e-4), ("64", 96, 1e-9)])
@pytest.mark.parametrize(
    ("dataset", "policy"), [("exp", "delete 1 vertex x 3"), ("zinc", "delete 1 vertex x all")]
)
def test_runs(tmp_path, dataset, policy, precision, limit, close, monkeypatch, osan_data):
    """In double precision also for more steps, in which single precision drifts apart."""
    monkeypatch.setattr("osan.training.fit.WORTH_IT", 1)
    monkeypatch.setattr("osan.nn.sharing.LEAST", 0)
    on, off = (
        run(tmp_path, sharing, policy, precision, dataset=dataset, limit=limit) for sharing in ("auto", "off")
    )
    assert len(on) >= 5
    assert on == pytest.approx(off, abs=close)
