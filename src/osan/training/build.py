"""From settings to a model: downstream, upstream, policy, estimator and noise as one module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import isroutine, signature
from typing import Any, TypedDict, cast

import torch
from torch import nn
from torch_geometric.nn import GCN, GIN

from osan.bags import whole_graphs
from osan.data import Features
from osan.errors import OsanError, one_line
from osan.nn import (
    ARCHITECTURES,
    CentralityWeigher,
    DataDrivenOSAN,
    Descriptors,
    FixedBags,
    Normalized,
    Prior,
    Upstream,
    WithEncoding,
    brings_bags,
    neutral,
    set_sharing,
)
from osan.nn.adapter import takes
from osan.nn.data_driven import Combine
from osan.nn.encoders import EdgeMLP, encoder
from osan.nn.layers import looks_at_edges
from osan.nn.paper import paper_options
from osan.nn.relations import RELATIONS, make_relation
from osan.parts import resolve
from osan.selection import (
    AUXILIARY_LOSSES,
    ESTIMATORS,
    NOISES,
    Estimator,
    Noise,
    Policy,
    make_estimator,
    make_noise,
)
from osan.selection.auxiliary import AuxiliaryLoss
from osan.training.models import CustomModel
from osan.training.options import accepts, share_options
from osan.training.scores import OF_PROBABILITIES
from osan.training.settings import NetworkSettings, SelectionSettings, Settings
from osan.training.tasks import TaskInfo
from osan.training.validation import is_about_part, naming_settings
from osan.words import CENTRAL_WEIGHERS, LEARNED_WEIGHERS, WEIGHERS

# Settings of the network that are arguments of its architecture.
_NAMES = ("width", "layers", "conv", "readout", "between", "head", "dropout", "residual", "norm")


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


def downstream(
    network: NetworkSettings, info: TaskInfo, policy: Policy | None, encodings: Sequence[str] = ()
) -> nn.Module:
    """The downstream network: the architecture with the paper's options (``like``) or general ones.

    Options that the settings name must be known to the architecture; the others are left out if it does not
    take them.
    """
    make = resolve(network.architecture, ARCHITECTURES, "network.architecture")
    given = {name: getattr(network, name) for name in _NAMES if getattr(network, name) is not None}
    for name in given.keys() - {"width", "layers"}:
        if not accepts(make, name):
            raise OsanError(f"network.{name}: the architecture {network.architecture!r} takes no such option")
    takers: dict[str, Callable[..., Any]] = {"network": make}
    if policy is not None and policy.operation == "mark":
        given["atomic"] = network.atomic
        if network.atomic != "unordered":
            relation = resolve(network.atomic, RELATIONS, "network.atomic")
            # An object is a relation with options already.
            takers |= {"atomic": relation} if isinstance(relation, type) or isroutine(relation) else {}
    elif policy is not None and network.atomic != "unordered":
        raise OsanError(
            f"network.atomic: expected 'unordered' with the policy {str(policy)!r}, which marks no vertices, "
            f"got {network.atomic!r}"
        )
    if policy is not None and policy.ordered:
        given |= {"rank": "adjacency", "num_ranks": info.num_ranks}
    shares = share_options(network.options, takers, "network.options")
    if shares.get("atomic"):
        given["atomic"] = make_relation(network.atomic, shares["atomic"])
    given |= shares["network"]
    if network.like:
        options = _paper_options(network, info, given)
    else:
        options = _general_options(info, {**default_sizes(make), **given})
    if encodings:
        if not accepts(make, "vertex_encoder"):
            raise OsanError(
                f"data.encodings: expected none with the architecture {network.architecture!r}, which takes "
                f"no vertex_encoder, got {list(encodings)}"
            )
        options["vertex_encoder"] = vertex_encoder(info, encodings, options["width"])
    if info.descriptors:
        if not accepts(make, "alongside") or options.get("alongside"):
            raise OsanError(
                f"data.descriptors: expected none with the architecture {network.architecture!r}, which has "
                "no place for them beside its pooled features"
            )
        options["alongside"] = Descriptors(
            info.descriptors,
            options["width"],
            info.descriptor_mean,
            info.descriptor_std,
            (options.get("dropout") or 0.0)
            if network.descriptor_dropout is None
            else network.descriptor_dropout,
        )
    sizes = (options.pop("width"), options.pop("layers"), info.num_targets)
    options = {name: value for name, value in options.items() if name in given or accepts(make, name)}
    return _made(make, network.architecture, *sizes, **options)


def _general_options(info: TaskInfo, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a network without ``like``."""
    edges = info.edge_features
    options = {"width": 64, "layers": 4, "conv": "gin" if edges is None else "gine", **given}
    conv, width = options["conv"], options["width"]
    if conv == "pna":
        if edges is None:
            raise OsanError(f"network.conv: pna looks at edge features, but {info.dataset} has none; use gin")
        options["degrees"] = torch.tensor(info.degrees)
    if edges is not None and looks_at_edges(conv, width):
        options["edge_encoder"] = partial(EdgeMLP, described(edges), width)
    return {"vertex_encoder": vertex_encoder(info, (), width), **options}


