"""Initial features of copies: UPD(atp(v, t(g))), with marks and ranks."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor
from torch.nn import Embedding, Linear, Module, Parameter
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.encoders import Categorical, Numerical, encoded, encoded_vertices, warn_unseen
from osan.nn.options import Atomic, Rank
from osan.nn.relations import make_relation, related


def arcs_between(edge_index: Tensor, source: Tensor, target: Tensor, num_vertices: int) -> Tensor:
    """How many columns of ``edge_index`` lead from each source to its target; shapes broadcast.

    >>> arcs_between(torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0]), torch.tensor([1, 0]), 2)
    tensor([1, 0])
    """
    keys = (edge_index[0] * num_vertices + edge_index[1]).sort().values
    wanted = source * num_vertices + target
    return torch.searchsorted(keys, wanted, right=True) - torch.searchsorted(keys, wanted)


def atomic_columns(k: int) -> int:
    """The number of columns of :func:`ordered_atomic_types`."""
    return 3 * k + 3 * k * k


def ordered_atomic_types(batch: Data, bag: SubgraphBag, copies: Tensor | None = None) -> Tensor:
    """The atomic type of every (v, g1, ..., gk) as numbers (paper, section "Preliminaries").

    Parameters
    ----------
    batch
        The batch the bag was made from.
    bag
        A bag with tuples.
    copies
        Only of these copies; by default of all.

    Returns
    -------
    Tensor
        Shape ``[copies, 3 k + 3 k^2]``: for each i whether v = gi and the number of arcs from v to gi and
        back (also if the copied subgraph lacks them), then the same for all pairs (gi, gj).

    Examples
    --------
    >>> from osan import bags
    >>> edge = Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> ordered_atomic_types(edge, bags.all_tuples(edge, 1)).tolist()
    [[1, 0, 0, 1, 0, 0], [0, 1, 1, 1, 0, 0], [0, 1, 1, 1, 0, 0], [1, 0, 0, 1, 0, 0]]
    """
    subgraph = bag.subgraph if copies is None else bag.subgraph.index_select(0, copies)
    return torch.cat((types_of_copies(batch, bag, copies), types_of_tuples(batch, bag)[subgraph]), dim=1)


def types_of_copies(batch: Data, bag: SubgraphBag, copies: Tensor | None = None) -> Tensor:
    """How v is related to each gi, the first columns of :func:`ordered_atomic_types`; ``[copies, 3 k]``."""
    vertex, subgraph = bag.vertex, bag.subgraph
    if copies is not None:
        vertex, subgraph = vertex.index_select(0, copies), subgraph.index_select(0, copies)
    return _relations(batch, bag, vertex[:, None], tuples_of(bag)[subgraph])


def types_of_tuples(batch: Data, bag: SubgraphBag) -> Tensor:
    """How each gi is related to each gj, the last columns of them; shape ``[subgraphs, 3 k^2]``."""
    tuples = tuples_of(bag)
    k = tuples.size(1)
    return _relations(batch, bag, tuples.repeat_interleave(k, dim=1), tuples.repeat(1, k))


def _relations(batch: Data, bag: SubgraphBag, left: Tensor, right: Tensor) -> Tensor:
    present = (left >= 0) & (right >= 0)
    one, other = left.clamp(min=0), right.clamp(min=0)
    columns = (
        left == right,
        arcs_between(batch.edge_index, one, other, bag.num_vertices),
        arcs_between(batch.edge_index, other, one, bag.num_vertices),
    )
    return torch.cat([column * present for column in columns], dim=1)


def tuples_of(bag: SubgraphBag) -> Tensor:
    """The tuples of a bag; an error if it has none."""
    if bag.tuples is None:
        raise OsanError(
            "bag.tuples: expected shape [subgraphs, k], got none; make the bag with bags.all_tuples, for "
            "example"
        )
    return bag.tuples


def tuple_labels(vertices: Tensor, bag: SubgraphBag) -> Tensor:
    """The rows of each tuple's vertices side by side, 0 if it is shorter; ``[subgraphs, k * width]``."""
    tuples = tuples_of(bag)
    return torch.where(tuples[..., None] >= 0, vertices[tuples.clamp(min=0)], 0.0).flatten(1)


