"""Train a run from its settings to its result, in one folder, and load its model."""

from __future__ import annotations

import contextlib
import csv
import warnings
from pathlib import Path

import torch
from lightning.fabric.utilities.rank_zero import rank_zero_only
from torch import nn

from osan.data import Task
from osan.data.custom.molecules import FURTHER_TARGET, OTHER_TARGET
from osan.errors import OsanError, Unfinished, one_line
from osan.locks import locked
from osan.training import folder as files
from osan.training.blending import add_process, blend, check_blend, forget_process, share_of
from osan.training.build import build
from osan.training.evaluation import check_scorable, predict
from osan.training.fit import Fitted, fit
from osan.training.folder import Result, read_result, settings_of
from osan.training.members import Ensemble, Predictor
from osan.training.memory import too_large
from osan.training.models import CustomModel
from osan.training.module import Learner
from osan.training.outcome import write_outcome
from osan.training.scores import score
from osan.training.settings import CUSTOM, Settings
from osan.training.settings_files import write_settings
from osan.training.stored import load_weights, read_info, write_model
from osan.training.tasks import TaskInfo, load_task
from osan.training.validation import naming_settings

# The rows of a table that are not used.
REJECTED = "rejected.csv"


def train(
    settings: Settings,
    folder: str | Path,
    *,
    model: nn.Module | None = None,
    task: Task | None = None,
    resume: bool = False,
    progress: bool = True,
    data: Path | None = None,
    processes: int | None = None,
) -> Result:
    """Train, select the best epoch on the validation split, and score it once on the test split.

    Parameters
    ----------
    settings
        What to do.
    folder
        The folder of the run; see :mod:`osan.training.folder`.
    model
        A custom model instead of the one in the settings: a :class:`osan.nn.DataDrivenOSAN`, an
        :class:`osan.nn.FixedBags`, or any module from a batch to predictions of shape ``[graphs, targets]``.
        Pass it again to resume the run and to load it.
    task
        A custom task instead of the one in the settings. Pass it again to resume the run.
    resume
        Resume the run in the folder, if there is one: from its last checkpoint, or from the start. A finished
        run is returned as it is. Otherwise a folder that holds a run is an error.
    progress
        Whether to show a bar.
    data
        The folder of raw files; ``$OSAN_DATA`` by default.
    processes
        How many members of an ensemble are trained at a time; as many as there are processors by default.

    Raises
    ------
    OsanError
        If something is wrong with settings, data or files, or the loss is not finite. The reason is also in
        ``failed.json``; the last checkpoint stays.
    KeyboardInterrupt
        On Ctrl-C; the run can be resumed.
    """
    folder = Path(folder)
    custom = {"network.architecture": CUSTOM} if model is not None else {}
    custom |= {"data.dataset": f"{CUSTOM}:{task.name}"} if task is not None else {}
    settings = settings.changed(custom) if custom else settings

    def work() -> Result:
        with too_large():
            if settings.ensemble > 1:
                return _train_members(settings, folder, model, task, progress, data, processes)
            return _train(settings, folder, model, task, resume=resume, progress=progress, data=data)

    if not is_first_process():
        return work()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder, "training"):
            done = _prepare(settings, folder, resume)
            if done is not None:
                return done
            try:
                return work()
            except Exception as error:
                if _is_interrupt(error):
                    raise KeyboardInterrupt from error
                _note_failure(folder, error)
                raise
    except OSError as error:
        place, reason = error.filename or folder, error.strerror or error
        raise OsanError(f"{place} cannot be read or written: {reason}") from error


