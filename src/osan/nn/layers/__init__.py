"""Message-passing layers: each is called with the features of rows and a :class:`~osan.nn.view.View`.

The weight of a copied edge enters all layers in the same way: *the message along the edge is multiplied by
it, and whatever counts messages counts weights*. So the result is that of the graph without the edges of
weight 0, and gradients reach every weight in which the layer is smooth. GIN and GINE sum, so their messages
are scaled; GCN takes edge weights itself; PNA's mean, min, max, std and degrees count weights. For all other
layers of PyG see :class:`~osan.nn.layers.pyg.PyGLayer`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from osan.errors import OsanError, one_line
from osan.nn.layers.across import AcrossConv
from osan.nn.layers.gcn import GCN
from osan.nn.layers.gin import GIN, GINE
from osan.nn.layers.neighborhoods import AllConv, MarkedConv
from osan.nn.layers.pna import AGGREGATORS, PNA, SCALERS
from osan.nn.layers.pyg import PyGLayer
from osan.nn.mlp import MLP
from osan.nn.norm import Activation
from osan.parts import resolve

__all__ = [
    "GCN",
    "GIN",
    "GINE",
    "LAYERS",
    "PNA",
    "AcrossConv",
    "AllConv",
    "LayerSpec",
    "MarkedConv",
    "PyGLayer",
    "as_layer",
    "looks_at_edges",
    "make_layer",
]

Conv = str | Callable[[int], Module]


@dataclass(frozen=True)
class LayerSpec:
    """What the layers that are known by name can be told.

    Parameters
    ----------
    hidden
        The inner width of GIN's perceptron; by default the width.
    norm, activation
        Whether GIN's perceptron has a batch norm, and its activation.
    train_eps
        Whether GIN's epsilon is learned.
    degrees
        Histogram of the degrees of the training graphs, for PNA (``PNAConv.get_degree_histogram``).
    towers
        PNA's towers, each of which sees all features.
    edges
        Whether PNA looks at edge features.
    """

    hidden: int | None = None
    norm: bool = True
    activation: Activation = torch.nn.functional.relu
    train_eps: bool = False
    degrees: Tensor | None = None
    towers: int = 1
    edges: bool = True

    def mlp(self, width: int) -> MLP:
        """GIN's perceptron."""
        return MLP([width, self.hidden or width, width], norm=self.norm, activation=self.activation)


def _pna(width: int, spec: LayerSpec) -> Module:
    if spec.degrees is None:
        raise OsanError("degrees: expected the histogram of degrees of the training graphs for PNA, got none")
    edges = width if spec.edges else None
    return PNA(
        width, width, list(AGGREGATORS), list(SCALERS), spec.degrees, edge_dim=edges, towers=spec.towers
    )


LAYERS: dict[str, Callable[[int, LayerSpec], Module]] = {
    "gin": lambda width, spec: GIN(spec.mlp(width), train_eps=spec.train_eps),
    "gine": lambda width, spec: GINE(spec.mlp(width), train_eps=spec.train_eps),
    "gcn": lambda width, spec: GCN(width, width),
    "pna": _pna,
}


def make_layer(conv: Conv, width: int, spec: LayerSpec | None = None) -> Module:
    """A layer of a given width, called with ``(h, view)``.

    Parameters
    ----------
    conv
        A name in :data:`LAYERS`, ``"module:name"``, or a function from the width to a layer: one that is
        called with ``(h, view)``, or any layer of PyG.
    width
        The width of the features.
    spec
        Options of the named layers.

    Examples
    --------
    >>> from torch_geometric.nn import GATConv as GAT
    >>> type(make_layer("gin", 8)).__name__, type(make_layer(lambda w: GAT(w, w), 8)).__name__
    ('GIN', 'PyGLayer')
    """
    make = resolve(conv, LAYERS, "conv")
    if isinstance(conv, str) and conv in LAYERS:
        return make(width, spec or LayerSpec())
    return as_layer(_custom(make, width))


def as_layer(conv: Any) -> Module:
    """The layer itself if it is called with a view, else the layer behind :class:`PyGLayer`."""
    if not isinstance(conv, Module):
        raise OsanError(f"conv: expected a layer, got {type(conv).__name__}")
    try:
        takes_view = "view" in signature(conv.forward).parameters
    except (TypeError, ValueError):  # compiled code has no signature
        takes_view = False
    return conv if takes_view else PyGLayer(conv)


def looks_at_edges(conv: Conv, width: int, spec: LayerSpec | None = None) -> bool:
    """Whether a layer looks at edge features; custom ones are made once to find out.

    >>> looks_at_edges("gine", 8), looks_at_edges("gin", 8)
    (True, False)
    """
    if conv in ("gin", "gine", "gcn"):
        return conv == "gine"
    with torch.random.fork_rng(devices=[]):  # it is not the layer that is used
        spec = replace(spec or LayerSpec(), degrees=torch.ones(2, dtype=torch.long))
        return bool(getattr(make_layer(conv, width, spec), "looks_at_edges", False))


def _custom(make: Any, width: int) -> Module:
    """The layer that a user's function makes."""
    expected = "conv: expected a function from the width to a layer, such as lambda w: GATConv(w, w)"
    if isinstance(make, Module):
        raise OsanError(
            f"{expected}; got a {type(make).__name__}, but each layer of the network needs its own weights"
        )
    if not callable(make):
        raise OsanError(f"{expected}; got {make!r}")
    name = getattr(make, "__name__", repr(make))
    try:
        signature(make).bind(width)
    except TypeError as error:
        raise OsanError(
            f"{expected}; got {name}, which cannot be called with the width alone ({error})"
        ) from None
    except ValueError:  # some built-in functions have no signature
        pass
    try:
        conv = make(width)
    except OsanError:
        raise
    except Exception as error:  # whatever a user's function raises
        raise OsanError(f"conv: {name} fails for the width {width} ({one_line(error)})") from error
    if not isinstance(conv, Module):
        raise OsanError(f"{expected}; got a function that returns {type(conv).__name__}")
    return conv
