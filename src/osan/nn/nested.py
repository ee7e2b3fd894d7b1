"""Nested GNNs and GNN-as-kernel: a network inside the ego-net of every vertex."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, ModuleList
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.atomic import InitialFeatures
from osan.nn.mlp import MLP
from osan.nn.network import Task
from osan.nn.norm import Activation
from osan.nn.pooling import Pool, PoolName
from osan.nn.stack import Stack


class EgoNetwork(Module):
    r"""Pool each ego-net into its center, once (nested GNN) or again and again (GNN-as-kernel).

    With the ego-net :math:`G^h_w` of every vertex w (paper, appendix "Nested GNNs" and "GNN As Kernel"),

    .. math:: h_w = \phi(\mathsf{AGG}\{\!\{h^{(T)}_{v, G^h_w} \mid v \in V(G^h_w)\}\!\}), \quad
              h_G = \mathsf{READOUT}\{\!\{h_w \mid w \in V(G)\}\!\}.

    A restart sends the :math:`h_w` through further layers of their own as the new vertex features.

    Parameters
    ----------
    width, layers, out
        As in :class:`osan.nn.OSAN`; ``layers`` counts those of each start.
    starts
        1 for a nested GNN.
    pool, readout
        How an ego-net and how the vertices are pooled.
    vertex_encoder, head, task, activation, layer_options
        As in :class:`osan.nn.OSAN`.
    """

    def __init__(
        self,
        width: int,
        layers: int,
        out: int,
        *,
        starts: int = 1,
        vertex_encoder: Module | None = None,
        pool: PoolName = "mean",
        readout: PoolName = "mean",
        head: int = 1,
        task: Task = "graph",
        activation: Activation = torch.nn.functional.relu,
        **layer_options: Any,
    ) -> None:
        super().__init__()
        self.task = task
        self.initial = InitialFeatures(width, vertex_encoder)
        self.stacks = ModuleList(
            Stack(width, layers, activation=activation, **layer_options) for _ in range(starts)
        )
        pools = [Pool(pool, width) for _ in range(starts)]
        self.pools = ModuleList(pools)
        self.phis = ModuleList(MLP([p.out_width, width, width], activation=activation) for p in pools)
        self.readout = Pool(readout, width)
        last = self.readout.out_width if task == "graph" else width
        self.head = MLP([last] + [width] * (head - 1) + [out], activation=activation)

    def forward(self, batch: Data, bag: SubgraphBag) -> Tensor:
        """Predictions, shape ``[graphs, out]`` or ``[vertices, out]``."""
        return self.head(self.embed(batch, bag))

    def embed(self, batch: Data, bag: SubgraphBag) -> Tensor:
        """What the head sees: one row per graph, or per vertex."""
        bag.check(batch)
        centers = None if bag.tuples is None else bag.tuples[:, 0]
        every = torch.arange(bag.num_vertices, device=bag.vertex.device)
        if centers is None or not torch.equal(centers, every):
            raise OsanError(
                "bag.tuples: expected the ego-net of every vertex once, in order; use bags.all_egos"
            )
        h = self.initial.vertices(batch)
        for stack, pool, phi in zip(self.stacks, self.pools, self.phis, strict=True):
            copies = stack(h.index_select(0, bag.vertex), batch, bag)
            h = phi(pool(copies, bag.subgraph, bag.num_subgraphs, bag.weight))
        return h if self.task == "vertex" else self.readout(h, bag.graph, bag.num_graphs)
