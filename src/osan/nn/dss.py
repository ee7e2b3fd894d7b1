"""DSS-GNN: layers that also share information between the subgraphs of a graph."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Unpack

import torch
from torch import Tensor
from torch.nn import Module, ModuleList
from torch_geometric.data import Data

from osan.bags import SubgraphBag, whole_graphs
from osan.nn.mlp import dropout
from osan.nn.network import OSAN, osan
from osan.nn.norm import Activation
from osan.nn.options import BagOptions, Pooling, SharingOptions, checked
from osan.nn.pooling import Pool
from osan.nn.stack import Stack


class SharingStack(Module):
    r"""Layers :math:`h_{v,s}' = \sigma(L_1(h)_{v,s} + L_2(\mathrm{pool}_s h_{v,s})_v)`.

    The first runs inside each subgraph, the second on the graph itself, with the features of each vertex
    pooled over the subgraphs that contain it.

    Parameters
    ----------
    width, layers, activation, dropout, residual, options
        As in :class:`osan.nn.Stack`.
    share
        How the copies of a vertex are pooled; the result must have the width of the features.
    """

    @checked()
    def __init__(
        self,
        width: int,
        layers: int,
        *,
        share: Pooling = "mean",
        activation: Activation = torch.nn.functional.relu,
        dropout: float = 0.0,
        residual: bool = False,
        **options: Unpack[SharingOptions],
    ) -> None:
        super().__init__()
        self.activation, self.dropout, self.residual = activation, dropout, residual
        inner: SharingOptions = {"last_activation": False, **options}
        self.inside = ModuleList(Stack(width, 1, activation=activation, **inner) for _ in range(layers))
        self.between = ModuleList(Stack(width, 1, activation=activation, **inner) for _ in range(layers))
        self.share = Pool(share, width)

    def forward(self, h: Tensor, batch: Data, bag: SubgraphBag) -> Tensor:
        """Shape ``[copies, width]`` to the same."""
        if not len(self.inside):
            return h
        whole = _shared_graph(batch, bag, h.dtype)
        within, across = self.inside[0].views(batch, bag), self.between[0].views(batch, whole)  # type: ignore[operator]
        for inside, between in zip(self.inside, self.between, strict=True):
            shared = self.share(h, bag.vertex, bag.num_vertices, bag.weight)
            out = inside.run(h, within) + between.run(shared, across).index_select(0, bag.vertex)  # type: ignore[operator]
            out = dropout(self.activation(out), self.dropout, self.training)
            h = out + h if self.residual else out
        return h


def _shared_graph(batch: Data, bag: SubgraphBag, dtype: torch.dtype) -> SubgraphBag:
    """The graphs themselves, without the vertices of which no copy is left."""
    whole = whole_graphs(batch)
    ones = torch.ones_like(bag.vertex) if bag.weight is None else (bag.weight.detach() != 0).long()
    left = torch.zeros_like(whole.vertex).index_add(0, bag.vertex, ones) > 0
    if bool(left.all()):
        return whole
    edges = left[whole.edge_index[0]] & left[whole.edge_index[1]]
    return replace(whole, weight=left.to(dtype), edge_weight=edges.to(dtype))


@checked()
def dss_network(
    width: int, layers: int, out: int, *, share: Pooling = "mean", **options: Unpack[BagOptions]
) -> OSAN:
    """An OSAN whose layers share information between subgraphs (ESAN's DSS-GNN).

    Parameters
    ----------
    width, layers, out, options
        As in :func:`osan.nn.osan`.
    share
        How the copies of a vertex are pooled.
    """
    return osan(width, layers, out, stack=partial(SharingStack, share=share), **options)
