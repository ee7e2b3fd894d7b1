"""Sweeps: the missing runs of a set of settings and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from osan.errors import OsanError
from osan.training.folder import RESULT, run_folder
from osan.training.jobs import Job
from osan.training.settings import Settings

# More runs than anyone does.
_MOST_SEEDS = 10**6


def parse_seeds(text: str) -> list[int]:
    """Read seeds from text.

    >>> parse_seeds("0-2,7")
    [0, 1, 2, 7]
    """
    seeds: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else not last)):
            raise OsanError(f"seeds: expected numbers and ranges such as 0-4 or 0,3,7, got {text!r}")
        if max(len(first), len(last)) > 19:
            raise OsanError(f"seeds: expected numbers of at most 19 digits, got {part.strip()[:40]!r}")
        if dash and int(last) < int(first):
            raise OsanError(f"seeds: expected ranges from low to high, got {part.strip()!r}")
        if int(last or first) - int(first) + len(seeds) >= _MOST_SEEDS:
            raise OsanError(f"seeds: expected at most {_MOST_SEEDS}, got {text[:40]!r}")
        seeds.update(range(int(first), int(last or first) + 1))
    return sorted(seeds)


def missing_jobs(settings: Sequence[Settings], seeds: Sequence[int], runs: Path) -> list[Job]:
    """The jobs that are not finished: all settings with the first seed, then all with the second, ..."""
    if settings and seeds:
        settings[0].changed({"seed": max(seeds)})  # which checks it
    jobs = []
    for seed in seeds:
        for each in settings:
            one = each.model_copy(update={"seed": seed})
            folder = run_folder(runs, one)
            if not (folder / RESULT).is_file():
                jobs.append(Job(one, folder))
    return jobs
