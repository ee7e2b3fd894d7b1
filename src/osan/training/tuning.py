"""Search for good settings with Optuna: trials on the validation split, stored, pruned and resumed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from osan.data import Task
from osan.errors import OsanError
from osan.extras import optional
from osan.locks import locked
from osan.training.columns import write_csv
from osan.training.folder import SETTINGS, settings_of
from osan.training.ray_trials import Cluster, search_on_ray
from osan.training.settings import Settings
from osan.training.settings_files import write_settings
from osan.training.tasks import load_task
from osan.training.trials import SPACE, proposed, run_trial, trial_folder

JOURNAL, BEST, TRIALS = "journal.jsonl", "best.toml", "trials.csv"


@dataclass(frozen=True)
class Tuned:
    """The best settings, their metric on the validation split, and how many trials ended in which way."""

    settings: Settings
    value: float
    metric: str
    states: dict[str, int]


def tune(
    settings: Settings,
    folder: Path,
    trials: int = 30,
    *,
    seconds: float | None = None,
    data: Path | None = None,
    cluster: Cluster | None = None,
    progress: Callable[[int, float | None], None] = lambda done, best: None,
) -> Tuned:
    """Try settings from :data:`~osan.training.trials.SPACE`, and write the best ones to ``best.toml``.

    Settings are proposed by Optuna's TPE sampler. A trial is stopped once its validation metric is worse than
    the median of the earlier ones at the same epoch, after five trials and a tenth of the epochs. The test
    split is not looked at. Trials are stored in ``journal.jsonl``, as JSON; the same call goes on until there
    are ``trials`` of them, and repeats a trial that was killed.

    Parameters
    ----------
    settings
        What is not searched.
    folder
        Where trials and the best settings are stored.
    trials, seconds
        How many trials there are in the end, and for how long this call tries; then the trial under way is
        stopped, too.
    data
        The folder of raw files; ``$OSAN_DATA`` by default.
    cluster
        A Ray cluster on which several trials are done at a time; without one they are done here, one after
        the other.
    progress
        Called after every trial with their number and the best value.
    """
    optuna = optional("optuna", "tune", "tuning")
    if cluster is not None:
        optional("ray", "ray", "tuning on a cluster")
    if trials < 1:
        raise OsanError(f"trials: expected at least 1, got {trials}")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, "tuning"):
        if (folder / SETTINGS).is_file():
            different = settings.differences(settings_of(folder))
            if different:
                raise OsanError(f"{folder} holds a search with other settings: {'; '.join(different[:5])}")
        write_settings(settings, folder / SETTINGS)
        task = load_task(settings, data, folder / "rejected.csv")
        try:
            study = _study(optuna, folder, settings, task, at_once=cluster is not None)
            ended = _search(optuna, study, settings, task, folder, trials, seconds, data, cluster, progress)
        except OSError as error:
            raise OsanError(
                f"{folder / JOURNAL} cannot be read or written: {error.strerror or error}; the same command "
                "goes on"
            ) from error
    if not ended:
        raise OsanError(
            "trials: expected at least one that ends, got none; give --time or --epochs that suffice"
        )
    best = settings.changed(study.best_params)
    best = best.changed({"name": "/".join(filter(None, [settings.name, "tuned"]))})
    write_settings(best, folder / BEST)
    states: dict[str, int] = {}
    for trial in study.get_trials(deepcopy=False):
        states[trial.state.name.lower()] = states.get(trial.state.name.lower(), 0) + 1
    return Tuned(best, study.best_value, task.metric, states)


def _sampler(optuna: Any, settings: Settings, trials: int, at_once: bool) -> Any:
    """TPE; if there are several trials at once, those under way count as bad ones, and are not repeated."""
    # Another seed after each trial: the first proposals are random, and would be the same again.
    seed = (settings.seed + 1000 * trials) % 2**32
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # before Optuna 5 this option is experimental
        return optuna.samplers.TPESampler(seed=seed, constant_liar=at_once)


def _study(optuna: Any, folder: Path, settings: Settings, task: Task, at_once: bool = False) -> Any:
    """The search in a folder; trials that were killed will be repeated."""
    journal = optional("optuna.storages.journal", "tune", "tuning")
    _drop_torn_line(folder / JOURNAL)
    try:
        storage = optuna.storages.JournalStorage(
            journal.JournalFileBackend(str(folder / JOURNAL), lock_obj=_Locked())
        )
        study = optuna.create_study(
            storage=storage,
            study_name="osan",
            load_if_exists=True,
            direction="minimize" if task.direction == "min" else "maximize",
        )
        known = study.get_trials()
    except OSError:
        raise
    except Exception as error:  # Optuna has no error of its own for this
        raise OsanError(f"{folder / JOURNAL}: expected the trials of a search, got a damaged file") from error
    study.sampler = _sampler(optuna, settings, len(known), at_once)
    warmup = max(1, settings.training.epochs // 10)
    study.pruner = optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=warmup)
    for trial in known:
        if trial.state == optuna.trial.TrialState.RUNNING:
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
            if len(trial.params) == len(SPACE):
                study.enqueue_trial(trial.params)
    return study


class _Locked:
    """A lock for Optuna that is held anyway: :func:`tune` locks the folder.

    Optuna's own lock is a link that stays after a kill, and then lets the next search wait forever.
    """

    def acquire(self) -> bool:
        """Nothing to wait for."""
        return True

    def release(self) -> None:
        """Nothing to do."""


def _drop_torn_line(path: Path) -> None:
    """Cut off what a killed process, or one on a full disk, wrote of the last line."""
    if not path.is_file():
        return
    with path.open("r+b") as stream:
        content = stream.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            stream.truncate(whole)


def _search(
    optuna: Any,
    study: Any,
    settings: Settings,
    task: Task,
    folder: Path,
    trials: int,
    seconds: float | None,
    data: Path | None,
    cluster: Cluster | None,
    progress: Callable[[int, float | None], None],
) -> bool:
    """Do what is missing; whether there is a best trial."""
    complete, pruned = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED
    deadline = None if seconds is None else time.monotonic() + seconds

    def run(trial: Any) -> float:
        watch = _Watch(trial, optuna.TrialPruned, f"val_{task.metric}", deadline)
        return run_trial(proposed(trial, settings), task, trial_folder(folder, trial), [watch])

    def told(study: Any, trial: Any) -> None:
        each = study.get_trials(deepcopy=False)
        ended = [one for one in each if one.state in (complete, pruned)]
        best = study.best_value if any(one.state == complete for one in each) else None
        header = ["trial", "state", "validation", *SPACE]
        rows = [
            [one.number, one.state.name.lower(), one.value, *(one.params.get(name) for name in SPACE)]
            for one in each
        ]
        write_csv(folder / TRIALS, header, [["" if cell is None else cell for cell in row] for row in rows])
        progress(len(ended), best)

    left = trials - len(study.get_trials(deepcopy=False, states=(complete, pruned)))
    if left > 0 and cluster is None:
        study.optimize(run, left, timeout=seconds, callbacks=[told], catch=(OsanError,))
    elif left > 0 and cluster is not None:
        search_on_ray(
            study, settings, task.metric, folder, left, cluster, deadline=deadline, data=data, told=told
        )
    return bool(study.get_trials(deepcopy=False, states=(complete,)))


class _Watch(Callback):
    """Reports the validation metric of every epoch, and stops the trial if it is bad or time is up."""

    def __init__(self, trial: Any, pruned: type[Exception], monitor: str, deadline: float | None) -> None:
        self.trial, self.pruned, self.monitor, self.deadline = trial, pruned, monitor, deadline

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.trial.report(float(trainer.callback_metrics[self.monitor]), trainer.current_epoch)
        late = self.deadline is not None and time.monotonic() >= self.deadline
        last = trainer.current_epoch + 1 == trainer.max_epochs
        if not last and (late or self.trial.should_prune()):
            raise self.pruned
