"""Replicates: one training with several seeds, and the mean and deviation of every metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from osan.data.naming import find_path, num_folds
from osan.errors import OsanError
from osan.training.averages import mean_std
from osan.training.folder import Result, read_result, run_folder, write_json
from osan.training.jobs import Job
from osan.training.settings import Settings
from osan.training.several import train_all

REPLICATES = "replicates.json"


@dataclass(frozen=True)
class Spread:
    """A metric over replicates: its mean, the sample standard deviation (``None`` for one) and the values."""

    mean: float
    deviation: float | None
    values: list[float]


def replicate_settings(settings: Settings, count: int) -> list[Settings]:
    """The settings of each replicate: replicate i adds i to the seed.

    It also adds i to the seed of the split if that is drawn at random: ``"random"``, and files of your own
    without a split. If there are folds, each replicate tests on the next one. Other splits are the same for
    all. The name ends in ``replicates``.

    >>> whole = Settings(name="a").changed({"data.split": "random"})
    >>> [(each.name, each.seed, each.data.seed) for each in replicate_settings(whole, 2)]
    [('a/replicates', 0, 0), ('a/replicates', 1, 1)]
    """
    if not 1 <= count <= 1000:
        raise OsanError(f"replicates: expected a number from 1 to 1000, got {count}")
    wanted, out = settings.data, []
    name = "/".join(filter(None, [settings.name, "replicates"]))
    drawn = wanted.split == "random" or (wanted.split is None and find_path(wanted.dataset) is not None)
    for i in range(count):
        changes = {"name": name, "seed": settings.seed + i}
        if drawn:
            changes["data.seed"] = wanted.seed + i
        elif num_folds(wanted.split) and wanted.fold is None:
            changes["data.fold"] = "seed"
        out.append(settings.changed(changes))
    return out


def replicate(
    settings: Settings,
    count: int,
    runs: Path,
    *,
    progress: bool = True,
    data: Path | None = None,
    processes: int | None = None,
) -> dict[str, Spread]:
    """Train the replicates that are not finished, and return every metric on the test split.

    Runs are in ``RUNS/NAME/replicates/seed-0``, ``seed-1``, ..., and the metrics in ``replicates.json``
    beside them. The arguments are those of :func:`~osan.training.several.train_all`.
    """
    jobs = [Job(each, run_folder(runs, each), data) for each in replicate_settings(settings, count)]
    train_all(jobs, progress=progress, processes=processes)
    found = spread_of([result for job in jobs if (result := read_result(job.folder)) is not None])
    write_json(jobs[0].folder.parent / REPLICATES, {name: asdict(value) for name, value in found.items()})
    return found


def spread_of(results: Sequence[Result]) -> dict[str, Spread]:
    """Every metric that all results have, and the coverage of intervals."""
    rows = []
    for result in results:
        covered = None if result.intervals is None else result.intervals["coverage"]
        rows.append(result.scores | ({} if covered is None else {"coverage": covered}))
    names = [name for name in rows[0] if all(name in row for row in rows)]
    columns = {name: [row[name] for row in rows] for name in names}
    found = {name: mean_std(values) for name, values in columns.items()}
    return {name: Spread(mean, std, columns[name]) for name, (mean, std) in found.items()}