def load_model(folder: str | Path, model: nn.Module | None = None) -> tuple[Learner, Settings, TaskInfo]:
    """The best model of a finished run, in evaluation mode, its settings and what it knows of its task.

    Called on a batch, it predicts in the unit of the targets; its ``model`` is the network itself. Nothing is
    unpickled.

    Parameters
    ----------
    folder
        The folder of the run.
    model
        The custom model that was passed to :func:`train`, with any weights; ``None`` for other runs.
    """
    folder = Path(folder)
    settings = settings_of(folder)
    if settings.ensemble > 1:
        raise OsanError(
            f"{folder}: expected one network, got an ensemble; use load_predictor, or one of its members, "
            f"such as {files.member_folder(folder, 0)}"
        )
    files.refuse_python(settings, folder)
    info = read_info(folder)
    try:
        learner = Learner(_model(settings, info, model), settings, info)
    except (RuntimeError, OverflowError, MemoryError) as error:  # sizes that no network has
        raise OsanError(
            f"{folder / files.MODEL} describes a network that cannot be built ({one_line(error)}); the file "
            "is damaged, or a custom part fails"
        ) from error
    add_process(learner.model, settings, info)
    load_weights(folder, learner.model)
    return learner.eval(), settings, info


def load_predictor(folder: str | Path) -> Predictor:
    """The best model of a finished run, or the ensemble of its members, in evaluation mode.

    Both know their ``settings`` and the ``info`` of their task. Called on a batch, they predict in the unit
    of the targets.
    """
    folder = Path(folder)
    settings = settings_of(folder)
    if settings.ensemble == 1:
        return load_model(folder)[0]
    for place in files.model_folders(folder):
        if not (place / files.MODEL).is_file():
            raise Unfinished(f"{folder} holds an ensemble that is not finished", folder)
    return Ensemble(tuple(load_model(place)[0] for place in files.model_folders(folder)), settings)


def _model(settings: Settings, info: TaskInfo, model: nn.Module | None) -> nn.Module:
    """The model of a run: built from its settings, or the custom one."""
    custom = settings.network.architecture == CUSTOM
    if custom != (model is not None):
        problem = "a custom model, got none; pass it as model=" if custom else "no custom model, got one"
        raise OsanError(f"model: expected {problem}")
    if model is None:
        return build(settings, info)
    return model if hasattr(model, "learns") else CustomModel(model)


def _prepare(settings: Settings, folder: Path, resume: bool) -> Result | None:
    """Make the folder of a new run, or check that it holds this very one; the result if it is finished."""
    if (folder / files.SETTINGS).is_file() and not _failed_at_once(folder):
        if not resume:
            raise Unfinished(
                f"{folder} holds a run already; resume it (in Python, resume=True), or choose another folder",
                folder,
            )
        different = settings.differences(settings_of(folder))
        if different:
            raise OsanError(f"{folder} holds a run with other settings: {'; '.join(different[:5])}")
        done = read_result(folder)
        if done is not None:
            return done
        # Files that a killed process left half-written; the (whole) files themselves stay.
        for left in folder.glob(".*.*-*"):
            left.unlink(missing_ok=True)
    write_settings(settings, folder / files.SETTINGS)
    (folder / files.FAILED).unlink(missing_ok=True)
    return None


def _failed_at_once(folder: Path) -> bool:
    """Whether a run failed before it trained anything, as with a table that cannot be read."""
    trained = (files.METRICS, files.CHECKPOINT, files.RESULT, files.member_folder(folder, 0).name)
    return (folder / files.FAILED).is_file() and not any((folder / name).exists() for name in trained)


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused an error; while numba compiles, it comes out as a SystemError."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or _is_interrupt(error.__cause__))


def _train_members(
    settings: Settings,
    folder: Path,
    model: nn.Module | None,
    task: Task | None,
    progress: bool,
    data: Path | None,
    processes: int | None,
) -> Result:
    # It trains its members with the function above.
    from osan.training.ensemble import train_ensemble

    if model is not None:
        raise OsanError("ensemble: expected 1 with a custom model, whose initial weights are given, got more")
    return train_ensemble(settings, folder, task, progress=progress, data=data, processes=processes)


