"""A Gaussian process beside the network of a run: solved once training has ended, then part of the model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from osan.data import FlatDataset, Task
from osan.errors import OsanError
from osan.memory import require_free
from osan.nn import OSAN, DataDrivenOSAN, FixedBags, GaussianProcess
from osan.training.evaluation import predict_outputs
from osan.training.module import Learner
from osan.training.settings import Settings
from osan.training.tasks import TaskInfo

# Graphs whose kernel is computed at a time.
_AT_ONCE = 1000


def check_blend(model: nn.Module, settings: Settings, info: TaskInfo) -> None:
    """Raise if the settings ask for a blend that this network cannot have."""
    if info.points:
        _network(model, settings)


def add_process(model: nn.Module, settings: Settings, info: TaskInfo) -> GaussianProcess | None:
    """Give the network of a model a Gaussian process that is yet to be solved, if the run has one."""
    if not info.points:
        return None
    center, spread = torch.tensor(info.descriptor_mean), torch.tensor(info.descriptor_std)
    process = GaussianProcess(info.points, info.descriptors, info.num_targets, center, spread, info.kind)
    network = _network(model, settings)
    network.process = process.to(next(network.parameters()))
    return network.process


def forget_process(model: nn.Module, settings: Settings, info: TaskInfo) -> None:
    """Take the process of an earlier run off a network that gets one of its own once it is trained."""
    if info.points:
        _network(model, settings).process = None


def blend(learner: Learner, task: Task) -> None:
    """Solve the Gaussian process for the training split, and weigh it by the validation split."""
    settings, info = learner.settings, learner.info
    process = add_process(learner.model, settings, info)
    if process is None:
        return
    # The kernel, its factor, and what the solver needs, in double precision.
    needed = 4 * 8 * info.points**2
    require_free(needed, f"a Gaussian process of {info.points:,} graphs", "set network.blend to nothing")
    process.fit(_descriptors(task.train), _scaled(learner, task.train.y))
    process.share.fill_(1.0)  # the network alone
    alone = _scaled(learner, predict_outputs(learner, task.val, settings.training.batch_size))
    parts = torch.split(_descriptors(task.val), _AT_ONCE)
    with torch.no_grad():
        own = torch.cat([process(Data(num_nodes=1, descriptors=part)) for part in parts])
    process.weigh(alone, own.cpu(), _scaled(learner, task.val.y))


def share_of(model: nn.Module) -> float | None:
    """The share of the network in its blend with a Gaussian process; ``None`` without one."""
    for module in model.modules():
        if isinstance(module, GaussianProcess):
            return round(float(module.share), 6)
    return None


def _network(model: nn.Module, settings: Settings) -> OSAN:
    network: Any = model
    if isinstance(model, DataDrivenOSAN):
        network = model.downstream
    elif isinstance(model, FixedBags):
        network = model.network
    if not isinstance(network, OSAN):
        raise OsanError(
            f"network.blend: expected none with the architecture {settings.network.architecture!r}, which is "
            f"no osan.nn.OSAN, got {settings.network.blend!r}"
        )
    return network


def _descriptors(graphs: FlatDataset) -> Tensor:
    return graphs.tensors["descriptors"][graphs.ids]


def _scaled(learner: Learner, values: Tensor) -> Tensor:
    """Numbers as the network predicts them; logits and classes as they are."""
    return values if learner.scale is None else learner.scale.apply(values)
