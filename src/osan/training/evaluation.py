"""Predictions of a whole split, their scores, and inference times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from osan.data import FlatDataset, FlatLoader, Task
from osan.devices import sent
from osan.errors import OsanError
from osan.selection import Noise, agreement
from osan.training.members import Predictor, joined, members_of, outputs, votes
from osan.training.module import Learner
from osan.training.scores import OF_PROBABILITIES, score
from osan.training.tasks import TaskInfo

REPEATS = 5


@contextmanager
def evaluating(learner: Learner, samples: int | None = None, noise: Noise | None = None) -> Iterator[None]:
    """Evaluation mode without gradients, optionally with another number of samples or other noise."""
    model, training = learner.model, learner.training
    learner.eval()
    wanted = {"samples": samples, "evaluation_noise": noise}
    # A model that draws nothing has neither.
    wanted = {name: value for name, value in wanted.items() if value is not None and hasattr(model, name)}
    before = {name: getattr(model, name) for name in wanted}
    for name, value in wanted.items():
        setattr(model, name, value)
    try:
        with torch.inference_mode():
            yield
    finally:
        learner.train(training)
        for name, value in before.items():
            setattr(model, name, value)


def predict(
    model: Predictor,
    graphs: FlatDataset,
    batch_size: int,
    samples: int | None = None,
    noise: Noise | None = None,
) -> Tensor:
    """Predictions of all graphs in order, in the unit of the targets; shape ``[graphs, targets]``.

    Those of an ensemble are joined; see :func:`~osan.training.members.joined`.
    """
    return predict_members(model, graphs, batch_size, samples, noise)[0]


def predict_outputs(model: Predictor, graphs: FlatDataset, batch_size: int) -> Tensor:
    """As :func:`predict`, but logits also if samples vote; see :func:`~osan.training.members.outputs`."""
    return outputs(model, *predict_members(model, graphs, batch_size))


def predict_members(
    model: Predictor,
    graphs: FlatDataset,
    batch_size: int,
    samples: int | None = None,
    noise: Noise | None = None,
) -> tuple[Tensor, Tensor]:
    """The result of :func:`predict`, and the predictions of every sample of every member.

    Of shapes ``[graphs, targets]`` and ``[members, samples, graphs, targets]``; a single network is the only
    member.
    """
    predicted = [predict_samples(each, graphs, batch_size, samples, noise) for each in members_of(model)]
    together = joined(torch.stack([one for one, _ in predicted]), model.info.kind, votes(model))
    return together, torch.stack([each for _, each in predicted])


def predict_samples(
    learner: Learner,
    graphs: FlatDataset,
    batch_size: int,
    samples: int | None = None,
    noise: Noise | None = None,
) -> tuple[Tensor, Tensor]:
    """The result of :func:`predict`, and the predictions of every perturbed sample.

    In the unit of the targets, of shapes ``[graphs, targets]`` and ``[samples, graphs, targets]``. A network
    that sees the whole graph, or all subgraphs, has one sample.
    """
    device = next(learner.model.parameters()).device
    whole, parts = [], []
    with evaluating(learner, samples, noise):
        for batch in FlatLoader(graphs, batch_size):
            out = learner.look(sent(batch, device))
            whole.append(learner.renormalized(out.prediction).cpu())
            parts.append(learner.renormalized(torch.stack(out.each)).cpu())
    return torch.cat(whole), torch.cat(parts, dim=1)


def sample_agreement(
    learner: Learner,
    graphs: FlatDataset,
    batch_size: int,
    samples: int,
    noise: Noise | None = None,
) -> float | None:
    """Cohen's kappa between the choices of different samples, see :func:`osan.selection.agreement`.

    0 means that noise alone decides which subgraphs are chosen, 1 that they are always the same. Subgraphs
    that are drawn in sequence count as one set, since it matters little which of them comes first. ``None``
    if nothing is learned, or nothing can be chosen.
    """
    model: Any = learner.model
    if not learner.learns:
        return None
    device = next(model.parameters()).device
    excess = most = 0.0
    with evaluating(learner, noise=noise):
        for batch in FlatLoader(graphs, batch_size):
            _, selected = model.draw(sent(batch, device), samples)
            parts = agreement([one.touched for one in selected], selected[0].problem.ground)
            excess, most = excess + parts[0].sum().item(), most + parts[1].sum().item()
    return excess / most if most > 0 else None


def separate_score(each: Tensor, y: Tensor, info: TaskInfo) -> float | None:
    """The metric with every sample of every graph as a separate prediction; ``None`` for a single sample.

    The authors' code concatenates the passes over the test split in this way.
    """
    samples = len(each)
    if samples == 1:
        return None
    repeated = y.repeat(samples, *[1] * (y.dim() - 1))
    return float(score(each.flatten(0, 1), repeated, info.kind, info.metric))


def check_scorable(task: Task, info: TaskInfo) -> None:
    """Raise if the metric is not defined on a split, as ROC-AUC without molecules of both classes."""
    for name, graphs in (("validation", task.val), ("test", task.test)):
        count = len(graphs) * info.num_targets
        guess = torch.linspace(-1, 1, count).reshape(len(graphs), info.num_targets)
        try:
            score(guess, graphs.y, info.kind, info.metric)
        except OsanError as error:
            known = torch.cat([part.y for part in task.splits.values()])
            if info.kind == "binary" and all(len(column[column >= 0].unique()) < 2 for column in known.T):
                raise OsanError(
                    f"{', '.join(info.targets)[:80]}: expected both classes, got one of them in all rows"
                ) from None
            other = {"binary": "logloss", "multiclass": "accuracy"}.get(info.kind, "mae")
            hint = "" if info.metric == other else f", or another metric (--set data.metric={other})"
            raise OsanError(
                f"{error} in the {name} split of {len(graphs)}; choose another split (--split, or --set "
                f"data.seed=1 for a random one){hint}"
            ) from None


def scores(prediction: Tensor, y: Tensor, info: TaskInfo, logits: Tensor | None = None) -> dict[str, float]:
    """The metric of the task and, if they can be computed, the others for its kind.

    Metrics of probabilities are computed from ``logits``, if given: predictions may be shares of votes.
    """
    out = {info.metric: float(score(prediction, y, info.kind, info.metric))}
    for name in info.metrics[1:]:
        given = logits if logits is not None and name in OF_PROBABILITIES else prediction
        try:
            out[name] = float(score(given, y, info.kind, name))
        except ValueError:
            continue
    return out


def inference_seconds(learner: Learner, graphs: FlatDataset, batch_size: int) -> list[float]:
    """The times of five passes over a split, as in the paper's comparison with ESAN.

    A pass is the retrieval of the batches, the choice of subgraphs, both forward passes and the loss.
    """
    device = next(learner.model.parameters()).device
    times = []
    with evaluating(learner, samples=1):
        for _ in range(REPEATS):
            start = time.perf_counter()
            total = torch.zeros((), device=device)
            for batch in FlatLoader(graphs, batch_size):
                moved = sent(batch, device)
                total += learner.losses(learner.look(moved).prediction, moved.y).sum()
            total.item()  # waits for the device
            times.append(round(time.perf_counter() - start, 6))
    return times
