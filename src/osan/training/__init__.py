"""From settings to a trained model: tasks, models, training, evaluation and prediction.

Names are imported on first use: the settings alone need neither Lightning nor the networks' kernels.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from osan.training.evaluation import predict, predict_members, predict_samples
    from osan.training.folder import Result, read_result, run_folder
    from osan.training.jobs import Event, Job, run_locally
    from osan.training.members import Ensemble
    from osan.training.module import Learner
    from osan.training.optimizers import OPTIMIZERS
    from osan.training.prediction import Predicted, predict_graphs, predict_table
    from osan.training.run import load_model, load_predictor, train
    from osan.training.schedules import SCHEDULES, Moment
    from osan.training.settings import Settings, validated
    from osan.training.settings_files import read_settings, write_settings
    from osan.training.tasks import TaskInfo, load_task

_HOMES = {
    "OPTIMIZERS": "optimizers",
    "SCHEDULES": "schedules",
    "Ensemble": "members",
    "Event": "jobs",
    "Job": "jobs",
    "Learner": "module",
    "Moment": "schedules",
    "Predicted": "prediction",
    "Result": "folder",
    "Settings": "settings",
    "TaskInfo": "tasks",
    "load_model": "run",
    "load_predictor": "run",
    "load_task": "tasks",
    "predict": "evaluation",
    "predict_graphs": "prediction",
    "predict_members": "evaluation",
    "predict_samples": "evaluation",
    "predict_table": "prediction",
    "read_result": "folder",
    "read_settings": "settings_files",
    "run_folder": "folder",
    "run_locally": "jobs",
    "train": "run",
    "validated": "settings",
    "write_settings": "settings_files",
}

__all__ = [
    "OPTIMIZERS",
    "SCHEDULES",
    "Ensemble",
    "Event",
    "Job",
    "Learner",
    "Moment",
    "Predicted",
    "Result",
    "Settings",
    "TaskInfo",
    "load_model",
    "load_predictor",
    "load_task",
    "predict",
    "predict_graphs",
    "predict_members",
    "predict_samples",
    "predict_table",
    "read_result",
    "read_settings",
    "run_folder",
    "run_locally",
    "train",
    "validated",
    "write_settings",
]


def __getattr__(name: str) -> Any:
    """A public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'osan.training' has no attribute {name!r}")
    return getattr(importlib.import_module(f"osan.training.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
