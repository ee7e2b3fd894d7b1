"""The trials of a search for settings: what they try, and how one is trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback

from osan.data import Task
from osan.training.build import build
from osan.training.fit import fit
from osan.training.folder import CHECKPOINT
from osan.training.module import Learner
from osan.training.settings import Settings
from osan.training.tasks import TaskInfo

# What is searched: a range (with "log": evenly over orders of magnitude), or a list.
SPACE: dict[str, tuple[float, float] | tuple[float, float, str] | list[Any]] = {
    "network.width": [32, 64, 128, 256],
    "network.layers": [2, 3, 4, 5, 6],
    "network.dropout": (0.0, 0.5),
    "training.learning_rate": (1e-4, 1e-2, "log"),
    "training.weight_decay": (1e-6, 1e-2, "log"),
    "training.batch_size": [16, 32, 64, 128],
}


def proposed(trial: Any, settings: Settings) -> Settings:
    """The settings of a trial; each name of :data:`SPACE` gets a value."""
    changes: dict[str, Any] = {}
    for name, choice in SPACE.items():
        if isinstance(choice, list):
            changes[name] = trial.suggest_categorical(name, choice)
        else:
            changes[name] = trial.suggest_float(name, choice[0], choice[1], log=len(choice) == 3)
    return settings.changed(changes)


def trial_folder(folder: Path, trial: Any) -> Path:
    """The folder of a trial, which is made."""
    place = folder / f"trial-{trial.number}"
    place.mkdir(exist_ok=True)
    return place


def run_trial(settings: Settings, task: Task, place: Path, extra: Sequence[Callback] = ()) -> float:
    """Train in the folder ``place``, and return the best metric on the validation split."""
    info = TaskInfo.of(task, settings)
    torch.manual_seed(settings.seed)
    learner = Learner(build(settings, info), settings, info)
    try:
        return fit(learner, task, place, extra=extra).best.value
    finally:
        (place / CHECKPOINT).unlink(missing_ok=True)
