"""Sweeps on a Ray cluster: every run is a task.

All nodes need osan and must see the run folders and the data under the same paths (a shared file system). As
on one machine, every run is a separate process.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Generator, Sequence
from typing import Any

from osan.errors import OsanError
from osan.training.jobs import Event, Job, concluded, epochs_done
from osan.training.processes import INTERRUPTED, LOG, supervise


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
        The address for ``ray.init``: ``"host:port"``, ``"ray://host:port"``, ``"auto"``, or ``"local"`` for a
        cluster of this machine alone.
    threads, gpus
        The threads and GPUs of each run.
    deadline
        As in :func:`osan.training.jobs.run_locally`.
    """
    ray = _ray()
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        raise OsanError(
            f"ray: expected the address of a running cluster, got {address!r}: {' '.join(str(error).split())}"
        ) from error
    try:
        task = ray.remote(num_cpus=threads, num_gpus=gpus, max_retries=0)(supervise)
        # Paths of data are the same on all nodes, and so is the folder of custom parts.
        folders = {name: os.environ[name] for name in ("OSAN_DATA", "OSAN_CACHE") if name in os.environ}
        path = [os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])]
        folders["PYTHONPATH"] = os.pathsep.join(path)
        end = None if deadline is None else time.time() + deadline - time.monotonic()
        pending: dict[Any, Job] = {
            task.remote(job.message() | {"environment": folders}, threads, end): job for job in jobs
        }
        while pending:
            done, _ = ray.wait(list(pending), timeout=1.0)
            for reference in done:
                job = pending.pop(reference)
                yield concluded(job, _code(ray, reference))
            for job in pending.values():
                if (job.folder / LOG).exists():
                    yield Event(job, "running", epochs_done(job))
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Fail at once if nothing listens at the address; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10.0).close()


def _code(ray: Any, reference: Any) -> int:
    """The exit code of a task; the loss of its node counts as an interruption."""
    try:
        return int(ray.get(reference))
    except (
        ray.exceptions.WorkerCrashedError,
        ray.exceptions.NodeDiedError,
        ray.exceptions.TaskCancelledError,
    ):
        return INTERRUPTED


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise OsanError("ray: needs Ray; install it with pip install 'osan[ray]'") from None
    return ray
