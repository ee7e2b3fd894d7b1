"""Callbacks between epochs: early stopping, best weights, the file of metrics, checkpoints, progress."""

from __future__ import annotations

import csv
import io
import operator
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.loggers import CSVLogger, Logger
from torch import Tensor

from osan.data import FlatDataset
from osan.files import append_bytes, write_bytes
from osan.parts import calling
from osan.training.evaluation import predict
from osan.training.folder import CHECKPOINT, METRICS
from osan.training.module import Learner
from osan.training.scores import score

# The metric of the watched test split. Not "test_" and its name: it is not the result.
TEST_COLUMN = "watched_test"


class Patience(EarlyStopping):
    """Stop when the validation metric has not improved for a while, but not before ``min_epochs``."""

    def __init__(self, monitor: str, mode: str, patience: int, min_epochs: int) -> None:
        super().__init__(monitor, mode=mode, patience=patience, check_on_train_epoch_end=False)
        self.min_epochs = min_epochs

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        super().on_validation_end(trainer, pl_module)
        # Otherwise Lightning remembers the request and stops later, even if the metric improves meanwhile.
        if trainer.current_epoch + 1 < self.min_epochs:
            trainer.should_stop = False


class Best(Callback):
    """The weights after the epoch with the best validation metric, the first or the last of equals."""

    def __init__(self, monitor: str, mode: str, keep: str = "first") -> None:
        self.monitor, self.sign = monitor, 1.0 if mode == "min" else -1.0
        self.better = operator.lt if keep == "first" else operator.le
        self.value, self.epoch = float("nan"), -1
        self.weights: dict[str, Tensor] = {}

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        value = float(trainer.callback_metrics[self.monitor])
        if self.epoch < 0 or self.better(self.sign * value, self.sign * self.value):
            self.value, self.epoch = value, trainer.current_epoch
            state = pl_module.model.state_dict()  # type: ignore[union-attr]
            self.weights = {name: tensor.detach().cpu().clone() for name, tensor in state.items()}

    def state_dict(self) -> dict[str, Any]:
        return {"value": self.value, "epoch": self.epoch, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.value, self.epoch, self.weights = (state_dict[key] for key in ("value", "epoch", "weights"))


class History(Callback):
    """``metrics.csv``: one line per epoch; a resumed run continues it as if it had never stopped.

    ``watched`` is a test split whose metric is recorded as well, outside the measured time.
    """

    def __init__(self, folder: Path, watched: FlatDataset | None = None) -> None:
        self.file, self.watched = folder / METRICS, watched
        self.rows: list[dict[str, float]] = []
        self.start = 0.0
        # The columns of the file, once this process has written it.
        self.columns: list[str] | None = None

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not (isinstance(pl_module, Learner) and trainer.is_global_zero):
            return
        for logger in trainer.loggers:
            with calling(logger, "machine.loggers"):
                logger.log_hyperparams(pl_module.settings.model_dump(exclude_none=True))
            # It starts a new file; the others go on.
            for row in self.rows if isinstance(logger, CSVLogger) else ():
                _log(logger, row)

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.start = time.perf_counter()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not isinstance(pl_module, Learner):
            return
        rates = [group["lr"] for group in trainer.optimizers[0].param_groups]
        row = {
            "epoch": trainer.current_epoch,
            "train_loss": pl_module.epoch_loss(),
            pl_module.monitor: float(trainer.callback_metrics[pl_module.monitor]),
            "lr": rates[0],
            "upstream_lr": rates[-1] if len(rates) > 1 else 0.0,
            "seconds": round(time.perf_counter() - self.start, 4),
        }
        if pl_module.learns:
            row["gradients"] = pl_module.gradient_share()
            row["kappa"] = pl_module.kappa()
        if self.watched is not None:
            info, size = pl_module.info, pl_module.settings.training.batch_size
            average = pl_module.average
            with nullcontext() if average is None else average.used(pl_module.model):
                prediction = predict(pl_module, self.watched, size)
            row[TEST_COLUMN] = float(score(prediction, self.watched.y, info.kind, info.metric))
        self.rows.append(row)
        if trainer.is_global_zero:
            self.add(row)
            for logger in trainer.loggers:
                _log(logger, row)

    def add(self, row: dict[str, float]) -> None:
        """Add the last row to the file; the time does not grow with the number of rows."""
        if self.columns != list(row) or not self.file.is_file():
            self.write()
        else:
            append_bytes(self.file, _lines([row], self.columns, header=False))

    def write(self) -> None:
        """Write all rows; the file is whole at any moment."""
        # The last row has all columns, also if an older version wrote the first ones.
        self.columns = list(self.rows[-1])
        write_bytes(self.file, _lines(self.rows, self.columns, header=True), lasting=False)

    def best_test(self, direction: str) -> float | None:
        """The best metric of the watched split over all epochs; ``None`` if none was watched."""
        if self.watched is None:
            return None
        values = [row[TEST_COLUMN] for row in self.rows]
        return min(values) if direction == "min" else max(values)

    @property
    def seconds(self) -> float:
        """The time of all epochs."""
        return float(sum(row["seconds"] for row in self.rows))

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.rows = state_dict["rows"]


def _lines(rows: Sequence[dict[str, float]], columns: Sequence[str], header: bool) -> bytes:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


def _log(logger: Logger, row: dict[str, float]) -> None:
    with calling(logger, "machine.loggers"):
        logger.log_metrics(row, step=int(row["epoch"]))
        logger.save()


class Starts(Callback):
    """Starts a run over several times, and goes on from the best epoch so far when its choice settles.

    ``fresh`` returns newly drawn weights for the number of an epoch.
    """

    def __init__(self, best: Best, history: History, fresh: Callable[[int], dict[str, Tensor]]) -> None:
        self.best, self.history, self.fresh = best, history, fresh

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not isinstance(pl_module, Learner):
            return
        course, epoch = pl_module.course, trainer.current_epoch
        if course.goes_on(epoch) and course.starts == 1:
            pl_module.go_on_from(self.best.weights)
        elif course.goes_on(epoch):
            # What the optimizer remembers is of the last start, which need not be the best one.
            first = self.best.epoch - course.epoch(self.best.epoch)
            rows = self.history.rows[first : first + course.settles]
            pl_module.begin_with(self.best.weights, [row[pl_module.monitor] for row in rows])
        elif epoch > 0 and course.begins(epoch):
            pl_module.begin_with(self.fresh(epoch))


class Perfect(Callback):
    """Stop when nothing can improve any more; only for runs that keep the first of equally good epochs.

    If a test split is watched, its metric has to be perfect as well. Comes after ``History``.
    """

    def __init__(self, best: Best, history: History, direction: str) -> None:
        self.best, self.history, self.direction = best, history, direction

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        perfect = 0.0 if self.direction == "min" else 1.0
        if self.best.value == perfect and self.history.best_test(self.direction) in (None, perfect):
            trainer.should_stop = True


class Saver(Callback):
    """Writes ``checkpoint.ckpt`` after an epoch, not more often than every ``seconds``, and after the last.

    It has to be the last callback, so that the others have seen the epoch.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        self.file, self.seconds = folder / CHECKPOINT, seconds
        self.last = time.perf_counter()
        self.finished = False

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.finished = trainer.should_stop or trainer.current_epoch + 1 >= (trainer.max_epochs or 1)
        due = self.finished or time.perf_counter() - self.last >= self.seconds
        # One clock decides for all processes.
        if trainer.strategy.broadcast(due):
            trainer.save_checkpoint(self.file)
            self.last = time.perf_counter()

    def state_dict(self) -> dict[str, Any]:
        return {"finished": self.finished}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.finished = state_dict["finished"]


class Progress(Callback):
    """A bar over the epochs, on stderr."""

    def __init__(self, best: Best) -> None:
        self.best = best
        self.bar: Any = None
        self.line: Any = None

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.is_global_zero:
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        words = TextColumn("{task.description}")
        self.bar = Progress(
            words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True)
        )
        self.line = self.bar.add_task("epochs", total=trainer.max_epochs, completed=trainer.current_epoch)
        self.bar.start()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.bar is None:
            return
        value = float(trainer.callback_metrics[self.best.monitor])
        text = f"{self.best.monitor} {value:.4f}, best {self.best.value:.4f}"
        self.bar.update(self.line, completed=trainer.current_epoch + 1, description=text)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._stop()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self._stop()

    def _stop(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
