"""Sweeps on a Ray cluster: every run is a task.

All nodes need osan and must see the run folders and the data under the same paths (a shared file system). As
on one machine, every run is a separate process.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import Any

from osan.training.jobs import Event, Job, concluded, epochs_done
from osan.training.processes import INTERRUPTED, LOG, supervise
from osan.training.ray_cluster import connected, environment, is_loss


def run_on_ray(
    jobs: Sequence[Job],
    address: str,
    threads: int = 1,
    gpus: float = 0.0,
    deadline: float | None = None,
) -> Generator[Event]:
    """Run jobs on the Ray cluster at ``address`` and yield what happens to them.

    Parameters
    ----------
    jobs
        The jobs to run.
    address
        As in :func:`osan.training.ray_cluster.connected`.
    threads, gpus
        The threads and GPUs of each run.
    deadline
        As in :func:`osan.training.jobs.run_locally`.
    """
    with connected(address) as ray:
        task = ray.remote(num_cpus=threads, num_gpus=gpus, max_retries=0)(supervise)
        variables = environment()
        end = None if deadline is None else time.time() + deadline - time.monotonic()
        pending: dict[Any, Job] = {
            task.remote(job.message() | {"environment": variables}, threads, end): job for job in jobs
        }
        while pending:
            done, _ = ray.wait(list(pending), timeout=1.0)
            for reference in done:
                job = pending.pop(reference)
                yield concluded(job, _code(ray, reference))
            for job in pending.values():
                if (job.folder / LOG).exists():
                    yield Event(job, "running", epochs_done(job))


def _code(ray: Any, reference: Any) -> int:
    """The exit code of a task; the loss of its node counts as an interruption."""
    try:
        return int(ray.get(reference))
    except Exception as error:
        if not is_loss(ray, error):
            raise
        return INTERRUPTED
