"""Nested GNNs and GNN-as-kernel: a network inside the ego-net of every vertex."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import Module, ModuleList
from torch_geometric.data import Data
from typing_extensions import Unpack

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.atomic import InitialFeatures
from osan.nn.encoders import as_encoder
from osan.nn.mlp import MLP
from osan.nn.norm import Activation
from osan.nn.options import Encoder, LayerOptions, Level, Pooling, checked
from osan.nn.pooling import Pool
from osan.nn.stack import Stack


class EgoNetwork(Module):
    r"""Pool each ego-net into its center, once (nested GNN) or several times (GNN-as-kernel).

    With the ego-net :math:`G^h_w` of every vertex w (paper, appendix "Nested GNNs" and "GNN As Kernel"),

    .. math:: h_w = \phi(\mathsf{AGG}\{\!\{h^{(T)}_{v, G^h_w} \mid v \in V(G^h_w)\}\!\}), \quad
              h_G = \mathsf{READOUT}\{\!\{h_w \mid w \in V(G)\}\!\}.

    A restart sends the :math:`h_w` through further layers as the new vertex features. :func:`ego_network`
    makes the parts from a width and options.

    Parameters
    ----------
    initial
        With a method ``vertices(batch)`` that gives the first features, shape ``[vertices, width]``; for
        example :class:`osan.nn.InitialFeatures`.
    stacks, pools, phis
        Layers, pooling of an ego-net and perceptron of each start.
    readout
        The pooling of the vertices; ``None`` for predictions per vertex.
    head
        From pooled rows to predictions.
    """

    def __init__(
        self,
        initial: Module,
        stacks: Sequence[Module],
        pools: Sequence[Module],
        phis: Sequence[Module],
        readout: Module | None,
        head: Module,
    ) -> None:
        super().__init__()
        self.initial = initial
        self.stacks, self.pools, self.phis = ModuleList(stacks), ModuleList(pools), ModuleList(phis)
        self.readout = readout
        self.head = head

    @property
    def width(self) -> int:
        """The width of the features."""
        return int(self.initial.width)  # type: ignore[arg-type]

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
                "bag.tuples: expected the ego-net of every vertex once, in order, got other tuples; "
                "make the bag with bags.all_egos"
            )
        h = self.initial.vertices(batch)  # type: ignore[operator]
        for stack, pool, phi in zip(self.stacks, self.pools, self.phis, strict=True):
            copies = stack(h.index_select(0, bag.vertex), batch, bag)
            h = phi(pool(copies, bag.subgraph, bag.num_subgraphs, bag.weight))
        return h if self.readout is None else self.readout(h, bag.graph, bag.num_graphs)


@checked()
def ego_network(
    width: int,
    layers: int,
    out: int,
    *,
    starts: int = 1,
    vertex_encoder: Encoder | None = None,
    pool: Pooling = "mean",
    readout: Pooling = "mean",
    head: int = 1,
    level: Level = "graph",
    activation: Activation = torch.nn.functional.relu,
    **layer_options: Unpack[LayerOptions],
) -> EgoNetwork:
    """An :class:`EgoNetwork` of one width, made from options.

    Parameters
    ----------
    width, layers, out
        As in :func:`osan.nn.osan`; ``layers`` counts those of each start.
    starts
        1 for a nested GNN, more for GNN-as-kernel.
    pool, readout
        How an ego-net and how the vertices are pooled.
    vertex_encoder, head, level, activation, layer_options
        As in :func:`osan.nn.osan`.
    """
    initial = InitialFeatures(width, as_encoder(vertex_encoder, "vertex_encoder"))
    stacks = [Stack(width, layers, activation=activation, **layer_options) for _ in range(starts)]
    pools = [Pool(pool, width) for _ in range(starts)]
    phis = [MLP([each.out_width, width, width], activation=activation) for each in pools]
    last = Pool(readout, width) if level == "graph" else None
    seen = width if last is None else last.out_width
    return EgoNetwork(
        initial,
        stacks,
        pools,
        phis,
        last,
        MLP([seen] + [width] * (head - 1) + [out], activation=activation),
    )
