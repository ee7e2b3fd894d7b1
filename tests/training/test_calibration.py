"""Intervals, prediction sets and probabilities from the validation split, against their definitions."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from typer.testing import CliRunner

from osan.cli import app
from osan.data import Features
from osan.errors import OsanError
from osan.training import load_model, load_task, read_result, train
from osan.training.calibration import best_temperature, calibrate, conformal, coverage, ends, read_calibration
from osan.training.evaluation import predict
from osan.training.settings import validated
from osan.training.tasks import TaskInfo

INFO = TaskInfo("d", "regression", "mae", "min", ("a",), 1, Features(sizes=(2,)), None, (), (), (1,), 3)


@given(st.lists(st.floats(0, 10), max_size=40), st.integers(1, 999))
def test_the_quantile_is_the_least_score_that_leaves_room_for_one_more(scores, thousandths):
    """By its definition: the least s with #{scores <= s} >= level (n + 1)."""
    n, found = len(scores), conformal(np.array(scores), thousandths / 1000)
    enough = [s for s in scores if 1000 * sum(other <= s for other in scores) >= thousandths * (n + 1)]
    assert found == min(enough, default=math.inf)
    one = calibrate(torch.tensor(scores, dtype=torch.float64).reshape(-1, 1), torch.zeros(n, 1), INFO)
    assert one.at(thousandths / 1000).item() == found


def test_the_guarantee_holds_on_average():
    """Over draws of n validation errors and one test error: between level and level + 1 / (n + 1)."""
    generator, n, level, draws = np.random.default_rng(0), 19, 0.8, 20_000
    errors = generator.exponential(size=(draws, n + 1))
    covered = np.mean([row[-1] <= conformal(row[:-1], level) for row in errors])
    # Here level (n + 1) is whole, so both bounds are the level; three standard errors.
    assert abs(covered - level) < 3 * math.sqrt(level * (1 - level) / draws)


