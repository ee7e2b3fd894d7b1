"""The ground set of a batch: the vertices or undirected edges that a choice picks from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags import undirected_edges as pair_directions
from osan.bags.layout import edge_index_of
from osan.errors import OsanError


@dataclass(frozen=True)
class GroundSet:
    """The elements (vertices, or undirected edges) of all graphs of a batch, as flat tensors.

    Parameters
    ----------
    graph
        Graph of each element, shape ``[elements]``.
    position
        Place of each element within its graph, shape ``[elements]``.
    sizes
        Number of elements of each graph, shape ``[graphs]``.
    element
        Element of each row of the weights, shape ``[rows]``: both directions of an edge are one element;
        ``None`` where rows are elements.
    """

    graph: Tensor
    position: Tensor
    sizes: Tensor
    element: Tensor | None = None

    @property
    def num_elements(self) -> int:
        return self.graph.numel()

    @property
    def num_graphs(self) -> int:
        return self.sizes.numel()

    @property
    def num_rows(self) -> int:
        return self.num_elements if self.element is None else self.element.numel()

    def gather(self, rows: Tensor) -> Tensor:
        """Weights of the elements from those of the rows: the mean over the directions of an edge."""
        if self.element is None:
            return rows
        total = rows.new_zeros(self.num_elements, rows.size(1)).index_add(0, self.element, rows)
        ones = rows.new_ones(self.num_rows)
        return total / ones.new_zeros(self.num_elements).index_add(0, self.element, ones).unsqueeze(1)

    def spread(self, values: Tensor) -> Tensor:
        """Values of the rows from those of the elements: both directions of an edge get the same."""
        return values if self.element is None else values[self.element]

    def pick(self, rows: Tensor) -> Tensor:
        """For each element the entry of one of its rows, of a tensor of shape ``[..., rows]``."""
        if self.element is None:
            return rows
        values = rows.new_empty(*rows.shape[:-1], self.num_elements)
        return values.scatter_(-1, self.element.expand_as(rows), rows)

    def sum_per_graph(self, values: Tensor) -> Tensor:
        """Sum ``values`` of shape ``[elements, m]`` over the elements of each graph: ``[graphs, m]``."""
        return values.new_zeros(self.num_graphs, values.size(1)).index_add(0, self.graph, values)


def graph_index(batch: Data) -> tuple[Tensor, int]:
    """Graph of each vertex and the number of graphs, without reading any value back from the device."""
    device = edge_index_of(batch).device
    if getattr(batch, "ptr", None) is not None:
        return batch.batch, batch.ptr.numel() - 1
    if getattr(batch, "batch", None) is None:
        return torch.zeros(batch.num_nodes, dtype=torch.long, device=device), 1
    raise OsanError(
        "batch: has `batch` but no `ptr`, so trailing empty graphs cannot be seen; "
        "make it with torch_geometric.data.Batch.from_data_list or a PyG DataLoader"
    )


def vertices(batch: Data) -> GroundSet:
    """Let the elements be the vertices.

    Examples
    --------
    >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> vertices(path).position.tolist()
    [0, 1, 2]
    """
    graph, num_graphs = graph_index(batch)
    return _ground(graph, num_graphs, None)


def undirected_edges(batch: Data) -> GroundSet:
    """Let the elements be the undirected edges, in the order of their end vertices.

    Directions are paired as in :func:`osan.bags.undirected_edges`: parallel edges stay apart; a self-loop, or
    an arc without its reverse, is an edge of one row.

    Examples
    --------
    >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> undirected_edges(path).element.tolist()
    [0, 0, 1, 1]
    """
    graph, num_graphs = graph_index(batch)
    element, columns = pair_directions(batch.edge_index, getattr(batch, "edge_attr", None))
    return _ground(graph[batch.edge_index[0, columns[:, 0]]], num_graphs, element)


def _ground(graph: Tensor, num_graphs: int, element: Tensor | None) -> GroundSet:
    sizes = torch.zeros(num_graphs, dtype=torch.long, device=graph.device)
    sizes = sizes.index_add(0, graph, torch.ones_like(graph))
    start = sizes.cumsum(0) - sizes
    position = torch.arange(graph.numel(), device=graph.device) - start[graph]
    return GroundSet(graph, position, sizes, element)
