"""Descriptors of whole graphs as input of a network, beside its pooled features."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import Dropout, Linear, Module
from torch_geometric.data import Data

from osan.errors import OsanError


class Descriptors(Module):
    r"""Columns of numbers of each graph, standardized and mapped to a width.

    .. math:: \mathrm{ReLU}(W z + b), \quad z_i = \min(\max((d_i - \mu_i) / \sigma_i, -6), 6)

    A missing number counts as the mean. Columns beyond those with a mean are taken as they are.

    Parameters
    ----------
    columns
        The number of columns.
    width
        The width of the result.
    mean, std
        Statistics of the first columns in the training data.
    dropout
        Share of the columns that training leaves out at random.

    Examples
    --------
    >>> batch = Data(num_nodes=1, descriptors=torch.tensor([[3.0, float("nan"), 1.0]]))
    >>> Descriptors(3, 8, mean=[1.0, 2.0], std=[0.5, 1.0])(batch).shape
    torch.Size([1, 8])
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        columns: int,
        width: int,
        mean: Sequence[float] = (),
        std: Sequence[float] = (),
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_statistics(mean, std, columns)
        self.columns, self.out_width = columns, width
        rest = columns - len(mean)
        self.register_buffer("mean", torch.tensor([*mean, *[0.0] * rest]))
        self.register_buffer("std", torch.tensor([*std, *[1.0] * rest]))
        self.dropout = Dropout(dropout)
        self.linear = Linear(columns, width)

    def forward(self, batch: Data) -> Tensor:
        """From ``batch.descriptors`` of shape ``[graphs, columns]`` to ``[graphs, width]``."""
        given = descriptors_of(batch, self.columns)
        scaled = ((given.to(self.mean.dtype) - self.mean) / self.std).clamp(-6.0, 6.0).nan_to_num(0.0)
        return torch.relu(self.linear(self.dropout(scaled)))

    def extra_repr(self) -> str:
        return f"{self.columns}, {self.out_width}"


def check_statistics(mean: Sequence[float] | Tensor, std: Sequence[float] | Tensor, columns: int) -> None:
    """Raise unless there are as many means as deviations, of at most the given number of columns."""
    if not len(mean) == len(std) <= columns:
        raise OsanError(
            f"mean, std: expected equal lengths of at most {columns}, got {len(mean)} and {len(std)}"
        )


def descriptors_of(batch: Data, columns: int) -> Tensor:
    """``batch.descriptors``, shape ``[graphs, columns]``.

    Raises
    ------
    OsanError
        If there are none, or of another shape.
    """
    given: Tensor | None = getattr(batch, "descriptors", None)
    if given is None or given.dim() != 2 or given.size(1) != columns:
        found = "none" if given is None else f"shape {list(given.shape)}"
        raise OsanError(f"descriptors: expected batch.descriptors of shape [graphs, {columns}], got {found}")
    return given