def _train(
    settings: Settings,
    folder: Path,
    model: nn.Module | None,
    task: Task | None,
    *,
    resume: bool,
    progress: bool,
    data: Path | None,
) -> Result:
    task = load_task(settings, data, folder / REJECTED, task)
    info = TaskInfo.of(task, settings)
    check_scorable(task, info)
    warn_of_rows(folder / REJECTED, task)
    _warn_of_targets(task, info)
    torch.manual_seed(settings.seed)
    learner = Learner(_model(settings, info, model), settings, info)
    check_blend(learner.model, settings, info)
    forget_process(learner.model, settings, info)
    # A custom model has parts that no setting names.
    with naming_settings() if model is None else contextlib.nullcontext():
        fitted = fit(learner, task, folder, resume=resume, progress=progress)
    if fitted.trainer.is_global_zero:
        _finish(learner, task, fitted, folder)
    fitted.trainer.strategy.barrier()
    result = read_result(folder)
    if result is None:
        raise OsanError(f"{folder / files.RESULT} was not written")
    return result


def warn_of_rows(path: Path, task: Task) -> None:
    """Say so if rows of a table are not used, and if some of them contradict others."""
    if not task.lines or not path.is_file():
        return
    with path.open(encoding="utf-8", newline="") as stream:
        bad = list(csv.DictReader(stream))
    if not bad:
        return
    other = sum(each["reason"].endswith(OTHER_TARGET) for each in bad)
    further = sum(each["reason"].endswith(FURTHER_TARGET) for each in bad)
    said = f" {other} repeat a molecule with another target." if other else ""
    said += f" {further} repeat a molecule with targets that its first row lacks and gets." if further else ""
    warnings.warn(
        f"{task.name}: {len(bad)} of {len(bad) + len(task.lines)} rows are not used; first: line "
        f"{bad[0]['line']}, {bad[0]['reason']}.{said} All are in {path}",
        stacklevel=2,
    )


def _warn_of_targets(task: Task, info: TaskInfo) -> None:
    """Say so if numbers are all the same, or those of a table look like classes."""
    if info.kind != "regression":
        return
    y, names = task.train.y, ", ".join(info.targets)[:80]
    known = [column[~column.isnan()].unique() for column in y.T]
    same = [name for name, values in zip(info.targets, known, strict=True) if len(values) < 2]
    if same and len(y) > 1:
        warnings.warn(
            f"{', '.join(same)[:80]}: expected different numbers to learn from, got one number or none in "
            "the training split",
            stacklevel=2,
        )
    elif task.lines and bool((y.isnan() | (y == 0) | (y == 1)).all()):
        warnings.warn(
            f"{names}: all numbers are 0 or 1; if these are classes, train with --kind binary (in "
            "Python, kind='binary')",
            stacklevel=2,
        )


def _finish(learner: Learner, task: Task, fitted: Fitted, folder: Path) -> None:
    """Score the test split and write what a finished run has; the result comes last."""
    info, settings, best, history = learner.info, learner.settings, fitted.best, fitted.history
    learner.model.load_state_dict(best.weights)
    weights, validation = best.weights, best.value
    if info.points:
        blend(learner, task)
        weights = {name: tensor.cpu() for name, tensor in learner.model.state_dict().items()}
        together = predict(learner, task.val, settings.training.batch_size)
        validation = float(score(together, task.val.y, info.kind, info.metric))
    write_model(folder, weights, info, settings.network.architecture == CUSTOM)
    write_outcome(
        learner,
        task,
        folder,
        validation=validation,
        epochs=len(history.rows),
        best_epoch=best.epoch,
        seconds=round(history.seconds, 3),
        best_test=history.best_test(info.direction),
        share=share_of(learner.model),
    )


def is_first_process() -> bool:
    """Whether this process writes the folder: rank 0 by the environment of torchrun, SLURM or Lightning."""
    return int(getattr(rank_zero_only, "rank", 0)) == 0


def _note_failure(folder: Path, error: Exception) -> None:
    """Leave the reason in the folder, if it can be written."""
    with contextlib.suppress(OsanError):
        files.write_json(folder / files.FAILED, {"error": one_line(error)})
