"""From settings to a model: the network and what chooses its subgraphs, as one module."""

from __future__ import annotations

from torch import nn

from osan.bags import whole_graphs
from osan.errors import OsanError
from osan.nn import (
    DataDrivenOSAN,
    FixedBags,
    brings_bags,
    set_sharing,
)
from osan.nn.adapter import takes
from osan.training.choosing import combine, evaluation_noise, selection_parts, weigher
from osan.training.downstream import downstream
from osan.training.models import CustomModel
from osan.training.settings import Settings
from osan.training.tasks import TaskInfo
from osan.training.validation import naming_settings


def build(settings: Settings, info: TaskInfo) -> nn.Module:
    """The model of a run, with fresh weights from torch's global generator.

    It is called with a batch and returns an :class:`osan.nn.Output`. Errors name the setting that is wrong.
    """
    with naming_settings():
        model = _build(settings, info)
    set_sharing(model, settings.machine.sharing)
    return model


def _build(settings: Settings, info: TaskInfo) -> nn.Module:
    choice, policy = settings.selection, settings.selection.parsed
    encodings = settings.data.encodings
    network = downstream(settings.network, info, policy, encodings)
    takes_bags = takes(network, "batch", "bag") and not brings_bags(network)
    if not takes_bags and policy is not None:
        raise OsanError(
            f"selection.policy: expected none with architecture {settings.network.architecture!r}, which "
            f"makes its bags itself, got {choice.policy!r}"
        )
    if not takes_bags:
        return network if hasattr(network, "learns") else CustomModel(network)
    if policy is None:
        return FixedBags(whole_graphs, network)
    # A custom network need not tell its width.
    width = int(getattr(network, "width", settings.network.width or 64))
    parts = selection_parts(choice)
    return DataDrivenOSAN(
        weigher(settings, info, policy, width),
        network,
        policy,
        **parts,
        temperature=choice.temperature,
        bar=choice.bar,
        auxiliary_weight=choice.auxiliary_weight,
        samples=choice.samples,
        seed=settings.seed,
        evaluation_noise=evaluation_noise(choice, parts["noise"]),
        combine=combine(choice, info),
        deleted=choice.deleted,
        whole_graph=choice.whole_graph,
        agg=choice.agg,
    )
