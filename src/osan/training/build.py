"""From settings to a network: downstream, upstream, policy, estimator and noise as one module."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCN, GIN

from osan.bags import whole_graphs
from osan.data import Features
from osan.errors import OsanError
from osan.nn import OSAN, DataDrivenOSAN, FixedBags, Output, Upstream, osan, paper_network
from osan.nn.encoders import EdgeMLP, encoder
from osan.selection import (
    IMLE,
    SIMPLE,
    AdaptiveIMLE,
    Estimator,
    Noise,
    Policy,
    Random,
    ScoreFunction,
    StraightThrough,
)
from osan.training.settings import NetworkSettings, SelectionSettings, Settings
from osan.training.tasks import TaskInfo

Model = DataDrivenOSAN | FixedBags


def build(settings: Settings, info: TaskInfo) -> Model:
    """The network of a run, with fresh weights from torch's global generator."""
    choice = settings.selection
    policy = Policy.parse(choice.policy) if choice.policy else None
    network = downstream(settings.network, info, policy)
    if policy is None:
        return FixedBags(whole_graphs, network)
    learned = policy.count != "all" and choice.estimator != "random"
    return DataDrivenOSAN(
        upstream(settings.network, info, policy, network.width) if learned else None,
        network,
        policy,
        estimator=estimator(choice),
        noise=Noise(choice.noise, choice.noise_scale),
        auxiliary=None if choice.auxiliary == "none" or not learned else choice.auxiliary,
        auxiliary_weight=choice.auxiliary_weight,
        samples=choice.samples,
        seed=settings.seed,
        evaluation_noise=evaluation_noise(choice),
        combine=combine(choice, info),
        deleted=choice.deleted,
        whole_graph=choice.whole_graph,
        agg=choice.agg,
    )


def predict(model: Model, batch: Data) -> tuple[Tensor, Output | None]:
    """The predictions of either kind of network, and what a data-driven one looked at."""
    out = model(batch)
    return out.prediction, out if isinstance(model, DataDrivenOSAN) else None


def downstream(network: NetworkSettings, info: TaskInfo, policy: Policy | None) -> OSAN:
    """The downstream network: that of the paper for ``like``, or a general one, with the given changes."""
    given = network.model_dump(exclude={"like", "as_in_code", "upstream", "upstream_layers"})
    changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if policy is not None and policy.operation == "mark":
        changes["atomic"] = "unordered"
    if policy is not None and policy.ordered:
        changes |= {"rank": "adjacency", "num_ranks": info.num_ranks}
    degrees = torch.tensor(info.degrees)
    if network.conv == "pna":
        if info.edge_features is None:
            raise OsanError(f"network.conv: pna looks at edge features, but {info.dataset} has none; use gin")
        changes["degrees"] = degrees
    if network.like is not None:
        return paper_network(
            network.like,
            info.num_targets,
            vertex_features=described(info.vertex_features),
            edge_features=None if info.edge_features is None else described(info.edge_features),
            degrees=degrees,
            as_in_code=network.as_in_code,
            **changes,
        )
    edges = info.edge_features
    conv = changes.pop("conv", "gin" if edges is None else "gine")
    width, layers = changes.pop("width", 64), changes.pop("layers", 4)
    if edges is not None and conv in ("gine", "pna"):
        changes["edge_encoder"] = partial(EdgeMLP, described(edges), width)
    vertices = encoder(described(info.vertex_features), width)
    return osan(width, layers, info.num_targets, conv=conv, vertex_encoder=vertices, **changes)


def upstream(network: NetworkSettings, info: TaskInfo, policy: Policy, width: int) -> Upstream:
    """The network that weighs vertices or edges, as wide as the downstream one."""
    edges = policy.weighs_edges
    model: nn.Module | None = None
    if network.upstream == "gin" or network.norm is False:
        norm = None if network.norm is False else "batch_norm"
        kind = GIN if network.upstream == "gin" else GCN
        model = kind(width, width, network.upstream_layers, norm=norm, jk="last")
    of_edges = info.edge_features if edges else None
    return Upstream(
        int(policy.count),
        width,
        edges=edges,
        vertex_encoder=encoder(described(info.vertex_features), width),
        edge_encoder=None if of_edges is None else encoder(described(of_edges), width),
        model=model,
        layers=network.upstream_layers,
    )


def estimator(choice: SelectionSettings) -> Estimator:
    """The gradient estimator of that name."""
    if choice.estimator == "imle":
        return IMLE(choice.lam, choice.draws)
    if choice.estimator == "adaptive-imle":
        return AdaptiveIMLE(samples=choice.draws)
    others: dict[str, type[Estimator]] = {
        "simple": SIMPLE,
        "straight-through": StraightThrough,
        "score-function": ScoreFunction,
        "random": Random,
    }
    return others[choice.estimator]()


def evaluation_noise(choice: SelectionSettings) -> Noise | None:
    """The noise of validation and test, where it is not that of training."""
    if choice.evaluation_noise is None:
        return None
    return Noise(choice.evaluation_noise, choice.evaluation_noise_scale)


def combine(choice: SelectionSettings, info: TaskInfo) -> Any:
    """How samples are joined: by a vote where the accuracy of one target counts, else by their mean."""
    can_vote = info.kind == "multiclass" or (info.kind == "binary" and len(info.targets) == 1)
    if choice.combine == "vote" and not can_vote:
        raise OsanError(
            "selection.combine: samples vote for the class of one target, but the task is "
            f"{info.kind} with {len(info.targets)} target(s); use 'mean'"
        )
    if choice.combine != "auto":
        return choice.combine
    return "vote" if info.metric == "accuracy" and can_vote else "mean"


def described(features: Features) -> tuple[int, ...] | int:
    """Features as the encoders take them: sizes of integer columns, or a number of real ones."""
    return features.sizes if features.categorical else features.width
