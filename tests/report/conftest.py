"""Run folders written by hand, and one real training."""

from pathlib import Path
from typing import Any

import pytest

from osan.experiments import recipe
from osan.training.folder import Result, run_folder, write_json, write_result
from osan.training.run import train
from osan.training.settings import Settings, validated
from osan.training.settings_files import write_settings


def _write_run(
    runs: Path,
    settings: Settings,
    value: float | None,
    *,
    error: str = "",
    metrics: str = "epoch,train_loss,val_rmse,lr,seconds\n0,1.5,1.2,0.001,2\n1,1.0,1.1,0.001,2\n",
    test_seconds: tuple[float, ...] = (),
) -> Path:
    """The folder of a run that reached ``value`` on the test split, or failed, or goes on."""
    folder = run_folder(runs, settings)
    folder.mkdir(parents=True)
    write_settings(settings, folder / "settings.toml")
    (folder / "metrics.csv").write_text(metrics)
    if error:
        write_json(folder / "failed.json", {"error": error})
    if value is not None:
        result = Result(
            key=settings.name,
            seed=settings.seed,
            dataset=settings.data.dataset,
            metric="rmse",
            direction="min",
            value=value,
            validation=value,
            epochs=2,
            best_epoch=1,
            seconds=4.0,
            test_seconds=list(test_seconds),
            scores={"rmse": value},
        )
        write_result(folder, result)
    return folder


@pytest.fixture(name="write_run")
def write_run_fixture():
    """``write_run(runs, settings, value, ...)`` writes the folder of a run."""
    return _write_run


@pytest.fixture
def molesol(tmp_path):
    """Runs on ogbg-molesol: three seeds of the baseline, two and a failure of I-MLE, one not finished."""
    runs = tmp_path / "runs"
    baseline = recipe("ogbg-molesol/gin/baseline").settings
    for seed, value in enumerate((1.0, 1.1, 1.2)):
        _write_run(runs, baseline.changed({"seed": seed}), value)
    imle = recipe("ogbg-molesol/gin/imle/delete-1-vertex/x3").settings
    for seed, value in enumerate((0.9, 1.1)):
        _write_run(runs, imle.changed({"seed": seed}), value)
    _write_run(runs, imle.changed({"seed": 2}), None, error="disk <full>")
    _write_run(runs, recipe("ogbg-molesol/gin/random/delete-1-vertex/x3").settings, None)
    return runs


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A folder of runs with one real run on generated graphs."""
    runs = tmp_path_factory.mktemp("trained")
    settings = validated(
        {
            "name": "small/learned",
            "data": {"dataset": "planted-motif", "options": {"num_graphs": 50}},
            "selection": {"policy": "delete 2 vertices x 2"},
            "network": {"width": 8, "layers": 2},
            "training": {"batch_size": 16, "epochs": 2},
            "machine": {"accelerator": "cpu"},
        }
    )
    train(settings, run_folder(runs, settings), progress=False)
    return runs


def _alkanes(folder: Path) -> str:
    """The path of a table of molecules."""
    table = folder / "alkanes.csv"
    lines = [f"{'C' * n}O,{n}\n{'C' * n}N,{n + 0.5}\n{'C' * n}c1ccccc1,{n + 1}" for n in range(1, 11)]
    table.write_text("smiles,y\n" + "\n".join(lines) + "\n")
    return str(table)


def _on_alkanes(runs: Path, name: str, selection: dict[str, Any], **more: Any) -> Path:
    """The folder of a small run on a table of molecules."""
    settings = validated(
        {
            "name": name,
            "data": {"dataset": _alkanes(runs), "targets": ["y"]},
            "selection": selection,
            "network": {"width": 8, "layers": 2},
            "training": {"batch_size": 16, "epochs": 1},
            "machine": {"accelerator": "cpu"},
            **more,
        }
    )
    folder = run_folder(runs, settings)
    train(settings, folder, progress=False, processes=1)
    return folder


@pytest.fixture(scope="session")
def on_molecules(tmp_path_factory) -> Path:
    """The folder of a run that deletes bonds of molecules from a table."""
    runs = tmp_path_factory.mktemp("molecules")
    return _on_alkanes(runs, "small/bonds", {"policy": "delete 1 edge x 2"})


@pytest.fixture(scope="session")
def soft_marks(tmp_path_factory) -> Path:
    """The folder of a run whose marks are shared by several atoms."""
    chosen = {"policy": "mark 1 vertex x 2", "estimator": "sparsemap", "auxiliary": "none"}
    return _on_alkanes(tmp_path_factory.mktemp("soft"), "small/soft", chosen)


@pytest.fixture(scope="session")
def ensemble(tmp_path_factory) -> Path:
    """The folder of an ensemble of three that marks two atoms, each a graph of its own."""
    chosen = {"policy": "mark 1 vertex x 2", "samples": 2}
    return _on_alkanes(tmp_path_factory.mktemp("ensemble"), "small/three", chosen, ensemble=3)
