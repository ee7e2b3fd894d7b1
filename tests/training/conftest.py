"""A small run for the tests of training."""

from pathlib import Path

import pytest

from osan.training.settings import Settings, validated


def _settings(**changes: object) -> Settings:
    """Learned selection with dropout, batch norm and a decay: everything that could go astray on resuming."""
    settings = validated(
        {
            "name": "small",
            "data": {"dataset": "planted-motif", "options": {"num_graphs": 60}},
            "selection": {"policy": "select 3 vertices x 2", "auxiliary": "cosine", "samples": 2},
            "network": {"width": 8, "layers": 2, "dropout": 0.2},
            "training": {"epochs": 6, "batch_size": 16, "decay": 0.5, "decay_every": 2},
            "machine": {"checkpoint_seconds": 0, "accelerator": "cpu"},
        }
    )
    return settings.changed(changes)


@pytest.fixture(scope="session")
def small():
    """``small(**{"training.epochs": 3})``: the settings of a run of a few seconds, changed."""
    return _settings


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished small run that nobody may change."""
    from osan.training.run import train

    folder = tmp_path_factory.mktemp("finished") / "run"
    train(_settings(), folder, progress=False)
    return folder


def _outcome(folder: Path) -> dict[str, object]:
    """What two equal runs have in common, byte for byte; times differ."""
    import csv
    import json

    rows = list(csv.DictReader((folder / "metrics.csv").open()))
    for row in rows:
        row.pop("seconds")
    result = json.loads((folder / "result.json").read_text())
    return {
        "metrics": rows,
        "weights": (folder / "model.safetensors").read_bytes(),
        "predictions": (folder / "predictions.csv").read_bytes(),
        "result": {k: v for k, v in result.items() if k not in ("seconds", "test_seconds")},
    }


@pytest.fixture(scope="session")
def outcome():
    """``outcome(folder)``: all of a finished run that has to be reproducible."""
    return _outcome


@pytest.fixture(scope="session")
def learner_of():
    """``learner_of(settings)``: what a run trains, and its task."""
    import torch

    from osan.training.build import build
    from osan.training.module import Learner
    from osan.training.tasks import TaskInfo, load_task

    def made(settings: Settings):
        task = load_task(settings)
        info = TaskInfo.of(task, settings)
        torch.manual_seed(settings.seed)
        return Learner(build(settings, info), settings, info), task

    return made