def default_sizes(make: Callable[..., Any]) -> dict[str, int]:
    """The width and the number of layers that an architecture has by default, if it has some."""
    parameters = signature(make).parameters
    sizes = {name: parameters[name].default for name in ("width", "layers") if name in parameters}
    return {name: size for name, size in sizes.items() if isinstance(size, int)}


def vertex_encoder(info: TaskInfo, encodings: Sequence[str], width: int) -> nn.Module:
    """The encoder of vertex features, with structural encodings beside it if there are some."""
    features = described(info.vertex_features)
    if not encodings:
        return encoder(features, width)
    return WithEncoding(partial(encoder, features), encodings, width)


def _paper_options(network: NetworkSettings, info: TaskInfo, given: dict[str, Any]) -> dict[str, Any]:
    """The options of the paper's network for ``like``, with changes."""
    if network.conv == "pna" and info.edge_features is None:
        raise OsanError(f"network.conv: pna looks at edge features, but {info.dataset} has none; use gin")
    return paper_options(
        str(network.like),
        vertex_features=described(info.vertex_features),
        edge_features=None if info.edge_features is None else described(info.edge_features),
        degrees=torch.tensor(info.degrees),
        as_in_code=network.as_in_code,
        **given,
    )


def _made(make: Callable[..., Any], name: str, *sizes: int, **options: Any) -> nn.Module:
    """The network that an architecture makes; wrong options are errors that name the setting."""
    try:
        network = make(*sizes, **options)
    except Exception as error:  # whatever a custom architecture raises
        if isinstance(error, OsanError) and is_about_part(error):
            raise
        if ":" not in name and not isinstance(error, OsanError | TypeError):
            raise
        reason = str(error) if isinstance(error, TypeError) else one_line(error)
        raise OsanError(f"network: the architecture {name!r} cannot be built ({reason})") from error
    if not isinstance(network, nn.Module):
        raise OsanError(
            f"network.architecture: expected a function that returns a module, got {type(network).__name__} "
            f"from {name!r}"
        )
    return network


def weigher(settings: Settings, info: TaskInfo, policy: Policy, width: int) -> nn.Module | None:
    """What gives the weights by which subgraphs are chosen; ``None`` if they do not matter."""
    choice, name = settings.selection, settings.selection.weigher
    if policy.count == "all" or name == "random":
        return None
    columns, edges = policy.columns, policy.weighs_edges
    if name in WEIGHERS and name not in LEARNED_WEIGHERS and columns > 1:
        raise OsanError(
            f"selection.weigher: {name!r} gives all subgraphs of policy {str(policy)!r} the same weights, so "
            f"they would be alike; use '{policy} distinct'"
        )
    if name == "neutral" and choice.estimator == "sparsemap" and columns > 1:
        raise OsanError(
            f"selection.weigher: 'neutral' starts all subgraphs of policy {str(policy)!r} with the same "
            f"weights, and sparsemap has no noise to tell them apart; use '{policy} distinct' or 'learned'"
        )
    if name == "neutral" and choice.normalize:
        raise OsanError(
            "selection.normalize: expected false with the weigher 'neutral', since weights of one size "
            "cannot start equal, got true"
        )
    if name in CENTRAL_WEIGHERS:
        return CentralityWeigher(name, columns, edges=edges)
    if name in LEARNED_WEIGHERS and choice.estimator == "fixed":
        raise OsanError(
            f"selection.estimator: expected one that learns for the weigher {name!r}, got 'fixed'; name a "
            "weigher such as 'centrality', or take 'learned' and set training.upstream_learning_rate to 0 "
            "for a network as drawn"
        )
    # Estimators of others that do not learn may look at the weights all the same.
    if not choice.learns and (name in LEARNED_WEIGHERS or choice.estimator == "random"):
        return None
    network = upstream(settings, info, policy, width)
    if name == "neutral":
        network = neutral(network)
    elif name == "prior":
        network = Prior(network, CentralityWeigher(columns=columns, edges=edges))
    return Normalized(network, edges=edges) if choice.normalize else network


