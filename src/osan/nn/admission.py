"""Which vertices admit which subgraphs: the paper's pi."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Data

from osan.bags import SubgraphBag, straight_through
from osan.errors import OsanError
from osan.nn.atomic import atomic_columns, membership, ordered_atomic_types, tuple_labels
from osan.nn.mlp import MLP
from osan.nn.options import Atomic


def at_first(bag: SubgraphBag) -> Tensor:
    r"""The admission :math:`\pi_{v,g} = [v = g_1]` of identity-aware GNNs; shape ``[copies]``."""
    if bag.tuples is None:
        raise OsanError(
            "bag.tuples: expected shape [subgraphs, k], got none; make the bag with bags.all_egos, for "
            "example"
        )
    return bag.vertex == bag.tuples[bag.subgraph, 0]


class LearnedAdmission(Module):
    r"""Admission :math:`\pi_{v,g} = \mathsf{UPD}_\pi(\mathsf{atp}(v, t(g)))`, learned.

    The value is the relu of a perceptron and can be exactly 0. What is aggregated is decided by
    :math:`\pi \neq 0`, and the gradient passes to the value as if it were the weight. The perceptron sees the
    encoded features of v (the labels in atp) and its mark. If ordered, it sees those of the tuple as well,
    and equalities and adjacencies instead of the mark.

    Parameters
    ----------
    atomic, k, width
        As in :class:`osan.nn.InitialFeatures`.
    """

    def __init__(self, atomic: Atomic, k: int, width: int) -> None:
        super().__init__()
        self.ordered = atomic == "ordered"
        columns = atomic_columns(k) + k * width if self.ordered else 1
        self.mlp = MLP([width + columns, width, 1])

    def forward(self, batch: Data, bag: SubgraphBag, vertices: Tensor) -> Tensor:
        """0 or 1 for each copy, with gradients; shape ``[copies]``.

        ``vertices`` are the encoded features of the vertices of the batch, shape ``[vertices, width]``.
        """
        dtype = next(self.parameters()).dtype
        seen = [vertices.index_select(0, bag.vertex)]
        if self.ordered:
            named = tuple_labels(vertices, bag).index_select(0, bag.subgraph)
            seen += [named, ordered_atomic_types(batch, bag)]
        else:
            seen += [membership(bag)[:, None]]
        value = torch.relu(self.mlp(torch.cat([part.to(dtype) for part in seen], dim=1))).squeeze(1)
        return straight_through((value != 0).to(dtype), value)
