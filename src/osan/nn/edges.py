"""Edge features of a bag, held as few rows: equal rows of integers are encoded once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.encoders import encoded


@dataclass(frozen=True)
class EdgeRows:
    """Edge features as a short table, and the row of the table for each edge.

    Parameters
    ----------
    rows
        Shape ``[rows, columns]`` or, once encoded, ``[rows, width]``.
    index
        The row of each edge, shape ``[edges]``.
    """

    rows: Tensor
    index: Tensor

    @staticmethod
    def one_per_edge(rows: Tensor) -> EdgeRows:
        """A table with one row per edge, in the order of the edges."""
        return EdgeRows(rows, torch.arange(len(rows), device=rows.device))

    def encoded(self, encoder: Module, width: int) -> EdgeRows:
        """The same table after an encoder."""
        return EdgeRows(encoded(encoder, self.rows, "edge_encoder", width), self.index)

    def where(self, mask: Tensor) -> EdgeRows:
        """The features of the edges where ``mask`` is true."""
        return EdgeRows(self.rows, self.index[mask])

    def full(self) -> Tensor:
        """One row per edge, shape ``[edges, width]``."""
        return self.rows.index_select(0, self.index)


def edge_rows(batch: Data, bag: SubgraphBag) -> EdgeRows:
    """The edge features of a batch for the copied edges of a bag."""
    attributes = attributes_of(batch)
    if attributes.is_floating_point():
        return EdgeRows(attributes, bag.edge)
    rows, inverse = unique_rows(attributes[:, None] if attributes.dim() == 1 else attributes)
    return EdgeRows(rows, inverse[bag.edge])


def attributes_of(batch: Data) -> Tensor:
    """The edge features of a batch; an error if it has none, or not one row per edge."""
    attributes: Tensor | None = getattr(batch, "edge_attr", None)
    if attributes is None:
        raise OsanError(
            f"batch.edge_attr: expected one row of features for each of {batch.num_edges} edges, got none"
        )
    if len(attributes) != batch.num_edges:
        raise OsanError(
            f"batch.edge_attr: expected {batch.num_edges} rows, one per edge, "
            f"got shape {list(attributes.shape)}"
        )
    return attributes


def unique_rows(table: Tensor) -> tuple[Tensor, Tensor]:
    """The different rows of a table of integers, and for each row its position among them.

    Numbering the values column by column is several times faster than ``torch.unique(dim=0)``.

    >>> unique_rows(torch.tensor([[7, 1], [7, 0], [7, 1]]))
    (tensor([[7, 0],
            [7, 1]]), tensor([1, 0, 1]))
    """
    inverse = torch.zeros(len(table), dtype=torch.long, device=table.device)
    for column in range(table.size(1)):
        values, number = torch.unique(table[:, column], return_inverse=True)
        inverse = torch.unique(inverse * values.numel() + number, return_inverse=True)[1]
    count = int(inverse.max()) + 1 if inverse.numel() else 0
    first = inverse.new_zeros(count)
    first[inverse] = torch.arange(len(table), device=table.device)
    return table[first], inverse
