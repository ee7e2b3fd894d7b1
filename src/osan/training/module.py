"""The Lightning module: losses, the optimizer with its two groups, learning rates and validation."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule
from torch import Tensor
from torch.optim import Adam
from torch_geometric.data import Data
from torch_geometric.explain import Explanation

from osan.data.loader import mix_seed
from osan.errors import OsanError
from osan.nn import DataDrivenOSAN
from osan.selection.ground import GroundSet
from osan.training.build import Model, predict
from osan.training.scores import Score, losses_per_graph
from osan.training.settings import Settings, TrainingSettings
from osan.training.tasks import TaskInfo


def decay_factor(training: TrainingSettings, epoch: int) -> float:
    """What the downstream learning rate is multiplied by in an epoch (from 0).

    >>> decay_factor(TrainingSettings(decay=0.5, milestones=[2, 4]), 3)
    0.5
    >>> [decay_factor(TrainingSettings(decay=0.5, decay_every=2), epoch) for epoch in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    if training.decay_every is not None:
        return float(training.decay ** (epoch // training.decay_every))
    return float(training.decay ** sum(epoch >= milestone for milestone in training.milestones))


class Learner(LightningModule):
    """Trains a network of :func:`~osan.training.build.build`.

    Everything random in an epoch follows from the seed and the number of the epoch, and so do the learning
    rates; what was drawn before does not matter. That is what makes a continued run equal to one that never
    stopped.

    Parameters
    ----------
    model
        The network.
    settings, info
        Those that it was built from.
    """

    def __init__(self, model: Model, settings: Settings, info: TaskInfo) -> None:
        super().__init__()
        self.model, self.settings, self.info = model, settings, info
        self.scale = info.normalization
        self.score = Score(info.kind, info.metric)
        chosen = settings.training.loss
        self.loss = chosen if chosen != "auto" else "mse" if info.metric == "rmse" else "mae"
        self.monitor = f"val_{info.metric}"
        self.total, self.graphs = torch.zeros(()), 0
        # Pairs of a graph and a subgraph in this epoch, and those whose weights got a gradient.
        self.pairs, self.moved = 0, torch.zeros(())

    def forward(self, batch: Data) -> Tensor:
        """Predictions, shape ``[graphs, targets]``, in the unit of the targets.

        For classes logits; where the samples of evaluation vote, shares of votes instead, for a single binary
        target less 1/2, so that the sign decides in either case.
        """
        return self.renormalized(predict(self.model, batch)[0])

    def explain(self, batch: Data, samples: int = 20) -> Explanation:
        """What the network looks at, see :meth:`osan.nn.DataDrivenOSAN.explain`."""
        if not isinstance(self.model, DataDrivenOSAN):
            raise OsanError("the run has no policy (selection.policy is empty), so nothing is chosen in it")
        return self.model.explain(batch, samples)

    def losses(self, prediction: Tensor, y: Tensor) -> Tensor:
        """One loss per graph, of normalized targets where the task has them."""
        y = y if self.scale is None else self.scale.apply(y)
        return losses_per_graph(prediction, y, self.info.kind, self.loss)

    def renormalized(self, prediction: Tensor) -> Tensor:
        """Predictions in the unit of the targets."""
        return prediction if self.scale is None else self.scale.undo(prediction)

    def training_step(self, batch: Data, index: int) -> Tensor:
        prediction, out = predict(self.model, batch)
        losses = self.losses(prediction, batch.y)
        loss = losses.mean() if out is None else out.objective(losses)
        if out is not None and out.weights is not None and out.weights.requires_grad:
            ground = out.selected[0].problem.ground
            hook = partial(self._count, ground)
            out.weights.register_hook(hook)  # type: ignore[no-untyped-call]
        if not bool(loss.isfinite()):
            rate = self.settings.training.learning_rate
            raise OsanError(
                f"the loss is {loss.item()} in epoch {self.current_epoch}, batch {index}; "
                f"try a training.learning_rate below {rate:g}, or look for extreme features and targets"
            )
        self.total = self.total + loss.detach() * len(losses)
        self.graphs += len(losses)
        return loss

    def validation_step(self, batch: Data, index: int) -> None:
        self.score.update(self(batch), batch.y)

    def on_validation_epoch_end(self) -> None:
        value = self.score.compute()
        self.score.reset()
        self.log(self.monitor, value)

    def on_train_epoch_start(self) -> None:
        seed = mix_seed(self.settings.seed, self.current_epoch)
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002  (the global generator, for layers of others)
        random.seed(seed)
        training = self.settings.training
        downstream, *upstream = self.optimizers().param_groups  # type: ignore[union-attr]
        downstream["lr"] = training.learning_rate * decay_factor(training, self.current_epoch)
        for group in upstream:
            group["lr"] = training.upstream_learning_rate
        self.total, self.graphs = torch.zeros((), device=self.device), 0
        self.pairs, self.moved = 0, torch.zeros((), device=self.device)

    def epoch_loss(self) -> float:
        """The mean training loss of the epoch so far, over all processes."""
        return self._share(self.total, self.graphs)

    def gradient_share(self) -> float:
        """The share of pairs (graph, subgraph) of the epoch whose weights got a gradient other than 0."""
        return self._share(self.moved, self.pairs)

    @property
    def learns_selection(self) -> bool:
        """Whether there are weights to learn, those of the upstream network."""
        return isinstance(self.model, DataDrivenOSAN) and self.model.upstream is not None

    def _share(self, part: Tensor, whole: int) -> float:
        """A quotient of sums over all processes."""
        parts = torch.stack([part, torch.tensor(float(whole), device=self.device)])
        total, count = self.trainer.strategy.reduce(parts, reduce_op="sum").tolist()
        return float(total / max(1.0, count))

    def _count(self, ground: GroundSet, gradient: Tensor) -> None:
        nonzero = ground.sum_per_graph(ground.gather((gradient != 0).to(gradient.dtype))) > 0
        self.moved = self.moved + nonzero.sum()
        self.pairs += nonzero.numel()

    def configure_optimizers(self) -> Adam:
        """One Adam with a group for each part, equal to the paper's two: it treats each parameter alone."""
        upstream = self.model.upstream if isinstance(self.model, DataDrivenOSAN) else None
        ups = [] if upstream is None else list(upstream.parameters())
        known = {id(parameter) for parameter in ups}
        downs = [parameter for parameter in self.model.parameters() if id(parameter) not in known]
        training = self.settings.training
        groups: list[dict[str, Any]] = [{"params": downs, "lr": training.learning_rate}]
        if ups:
            groups.append({"params": ups, "lr": training.upstream_learning_rate})
        return Adam(groups, fused=True)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["settings"] = self.settings.to_toml()
        checkpoint["data"] = self.info.fingerprint
