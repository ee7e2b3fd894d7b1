"""Layers over all vertices, and layers that treat marked and unmarked neighbors differently."""

from __future__ import annotations

from torch import Tensor
from torch.nn import Module

from osan.nn.mlp import MLP
from osan.nn.view import View


class AllConv(Module):
    r"""GIN with V(G) as the neighborhood: :math:`\mathrm{MLP}(h_v + \sum_{u \in V(G)} h_u)`.

    The sum runs over the copies in the same subgraph, v itself included, each times its weight.
    """

    looks_at_edges = False

    def __init__(self, mlp: MLP) -> None:
        super().__init__()
        self.mlp = mlp

    def forward(self, h: Tensor, view: View) -> Tensor:
        """Shape ``[rows in, width]`` to ``[rows out, width]``."""
        rows, group = (h, view.group) if view.members is None else (h[view.members[0]], view.members[1])
        weight = view.member_weight
        rows = rows if weight is None else rows * weight.to(h.dtype)[:, None]
        total = h.new_zeros(view.num_groups, h.size(1)).index_add(0, group, rows)
        return self.mlp(view.own(h) + total.index_select(0, view.group), view.count)


class MarkedConv(Module):
    r"""Separate aggregation of marked and unmarked neighbors (paper, appendix, equation of marked GNNs).

    .. math:: h_v' = \mathsf{AGG}_{marked}\{\!\{h_u \mid u \in N(v) \cap M\}\!\}
              + \mathsf{AGG}_{unmarked}\{\!\{h_u \mid u \in N(v) \setminus M\}\!\}

    Each part is a layer with its own weights, so GIN's parts also see :math:`h_v`. A neighbor with a mark
    between 0 and 1 takes part in both: with the mark as weight in the first, and 1 minus the mark in the
    second.

    Parameters
    ----------
    marked, unmarked
        The two layers, called with ``(h, view)``.
    """

    def __init__(self, marked: Module, unmarked: Module) -> None:
        super().__init__()
        self.marked, self.unmarked = marked, unmarked

    @property
    def looks_at_edges(self) -> bool:
        """Whether the two layers look at edge features."""
        return bool(getattr(self.marked, "looks_at_edges", False))

    def forward(self, h: Tensor, view: View) -> Tensor:
        """Shape ``[rows in, width]`` to ``[rows out, width]``."""
        outs = []
        for layer, (part, mask) in zip((self.marked, self.unmarked), view.by_mark, strict=True):
            edges = view.edges if mask is None or view.edges is None else view.edges.where(mask)
            outs.append(layer(h, part.with_edges(edges)))
        return outs[0] + outs[1]
