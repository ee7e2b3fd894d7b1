"""What a finished run leaves: its calibration, predictions of the test split, and its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from osan.data import Task
from osan.training.calibration import calibrate, coverage, write_calibration
from osan.training.columns import predicted_columns, write_predictions
from osan.training.evaluation import (
    inference_seconds,
    predict_members,
    predict_outputs,
    scores,
    separate_score,
)
from osan.training.folder import PREDICTIONS, Result, write_result
from osan.training.members import Predictor, members_of, outputs


def write_outcome(model: Predictor, task: Task, folder: Path, **facts: Any) -> Result:
    """Calibrate on the validation split and score the test split; the result is written last of all.

    Parameters
    ----------
    model, task
        The best network, or the ensemble, and its task.
    folder
        The folder of the run.
    facts
        The fields of :class:`~osan.training.folder.Result` that training itself knows.
    """
    info, settings = model.info, model.settings
    size, members = settings.training.batch_size, members_of(model)
    together, each = predict_members(model, task.test, size)
    columns = predicted_columns(model, together, each)
    write_predictions(folder / PREDICTIONS, task.test, columns, info, task.lines)
    logits = outputs(model, together, each)
    reached = scores(together, task.test.y, info, logits)
    calibration = calibrate(predict_outputs(model, task.val, size), task.val.y, info)
    write_calibration(folder, calibration)
    times = [inference_seconds(member, task.test, size) for member in members]
    result = Result(
        key=settings.name,
        seed=settings.seed,
        dataset=settings.data.dataset,
        metric=info.metric,
        direction=info.direction,
        value=reached[info.metric],
        scores=reached,
        test_seconds=[round(sum(passes), 6) for passes in zip(*times, strict=True)],
        intervals=coverage(logits, task.test.y, calibration),
        separate=separate_score(each[0], task.test.y, info) if len(members) == 1 else None,
        **facts,
    )
    write_result(folder, result)
    return result
