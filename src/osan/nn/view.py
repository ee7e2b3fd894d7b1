"""What one layer sees: the record that every layer is called with."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.edges import EdgeRows, edge_rows
from osan.nn.message_kernels import EdgeBlocks


@dataclass(frozen=True, eq=False)
class View:
    r"""What one layer sees of a bag.

    A layer maps *rows in* to *rows out*. In a plain bag both are the copies (v, s), and all layers share one
    view. In general a row stands for several copies with the same features, and a layer may have more or
    fewer rows out than in: output row i continues input row ``row[i]`` and receives messages along edges from
    input rows to output rows.

    .. math:: h'_i = \mathsf{UPD}\bigl(h_{row(i)}, \{\!\{(w_{ji}, h_j) \mid (j, i) \in E\}\!\}\bigr)

    Parameters
    ----------
    edge_index
        For each edge the input row that sends and the output row that receives; shape ``[2, edges]``.
    group, num_groups
        The subgraph of each output row, shape ``[rows out]``, and the number of subgraphs.
    row
        The input row that each output row continues, shape ``[rows out]``; ``None`` if they are the same.
    weight
        Factors of the messages, shape ``[edges]``; ``None`` for 1.
    edges
        The edge features.
    count
        How many copies each output row stands for, shape ``[rows out]``: 0 for a removed copy that stays for
        its gradient, c for a row that c copies share. Booleans and numbers are fine; ``None`` means 1. Batch
        norms weight their statistics with it. A copy of any weight other than 0 counts as one copy.
    mark, edge_mark
        Marks of the input rows and of the edges, usually 0 or 1; shape ``[rows in]`` and ``[edges]``.
    members, member_weight
        For layers over V(G): pairs of an input row and a group that it belongs to, shape ``[2, pairs]``, and
        their weights, shape ``[pairs]``. Without ``members``, input row i belongs to ``group[i]``.
    degree
        For GCN: 1 plus the weighted degree of each input row, shape ``[rows in]``. Required if ``row`` is
        given; the edges must then contain no self-loops.
    vertex, num_vertices
        The vertex that each output row is a copy of, shape ``[rows out]``, for layers across subgraphs;
        ``None`` if a row stands for copies of several vertices.

    Examples
    --------
    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> views(path, bags.all_subsets(path, k=1), layers=2)[1].edge_index
    tensor([[1, 0, 5, 4],
            [0, 1, 4, 5]])
    """

    edge_index: Tensor
    group: Tensor
    num_groups: int
    row: Tensor | None = None
    weight: Tensor | None = None
    edges: EdgeRows | None = None
    count: Tensor | None = None
    mark: Tensor | None = None
    edge_mark: Tensor | None = None
    members: Tensor | None = None
    member_weight: Tensor | None = None
    degree: Tensor | None = None
    vertex: Tensor | None = None
    num_vertices: int = 0

    @property
    def num_rows(self) -> int:
        """The number of output rows."""
        return self.group.numel()

    def own(self, h: Tensor) -> Tensor:
        """The input row that each output row continues, shape ``[rows out, width]``."""
        return h if self.row is None else h.index_select(0, self.row)

    def with_edges(self, edges: EdgeRows | None) -> View:
        """The same view with other edge features, for example after a layer's encoder."""
        if edges is self.edges:
            return self
        # Faster than dataclasses.replace, and it keeps the cached properties, which ignore edge features.
        other = copy(self)
        object.__setattr__(other, "edges", edges)
        return other

    def blocks(self, rows: int) -> EdgeBlocks:
        """The edges in blocks for compiled loops, given the number of input rows; made once."""
        made: EdgeBlocks | None = self.__dict__.get("_blocks")
        if made is None or made.rows[0] != rows:
            made = EdgeBlocks(self.edge_index, rows, self.num_rows, self.row)
            object.__setattr__(self, "_blocks", made)
        return made

    @cached_property
    def batch(self) -> Tensor:
        """``group`` without the numbers of empty groups, as PyG's layers with attention need it."""
        return torch.unique_consecutive(self.group, return_inverse=True)[1]

    @cached_property
    def present(self) -> Present:
        """The rows and edges that are not removed."""
        return present(self)

    @cached_property
    def loop_weight(self) -> Tensor | None:
        """``weight``, with 1 for self-loops of weight 0: layers that add missing self-loops add these too."""
        if self.weight is None:
            return None
        missing = (self.edge_index[0] == self.edge_index[1]) & (self.weight.detach() == 0)
        return torch.where(missing, 1.0, self.weight) if bool(missing.any()) else self.weight

    @cached_property
    def by_mark(self) -> tuple[tuple[View, Tensor | None], tuple[View, Tensor | None]]:
        """The view of marked senders, then that of unmarked ones; each without edge features.

        Comes with a mask of its edges, or ``None`` if it has all edges and the marks are in its weights.
        """
        return _by_mark(self)


