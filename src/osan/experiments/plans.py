"""Plans: a file that says which runs to do, in which order, with which seeds and changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from osan.errors import OsanError
from osan.experiments.recipes import settings_named
from osan.experiments.sweep import Job, parse_seeds, plan
from osan.training.settings import Section, Settings
from osan.training.settings_files import read_tree
from osan.training.tasks import located
from osan.training.validation import checked


class Group(Section):
    """Runs that belong together.

    ``runs`` are keys as ``osan recipes`` lists them, or of the same form, where the dataset may be the path
    of a file (from the current folder); ``set`` changes settings, as in ``{"network.width" = 64}``, and
    ``name`` is then added to the keys (the changes themselves, if not given).
    """

    runs: list[str]
    seeds: str = "0-4"
    set: dict[str, Any] = Field(default_factory=dict)
    name: str | None = None

    def settings(self) -> list[Settings]:
        """The settings of every run, for seed 0."""
        out = [settings_named(key) for key in self.runs]
        if self.set:
            out = [each.varied(self.set, self.name and f"{each.name}/{self.name}") for each in out]
        return [located(each) for each in out]


class Plan(Section):
    """Groups of runs, the most important first."""

    groups: list[Group]


def read_plan(path: Path) -> list[Group]:
    """The groups of a plan in a TOML or YAML file.

    Raises
    ------
    OsanError
        If the file cannot be read, has unknown keys, runs, datasets or seeds, or two groups share a run
        folder but not its settings.
    """
    groups = checked(Plan, read_tree(path), str(path)).groups
    seen: dict[str, Settings] = {}
    for number, group in enumerate(groups, 1):
        try:
            parse_seeds(group.seeds)
            for each in group.settings():
                different = each.differences(seen.setdefault(each.name, each))
                if different:
                    raise OsanError(f"{each.name} stands there twice with other settings: {different[0]}")
        except OsanError as error:
            raise OsanError(f"{path}, group {number}: {error}") from None
    return groups


def plan_jobs(groups: list[Group], runs: Path) -> tuple[list[Job], int]:
    """The jobs of all groups that are not finished, in order and each once, and how many are finished."""
    missing: dict[Path, Job] = {}
    every: set[tuple[str, int]] = set()
    for group in groups:
        settings, seeds = group.settings(), parse_seeds(group.seeds)
        every.update((each.name, seed) for each in settings for seed in seeds)
        for job in plan(settings, seeds, runs):
            missing.setdefault(job.folder, job)
    return list(missing.values()), len(every) - len(missing)
