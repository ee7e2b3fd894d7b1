"""Lightning loggers by name, for those who watch runs elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from lightning.pytorch.loggers import CSVLogger, Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from osan.errors import OsanError
from osan.parts import calling, resolve

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


LOGGERS: dict[str, Callable[[Path, str], Logger]] = {
    "csv": _csv,
    "tensorboard": _tensorboard,
    "wandb": _wandb,
    "mlflow": _mlflow,
}


def make_loggers(names: Sequence[str], folder: Path, run: str) -> list[Logger]:
    """The loggers of a run; their files go to the folder ``logs`` of the run.

    Parameters
    ----------
    names
        ``"csv"``, ``"tensorboard"``, ``"wandb"``, ``"mlflow"``, or ``"module:name"`` for a function of the
        folder and the name of the run that makes a logger of Lightning.
    folder
        The folder of the run.
    run
        The name of the run.

    Raises
    ------
    OsanError
        If a package is missing; it names the extra that installs it. If a custom function fails, or does not
        return a logger.
    """
    loggers = []
    for name in names:
        try:
            loggers.append(_made(name, folder, run))
        except ModuleNotFoundError as error:
            raise OsanError(
                f"machine.loggers: {name} is not installed; install it with: pip install 'osan[loggers]'"
            ) from error
    return loggers


def _made(name: str, folder: Path, run: str) -> Logger:
    if name in LOGGERS:
        return LOGGERS[name](folder, run)
    with calling(name, "machine.loggers"):
        made = resolve(name, LOGGERS, "machine.loggers")(folder, run)
    if not isinstance(made, Logger):
        raise OsanError(f"machine.loggers: expected {name!r} to return a Logger, got {type(made).__name__}")
    return made
