"""The trials of a search for settings on a Ray cluster, many at a time."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer

from osan.errors import OsanError
from osan.extras import optional
from osan.training.folder import METRICS
from osan.training.jobs import past
from osan.training.ray_cluster import connected, environment, is_loss
from osan.training.settings import Settings, validated
from osan.training.tasks import load_task
from osan.training.trials import proposed, run_trial, trial_folder

# A trial ends after the epoch in which this file appears in its folder.
_STOP = "stop"


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster, see :func:`~osan.training.ray_cluster.connected`; threads and GPUs of each trial."""

    address: str
    threads: int = 1
    gpus: float = 0.0


def search_on_ray(
    study: Any,
    settings: Settings,
    metric: str,
    folder: Path,
    trials: int,
    cluster: Cluster,
    *,
    deadline: float | None,
    data: Path | None,
    told: Callable[[Any, Any], None],
) -> None:
    """Do trials on a cluster, as many at a time as it has room for.

    Settings are proposed and results are noted here, in the process that holds the folder. A node reads the
    data and trains. The metrics of its epochs are read from the folder of the trial; a bad trial, or a late
    one, is stopped by a file there.

    Parameters
    ----------
    study, settings, metric, folder
        The search of Optuna, what is not searched, the metric, and where trials are stored.
    trials
        How many trials to do.
    cluster
        Where to do them.
    deadline
        When to stop, by :func:`time.monotonic`.
    data
        The folder of raw files; ``$OSAN_DATA`` by default.
    told
        Called after every trial with the study and the trial.
    """
    known = {"environment": environment(), "threads": cluster.threads}
    known["data"] = None if data is None else str(data.resolve())
    with connected(cluster.address) as ray:
        task = ray.remote(num_cpus=cluster.threads, num_gpus=cluster.gpus, max_retries=0)(_on_node)
        room = _room(ray.cluster_resources(), cluster)
        running: dict[Any, _Running] = {}
        while trials or running:
            while trials and len(running) < room and not past(deadline):
                trial = study.ask()
                chosen, place = proposed(trial, settings), trial_folder(folder, trial)
                message = {"settings": chosen.model_dump(mode="json"), "folder": str(place.resolve())}
                running[task.remote(message | known)] = _Running(trial, place)
                trials -= 1
            if past(deadline):
                trials = 0
            done = ray.wait(list(running), timeout=0.5)[0] if running else []
            for one in running.values():
                one.follow(f"val_{metric}", past(deadline))
            for reference in done:
                trial = running.pop(reference).trial
                _tell(ray, reference, study, trial)
                told(study, trial)


def _room(resources: Mapping[str, float], cluster: Cluster) -> int:
    """How many trials a cluster has room for.

    >>> [_room({"CPU": 16.0, "GPU": 2.0}, Cluster("auto", 4, gpus)) for gpus in (0.0, 1.0, 0.5)]
    [4, 2, 4]
    """
    count = resources.get("CPU", 0.0) // cluster.threads
    if cluster.gpus:
        count = min(count, resources.get("GPU", 0.0) // cluster.gpus)
    if count < 1:
        wanted = f"{cluster.threads} processors and {cluster.gpus:g} GPUs for a trial"
        has = f"{resources.get('CPU', 0.0):g} and {resources.get('GPU', 0.0):g}"
        raise OsanError(f"ray: expected a cluster with {wanted}, got one with {has}")
    return int(count)


class _Running:
    """A trial under way: the metrics of its epochs so far, and whether it was told to stop."""

    def __init__(self, trial: Any, place: Path) -> None:
        self.trial, self.place, self.epochs, self.stopped = trial, place, 0, False

    def follow(self, column: str, late: bool) -> None:
        """Report new epochs to Optuna, and stop the trial if it is bad or late."""
        try:
            with (self.place / METRICS).open(encoding="utf-8", newline="") as stream:
                rows = list(csv.DictReader(stream))
        except OSError:  # no epoch yet
            rows = []
        bad = False
        for row in rows[self.epochs :]:
            if None in row.values():  # half a line
                break
            self.trial.report(float(row[column]), self.epochs)
            self.epochs += 1
            bad = bad or self.trial.should_prune()
        if (bad or late) and not self.stopped:
            (self.place / _STOP).touch()
            self.stopped = True


def _tell(ray: Any, reference: Any, study: Any, trial: Any) -> None:
    """Note how a trial ended; a lost node, or settings that cannot be trained, are a failure."""
    state = optional("optuna", "tune", "tuning").trial.TrialState
    try:
        value = ray.get(reference)
    except (OsanError, ray.exceptions.RayError) as error:
        if not isinstance(error, OsanError) and not is_loss(ray, error):
            raise
        study.tell(trial, state=state.FAIL)
        return
    if value is None:
        study.tell(trial, state=state.PRUNED)
    else:
        study.tell(trial, value)


def _on_node(message: dict[str, Any]) -> float | None:
    """Train a trial on a node; ``None`` if it was stopped."""
    os.environ.update(message["environment"])
    sys.path[:0] = [part for part in os.environ["PYTHONPATH"].split(os.pathsep) if part not in sys.path]
    torch.set_num_threads(message["threads"])
    settings, place = validated(message["settings"]), Path(message["folder"])
    task = load_task(settings, None if message["data"] is None else Path(message["data"]))
    try:
        return run_trial(settings, task, place, [_Stop(place / _STOP)])
    except _Stopped:
        return None


class _Stopped(Exception):
    """The trial was told to stop."""


class _Stop(Callback):
    """Stops a trial after the epoch in which a file appears, unless it is the last one."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.current_epoch + 1 != trainer.max_epochs and self.file.exists():
            raise _Stopped
