"""Modules whose output for one row does not depend on unrelated rows."""

from __future__ import annotations

from inspect import signature
from typing import Any

from torch.nn import Module
from torch_geometric.nn import MessageNorm

# Modules of these libraries map rows one by one, or along edges. Norms are missing on purpose.
_LOCAL = (
    "torch.nn.modules.linear",
    "torch.nn.modules.activation",
    "torch.nn.modules.dropout",
    "torch.nn.modules.container",
    "torch_geometric.nn.conv",
    "torch_geometric.nn.aggr",
    "torch_geometric.nn.dense.linear",
    "torch_geometric.nn.models.mlp",
    # A wrapper around PyTorch's batch norm, which is judged by itself.
    "torch_geometric.nn.norm.batch_norm",
)


def row_local(module: Module, but: tuple[type[Module], ...] = ()) -> bool:
    """Whether a row of the result depends only on its own row and on rows joined to it by edges.

    Decided by a list of known modules, so ``False`` means "not known": norms, attention over all rows, and
    every class from outside PyTorch and PyG.

    Parameters
    ----------
    module
        The module; all its parts are looked at.
    but
        Further types that are accepted.

    Examples
    --------
    >>> from torch_geometric.nn import MLP
    >>> row_local(MLP([4, 4, 4], norm=None)), row_local(MLP([4, 4, 4]))
    (True, False)
    """
    return all(_known(part) or type(part) in but for part in module.modules())


def _known(part: Module) -> bool:
    home = type(part).__module__
    if isinstance(part, MessageNorm):
        return True
    if not home.startswith(_LOCAL):
        return False
    return not _attends(part)


def _attends(part: Any) -> bool:
    """Whether a module mixes rows by attention or needs to know which rows belong together."""
    if type(part).__name__ == "MultiheadAttention":
        return True
    in_conv = type(part).__module__.startswith("torch_geometric.nn.conv")
    return in_conv and "batch" in signature(part.forward).parameters