@dataclass(frozen=True, eq=False)
class Present:
    """The rows and edges of a view that are not removed, numbered from 0.

    Parameters
    ----------
    rows
        The rows of the view that are present; ``None`` if all are.
    kept
        Mask of the edges that are present; ``None`` if all are.
    edge_index, weight
        The edges between the present rows, and their weights.
    batch
        As :attr:`View.batch`, for the present rows.
    """

    rows: Tensor | None
    kept: Tensor | None
    edge_index: Tensor
    weight: Tensor | None
    batch: Tensor


def present(view: View) -> Present:
    """The rows of count other than 0 and the edges between them of weight other than 0."""
    if view.row is not None:
        raise OsanError("view.row: this layer needs as many rows out as in, one per copy; got other rows out")
    edge_index, weight, kept = view.edge_index, view.weight, None
    rows = None if view.count is None else view.count.nonzero().flatten()
    if rows is not None and rows.numel() == view.num_rows:
        rows = None
    if weight is not None:
        kept = weight.detach() != 0
    if rows is not None:
        place = rows.new_full((view.num_rows,), -1)
        place[rows] = torch.arange(rows.numel(), device=rows.device)
        edge_index = place[edge_index]
        inside = (edge_index >= 0).all(0)
        kept = inside if kept is None else kept & inside
    if kept is not None:
        edge_index = edge_index[:, kept]
        weight = None if weight is None else weight[kept]
    batch = view.batch
    if rows is not None:
        batch = torch.unique_consecutive(view.group[rows], return_inverse=True)[1]
    return Present(rows, kept, edge_index, weight, batch)


def _by_mark(view: View) -> tuple[tuple[View, Tensor | None], tuple[View, Tensor | None]]:
    if view.mark is None:
        raise OsanError("bag.mark: expected one mark per copy, got none; make the bag with marks")
    mark = view.mark[view.edge_index[0]]
    soft = mark.is_floating_point() and bool(((mark != 0) & (mark != 1)).any())
    parts = []
    for share in (mark, 1 - mark):
        part, mask = copy(view.with_edges(None)), None
        for name in ("present", "loop_weight", "by_mark", "_blocks"):
            part.__dict__.pop(name, None)
        if soft or mark.requires_grad or view.weight is not None:
            weight = share if view.weight is None else share * view.weight
            object.__setattr__(part, "weight", weight)
        else:
            mask = share != 0
            object.__setattr__(part, "edge_index", view.edge_index[:, mask])
        parts.append((part, mask))
    return parts[0], parts[1]


def view_of(bag: SubgraphBag, edges: EdgeRows | None = None) -> View:
    """The view that all layers have of a bag in which every copy has its own row."""
    weight = bag.layer_weight
    return View(
        edge_index=bag.edge_index,
        group=bag.subgraph,
        num_groups=bag.num_subgraphs,
        weight=bag.edge_weight,
        edges=edges,
        count=None if weight is None else weight.detach() != 0,
        mark=bag.mark,
        edge_mark=bag.edge_mark,
        member_weight=weight,
        vertex=bag.vertex,
        num_vertices=bag.num_vertices,
    )


def views(batch: Data, bag: SubgraphBag, layers: int, *, edges: bool = False) -> Sequence[View]:
    """What each of several layers sees of a bag, in order.

    Parameters
    ----------
    batch, bag
        The batch, and a bag made from it.
    layers
        The number of layers.
    edges
        Whether some layer looks at edge features; the views then hold ``batch.edge_attr``.
    """
    return (view_of(bag, edge_rows(batch, bag) if edges else None),) * layers
