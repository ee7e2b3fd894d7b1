"""Plans: a file that lists runs, in order, with their seeds and changed settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from osan.errors import OsanError
from osan.experiments.catalog import matches
from osan.experiments.protocols import settings_named
from osan.experiments.sweep import missing_jobs, parse_seeds
from osan.training.jobs import Job
from osan.training.locating import located
from osan.training.settings import Section, Settings
from osan.training.settings_files import read_tree
from osan.training.validation import checked


class PlanGroup(Section):
    """Runs that belong together.

    ``runs`` are keys as listed by ``osan recipes``, or of the same form. The dataset may be the path of a
    file, relative to the current folder; method, policy and network may be parts in the form ``module:name``.
    ``set`` changes settings, as in ``{"network.width" = 64}``; ``name``, by default the changes, is then
    added to the keys.
    """

    runs: list[str]
    seeds: str = "0-4"
    set: dict[str, Any] = Field(default_factory=dict)
    name: str | None = None

    def settings(self, only: str | None = None) -> list[Settings]:
        """The settings of all runs, for seed 0, or of those whose name matches the pattern ``only``."""
        out = [settings_named(key) for key in self.runs]
        if self.set:
            out = [each.varied(self.set, self.name and f"{each.name}/{self.name}") for each in out]
        return [located(each) for each in out if matches(each.name, only)]


class Plan(Section):
    """Groups of runs, in the order in which they are done."""

    groups: list[PlanGroup]


def read_plan(path: Path, only: str | None = None) -> list[PlanGroup]:
    """Read a plan from a TOML or YAML file.

    The datasets of runs whose name does not match the pattern ``only`` need not be there.

    Raises
    ------
    OsanError
        If the file cannot be read, has unknown keys, runs, datasets or seeds, or has the same run twice with
        different settings.
    """
    groups = checked(Plan, read_tree(path), str(path)).groups
    seen: dict[str, Settings] = {}
    for number, group in enumerate(groups, 1):
        try:
            parse_seeds(group.seeds)
            for each in group.settings(only):
                different = each.differences(seen.setdefault(each.name, each))
                if different:
                    raise OsanError(f"{each.name}: expected the same settings as above, got {different[0]}")
        except OsanError as error:
            raise OsanError(f"{path}, group {number}: {error}") from None
    return groups


def plan_jobs(
    groups: list[PlanGroup], runs: Path, only: str | None = None, seeds_only: Sequence[int] | None = None
) -> tuple[list[Job], int]:
    """The unfinished jobs of all groups, in order and each once, and the number of finished ones.

    Only runs whose name matches the pattern ``only``, and only those seeds of the plan that are among
    ``seeds_only``.

    Raises
    ------
    OsanError
        If no run matches.
    """
    missing: dict[Path, Job] = {}
    every: set[tuple[str, int]] = set()
    for group in groups:
        settings = group.settings(only)
        seeds = [s for s in parse_seeds(group.seeds) if seeds_only is None or s in seeds_only]
        every.update((each.name, seed) for each in settings for seed in seeds)
        for job in missing_jobs(settings, seeds, runs):
            missing.setdefault(job.folder, job)
    if not every and groups:
        raise OsanError(
            f"only: expected the name of a run in the plan, or a pattern as '*imle*', got {only!r}"
            if seeds_only is None
            else f"seeds: expected some that the plan has for runs named {only or '*'!r}, got none of them"
        )
    return list(missing.values()), len(every) - len(missing)
