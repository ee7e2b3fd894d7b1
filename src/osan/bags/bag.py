"""The bag of subgraphs: a disjoint union of copies, held as flat index tensors."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags.layout import num_graphs_of
from osan.errors import OsanError

if TYPE_CHECKING:
    from osan.bags.deletions import Deletions


@dataclass(frozen=True, eq=False)
class SubgraphBag:
    r"""A bag of subgraphs of the graphs of a batch. The bag is itself a graph.

    Its vertices are *copies* (v, s), vertex v seen in subgraph s; copies are sorted by subgraph, then vertex,
    and copied edges by the copy they point to. Subgraphs are sorted by graph. Any PyG convolution runs on
    ``bag.edge_index``, and features are gathered: ``x[bag.vertex]``, ``edge_attr[bag.edge]``.

    Parameters
    ----------
    vertex, subgraph
        For each copy its vertex in the batch, and its subgraph; shape ``[copies]``.
    edge_index
        For each copied edge its two copies; shape ``[2, copied edges]``.
    edge
        For each copied edge its column in the ``edge_index`` of the batch; shape ``[copied edges]``.
    graph
        For each subgraph its graph; shape ``[subgraphs]``.
    num_vertices, num_edges, num_graphs
        The size of the batch.
    weight
        How much each copy is part of its subgraph (0: removed, 1: kept), with gradients if the choice is
        learned; ``None`` if all copies are kept.
    edge_weight
        The same for copied edges.
    mark, edge_mark
        The mark of each copy (each copied edge), 0 for none, with gradients if the choice is learned;
        ``None`` without marks.
    rank
        The rank 1, 2, ... of each copy in its ordered subgraph, 0 for none; ``None`` if unordered.
    tuples
        For each subgraph the vertices of its tuple t(g), or of the set it was made from; shape
        ``[subgraphs, k]``, padded with -1 for graphs of fewer than k vertices and for whole graphs.

    Examples
    --------
    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> bag = bags.all_subsets(path, k=1, operation="delete")
    >>> bag
    SubgraphBag(3 subgraphs of 1 graph: 6 copies of 3 vertices, 4 copied edges, tuples of 1)
    >>> bag.vertex.tolist(), bag.subgraph.tolist()
    ([1, 2, 0, 2, 0, 1], [0, 0, 1, 1, 2, 2])
    """

    #: The fields with one entry per copy, and those with one per copied edge.
    PER_COPY: ClassVar[tuple[str, ...]] = ("vertex", "subgraph", "weight", "mark", "rank")
    PER_EDGE: ClassVar[tuple[str, ...]] = ("edge", "edge_weight", "edge_mark")
    #: Which vertices are missing, if the bag was made by :meth:`without`.
    deletions: ClassVar[Deletions | None] = None

    vertex: Tensor
    subgraph: Tensor
    edge_index: Tensor
    edge: Tensor
    graph: Tensor
    num_vertices: int
    num_edges: int
    num_graphs: int
    weight: Tensor | None = None
    edge_weight: Tensor | None = None
    mark: Tensor | None = None
    edge_mark: Tensor | None = None
    rank: Tensor | None = None
    tuples: Tensor | None = None

    def __post_init__(self) -> None:
        copies, edges, subgraphs = self.vertex.numel(), self.edge.numel(), self.graph.numel()
        for names, shape in (
            (self.PER_COPY, (copies,)),
            (self.PER_EDGE, (edges,)),
            (("edge_index",), (2, edges)),
            (("graph",), (subgraphs,)),
        ):
            for name in names:
                value = getattr(self, name)
                if value is not None and value.shape != shape:
                    raise OsanError(f"bag.{name}: expected shape {list(shape)}, got {list(value.shape)}")
        if self.tuples is not None and (self.tuples.dim() != 2 or len(self.tuples) != subgraphs):
            raise OsanError(f"bag.tuples: expected shape [{subgraphs}, k], got {list(self.tuples.shape)}")

    @classmethod
    def without(cls, deletions: Deletions) -> SubgraphBag:
        """A bag that misses some vertices; copies and copied edges are listed when they are looked at."""
        bag, layout = object.__new__(cls), deletions.layout
        bag.__dict__.update(
            graph=deletions.graph,
            num_vertices=layout.num_vertices,
            num_edges=layout.num_edges,
            num_graphs=layout.num_graphs,
            tuples=deletions.rows,
            deletions=deletions,
        )
        return bag

    if not TYPE_CHECKING:  # attributes that nobody knows stay errors

        def __getattr__(self, name: str) -> Any:
            listed = ("vertex", "subgraph", "edge_index", "edge")
            if name not in listed or self.deletions is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.__dict__.update(zip(listed, self.deletions.listed(), strict=True))
            return self.__dict__[name]

    @property
    def num_copies(self) -> int:
        """The number of copies (v, s)."""
        return self.vertex.numel() if self.deletions is None else self.deletions.num_copies

    @property
    def num_subgraphs(self) -> int:
        """The number of subgraphs of all graphs."""
        return self.graph.numel()

    @property
    def num_copied_edges(self) -> int:
        """The number of copied edges, one per direction."""
        return self.edge.numel()

    @property
    def layer_weight(self) -> Tensor | None:
        """The weights of copies inside the layers; ``None`` if all copies take part.

        Without weights on copied edges, every message is sent and removed copies are left out of pooling only
        (``deleted="unpooled"``).
        """
        return None if self.edge_weight is None else self.weight

    @property
    def subgraphs_per_graph(self) -> Tensor:
        """The number of subgraphs of each graph, shape ``[graphs]``."""
        return torch.bincount(self.graph, minlength=self.num_graphs)

    def to(self, device: torch.device | str) -> SubgraphBag:
        """The same bag on another device."""
        moved = {
            f.name: getattr(self, f.name).to(device)
            for f in fields(self)
            if isinstance(getattr(self, f.name), Tensor)
        }
        return replace(self, **moved)

    def dense(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Arrange values of the copies by vertex and subgraph, if every graph has m subgraphs.

        Parameters
        ----------
        values
            One row per copy, shape ``[copies, ...]``.

        Returns
        -------
        tuple
            The values, shape ``[vertices, m, ...]``, zero where there is no copy, and a boolean mask of the
            copies, shape ``[vertices, m]``.

        Raises
        ------
        OsanError
            If the graphs have different numbers of subgraphs.

        Examples
        --------
        >>> from osan import bags
        >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> bag = bags.all_subsets(path, k=1, operation="delete")
        >>> bag.dense(bag.vertex + 1)[0]
        tensor([[0, 1, 1],
                [2, 0, 2],
                [3, 3, 0]])
        """
        counts = self.subgraphs_per_graph
        m = int(counts[0]) if counts.numel() else 0
        if bool((counts != m).any()):
            raise OsanError(
                "bag: expected the same number of subgraphs for every graph, "
                f"got {int(counts.min())} to {int(counts.max())}"
            )
        if len(values) != self.num_copies:
            raise OsanError(f"values: expected {self.num_copies} rows, one per copy, got {len(values)}")
        place = self.vertex * m + self.subgraph - self.graph[self.subgraph] * m
        rows = values.new_zeros((self.num_vertices * m, *values.shape[1:])).index_copy(0, place, values)
        mask = torch.zeros(self.num_vertices * m, dtype=torch.bool, device=place.device)
        mask[place] = True
        shape = (self.num_vertices, m)
        return rows.view(*shape, *values.shape[1:]), mask.view(shape)

    def check(self, batch: Data) -> None:
        """Raise an :class:`~osan.errors.OsanError` if the bag does not belong to ``batch``."""
        for name, mine, theirs in (
            ("vertices", self.num_vertices, batch.num_nodes),
            ("edges", self.num_edges, batch.num_edges),
            ("graphs", self.num_graphs, num_graphs_of(batch)),
        ):
            if mine != theirs:
                raise OsanError(f"batch: expected the {mine} {name} of the bag, got {theirs}")

    def __repr__(self) -> str:
        def count(number: int, what: str, plural: str) -> str:
            return f"{number} {what if number == 1 else plural}"

        parts = [
            f"{count(self.num_copies, 'copy', 'copies')} of {count(self.num_vertices, 'vertex', 'vertices')}",
            count(self.num_copied_edges, "copied edge", "copied edges"),
        ]
        if self.tuples is not None:
            parts.append(f"tuples of {self.tuples.size(1)}")
        named = {"ranks": self.rank, "marks": self.mark, "edge marks": self.edge_mark}
        parts += [name for name, value in named.items() if value is not None]
        weights = [w for w in (self.weight, self.edge_weight) if w is not None]
        if weights:
            parts.append("weights with gradients" if any(w.requires_grad for w in weights) else "weights")
        head = (
            f"{count(self.num_subgraphs, 'subgraph', 'subgraphs')} of "
            f"{count(self.num_graphs, 'graph', 'graphs')}"
        )
        return f"SubgraphBag({head}: {', '.join(parts)})"

    def _repr_html_(self) -> str:
        from osan.bags.draw import html

        return html(self)
