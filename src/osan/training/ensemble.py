"""Train an ensemble: every member as a run, in parallel processes, then the scores of the whole."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from osan.data import Task
from osan.errors import OsanError
from osan.training.evaluation import predict
from osan.training.folder import Result, member_folder, read_result
from osan.training.jobs import Job
from osan.training.members import Ensemble
from osan.training.outcome import write_outcome
from osan.training.run import REJECTED, load_predictor, warn_of_rows
from osan.training.scores import score
from osan.training.settings import Settings
from osan.training.several import train_all
from osan.training.tasks import fold_and_seed, load_task

# Members of runs with neighboring seeds must not be the same.
_SEEDS = 1000


def member_settings(settings: Settings) -> list[Settings]:
    """The settings of each member: member i has the seed ``1000 * seed + i``, and the split of the whole.

    >>> [each.seed for each in member_settings(Settings(seed=2, ensemble=3))]
    [2000, 2001, 2002]
    """
    fold, split = fold_and_seed(settings)
    same = {"ensemble": 1, "data.fold": fold, "data.seed": split}
    seeds = (_SEEDS * settings.seed + i for i in range(settings.ensemble))
    return [settings.changed({**same, "seed": seed}) for seed in seeds]


def train_ensemble(
    settings: Settings,
    folder: Path,
    task: Task | None = None,
    *,
    progress: bool = True,
    data: Path | None = None,
    processes: int | None = None,
) -> Result:
    """Train the members that are not finished, in ``member-0``, ``member-1``, ..., and score the whole.

    Parameters
    ----------
    settings, folder, task, progress, data
        As in :func:`~osan.training.run.train`. With a custom task, members are trained one after the other.
    processes
        How many members are trained at a time: by default as many as there are processors.
    """
    if settings.machine.devices * settings.machine.nodes > 1 or int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise OsanError(
            "machine.devices: expected 1 for an ensemble, whose members are trained in parallel, got more"
        )
    jobs = [Job(each, member_folder(folder, i), data) for i, each in enumerate(member_settings(settings))]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* rows are not used")  # said once, below
        train_all(jobs, task=task, progress=progress, processes=processes)
    whole = load_task(settings, data, folder / REJECTED, task)
    warn_of_rows(folder / REJECTED, whole)
    return _finish(jobs, whole, folder)


def _finish(jobs: list[Job], task: Task, folder: Path) -> Result:
    model = load_predictor(folder)
    assert isinstance(model, Ensemble)
    info = model.info
    if any(not task.is_that_of(member.info.fingerprint) for member in model.members):
        raise OsanError(
            f"{info.dataset} has changed since members of {folder} were trained; train in another folder"
        )
    results = [result for job in jobs if (result := read_result(job.folder)) is not None]
    prediction = predict(model, task.val, model.settings.training.batch_size)
    return write_outcome(
        model,
        task,
        folder,
        validation=float(score(prediction, task.val.y, info.kind, info.metric)),
        epochs=max(result.epochs for result in results),
        best_epoch=max(result.best_epoch for result in results),
        seconds=round(sum(result.seconds for result in results), 3),
        members=[result.value for result in results],
    )