def test_missing_targets_do_not_count_and_each_target_has_its_margin():
    y = torch.tensor([[0.0, float("nan")], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    prediction = torch.tensor([[1.0, 99.0], [2.0, 10.0], [-3.0, 20.0], [4.0, -30.0]])
    found = calibrate(prediction, y, replace(INFO, num_targets=2, targets=("a", "b")))
    assert found.at(0.6).tolist() == [3.0, 30.0]
    assert found.at(0.9).tolist() == [math.inf, math.inf]
    assert found.at(0.5995).tolist() == [3.0, 30.0]  # rounded up
    low, high = ends(torch.tensor([[1.0, 1.0]]), found, 0.6)
    assert (low.tolist(), high.tolist()) == ([[-2.0, -29.0]], [[4.0, 31.0]])
    told = coverage(torch.tensor([[1.0, 1.0]]), torch.tensor([[3.0, float("nan")]]), found, 0.6)
    assert told == {"level": 0.6, "coverage": 1.0, "width": 6.0}
    assert coverage(prediction, y, found, 0.9)["width"] is None
    with pytest.raises(OsanError, match="level: expected a number between 0 and 1, got 90"):
        found.at(90)


def draw(kind: str, count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits that are three times too large, and classes that follow from the right ones."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(count, 1 if kind == "binary" else 3, generator=generator).double() * 1.5
    if kind == "binary":
        return 3 * logits, torch.bernoulli(torch.sigmoid(logits), generator=generator)
    return 3 * logits, torch.multinomial(torch.softmax(logits, -1), 1, generator=generator)[:, 0]


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_classes_by_brute_force(kind):
    info = replace(INFO, kind=kind, metric="accuracy", num_targets=1 if kind == "binary" else 3)
    logits, y = draw(kind, 400, 0)
    found = calibrate(logits, y, info)
    loss = F.binary_cross_entropy_with_logits if kind == "binary" else F.cross_entropy
    targets = y.double() if kind == "binary" else y
    grid = {
        t: 400 * float(loss(logits / t, targets)) + 4 * (1 / t - 1 + math.log(t))
        for t in np.arange(1, 6, 0.01)
    }
    assert found.temperature == pytest.approx(min(grid, key=lambda t: grid[t]), abs=0.011)
    assert best_temperature(*draw(kind, 20_000, 2), kind) == pytest.approx(3, abs=0.2)

    def of_classes(row: torch.Tensor) -> list[float]:
        scaled = row / found.temperature
        if kind == "multiclass":
            return torch.softmax(scaled, -1).tolist()
        p = float(torch.sigmoid(scaled))
        return [1 - p, p]

    truth = y.long().flatten().tolist()
    errors = sorted(1 - of_classes(row)[c] for row, c in zip(logits, truth, strict=True))
    margin = errors[math.ceil(0.8 * 401) - 1]
    assert found.at(0.8).item() == pytest.approx(margin, abs=1e-12)
    new, labels = draw(kind, 300, 1)
    low, high = ends(new, found, 0.8)
    hits, sizes = [], []
    for i, row in enumerate(new):
        inside = [1 - p <= margin for p in of_classes(row)]
        hits.append(inside[int(labels.flatten()[i])])
        sizes.append(sum(inside))
        if kind == "binary":
            assert (low[i].item(), high[i].item()) == (float(not inside[0]), float(inside[1]))
        else:
            assert high[i].tolist() == [float(one) for one in inside]
            alone = [sum(inside) - one == 0 for one in inside]
            assert low[i].tolist() == [float(one) for one in alone]
    told = coverage(new, labels, found, 0.8)
    assert told["coverage"] == pytest.approx(np.mean(hits))
    assert told["width"] == pytest.approx(np.mean(sizes))
    expected = loss(new / found.temperature, labels.double() if kind == "binary" else labels)
    assert told["logloss"] == pytest.approx(float(expected))


def test_few_graphs_that_are_all_right_make_nothing_sure():
    logits = torch.tensor([0.9, -0.9]).repeat(200)[:, None]
    few, many = (best_temperature(logits[:n], (logits[:n] > 0).float(), "binary") for n in (6, 400))
    assert 0.75 < 1 / (1 + math.exp(-0.9 / few)) < 0.85  # a probability of 0.71 before
    assert many < 0.25


def test_no_known_class_changes_nothing():
    assert best_temperature(torch.zeros(2, 1), torch.full((2, 1), float("nan")), "binary") == 1.0


@pytest.fixture(scope="module")
def finished_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on 100 chains, of which 20 are for validation and 30 for test."""
    place = tmp_path_factory.mktemp("own")
    part = ["train"] * 5 + ["val"] * 2 + ["test"] * 3
    lines = [f"{'C' * (i // 5 + 1)}{'NOSFB'[i % 5]},{i % 7},{part[i * 3 % 10]}" for i in range(100)]
    (place / "a.csv").write_text("\n".join(["smiles,y,part", *lines]) + "\n")
    settings = validated(
        {
            "data": {"dataset": str(place / "a.csv"), "targets": ["y"], "split": "part"},
            "network": {"width": 8, "layers": 2},
            "training": {"epochs": 1},
            "machine": {"accelerator": "cpu"},
        }
    )
    train(settings, place / "run", progress=False)
    return place


def test_a_run_stores_and_reports_what_validation_says(finished_table: Path) -> None:
    run = finished_table / "run"
    learner, settings, info = load_model(run)
    task = load_task(settings)
    errors = sorted((predict(learner, task.val, 32) - task.val.y).abs().flatten().tolist())
    margin = errors[math.ceil(0.9 * 21) - 1]
    assert read_calibration(run, info).at(0.9).item() == pytest.approx(margin, abs=1e-5)
    rows = list(csv.DictReader((run / "predictions.csv").open()))
    inside = [abs(float(row["y"]) - float(row["predicted_y"])) <= margin + 1e-5 for row in rows]
    result = read_result(run)
    assert result is not None
    assert result.intervals is not None
    assert result.intervals["coverage"] == pytest.approx(np.mean(inside))
    assert result.intervals["width"] == pytest.approx(2 * margin, abs=1e-4)
    told = CliRunner().invoke(app, ["evaluate", str(run), "--json"], catch_exceptions=False)
    assert json.loads(told.stdout)["intervals"] == pytest.approx(result.intervals)
    told = CliRunner().invoke(app, ["evaluate", str(run)], catch_exceptions=False)
    assert f"test coverage {result.intervals['coverage']:.4f} of intervals at level 0.9" in told.stdout


def test_predictions_with_intervals(finished_table: Path, tmp_path: Path) -> None:
    run, out = finished_table / "run", tmp_path / "out.csv"
    words = ["predict", str(run), str(finished_table / "a.csv"), "--out", str(out), "--level", "0.8"]
    told = CliRunner().invoke(app, [*words, "--rejected", str(tmp_path / "bad.csv")], catch_exceptions=False)
    assert told.exit_code == 0
    margin = read_calibration(run, load_model(run)[2]).at(0.8).item()
    for row in csv.DictReader(out.open()):
        middle = float(row["predicted_y"])
        assert float(row["y_low"]) == pytest.approx(middle - margin, abs=1e-5)
        assert float(row["y_high"]) == pytest.approx(middle + margin, abs=1e-5)
    told = CliRunner().invoke(app, ["predict", str(run), "CCO", "--level", "80"])
    assert str(told.exception) == "--level: expected a number between 0 and 1, got 80.0"
    # A file of another run, a damaged one, and none.
    path, before = run / "calibration.json", (run / "calibration.json").read_text()
    for text, problem in (
        (before.replace('"regression"', '"binary"'), "expected the calibration of this run"),
        (before.replace('"temperature": 1.0', '"temperature": "hot"'), "damaged one"),
        (None, "--level: expected a run with calibration.json"),
    ):
        path.unlink() if text is None else path.write_text(text)
        told = CliRunner().invoke(app, ["predict", str(run), "CCO", "--level", "0.8"])
        path.write_text(before)
        assert problem in str(told.exception)
