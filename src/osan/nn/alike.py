"""Which parts of a network give equal rows for equal inputs, so that equal rows can be computed once."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import BatchNorm1d, Module
from torch_geometric.nn import BatchNorm, GATConv, GATv2Conv, GCNConv

from osan.nn.encoders import Categorical, EdgeMLP, Numerical
from osan.nn.layers import GCN, GIN, GINE, PNA, AllConv, MarkedConv, PyGLayer
from osan.nn.layers.gin import sum_and_map
from osan.nn.layers.pyg import of_multisets
from osan.nn.layers.row_local import row_local
from osan.nn.mlp import MLP
from osan.nn.norm import BagBatchNorm
from osan.nn.pooling import POOLS, AggregationPool

# Activations that look at one number at a time, and draw none.
_NAMES = "relu relu6 gelu elu selu celu silu mish leaky_relu softplus softsign hardswish hardtanh logsigmoid"
_NAMES += " tanhshrink tanh sigmoid"
_ACTIVATIONS = {getattr(torch.nn.functional, name) for name in _NAMES.split()}
_ACTIVATIONS |= {torch.relu, torch.tanh, torch.sigmoid, torch.sin, torch.cos}
_MODULES = "ReLU ReLU6 GELU ELU SELU CELU SiLU Mish LeakyReLU PReLU Softplus Softsign Hardswish Hardtanh"
_MODULES += " LogSigmoid Tanhshrink Tanh Sigmoid"

# Aggregations of PyG that do not look at the order of rows.
_KINDS = ("Sum", "Mean", "Max", "Min", "Mul", "Std", "Var", "Median", "Softmax", "PowerMean")
_UNORDERED = [f"{kind}Aggregation" for kind in _KINDS]


def elementwise(activation: Any) -> bool:
    """Whether an activation is known to map each number by itself, without random numbers.

    >>> [elementwise(f) for f in (torch.relu, torch.sin, torch.nn.RReLU(), lambda h: h / h.sum())]
    [True, True, False, False]
    """
    if activation is None or activation in _ACTIVATIONS:
        return True
    home, name = type(activation).__module__, type(activation).__name__
    return home == "torch.nn.modules.activation" and name in _MODULES.split()


def draws(module: Module) -> bool:
    """Whether a module has dropout that is on."""
    return any(
        part.training and (getattr(part, "p", 0) or 0) > 0
        for part in module.modules()
        if type(part).__module__ == "torch.nn.modules.dropout"
    )


def alike(module: Any) -> bool:
    """Whether a module is known to map equal rows to equal rows; batch norms count copies.

    >>> alike(MLP([4, 4, 4], norm=True)), alike(torch.nn.Dropout(0.5)), alike(torch.nn.Softmax(0))
    (True, False, False)
    """
    if type(module) in (Categorical, Numerical):
        return True
    if type(module) is MLP:
        return elementwise(module.activation)
    if type(module) is EdgeMLP:
        return alike(module.first) and alike(module.second)
    if draws(module):
        return False
    known = (MLP, BagBatchNorm, BatchNorm1d, BatchNorm, Categorical, EdgeMLP, Numerical, torch.nn.Embedding)
    if not row_local(module, but=known):
        return False
    return all(
        elementwise(part.activation if isinstance(part, MLP) else part)
        for part in module.modules()
        if isinstance(part, MLP) or type(part).__module__ == "torch.nn.modules.activation"
    )


def local(module: Any) -> bool:
    """Whether a module is :func:`alike` and has no batch norm, so that any set of rows can be mapped."""
    if type(module) is MLP:
        return module.norms is None and elementwise(module.activation)
    norms = (BagBatchNorm, BatchNorm1d, BatchNorm)
    return alike(module) and not any(isinstance(part, norms) for part in module.modules())


def layer_alike(conv: Any) -> bool:
    """Whether a layer is known to be a function of the row itself and the multiset of its messages.

    That is so for the layers of this library and for those of PyG that
    :func:`~osan.nn.layers.pyg.of_multisets` knows, unless they hold a module or an activation that is not
    known. A custom layer that is called with ``(h, view)`` says so by an attribute ``multiset = True``: it
    has to work with ``view.row`` and ``view.count``.
    """
    if isinstance(conv, MarkedConv):
        parts = (conv.marked, conv.unmarked)
        return all(layer_alike(part) and not isinstance(part, GCN | PyGLayer) for part in parts)
    if isinstance(conv, AllConv):
        return alike(conv.mlp)
    if isinstance(conv, GIN | GINE):
        inner: Any = conv.nn
        return alike(inner)
    if isinstance(conv, PNA):
        return True
    if is_gcn(conv):
        return True
    if isinstance(conv, PyGLayer):
        if conv.run is sum_and_map:
            inner = conv.conv.nn
            return alike(inner)
        return of_multisets(conv.conv) and all(map(elementwise, _activations(conv.conv)))
    return bool(getattr(conv, "multiset", False)) and not draws(conv)


def keeps_apart(conv: Any) -> bool:
    """Whether a layer is known to send no messages from one subgraph to another.

    A custom layer that is called with ``(h, view)`` may do so, unless it says ``multiset = True``.
    """
    if type(conv) is MarkedConv:
        return keeps_apart(conv.marked) and keeps_apart(conv.unmarked)
    known = type(conv) in (GIN, GINE, GCN, PNA, AllConv, PyGLayer)
    return known or bool(getattr(conv, "multiset", False))


def _activations(module: Module) -> list[Module]:
    """The activations inside a module."""
    return [part for part in module.modules() if type(part).__module__ == "torch.nn.modules.activation"]


def pool_alike(pool: Any) -> bool:
    """Whether a pooling is known to be a function of the multiset of its rows."""
    if isinstance(pool, AggregationPool):
        return type(pool.aggregation).__name__ in _UNORDERED
    return type(pool) in POOLS.values()


def replaces_loops(conv: Any) -> bool:
    """Whether a layer drops the self-loops of the graph and adds its own."""
    inner = conv.conv if isinstance(conv, PyGLayer) else conv
    return is_gcn(conv) or (isinstance(inner, GATConv | GATv2Conv) and bool(inner.add_self_loops))


def is_gcn(conv: Any) -> bool:
    """Whether a layer is GCN with its default normalization, which looks at the degrees of senders."""
    inner = conv.conv if isinstance(conv, PyGLayer) else conv
    return isinstance(inner, GCNConv) and bool(
        inner.normalize and inner.add_self_loops and not inner.improved and not inner.cached
    )
