"""Watching the test split: it is recorded after every epoch and changes nothing."""

import csv
import json

import pytest

from osan.training.run import train


def test_a_watched_run_is_the_same_run(small, finished, outcome, tmp_path):
    result = train(small(**{"training.watch_test": True}), tmp_path / "run", progress=False)
    plain, watched = outcome(finished), outcome(tmp_path / "run")
    assert watched["weights"] == plain["weights"]
    assert watched["predictions"] == plain["predictions"]
    column = [float(row["watched_test"]) for row in csv.DictReader((tmp_path / "run/metrics.csv").open())]
    # After the best epoch the watched split is scored by the weights that are kept.
    assert column[result.best_epoch] == pytest.approx(result.value, rel=1e-12)
    assert result.best_test == (max(column) if result.direction == "max" else min(column))
    assert json.loads((finished / "result.json").read_text())["best_test"] is None
