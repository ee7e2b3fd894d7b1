"""Lightning loggers by name, for those who watch runs elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from lightning.pytorch.loggers import CSVLogger, Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from osan.errors import OsanError
from osan.training.settings import LoggerName

LOGS = "logs"


def _csv(folder: Path, name: str) -> Logger:
    return CSVLogger(folder / LOGS, name="", version="csv", flush_logs_every_n_steps=1)


def _tensorboard(folder: Path, name: str) -> Logger:
    return TensorBoardLogger(folder / LOGS, name="", version="tensorboard")


def _wandb(folder: Path, name: str) -> Logger:
    # A resumed run continues the same page: its id follows from the folder.
    number = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    (folder / LOGS).mkdir(exist_ok=True)
    return WandbLogger(name=name, project="osan", save_dir=folder / LOGS, id=number, resume="allow")


def _mlflow(folder: Path, name: str) -> Logger:
    return MLFlowLogger(experiment_name="osan", run_name=name, save_dir=str(folder / LOGS / "mlflow"))


LOGGERS: dict[LoggerName, Callable[[Path, str], Logger]] = {
    "csv": _csv,
    "tensorboard": _tensorboard,
    "wandb": _wandb,
    "mlflow": _mlflow,
}


def make_loggers(names: Sequence[LoggerName], folder: Path, run: str) -> list[Logger]:
    """The loggers of a run; their files go to the folder ``logs`` of the run.

    Parameters
    ----------
    names
        ``"csv"``, ``"tensorboard"``, ``"wandb"`` or ``"mlflow"``.
    folder
        The folder of the run.
    run
        The name of the run.

    Raises
    ------
    OsanError
        If a package is missing; it names the extra that installs it.
    """
    loggers = []
    for name in names:
        try:
            loggers.append(LOGGERS[name](folder, run))
        except ModuleNotFoundError as error:
            raise OsanError(
                f"machine.loggers: {name} is not installed; install it with: pip install 'osan[loggers]'"
            ) from error
    return loggers
