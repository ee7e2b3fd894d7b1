"""GCN, whose normalization counts weights."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch_geometric.nn import GCNConv

from osan.errors import OsanError
from osan.nn.messages import sum_of_messages
from osan.nn.view import View


class GCN(GCNConv):
    r"""PyG's ``GCNConv`` on a view: :math:`\sum_{u \in N(v) \cup \{v\}} w_{uv} W h_u / \sqrt{d_u d_v} + b`.

    Degrees count weights: :math:`d_v = 1 + \sum_u w_{uv}`.
    """

    looks_at_edges = False

    def forward(self, h: Tensor, view: View) -> Tensor:
        """Shape ``[rows in, width]`` to ``[rows out, width]``."""
        if view.row is not None:
            return gcn_between(self, h, view)
        return GCNConv.forward(self, h, view.edge_index, loop_weight(view, h))


def gcn(conv: Any, h: Tensor, view: View) -> Tensor:
    """What a ``GCNConv`` of PyG computes on a view."""
    if view.row is not None:
        return gcn_between(conv, h, view)
    if conv.normalize:
        return conv(h, view.edge_index, loop_weight(view, h))
    return conv(h, view.edge_index, None if view.weight is None else view.weight.to(h.dtype))


def smooth(conv: Any) -> bool:
    """Whether a ``GCNConv`` is smooth in weights at 0: without self-loops it divides by degrees of 0."""
    return bool(conv.add_self_loops or not conv.normalize)


def loop_weight(view: View, h: Tensor) -> Tensor | None:
    """The weights in the type of the features."""
    weight = view.loop_weight
    return None if weight is None else weight.to(h.dtype)


def gcn_between(conv: Any, h: Tensor, view: View) -> Tensor:
    """GCN where output rows differ from input rows: senders bring their degrees along."""
    if view.degree is None or view.row is None:
        raise OsanError("view.degree: expected 1 plus the degree of each input row for GCN, got none")
    if not (conv.normalize and conv.add_self_loops) or conv.improved:
        raise OsanError("conv: expected GCNConv with its default normalization for view.row, got another")
    scale = view.degree.to(h.dtype).rsqrt()
    sent = conv.lin(h) * scale[:, None]
    # The loop adds h_v / d_v, the edges the rest.
    total = sum_of_messages(sent, view.edge_index, weight=view.weight, own=1.0, row=view.row)
    out = total * scale[view.row][:, None]
    return out if conv.bias is None else out + conv.bias
