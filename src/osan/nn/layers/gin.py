"""GIN and GINE: layers that sum messages."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Module
from torch_geometric.nn import GINConv, GINEConv

from osan.errors import OsanError
from osan.nn.layers.row_local import row_local
from osan.nn.messages import sum_of_messages
from osan.nn.mlp import MLP
from osan.nn.norm import counted_norms
from osan.nn.view import View


class GIN(GINConv):
    r"""PyG's ``GINConv`` on a view: :math:`\mathrm{MLP}((1 + \epsilon)\, h_v + \sum_u w_{uv} h_u)`.

    Examples
    --------
    >>> from osan import bags
    >>> from osan.nn.view import view_of
    >>> from torch_geometric.data import Data
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> view = view_of(bags.whole_graphs(path))
    >>> GIN(torch.nn.Identity())(torch.tensor([[1.0], [10.0], [100.0]]), view).flatten().tolist()
    [11.0, 111.0, 110.0]
    """

    looks_at_edges = False

    def forward(self, h: Tensor, view: View) -> Tensor:
        """Shape ``[rows in, width]`` to ``[rows out, width]``."""
        return sum_and_map(self, h, view)


class GINE(GINEConv):
    r"""PyG's ``GINEConv`` on a view: messages are :math:`w_{uv} \, \mathrm{relu}(h_u + e_{uv})`."""

    looks_at_edges = True

    def forward(self, h: Tensor, view: View) -> Tensor:
        """Shape ``[rows in, width]`` to ``[rows out, width]``."""
        return sum_and_map(self, h, view)


def sum_and_map(conv: Any, h: Tensor, view: View) -> Tensor:
    """What a ``GINConv`` or ``GINEConv`` that sums computes on a view."""
    edges = None
    if isinstance(conv, GINEConv):
        edges = view.edges
        if edges is None:
            raise missing_edges("GINE")
    elif view.row is not None and isinstance(conv.nn, MLP) and len(h) < view.num_rows:
        return _map_and_sum(conv, h, view)
    out = sum_of_messages(
        h,
        view.edge_index,
        feature=None if edges is None else edges.rows,
        index=None if edges is None else edges.index,
        weight=view.weight,
        own=1 + conv.eps,
        row=view.row,
    )
    return conv.nn(out, view.count) if isinstance(conv.nn, MLP) else map_rows(conv.nn, out, view.count)


def _map_and_sum(conv: Any, h: Tensor, view: View) -> Tensor:
    """The same where there are fewer rows in than out: the first linear map, which is linear, comes first."""
    first = conv.nn.linears[0] if len(conv.nn.linears) else None
    if first is None:
        return sum_of_messages(h, view.edge_index, weight=view.weight, own=1 + conv.eps, row=view.row)
    mapped = torch.nn.functional.linear(h, first.weight)
    out = sum_of_messages(mapped, view.edge_index, weight=view.weight, own=1 + conv.eps, row=view.row)
    return conv.nn.after_first(out + first.bias.to(out.dtype), view.count)


def missing_edges(name: str) -> OsanError:
    """The error of a layer that needs edge features and gets none."""
    return OsanError(
        f"edges: expected edge features for {name}, got none; build the network with an edge_encoder or use "
        "conv='gin'. In a custom network, call convolve(layer, h, bag, batch.edge_attr[bag.edge])"
    )


def map_rows(module: Module, h: Tensor, count: Tensor | None) -> Tensor:
    """A custom perceptron on rows, of which those of count 0 change nothing for the others.

    If each row of the result depends on its own row alone, or other rows come in through PyTorch's batch
    norms only, all rows are mapped, and removed copies have gradients. Otherwise the module gets the rows
    that are present, and removed ones are 0.
    """
    if count is None or row_local(module):
        return module(h)
    if row_local(module, but=(BatchNorm1d,)):
        with counted_norms(module, count):
            return module(h)
    require_single(count, type(module).__name__)
    rows = count.nonzero().flatten()
    out = module(h.index_select(0, rows))
    return out.new_zeros(len(h), *out.shape[1:]).index_copy(0, rows, out)


def require_single(count: Tensor, name: str) -> None:
    """Refuse rows that stand for several copies."""
    if count.dtype != torch.bool and bool((count > 1).any()):
        raise OsanError(
            f"view.count: expected one row per copy for {name}, which may look at several rows at once; "
            "got rows that stand for several copies"
        )


def sums(conv: Any) -> bool:
    """Whether a GIN or GINE layer of PyG adds up messages along the edges, as :func:`sum_and_map` does."""
    return (
        conv.aggr in ("add", "sum") and conv.flow == "source_to_target" and getattr(conv, "lin", None) is None
    )
