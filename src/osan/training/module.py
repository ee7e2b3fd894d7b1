"""The Lightning module: losses, the optimizer with its two groups, learning rates and validation."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn
from torch.optim import Optimizer
from torch_geometric.data import Data
from torch_geometric.explain import Explanation

from osan import devices
from osan.data.loader import mix_seed
from osan.errors import OsanError
from osan.nn import DataDrivenOSAN, Output
from osan.parts import resolve
from osan.selection import Problem
from osan.selection.ground import GroundSet
from osan.training.averaging import MovingAverage
from osan.training.course import Course
from osan.training.optimizers import OPTIMIZERS, make_optimizer
from osan.training.options import share_options
from osan.training.schedules import SCHEDULES, Moment, make_schedule, noise_factor
from osan.training.scores import Score, losses_per_graph
from osan.training.settings import Settings
from osan.training.tasks import TaskInfo

_HALF = (torch.float16, torch.bfloat16)


def seed_generators(seed: int) -> None:
    """Seed the global generators: torch's, and those that custom parts may use."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  (the global generator, for layers of others)
    random.seed(seed)


class Learner(LightningModule):
    """Trains a model of :func:`~osan.training.build.build`, or a custom one of the same kind.

    Everything random in an epoch follows from the seed and the number of the epoch, and so do the learning
    rates; what was drawn before does not matter. This makes a resumed run equal to one that never stopped.

    Parameters
    ----------
    model
        Called with a batch, it returns an :class:`osan.nn.Output`; ``model.learns`` tells whether it learns
        which subgraphs to choose. The parameters of ``model.upstream``, if it exists, have the learning rate
        of the upstream network.
    settings, info
        Those that it was built from.
    """

    def __init__(self, model: nn.Module, settings: Settings, info: TaskInfo) -> None:
        super().__init__()
        self.model, self.settings, self.info = model, settings, info
        self.scale = info.normalization
        self.score = Score(info.kind, info.metric)
        training = settings.training
        chosen = training.loss
        chosen = chosen if chosen != "auto" else "mse" if info.metric == "rmse" else "mae"
        # Imported now, not at every step.
        self.loss = resolve(chosen, {}, "training.loss") if ":" in chosen else chosen
        self.monitor = f"val_{info.metric}"
        parts = {
            "optimizer": resolve(training.optimizer, OPTIMIZERS, "training.optimizer"),
            "schedule": resolve(training.schedule, SCHEDULES, "training.schedule"),
        }
        shares = share_options(training.options, parts, "training.options")
        self.optimizer_options = shares["optimizer"]
        given: dict[str, Any] = {"warmup": training.warmup} if training.warmup else {}
        if training.schedule == "steps":
            given |= training.model_dump(include={"decay", "milestones", "decay_every"})
        self.schedule = make_schedule(training.schedule, given, shares["schedule"])
        if training.precision == "64":
            self.double()  # Lightning would restore a checkpoint first, in fewer digits
        self.average = None if training.average is None else MovingAverage(training.average)
        # The validation metric after each epoch since the start.
        self.values: list[float] = []
        self.total, self.graphs = torch.zeros(()), 0
        # Pairs of a graph and a subgraph in this epoch, and those whose weights got a gradient.
        self.pairs, self.moved = 0, torch.zeros(())
        # Numerator and denominator of the agreement on the validation split, after this epoch.
        self.agreed = torch.zeros(2)

    def forward(self, batch: Data) -> Tensor:
        """Predictions, shape ``[graphs, targets]``, in the unit of the targets.

        For classes they are logits. If the samples of evaluation vote, they are shares of votes instead, for
        a single binary target minus 1/2, so that the sign decides in either case.
        """
        return self.renormalized(self.look(batch).prediction)

    def look(self, batch: Data) -> Output:
        """What the model makes of a batch, in the precision of the settings.

        In evaluation mode, bags that are drawn at random depend on the seed and the graphs of the batch.
        """
        with self._precision():
            batch = self._cast(batch)
            if self.training:
                return self.model(batch)
            first = getattr(batch, "graph_id", None)
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(mix_seed(self.settings.seed, 0 if first is None else int(first[0])))
                return self.model(batch)

    def with_choice(self, batch: Data, problem: Problem, choice: Tensor) -> Tensor:
        """Predictions in the unit of the targets for a given choice, of any number of columns."""
        model = self.model
        assert isinstance(model, DataDrivenOSAN)
        with self._precision():
            batch = self._cast(batch)
            look = {"deleted": model.deleted, "whole_graph": model.whole_graph, "agg": model.agg}
            bag = problem.bag(batch, choice, **look)  # type: ignore[arg-type]
            return self.renormalized(model.downstream(batch, bag))

    def explain(self, batch: Data, samples: int = 20) -> Explanation:
        """What the network looks at, see :meth:`osan.nn.DataDrivenOSAN.explain`."""
        explain: Any = getattr(self.model, "explain", None)
        if explain is None:
            raise OsanError("selection.policy: expected a policy, got none; the run chooses no subgraphs")
        return explain(batch, samples)

    def losses(self, prediction: Tensor, y: Tensor) -> Tensor:
        """One loss per graph, of normalized targets if the task has them."""
        expected = [len(y), self.info.num_targets]
        if not isinstance(prediction, Tensor) or list(prediction.shape) != expected:
            given = list(prediction.shape) if isinstance(prediction, Tensor) else type(prediction).__name__
            raise OsanError(
                f"network.architecture: expected predictions of shape {expected}, [graphs, targets], from "
                f"{self.settings.network.architecture!r}, got {given}"
            )
        y = y if self.scale is None else self.scale.apply(y)
        prediction = prediction.float() if prediction.dtype in _HALF else prediction
        weights = self.info.class_weights
        return losses_per_graph(
            prediction, y, self.info.kind, self.loss, None if weights is None else weights.to(prediction)
        )

    def renormalized(self, prediction: Tensor) -> Tensor:
        """Predictions in the unit of the targets."""
        prediction = prediction.float() if prediction.dtype in _HALF else prediction
        return prediction if self.scale is None else self.scale.undo(prediction)

    def training_step(self, batch: Data, index: int) -> Tensor:
        out = self.look(batch)
        losses = self.losses(out.prediction, batch.y)
        loss = out.objective(losses)
        for weights in out.selected[0].weights if out.selected else ():
            if weights.requires_grad:
                hook = partial(self._count, out.selected[0].problem.ground)
                weights.register_hook(hook)  # type: ignore[no-untyped-call]
        if not bool(loss.isfinite()):
            rate = self.settings.training.learning_rate
            raise OsanError(
                f"the loss is {loss.item()} in epoch {self.current_epoch}, batch {index}; "
                f"try a training.learning_rate below {rate:g}, or look for extreme features and targets"
            )
        self.total = self.total + loss.detach() * len(losses)
        self.graphs += len(losses)
        return loss

    def on_train_batch_end(self, outputs: Any, batch: Data, index: int) -> None:
        if self.average is not None:
            self.average.update(self.model)

    def on_validation_start(self) -> None:
        if self.average is not None:
            self.average.swap(self.model)

    def on_validation_end(self) -> None:
        """Go on with the weights of the last step; callbacks have seen the average by now."""
        if self.average is not None:
            self.average.swap(self.model)

    def on_validation_epoch_start(self) -> None:
        self.agreed = torch.zeros(2, device=self.device)

    def transfer_batch_to_device(self, batch: Data, device: torch.device, dataloader_idx: int) -> Data:
        return devices.sent(batch, device)

    def validation_step(self, batch: Data, index: int) -> None:
        out = self.look(batch)
        self.score.update(self.renormalized(out.prediction), batch.y)
        if self.learns and isinstance(self.model, DataDrivenOSAN):
            with self._precision():
                parts = self.model.agreement(self._cast(batch), out)
            self.agreed = self.agreed + torch.stack(parts).to(self.agreed)

    def on_validation_epoch_end(self) -> None:
        value = self.score.compute()
        self.score.reset()
        self.values.append(float(value))
        self.log(self.monitor, devices.sent(value, self.device), logger=False)

    def on_train_epoch_start(self) -> None:
        seed_generators(mix_seed(self.settings.seed, self.current_epoch))
        if isinstance(self.model, DataDrivenOSAN):
            choice, course = self.settings.selection, self.course
            epoch = course.epoch(self.current_epoch)
            self.model.noise_factor = noise_factor(
                choice.noise_schedule, choice.noise_floor, epoch, course.epochs
            )
            self.model.settled = epoch >= course.settles
        self.total, self.graphs = torch.zeros((), device=self.device), 0
        self.pairs, self.moved = 0, torch.zeros((), device=self.device)

    def on_train_batch_start(self, batch: Data, index: int) -> None:
        """Set the learning rates of the step."""
        training, epoch = self.settings.training, self.course.epoch(self.current_epoch)
        count = int(self.trainer.num_training_batches)
        moment = Moment(
            step=epoch * count + index,
            steps=training.epochs * count,
            epoch=epoch,
            epochs=training.epochs,
            values=tuple(self.values),
            direction=self.info.direction,
        )
        down, up = self.schedule(moment)
        downstream, *upstream = self.optimizers().param_groups  # type: ignore[union-attr]
        downstream["lr"] = training.learning_rate * down
        for group in upstream:
            group["lr"] = training.upstream_learning_rate * up

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Clip the gradients; Lightning refuses to with fused optimizers and mixed precision."""
        if self.settings.training.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.training.clip)

    def epoch_loss(self) -> float:
        """The mean training loss of the epoch so far, over all processes."""
        return self._share(self.total, self.graphs)

    def gradient_share(self) -> float:
        """The share of pairs (graph, subgraph) of the epoch whose weights got a nonzero gradient."""
        return self._share(self.moved, self.pairs)

    @property
    def course(self) -> Course:
        """The starts and the epochs of the run."""
        return Course.of(self.settings, isinstance(self.model, DataDrivenOSAN) and self.learns)

    def go_on_from(self, weights: dict[str, Tensor]) -> None:
        """Replace the weights of both networks, and begin the moving average anew; the optimizer goes on."""
        self.model.load_state_dict(weights)
        if self.average is not None:
            self.average = MovingAverage(self.average.decay)

    def begin_with(self, weights: dict[str, Tensor], values: Sequence[float] = ()) -> None:
        """Replace the weights of both networks, and begin with a new optimizer.

        ``values`` are the validation metrics so far, which schedules see.
        """
        self.go_on_from(weights)
        self.values = list(values)
        for optimizer in self.trainer.optimizers:
            optimizer.load_state_dict(self.configure_optimizers().state_dict())

    @property
    def learns(self) -> bool:
        """Whether the choice of subgraphs is learned."""
        return bool(self.model.learns)

    def kappa(self) -> float:
        """The agreement of samples on the validation split after this epoch; NaN if nothing can be chosen.

        See :meth:`osan.nn.DataDrivenOSAN.agreement`.
        """
        excess, most = self.trainer.strategy.reduce(self.agreed, reduce_op="sum").tolist()
        return float(excess / most) if most > 0 else float("nan")

    def _cast(self, batch: Data) -> Data:
        """The batch in the precision of the settings."""
        if self.settings.training.precision != "64":
            return batch
        return copy.copy(batch).apply(lambda t: t.double() if t.is_floating_point() else t)

    def _share(self, part: Tensor, whole: int) -> float:
        """A quotient of sums over all processes."""
        parts = torch.stack([part, torch.tensor(float(whole), device=self.device)])
        total, count = self.trainer.strategy.reduce(parts, reduce_op="sum").tolist()
        return float(total / max(1.0, count))

    def _count(self, ground: GroundSet, gradient: Tensor) -> None:
        nonzero = ground.sum_per_graph(ground.gather((gradient != 0).to(gradient.dtype))) > 0
        self.moved = self.moved + nonzero.sum()
        self.pairs += nonzero.numel()

    @contextmanager
    def _precision(self) -> Iterator[None]:
        """The precision of the settings, also outside Lightning's trainer."""
        precision = self.settings.training.precision
        if precision == "bf16-mixed":
            with torch.autocast(self.device.type, dtype=torch.bfloat16):
                yield
            return
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if precision == "64" else before)
        try:
            yield
        finally:
            torch.set_default_dtype(before)

    def configure_optimizers(self) -> Optimizer:
        """One optimizer with a group for each network; Adam is then equal to the paper's two."""
        upstream = getattr(self.model, "upstream", None)
        ups = [] if upstream is None else list(upstream.parameters())
        known = {id(parameter) for parameter in ups}
        downs = [parameter for parameter in self.model.parameters() if id(parameter) not in known]
        training = self.settings.training
        groups: list[dict[str, Any]] = [{"params": downs, "lr": training.learning_rate}]
        if ups:
            groups.append({"params": ups, "lr": training.upstream_learning_rate})
        return make_optimizer(training.optimizer, groups, training.weight_decay, **self.optimizer_options)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["settings"] = self.settings.to_toml()
        checkpoint["data"] = self.info.fingerprint
        checkpoint["values"] = self.values
        if self.average is not None:
            checkpoint["average"] = self.average.state()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.values = list(checkpoint.get("values", []))
        if self.average is not None:
            self.average.restore(checkpoint["average"], self.model)
