"""From settings to the network that predicts, and to its encoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import isroutine, signature
from typing import Any

import torch
from torch import nn

from osan.data import Features
from osan.errors import OsanError, one_line
from osan.nn import (
    ARCHITECTURES,
    Descriptors,
    WithEncoding,
)
from osan.nn.encoders import EdgeMLP, encoder
from osan.nn.layers import looks_at_edges
from osan.nn.paper import paper_options
from osan.nn.relations import RELATIONS, make_relation
from osan.parts import resolve
from osan.selection import (
    Policy,
)
from osan.training.options import accepts, share_options
from osan.training.settings import NetworkSettings
from osan.training.tasks import TaskInfo
from osan.training.validation import is_about_part

# Settings of the network that are arguments of its architecture.
_NAMES = ("width", "layers", "conv", "readout", "between", "head", "dropout", "residual", "norm")


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


def described(features: Features) -> tuple[int, ...] | int:
    """Features as the encoders take them: sizes of integer columns, or a number of real ones."""
    return features.sizes if features.categorical else features.width
