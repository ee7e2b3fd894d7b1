"""``osan.train``, ``osan.replicate`` and ``osan.open_run``: in Python as on the command line."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from osan.data.formats.cells import csv_text
from osan.errors import OsanError
from osan.experiments.protocols import chosen_settings
from osan.files import write_bytes
from osan.report.frames import columns_of, is_frame
from osan.report.runs import Run, open_run
from osan.shown import html_table
from osan.training.folder import run_folder
from osan.training.locating import located
from osan.training.replicates import Spread, replicate_settings
from osan.training.replicates import replicate as replicate_runs
from osan.training.run import train as train_settings
from osan.training.settings import Settings
from osan.training.settings_files import named_changes
from osan.words import counted

if TYPE_CHECKING:
    import pandas

__all__ = ["Replicates", "open_run", "replicate", "train"]


def train(
    data: str | os.PathLike[str] | Mapping[str, Sequence[Any]] | pandas.DataFrame,
    policy: str | None = None,
    *,
    smiles: str | Sequence[str] | None = None,
    targets: str | Sequence[str] | None = None,
    split: str | None = None,
    seed: int = 0,
    network: str | None = None,
    selection: str | None = None,
    weigher: str | None = None,
    subgraphs: str | int | None = None,
    like_the_paper: bool = False,
    name: str | None = None,
    runs: str | os.PathLike[str] = "runs",
    resume: bool = False,
    progress: bool = True,
    root: str | os.PathLike[str] | None = None,
    processes: int | None = None,
    **settings: Any,
) -> Run:
    """Train and score a network, as ``osan train`` does; all results are in the folder of the run.

    Parameters
    ----------
    data
        A pandas DataFrame, a mapping of names to columns, the path of a table of molecules or of a file of
        graphs, or the name of a dataset. A DataFrame or mapping is first written to the folder
        ``RUNS/tables``, under a name by its content, so that the run can be evaluated and repeated.
    policy, network, selection, weigher, subgraphs, like_the_paper
        As in the command: what is looked at, and how it is chosen. Without any of them, your own data get
        :func:`osan.experiments.default_settings`.
    smiles, targets, split
        Tables: the columns of SMILES (by default ``"smiles"``) and of targets (by default ``"y"``), and the
        split; see :func:`osan.data.load`.
    seed
        Of weights, noise and the order of batches.
    name, runs
        The name of the run and the folder of runs: the run goes to ``RUNS/NAME/seed-SEED``. By default the
        name says how the run differs from the default.
    resume
        Go on with the run in that folder; a finished one is returned as it is. Otherwise a folder that holds
        a run is an error.
    progress
        Whether to show a bar.
    root
        The folder of raw files of named datasets; ``$OSAN_DATA`` by default.
    processes
        How many members of an ensemble are trained at a time; one for each processor by default.
    settings
        Any other setting by its last word, such as ``epochs=50`` or ``width=128``, or in full, as
        ``**{"training.options": {...}}``.

    Returns
    -------
    Run
        With ``scores``, ``folder``, ``predict``, ``explain`` and ``report``.

    Examples
    --------
    >>> import tempfile
    >>> table = {"smiles": ["C" * n + end for n in range(1, 6) for end in "ON"], "size": list(range(10))}
    >>> runs = tempfile.mkdtemp()
    >>> run = train(table, targets="size", epochs=1, width=8, layers=2, runs=runs, progress=False)
    >>> sorted(run.scores)[:2], list(run.predict(["CCO"]).columns)
    (['mae', 'rmse'], ['smiles', 'predicted_size', 'predicted_size_spread'])
    """
    if "replicates" in settings:
        raise OsanError("replicates: expected one run, got several; use osan.replicate(data, 5, ...)")
    wanted = _wanted(
        data,
        policy,
        Path(runs),
        name,
        smiles=smiles,
        targets=targets,
        split=split,
        seed=seed,
        network=network,
        selection=selection,
        weigher=weigher,
        subgraphs=subgraphs,
        like_the_paper=like_the_paper,
        **settings,
    )
    folder = run_folder(Path(runs), wanted)
    place = None if root is None else Path(root)
    train_settings(wanted, folder, resume=resume, progress=progress, data=place, processes=processes)
    return open_run(folder)


@dataclass(frozen=True)
class Replicates:
    """Runs of one training with several seeds: their folder, the runs, and each metric with its deviation."""

    folder: Path
    runs: list[Run]
    scores: dict[str, Spread]

    def _repr_html_(self) -> str:
        caption = f"{counted(len(self.runs), 'run')} in {self.folder}"
        if len(self.runs) == 1:
            return html_table(
                ["test", "value"], [(name, each.mean) for name, each in self.scores.items()], caption
            )
        rows = [(name, each.mean, each.deviation) for name, each in self.scores.items()]
        return html_table(["test", "mean", "deviation"], rows, caption)


def replicate(
    data: str | os.PathLike[str] | Mapping[str, Sequence[Any]] | pandas.DataFrame,
    count: int,
    policy: str | None = None,
    *,
    name: str | None = None,
    runs: str | os.PathLike[str] = "runs",
    progress: bool = True,
    root: str | os.PathLike[str] | None = None,
    processes: int | None = None,
    **options: Any,
) -> Replicates:
    """Train ``count`` runs with other seeds, random splits and folds, as ``osan train --replicates`` does.

    Takes what :func:`train` takes. Runs that are finished are not repeated, so the same call goes on after an
    interruption; ``processes`` are trained at a time, one for each processor by default.

    >>> import tempfile
    >>> table = {"smiles": ["C" * n + end for n in range(1, 6) for end in "ON"], "y": list(range(10))}
    >>> small = {"epochs": 1, "width": 8, "layers": 2, "progress": False}
    >>> done = replicate(table, 2, runs=tempfile.mkdtemp(), processes=1, **small)
    >>> len(done.runs), len(done.scores["mae"].values)
    (2, 2)
    """
    wanted = _wanted(data, policy, Path(runs), name, **options)
    place = None if root is None else Path(root)
    scores = replicate_runs(wanted, count, Path(runs), progress=progress, data=place, processes=processes)
    folders = [run_folder(Path(runs), each) for each in replicate_settings(wanted, count)]
    return Replicates(folders[0].parent, [open_run(folder) for folder in folders], scores)


def _wanted(
    data: Any,
    policy: str | None,
    runs: Path,
    name: str | None,
    *,
    smiles: str | Sequence[str] | None = None,
    targets: str | Sequence[str] | None = None,
    split: str | None = None,
    seed: int = 0,
    network: str | None = None,
    selection: str | None = None,
    weigher: str | None = None,
    subgraphs: str | int | None = None,
    like_the_paper: bool = False,
    **settings: Any,
) -> Settings:
    """The settings of a run by the arguments of :func:`train`; a table in memory is stored."""
    changes = named_changes(settings)
    given = {
        "data.smiles": _names(smiles),
        "data.targets": [names] if isinstance(names := _names(targets), str) else names,
        "data.split": None if split is None else os.fspath(split),
    }
    changes = {"seed": seed, **{key: value for key, value in given.items() if value is not None}, **changes}
    dataset = _stored(data, runs) if is_frame(data) or isinstance(data, Mapping) else os.fspath(data)
    chosen = chosen_settings(
        dataset,
        policy,
        subgraphs=subgraphs,
        selection=selection,
        weigher=weigher,
        network=network,
        like_the_paper=like_the_paper,
    )
    return located(chosen.varied(changes, name))


def _names(given: Any) -> str | list[str] | None:
    """Names of columns as text, as they are stored; those of a DataFrame may be numbers.

    >>> _names(0), _names(["a", 1]), _names(None)
    ('0', ['a', '1'], None)
    """
    if given is None or isinstance(given, str):
        return given
    return list(map(str, given)) if isinstance(given, Iterable) else str(given)


def _stored(data: Any, runs: Path) -> str:
    """The path of a file with the table, named by its content."""
    columns = columns_of(data)
    if not columns:
        raise OsanError("data: expected a table with columns, got none")
    text = csv_text([list(columns), *zip(*columns.values(), strict=True)], raw=True)
    content = text.encode(errors="surrogateescape")
    path = runs / "tables" / f"table-{hashlib.sha256(content).hexdigest()[:12]}.csv"
    if not path.is_file():
        write_bytes(path, content)
    return str(path)
