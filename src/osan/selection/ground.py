"""The ground set of a choice: the vertices or undirected edges of a batch, or the elements of plain sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags import undirected_edges
from osan.bags.layout import graph_index
from osan.errors import OsanError


@dataclass(frozen=True)
class GroundSet:
    """The elements (vertices, or undirected edges) of all graphs of a batch, as flat tensors.

    Make one with :meth:`vertices` or :meth:`edges`, or with :meth:`of_sizes` for sets without a graph; each
    set then counts as one graph. Weights and choices of edges have one *row* per column of ``edge_index``, so
    the two directions of an edge are two rows of one *element*.

    Parameters
    ----------
    graph
        Graph of each element, shape ``[elements]``.
    position
        Position of each element within its graph, shape ``[elements]``.
    sizes
        Number of elements of each graph, shape ``[graphs]``.
    element
        Element of each row, shape ``[rows]``; ``None`` if every row is an element.
    """

    graph: Tensor
    position: Tensor
    sizes: Tensor
    element: Tensor | None = None

    @classmethod
    def vertices(cls, batch: Data) -> GroundSet:
        """The vertices of a batch.

        Examples
        --------
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> GroundSet.vertices(path).position.tolist()
        [0, 1, 2]
        """
        graph, num_graphs = graph_index(batch)
        return _ground(graph, num_graphs, None)

    @classmethod
    def edges(cls, batch: Data) -> GroundSet:
        """The undirected edges of a batch, in the order of their end vertices.

        Directions are paired as in :func:`osan.bags.undirected_edges`: parallel edges are separate elements.
        A self-loop, or an arc without its reverse, is an element with one row.

        Examples
        --------
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> GroundSet.edges(path).element.tolist()
        [0, 0, 1, 1]
        """
        graph, num_graphs = graph_index(batch)
        element, columns = undirected_edges(batch.edge_index, getattr(batch, "edge_attr", None))
        return _ground(graph[batch.edge_index[0, columns[:, 0]]], num_graphs, element)

    @classmethod
    def of_sizes(cls, sizes: Tensor | Sequence[int]) -> GroundSet:
        """Sets of the given sizes, one after another: for choices that have nothing to do with graphs.

        Policies of elements take it in place of a batch: ``Selection("select 4 elements")(ground, weights)``.

        Parameters
        ----------
        sizes
            The number of elements of each set, shape ``[sets]``. Sets may be empty.

        Examples
        --------
        >>> ground = GroundSet.of_sizes([2, 0, 3])
        >>> ground.graph.tolist(), ground.position.tolist()
        ([0, 0, 2, 2, 2], [0, 1, 0, 1, 2])
        """
        counts = torch.as_tensor(sizes)
        counts = counts.long() if counts.numel() == 0 else counts
        if counts.dim() != 1 or counts.dtype.is_floating_point or counts.dtype == torch.bool:
            raise OsanError(
                f"sizes: expected one integer per set, shape [sets], got {counts.dtype} of shape "
                f"{list(counts.shape)}"
            )
        if bool((counts < 0).any()):
            raise OsanError(f"sizes: expected numbers of at least 0, got {int(counts.min())}")
        return _ground(torch.repeat_interleave(counts.long()), counts.numel(), None)

    @property
    def num_elements(self) -> int:
        """The number of elements of all graphs."""
        return self.graph.numel()

    @property
    def num_graphs(self) -> int:
        """The number of graphs, including empty ones."""
        return self.sizes.numel()

    @property
    def num_rows(self) -> int:
        """The number of rows of weights and choices."""
        return self.num_elements if self.element is None else self.element.numel()

    def among(self, elements: Tensor) -> GroundSet:
        """The ground set of some elements, given by their numbers in increasing order; each is a row.

        Examples
        --------
        >>> ground = GroundSet(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0]), torch.tensor([2, 1]))
        >>> ground.among(torch.tensor([1, 2])).sizes
        tensor([1, 1])
        """
        return _ground(self.graph[elements], self.num_graphs, None)

    def gather(self, rows: Tensor) -> Tensor:
        """From rows to elements, ``[rows, m]`` to ``[elements, m]``: the mean over the rows of an element."""
        if self.element is None:
            return rows
        total = rows.new_zeros(self.num_elements, rows.size(1)).index_add(0, self.element, rows)
        ones = rows.new_ones(self.num_rows)
        return total / ones.new_zeros(self.num_elements).index_add(0, self.element, ones).unsqueeze(1)

    def spread(self, values: Tensor) -> Tensor:
        """From elements to rows, ``[elements, m]`` to ``[rows, m]``: rows of an element get its value."""
        return values if self.element is None else values[self.element]

    def pick(self, rows: Tensor) -> Tensor:
        """For each element the entry of one of its rows, ``[..., rows]`` to ``[..., elements]``."""
        if self.element is None:
            return rows
        values = rows.new_empty(*rows.shape[:-1], self.num_elements)
        return values.scatter_(-1, self.element.expand_as(rows), rows)

    def sum_per_graph(self, values: Tensor) -> Tensor:
        """Sum over the elements of each graph, ``[elements, m]`` to ``[graphs, m]``."""
        return values.new_zeros(self.num_graphs, values.size(1)).index_add(0, self.graph, values)


def _ground(graph: Tensor, num_graphs: int, element: Tensor | None) -> GroundSet:
    sizes = torch.zeros(num_graphs, dtype=torch.long, device=graph.device)
    sizes = sizes.index_add(0, graph, torch.ones_like(graph))
    start = sizes.cumsum(0) - sizes
    position = torch.arange(graph.numel(), device=graph.device) - start[graph]
    return GroundSet(graph, position, sizes, element)
