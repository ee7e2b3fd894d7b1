"""Runs as jobs: several at a time, each in a process of its own, with what happens to them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from osan.training.folder import FAILED, METRICS, RESULT, read_json, write_json
from osan.training.processes import INTERRUPTED, LOG, start
from osan.training.settings import Settings

State = Literal["started", "running", "finished", "failed", "interrupted"]


@dataclass(frozen=True)
class Job:
    """A run to do: its settings, including the seed, its folder, and that of raw files if given."""

    settings: Settings
    folder: Path
    data: Path | None = None

    def __str__(self) -> str:
        return f"{self.settings.name} seed {self.settings.seed}"

    def message(self, deadline: float | None = None) -> dict[str, Any]:
        """The message to its process."""
        seconds = None if deadline is None else deadline - time.monotonic()
        settings = self.settings.model_dump(mode="json")
        data = None if self.data is None else str(self.data.resolve())
        return {"settings": settings, "folder": str(self.folder.resolve()), "data": data, "seconds": seconds}


@dataclass(frozen=True)
class Event:
    """A change in the state of a job, with the number of epochs done and the reason of a failure."""

    job: Job
    state: State
    epochs: int = 0
    error: str = ""


def available_cpus() -> int:
    """The number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # missing on some systems
        return os.cpu_count() or 1


def run_locally(
    jobs: Sequence[Job], parallel: int, threads: int, deadline: float | None = None
) -> Generator[Event]:
    """Run jobs in ``parallel`` processes and yield what happens to them.

    After ``deadline`` (by :func:`time.monotonic`) no job starts and running jobs are interrupted; the next
    sweep continues them. Closing the iterator also interrupts them.
    """
    waiting, running = deque(jobs), dict[subprocess.Popen[bytes], Job]()
    try:
        while waiting or running:
            while waiting and len(running) < parallel and not past(deadline):
                job = waiting.popleft()
                running[start(job.message(deadline), threads)] = job
                yield Event(job, "started", epochs_done(job))
            if past(deadline):
                waiting.clear()
            time.sleep(0.2)
            for process, job in list(running.items()):
                if process.poll() is None:
                    yield Event(job, "running", epochs_done(job))
                else:
                    del running[process]
                    yield concluded(job, process.returncode)
    finally:
        _interrupt(list(running))


def concluded(job: Job, code: int) -> Event:
    """How a job ended, according to its files; a process that died is recorded as a failure."""
    epochs = epochs_done(job)
    if (job.folder / RESULT).is_file():
        return Event(job, "finished", epochs)
    if code in (INTERRUPTED, -signal.SIGINT):
        return Event(job, "interrupted", epochs)
    if not (job.folder / FAILED).is_file():
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        error = f"the process ended with {how} (see {LOG})"
        write_json(job.folder / FAILED, {"error": error})
    return Event(job, "failed", epochs, str(read_json(job.folder / FAILED).get("error", "")))


def epochs_done(job: Job) -> int:
    """The number of epochs that a run has recorded."""
    try:
        with (job.folder / METRICS).open("rb") as stream:
            return max(0, sum(1 for _ in stream) - 1)
    except OSError:
        return 0


def past(deadline: float | None) -> bool:
    """Whether the deadline has passed."""
    return deadline is not None and time.monotonic() >= deadline


def _interrupt(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End processes, first with an interrupt, so that they save their state, then by force."""
    for process in processes:
        process.send_signal(signal.SIGINT)
    end = time.monotonic() + 20.0
    for process in processes:
        try:
            process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
