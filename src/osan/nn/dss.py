"""DSS-GNN: layers that also share information between the subgraphs of a graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, ModuleList
from torch_geometric.data import Data

from osan.bags import SubgraphBag, whole_graphs
from osan.nn.mlp import dropout
from osan.nn.network import OSAN
from osan.nn.norm import Activation
from osan.nn.pooling import Pool, PoolName
from osan.nn.stack import Stack


class SharingStack(Module):
    r"""Layers :math:`h_{v,s}' = \sigma(L_1(h)_{v,s} + L_2(\mathrm{pool}_s h_{v,s})_v)`.

    The first runs inside each subgraph, the second on the graph itself with the features of each vertex
    pooled over the subgraphs it is part of.

    Parameters
    ----------
    width, layers, options
        As in :class:`osan.nn.Stack`.
    share
        How a vertex's copies are pooled.
    """

    def __init__(
        self,
        width: int,
        layers: int,
        *,
        share: PoolName = "mean",
        activation: Activation = torch.nn.functional.relu,
        dropout: float = 0.0,
        residual: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        self.activation, self.dropout, self.residual = activation, dropout, residual
        inner = {"activation": activation, "last_activation": False, **options}
        self.inside = ModuleList(Stack(width, 1, **inner) for _ in range(layers))
        self.between = ModuleList(Stack(width, 1, **inner) for _ in range(layers))
        self.share = Pool(share, width)

    def forward(self, h: Tensor, batch: Data, bag: SubgraphBag) -> Tensor:
        """Shape ``[copies, width]`` to the same."""
        whole = whole_graphs(batch)
        # A vertex of which no copy is left is not there in the shared graph either.
        ones = torch.ones_like(bag.vertex) if bag.weight is None else (bag.weight.detach() != 0).long()
        left = torch.zeros_like(whole.vertex).index_add(0, bag.vertex, ones) > 0
        if not bool(left.all()):
            edges = left[whole.edge_index[0]] & left[whole.edge_index[1]]
            whole = replace(whole, weight=left.to(h.dtype), edge_weight=edges.to(h.dtype))
        for inside, between in zip(self.inside, self.between, strict=True):
            shared = self.share(h, bag.vertex, bag.num_vertices, bag.weight)
            out = inside(h, batch, bag) + between(shared, batch, whole).index_select(0, bag.vertex)
            out = dropout(self.activation(out), self.dropout, self.training)
            h = out + h if self.residual else out
        return h


class DSSNetwork(OSAN):
    """A per-subgraph OSAN whose layers share information between subgraphs (ESAN's DSS-GNN).

    Takes the arguments of :class:`osan.nn.OSAN`, and ``share``, how a vertex's copies are pooled.
    """

    @staticmethod
    def _make_stack(width: int, layers: int, **options: Any) -> Module:
        return SharingStack(width, layers, **options)
