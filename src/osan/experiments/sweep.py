"""Sweeps: run what is missing of a set of recipes and seeds, several at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from osan.errors import OsanError
from osan.experiments import worker
from osan.experiments.recipes import Recipe, recipes, tables
from osan.training.folder import FAILED, METRICS, RESULT, read_json, run_folder, write_json
from osan.training.settings import Settings

State = Literal["started", "running", "finished", "failed", "interrupted"]


@dataclass(frozen=True)
class Job:
    """One run that is to be done: its settings, seed included, and its folder."""

    settings: Settings
    folder: Path

    def __str__(self) -> str:
        return f"{self.settings.name} seed {self.settings.seed}"

    def message(self, deadline: float | None = None) -> dict[str, Any]:
        """What its process is told."""
        seconds = None if deadline is None else deadline - time.monotonic()
        settings = self.settings.model_dump(mode="json")
        return {"settings": settings, "folder": str(self.folder.resolve()), "seconds": seconds}


@dataclass(frozen=True)
class Event:
    """Something that happened to a job; ``epochs`` counts those done, ``error`` says why it failed."""

    job: Job
    state: State
    epochs: int = 0
    error: str = ""


def table_name(name: str) -> str:
    """The label of one of the paper's tables, given with or without ``tab:``.

    >>> table_name("exp"), table_name("t_mol")
    ('tab:exp', 't_mol')
    >>> table_name("t_mole")
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: unknown table 't_mole'; did you mean 't_mol'?
    """
    known = list(tables())
    for candidate in (name, f"tab:{name}"):
        if candidate in known:
            return candidate
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    raise OsanError(f"unknown table {name!r}; {hint}")


def chosen_recipes(name: str, only: str | None = None) -> list[Recipe]:
    """The recipes behind a table (``"all"``: behind every table) whose keys match the pattern ``only``.

    >>> [r.key for r in chosen_recipes("exp", "*imle*")]
    ['exp/gin/imle/delete-1-vertex/x3', 'exp/gin/imle/delete-1-edge/x3']
    """
    label = None if name == "all" else table_name(name)
    out = [r for r in recipes().values() if label is None or any(row.table == label for row in r.rows)]
    if only is not None:
        matching = [r for r in out if fnmatchcase(r.key, only) or only in r.key]
        if not matching:
            raise OsanError(f"--only {only!r} matches none of the {len(out)} recipes, such as {out[0].key!r}")
        out = matching
    return out


def parse_seeds(text: str) -> list[int]:
    """Seeds as typed.

    >>> parse_seeds("0-2,7")
    [0, 1, 2, 7]
    """
    seeds: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else not last)):
            raise OsanError(f"--seeds {text!r}: expected numbers and ranges such as 0-4 or 0,3,7")
        if dash and int(last) < int(first):
            raise OsanError(f"--seeds {text!r}: the range {part.strip()} is empty")
        seeds.update(range(int(first), int(last or first) + 1))
    return sorted(seeds)


def plan(settings: Sequence[Settings], seeds: Sequence[int], runs: Path) -> list[Job]:
    """The jobs that are not finished: all settings with the first seed, then with the next, and so on."""
    jobs = []
    for seed in seeds:
        for each in settings:
            one = each.changed({"seed": seed})
            folder = run_folder(runs, one)
            if not (folder / RESULT).is_file():
                jobs.append(Job(one, folder))
    return jobs


def available_cpus() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def run_locally(
    jobs: Sequence[Job], parallel: int, threads: int, deadline: float | None = None
) -> Generator[Event]:
    """Run jobs in ``parallel`` processes, and tell what happens.

    After ``deadline`` (by :func:`time.monotonic`) no job starts, and those that run are interrupted: the next
    sweep continues them. Closing the iterator interrupts them, too.
    """
    waiting, running = deque(jobs), dict[subprocess.Popen[bytes], Job]()
    try:
        while waiting or running:
            while waiting and len(running) < parallel and not past(deadline):
                job = waiting.popleft()
                running[worker.start(job.message(deadline), threads)] = job
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
    """How a job ended, by its files; a process that died without a word is recorded as a failure."""
    epochs = epochs_done(job)
    if (job.folder / RESULT).is_file():
        return Event(job, "finished", epochs)
    if code in (worker.INTERRUPTED, -signal.SIGINT):
        return Event(job, "interrupted", epochs)
    if not (job.folder / FAILED).is_file():
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        error = f"the process ended with {how} (its last words are in {worker.LOG})"
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
    """Whether the deadline has come."""
    return deadline is not None and time.monotonic() >= deadline


def _interrupt(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End processes: first as Ctrl-C does, so that each can save its state, then by force."""
    for process in processes:
        process.send_signal(signal.SIGINT)
    end = time.monotonic() + 20.0
    for process in processes:
        try:
            process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
