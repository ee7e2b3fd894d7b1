"""Runs that c684ab9 trained and wrote can be loaded, and evaluate to the values they were stored with."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from osan.cli import app
from osan.training.run import load_model, train
from osan.training.tasks import load_task

STORED = Path(__file__).with_name("stored_runs")
RUNS = ["molecules", "planted-motif"]


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """``stored(name)``: a copy of a run; its settings name the table of molecules in the folder of runs."""
    shutil.copytree(STORED, tmp_path / "runs")
    monkeypatch.chdir(tmp_path / "runs")
    return lambda name: Path(name)


def evaluated(run, *words):
    """What ``osan evaluate`` prints as JSON."""
    result = CliRunner().invoke(app, ["evaluate", str(run), "--json", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    # Any warning that the data is not that of the run would be there.
    assert result.stderr == ""
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", RUNS)
def test_evaluation_gives_the_stored_scores(stored, name):
    run = stored(name)
    result = json.loads((run / "result.json").read_text())
    found = evaluated(run)
    assert {score: found[score] for score in result["scores"]} == pytest.approx(result["scores"], rel=1e-5)
    metric = result["metric"]
    assert evaluated(run, "--split", "val")[metric] == pytest.approx(result["validation"], rel=1e-5)


@pytest.mark.parametrize("name", RUNS)
def test_the_model_gives_the_stored_predictions(stored, name):
    run = stored(name)
    learner, settings, _ = load_model(run)
    test = load_task(settings).test
    rows = list(csv.DictReader((run / "predictions.csv").open()))
    assert len(rows) == len(test)
    assert [int(row["graph"]) for row in rows] == test.ids.tolist()
    column = next(name for name in rows[0] if name.startswith("predicted_"))
    predicted = learner(test.batch(range(len(test)))).flatten().tolist()
    assert predicted == pytest.approx([float(row[column]) for row in rows], rel=1e-4, abs=1e-5)


def test_a_stored_run_is_finished(stored):
    """Asked to go on, ``osan train`` has nothing to do."""
    run = stored("planted-motif")
    result = train(load_model(run)[1], run, resume=True, progress=False)
    assert result.value == json.loads((run / "result.json").read_text())["value"]
