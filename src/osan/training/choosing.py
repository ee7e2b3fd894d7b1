"""From settings to what chooses subgraphs: weigher, estimator, noise and auxiliary loss."""

from __future__ import annotations

from functools import partial
from typing import Any, TypedDict, cast

from torch import nn
from torch_geometric.nn import GCN, GIN

from osan.errors import OsanError, one_line
from osan.nn import (
    CentralityWeigher,
    Normalized,
    Prior,
    Upstream,
    neutral,
)
from osan.nn.data_driven import Combine
from osan.nn.encoders import encoder
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
from osan.training.downstream import described, vertex_encoder
from osan.training.options import accepts, share_options
from osan.training.scores import OF_PROBABILITIES
from osan.training.settings import SelectionSettings, Settings
from osan.training.tasks import TaskInfo
from osan.words import CENTRAL_WEIGHERS, LEARNED_WEIGHERS, WEIGHERS


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
