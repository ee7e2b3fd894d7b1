"""Layers whose messages also go from subgraph to subgraph."""

from __future__ import annotations

from copy import copy

import torch
from torch import Tensor
from torch.nn import Module

from osan.bags.layout import ragged, starts
from osan.errors import OsanError
from osan.nn.view import View


class AcrossConv(Module):
    r"""Two layers at once: one inside each subgraph, one between subgraphs whose marks are neighbors.

    .. math:: h_{u,v}' = W h_{u,v} + \mathsf{AGG}_{within}\{\!\{h_{u,w} \mid w \in N(v)\}\!\}
              + \mathsf{AGG}_{across}\{\!\{h_{w,v} \mid w \in N(u)\}\!\}

    Here :math:`h_{u,v}` are the features of v in the subgraph with u marked. Each part is a layer with its
    own weights. The first term is needed because GIN adds a row to the sum of its neighbors: a marked vertex
    and a neighbor of it with the same closed neighborhood would look alike. These are the local
    aggregations of GNN-SSWL (Zhang et al., "A complete expressiveness hierarchy for subgraph GNNs via
    subgraph Weisfeiler-Lehman tests", ICML 2023).

    Parameters
    ----------
    within, across
        The two layers, called with ``(h, view)``. The second one sees no edge features.
    own
        The map W of each row by itself.

    Examples
    --------
    >>> from torch_geometric.data import Data
    >>> from osan import bags
    >>> from osan.nn.layers import GIN
    >>> from osan.nn.view import view_of
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> view = view_of(bags.all_subsets(path, 1, operation="mark"))
    >>> layer = AcrossConv(*(GIN(torch.nn.Identity()) for _ in range(2)), own=torch.nn.Identity())
    >>> layer(torch.ones(9, 1), view).view(3, 3)  # one row per marked vertex
    tensor([[5., 6., 5.],
            [6., 7., 6.],
            [5., 6., 5.]])
    """

    def __init__(self, within: Module, across: Module, own: Module) -> None:
        super().__init__()
        self.within, self.across, self.own = within, across, own

    @property
    def looks_at_edges(self) -> bool:
        """Whether the layer inside subgraphs looks at edge features."""
        return bool(getattr(self.within, "looks_at_edges", False))

    def forward(self, h: Tensor, view: View) -> Tensor:
        """Shape ``[rows, width]`` to the same."""
        out: Tensor = self.within(h, view) + self.across(h, across(view)) + self.own(h)
        return out


def across(view: View) -> View:
    """The view whose edges join copies of one vertex in subgraphs with neighboring marks; made once."""
    made: View | None = view.__dict__.get("_across")
    if made is None:
        made = copy(view)
        for name in ("present", "loop_weight", "by_mark", "_blocks"):
            made.__dict__.pop(name, None)
        parts = {"edge_index": across_edges(view), "edges": None, "weight": None, "edge_mark": None}
        for name, value in parts.items():
            object.__setattr__(made, name, value)
        object.__setattr__(view, "_across", made)
    return made


def across_edges(view: View) -> Tensor:
    """The edges from (v, s) to (v, t), one for each edge from a mark of s to a mark of t.

    Copies and edges of weight 0 do not exist, and subgraphs without a mark have no such edges.

    Returns
    -------
    Tensor
        For each edge the row that sends and the row that receives, sorted by the latter; ``[2, edges]``.
    """
    if view.mark is None:
        raise OsanError("bag.mark: expected one mark per copy, got none; make the bag with marks")
    if view.vertex is None or view.row is not None:
        raise OsanError("view.vertex: expected one row per copy for a layer across subgraphs, got other rows")
    vertex, group, size = view.vertex, view.group, view.num_vertices
    exists = torch.ones_like(group, dtype=torch.bool) if view.count is None else view.count != 0
    marked = (view.mark.detach() != 0) & exists
    # The neighbors of marks, as pairs of a vertex and the subgraph in which it is next to a mark.
    source, target = view.edge_index
    beside = marked[target] & exists[source]
    if view.weight is not None:
        beside &= view.weight.detach() != 0
    neighbor, receiver = vertex[source[beside]], group[target[beside]]
    # The subgraphs in which these vertices are marked.
    marks = marked.nonzero().flatten()
    marks = marks[torch.argsort(vertex[marks], stable=True)]
    number = torch.bincount(vertex[marks], minlength=size)
    place, pair = ragged(starts(number)[neighbor], number[neighbor])
    sender, receiver = group[marks[place]], receiver[pair]
    # Their copies of one vertex.
    rows = exists.nonzero().flatten()
    key = group[rows] * size + vertex[rows]
    order = torch.argsort(key)
    rows, key = rows[order], key[order]
    length = torch.bincount(group[rows], minlength=view.num_groups)
    place, pair = ragged(starts(length)[receiver], length[receiver])
    wanted = sender[pair] * size + vertex[rows[place]]
    found = torch.searchsorted(key, wanted).clamp(max=max(key.numel() - 1, 0))
    there = key[found] == wanted
    edges = torch.stack((rows[found[there]], rows[place[there]]))
    return edges[:, torch.argsort(edges[1], stable=True)]
