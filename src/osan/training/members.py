"""Ensembles: several networks of one task that predict together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from osan.training.module import Learner
from osan.training.settings import Settings
from osan.training.tasks import TaskInfo


@dataclass(frozen=True)
class Ensemble:
    """Trained networks with one task and one split; called on a batch, they predict together.

    ``settings`` are those of the whole, with ``ensemble`` members. Those of the members differ in the seed.
    """

    members: tuple[Learner, ...]
    settings: Settings

    @property
    def info(self) -> TaskInfo:
        """What all members know of their task."""
        return self.members[0].info

    def __call__(self, batch: Data) -> Tensor:
        """Predictions, shape ``[graphs, targets]``; see :func:`joined`."""
        return joined(torch.stack([member(batch) for member in self.members]), self.info.kind, votes(self))


# What predicts: a network, or several.
Predictor = Learner | Ensemble


def members_of(model: Predictor) -> Sequence[Learner]:
    """The networks of an ensemble; a network itself."""
    return model.members if isinstance(model, Ensemble) else [model]


def votes(model: Predictor) -> bool:
    """Whether the samples of a model vote, so that its predictions are shares of votes."""
    return getattr(members_of(model)[0].model, "combine", "mean") == "vote"


def outputs(model: Predictor, together: Tensor, each: Tensor) -> Tensor:
    """Predictions as numbers or logits, of shape ``[graphs, targets]``, also if samples vote.

    Shares of votes are no probabilities. Then these are the logits of the mean output of the samples of every
    member, joined. ``together`` and ``each`` are those of
    :func:`~osan.training.evaluation.predict_members`.
    """
    return joined(each.mean(1), model.info.kind) if votes(model) else together


def joined(predictions: Tensor, kind: str, by_vote: bool = False) -> Tensor:
    r"""The prediction of an ensemble: the mean of numbers, of probabilities, or of shares of votes.

    For classes, predictions are logits, and so is the result: that of the mean probability,
    :math:`\log \bar p - \log (1 - \bar p)`, or :math:`\log \bar p_c` for each of several classes c. It is
    computed from logarithms, since probabilities near 1 cannot be told apart.

    Parameters
    ----------
    predictions
        Those of every member, shape ``[members, graphs, targets]``.
    kind
        ``"regression"``, ``"binary"`` or ``"multiclass"``.
    by_vote
        Whether predictions are shares of votes.

    Examples
    --------
    >>> torch.sigmoid(joined(torch.logit(torch.tensor([[[0.2]], [[0.6]]])), "binary"))
    tensor([[0.4000]], dtype=torch.float64)
    """
    if len(predictions) == 1:
        return predictions[0]
    if kind == "regression" or by_vote:
        return predictions.mean(0)
    logits = predictions.double()
    if kind == "binary":
        return torch.logsumexp(F.logsigmoid(logits), 0) - torch.logsumexp(F.logsigmoid(-logits), 0)
    return torch.logsumexp(torch.log_softmax(logits, -1), 0) - math.log(len(logits))
