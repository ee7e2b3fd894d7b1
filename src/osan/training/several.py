"""Train several runs: those that are not finished, in parallel processes, or one after the other here."""

from __future__ import annotations

from collections.abc import Sequence

from osan.data import Task
from osan.errors import OsanError
from osan.training.bars import watched
from osan.training.folder import RESULT, SETTINGS, settings_of
from osan.training.jobs import Job, available_cpus, run_locally
from osan.training.run import train


def train_all(
    jobs: Sequence[Job], *, task: Task | None = None, progress: bool = True, processes: int | None = None
) -> None:
    """Train what is not finished; stopped or killed, the same call goes on.

    A run that fails does not stop the others. The first failure is raised in the end; it names the folder.

    Parameters
    ----------
    jobs
        The runs. Folders that hold runs with other settings are errors.
    task
        A custom task. Runs are then trained here, one after the other.
    progress
        Whether to show bars.
    processes
        How many runs are trained at a time: by default as many as there are processors. With 1, they are
        trained here.
    """
    for job in jobs:
        if (job.folder / SETTINGS).is_file():
            different = job.settings.differences(settings_of(job.folder))
            if different and task is None:
                raise OsanError(f"{job.folder} holds a run with other settings: {'; '.join(different[:5])}")
    todo = [job for job in jobs if not (job.folder / RESULT).is_file()]
    parallel = min(processes or available_cpus(), max(1, len(todo)))
    failures = []
    if task is not None or parallel == 1:
        for job in todo:
            try:
                train(job.settings, job.folder, task=task, resume=True, progress=progress, data=job.data)
            except OsanError as error:
                failures.append(OsanError(f"{job.folder.name}: {error}"))
    else:
        events = run_locally(todo, parallel, max(1, available_cpus() // parallel))
        for event in watched(events, len(todo), quiet=not progress):
            if event.state != "finished":
                reason = event.error or "interrupted; the same command continues"
                failures.append(OsanError(f"{event.job.folder.name}: {reason}"))
    if failures:
        raise failures[0]