def upstream(settings: Settings, info: TaskInfo, policy: Policy, width: int) -> nn.Module:
    """The network that weighs vertices or edges, as wide as the downstream one."""
    edges, network, name = policy.weighs_edges, settings.network, settings.selection.weigher
    model: nn.Module | None = None
    if network.upstream == "gin" or network.norm is False:
        norm = None if network.norm is False else "batch_norm"
        kind = GIN if network.upstream == "gin" else GCN
        # The last batch of an epoch may be a single vertex.
        alone = None if norm is None else {"allow_single_element": True}
        model = kind(width, width, network.upstream_layers, norm=norm, norm_kwargs=alone, jk="last")
    of_edges = info.edge_features if edges else None
    given: dict[str, Any] = {
        "edges": edges,
        "vertex_encoder": vertex_encoder(info, settings.data.encodings, width),
        "edge_encoder": None if of_edges is None else encoder(described(of_edges), width),
        "model": model,
        "layers": network.upstream_layers,
        "in_turn": policy.channels == "in turn" and policy.count != 1,
    }
    make = resolve(name, dict.fromkeys(WEIGHERS, Upstream), "selection.weigher")
    given = {key: value for key, value in given.items() if accepts(make, key)}
    given |= _shared_options(settings.selection).get("weigher", {})
    try:
        made = make(policy.columns, width, **given)
    except Exception as error:  # whatever a custom weigher raises
        if name in WEIGHERS:
            raise
        raise OsanError(
            f"selection.weigher: expected a function (columns, width, **options), got {name!r}, which fails "
            f"({one_line(error)})"
        ) from error
    if not isinstance(made, nn.Module):
        raise OsanError(
            f"selection.weigher: expected a function that returns a module, got {type(made).__name__} from "
            f"{name!r}"
        )
    return made


class Parts(TypedDict):
    """The arguments of :class:`osan.nn.DataDrivenOSAN` that can be custom parts."""

    estimator: Estimator
    noise: Noise
    auxiliary: AuxiliaryLoss | str | None


def selection_parts(choice: SelectionSettings) -> Parts:
    """Estimator, noise and auxiliary loss by their names; every option goes to the parts that take it."""
    loss = _auxiliary_loss(choice)
    shares = _shared_options(choice)
    options = shares["estimator"]
    name = choice.method
    if choice.weigher in CENTRAL_WEIGHERS or (
        name in ("random", "fixed") and choice.weigher not in LEARNED_WEIGHERS
    ):
        return {"estimator": make_estimator(name), "noise": make_noise("none"), "auxiliary": None}
    if (
        choice.estimator == "score-function"
        and choice.noise_schedule != "constant"
        and not choice.noise_floor
    ):
        raise OsanError("selection.noise_floor: expected a number above 0 for the score function, got 0")
    if choice.estimator == "imle":
        options = {"lam": choice.lam, "samples": choice.draws, **options}
    elif choice.estimator == "adaptive-imle":
        options = {"samples": choice.draws, **options}
    auxiliary: AuxiliaryLoss | str | None = choice.auxiliary if choice.learns and loss is not None else None
    if auxiliary is not None and shares["auxiliary"]:
        auxiliary = partial(cast(AuxiliaryLoss, loss), **shares["auxiliary"])
    try:
        return {
            "estimator": make_estimator(name, **options),
            "noise": _noise(choice.noise, choice.noise_scale, shares["noise"]),
            "auxiliary": auxiliary,
        }
    except OsanError as error:
        raise OsanError(f"selection.{error}") from error


def _auxiliary_loss(choice: SelectionSettings) -> AuxiliaryLoss | None:
    found: AuxiliaryLoss | None = resolve(
        choice.auxiliary, {"none": None, **AUXILIARY_LOSSES}, "selection.auxiliary"
    )
    return found


def _shared_options(choice: SelectionSettings) -> dict[str, dict[str, Any]]:
    """The options of the custom weigher, the estimator, the noise and the auxiliary loss."""
    loss, weigher = _auxiliary_loss(choice), choice.weigher
    takers = {
        "estimator": resolve(choice.estimator, ESTIMATORS, "selection.estimator"),
        "noise": resolve(choice.noise, NOISES, "selection.noise"),
        **({} if loss is None else {"auxiliary": loss}),
        **({} if weigher in WEIGHERS else {"weigher": resolve(weigher, {}, "selection.weigher")}),
    }
    return share_options(choice.options, takers, "selection.options")


def evaluation_noise(choice: SelectionSettings, noise: Noise) -> Noise | None:
    """The noise of validation and test; ``None`` if it is the noise of training.

    With a schedule, the noise of training is the one that the schedule ends with.
    """
    if choice.evaluation_noise is None:
        return None if choice.noise_schedule == "constant" else noise.scaled(choice.noise_floor)
    try:
        return _noise(choice.evaluation_noise, choice.evaluation_noise_scale, {})
    except OsanError as error:
        raise OsanError(f"selection.evaluation_{error}") from error


def _noise(name: str, scale: float, options: dict[str, Any]) -> Noise:
    # A custom noise may have a scale already.
    part = partial(resolve(name, NOISES, "noise"), **options) if options else name
    return make_noise(part, None if scale == 1 else scale)


def combine(choice: SelectionSettings, info: TaskInfo) -> Combine:
    """How samples are joined: by a vote if the metric is the accuracy of one target, else by their mean."""
    can_vote = info.kind == "multiclass" or (info.kind == "binary" and len(info.targets) == 1)
    if choice.combine == "vote" and info.metric in OF_PROBABILITIES:
        raise OsanError(
            f"selection.combine: expected 'mean' for {info.metric}, which needs probabilities, got 'vote'"
        )
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