def ranks_of(bag: SubgraphBag, num_ranks: int) -> Tensor:
    """The ranks of a bag; an error if it has none, or if they exceed ``num_ranks``."""
    if bag.rank is None:
        raise OsanError(
            f"bag.rank: expected shape [{bag.num_copies}], got none; make the bag with ordered=True"
        )
    if bag.num_copies and int(bag.rank.max()) > num_ranks:
        raise OsanError(f"bag.rank: expected ranks up to num_ranks = {num_ranks}, got {int(bag.rank.max())}")
    return bag.rank


def rank_rows(bag: SubgraphBag, num_ranks: int, dtype: torch.dtype) -> Tensor:
    r"""Each copy's row of the rank-permuted adjacency of its subgraph, padded with 0 (the paper's adj).

    Column r - 1 says whether the copy receives messages from the vertex of rank r. If copied edges have
    weights, the rows hold the weights, with their gradients.

    Examples
    --------
    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> bag = bags.from_choice(path, torch.tensor([[2.0], [1.0], [0.0]]), ordered=True)
    >>> rank_rows(bag, 3, torch.float).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    rank = ranks_of(bag, num_ranks)
    source, target = bag.edge_index
    ranked = (rank[source] > 0) & (rank[target] > 0)
    source, target = source[ranked], target[ranked]
    rows = torch.zeros(bag.num_copies * num_ranks, dtype=dtype, device=source.device)
    weight = rows.new_ones(source.numel()) if bag.edge_weight is None else bag.edge_weight[ranked].to(dtype)
    rows = rows.index_add(0, target * num_ranks + rank[source] - 1, weight)
    return rows.view(bag.num_copies, num_ranks)


class InitialFeatures(Module):
    r"""The initial features :math:`h^{(0)}_{v,g} = \mathsf{UPD}(\mathsf{atp}(v, t(g)))`.

    Vertex features, the atomic type relative to the tuple, marks and ranks are embedded and added. A mark
    between 0 and 1 scales the embedding of the mark.

    Parameters
    ----------
    width
        The width of the features.
    vertex_encoder
        Maps ``batch.x`` (or the batch, see :func:`osan.nn.encoders.encoded_vertices`) to rows of that width.
        ``None`` gives every vertex the same learned row, with one
        warning if there is an ``x``.
    atomic
        ``"ordered"``: equality with and adjacency to each vertex of the tuple; ``"unordered"``: membership in
        the tuple, that is marks; ``"distance"``: the distance to each vertex of the tuple, of which a mark is
        the distance 0; ``None``: neither. Or a relation of your own: a function ``(batch, bag, mark)`` to
        ``[copies, columns]`` with an attribute ``columns``, ``"module:name"``, or a class of these; ``mark``
        has the mark of each copy, shape ``[copies]``.
    k
        The length of the tuples, for ``"ordered"``.
    reach
        The largest distance that is seen, for ``"distance"``.
    rank
        How ranks enter: as the row of the rank-permuted ``"adjacency"``, or as an ``"embedding"``.
    num_ranks
        The largest rank.
    """

    def __init__(
        self,
        width: int,
        vertex_encoder: Module | None = None,
        *,
        atomic: Atomic | None = None,
        k: int = 0,
        reach: int = 10,
        rank: Rank | None = None,
        num_ranks: int = 0,
    ) -> None:
        super().__init__()
        if rank not in (None, "adjacency", "embedding"):
            raise OsanError(f"rank: expected 'adjacency', 'embedding' or None, got {rank!r}")
        if rank is not None and num_ranks < 1:
            raise OsanError(f"num_ranks: expected the largest rank, at least 1, got {num_ranks}")
        self.sees_marks = atomic is not None
        self.k, self.num_ranks, self.width = k, num_ranks, width
        self.vertex_encoder = vertex_encoder
        self.constant = Parameter(torch.randn(width)) if vertex_encoder is None else None
        ordered = atomic == "ordered" and k > 0
        self.types = Linear(atomic_columns(k), width, bias=False) if ordered else None
        self.labels = Linear(k * width, width, bias=False) if ordered else None
        self.mark = Parameter(torch.randn(width)) if atomic == "unordered" else None
        self.relation = self.relation_weight = None
        if atomic not in (None, "ordered", "unordered"):
            self.relation = make_relation(atomic, {"reach": reach} if atomic == "distance" else {})
            self.relation_weight = Parameter(0.1 * torch.randn(int(self.relation.columns), width))
        self.warned = False
        self.rows = Linear(num_ranks, width, bias=False) if rank == "adjacency" else None
        self.ranks = Embedding(num_ranks + 1, width) if rank == "embedding" else None

    def vertices(self, batch: Data) -> Tensor:
        """The embedded features of the vertices of the batch, shape ``[vertices, width]``."""
        if self.vertex_encoder is None or self.constant is not None:
            self.warned = self.warned or warn_unseen(batch, self.width)
            return self.constant.expand(batch.num_nodes, -1)  # type: ignore[union-attr]
        return encoded_vertices(self.vertex_encoder, batch, "vertex_encoder", self.width)

    def forward(self, batch: Data, bag: SubgraphBag, copies: Tensor | None = None) -> Tensor:
        """Shape ``[copies, width]``; of the given copies only, if some are given."""
        self.check(bag)

        def of(values: Tensor) -> Tensor:
            return values if copies is None else values.index_select(0, copies)

        vertex = of(bag.vertex)
        if self.types is None and self._alone(batch, len(vertex)):
            encoder = cast(Module, self.vertex_encoder)
            h = encoded(encoder, batch.x.index_select(0, vertex), "vertex_encoder", self.width)
        else:
            vertices = self.vertices(batch)
            h = vertices.index_select(0, vertex)
        if self.types is not None and self.labels is not None:
            h = h + self.types(ordered_atomic_types(batch, bag, copies).to(h.dtype))
            h = h + self.labels(tuple_labels(vertices, bag)).index_select(0, of(bag.subgraph))
        if self.mark is not None:
            h = h + of(membership(bag)).to(h.dtype)[:, None] * self.mark
        if self.relation is not None and self.relation_weight is not None:
            columns = related(self.relation, batch, bag, membership(bag).to(h.dtype))
            h = h + of(columns) @ self.relation_weight
        if self.rows is not None:
            h = h + self.rows(of(rank_rows(bag, self.num_ranks, h.dtype)))
        if self.ranks is not None:
            h = h + self.ranks(of(ranks_of(bag, self.num_ranks)))
        return h

    def _alone(self, batch: Data, rows: int) -> bool:
        """Whether the encoder looks at each vertex alone, and so few rows are wanted that this pays."""
        alone = self.constant is None and type(self.vertex_encoder) in (Categorical, Numerical)
        x = getattr(batch, "x", None) if alone else None
        return isinstance(x, Tensor) and rows < len(x)

    def check(self, bag: SubgraphBag) -> None:
        """Refuse a bag with marks or ranks that this network would ignore, or without the tuples it needs."""
        if self.types is not None and tuples_of(bag).size(1) != self.k:
            raise OsanError(
                f"bag.tuples: expected shape [subgraphs, {self.k}], got {list(tuples_of(bag).shape)}"
            )
        if bag.mark is not None and not self.sees_marks:
            raise OsanError(
                "bag.mark: expected no marks, since this network does not look at them, got some; "
                "build it with atomic='unordered'"
            )
        sees_ranks = self.sees_marks or self.rows is not None or self.ranks is not None
        if bag.rank is not None and not sees_ranks:
            raise OsanError(
                "bag.rank: expected no ranks, since this network does not look at them, got some; "
                "build it with rank='adjacency'"
            )


def membership(bag: SubgraphBag) -> Tensor:
    """The marks of a bag or, if it has none, membership in its tuples; shape ``[copies]``."""
    if bag.mark is not None:
        return bag.mark
    return (tuples_of(bag)[bag.subgraph] == bag.vertex[:, None]).any(dim=1)
