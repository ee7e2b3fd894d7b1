"""Structural encodings as input of a network: batch norm, a linear map, and a place beside the features."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import Linear, Module
from torch_geometric.data import Data
from torch_geometric.nn import BatchNorm

from osan.bags.layout import graph_index
from osan.data.encodings import encode, flip_signs, num_columns
from osan.data.naming import parse_encoding
from osan.nn.encoders import encoded_vertices


class Encoding(Module):
    r"""Structural encodings of the vertices, batch-normed, compressed and mapped to a width.

    .. math:: W \operatorname{arsinh}(z) + b, \quad z_i = (c_i - \mu_i) / \sigma_i

    which is linear near 0 and logarithmic far from it. The signs of Laplacian eigenvectors are arbitrary, so
    training flips them at random.

    Parameters
    ----------
    names
        Such as ``["cse:16", "lap:8"]``; see :func:`osan.data.encode`.
    width
        The width of the result.

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> Encoding(["cse:4", "rwse:2"], 5)(path).shape
    torch.Size([3, 5])
    """

    def __init__(self, names: Sequence[str], width: int) -> None:
        super().__init__()
        self.names, columns = tuple(names), num_columns(names)
        self.norm = BatchNorm(columns, allow_single_element=True)
        self.linear = Linear(columns, width)
        kinds = [kind for kind, size in map(parse_encoding, names) for _ in range(size)]
        self.signed = [kind == "lap" for kind in kinds]

    def forward(self, batch: Data) -> Tensor:
        """From ``batch.encoding``, or computed from the edges if there is none; ``[vertices, width]``."""
        columns = getattr(batch, "encoding", None)
        if columns is None or columns.size(1) != len(self.signed):
            ptr = graph_pointers(batch)
            columns = encode(batch.edge_index.cpu(), ptr, self.names).to(batch.edge_index.device)
        if self.training and any(self.signed):
            flipped = flip_signs(columns, *graph_index(batch))
            columns = torch.where(torch.tensor(self.signed, device=columns.device), flipped, columns)
        scaled = self.norm(columns.to(self.linear.weight.dtype))
        # Numbers of walks grow exponentially: new graphs may lie far outside of what training has seen.
        return self.linear(torch.asinh(scaled))

    def extra_repr(self) -> str:
        return ", ".join(self.names)


class WithEncoding(Module):
    """A vertex encoder and structural encodings side by side, together as wide as the network.

    Parameters
    ----------
    vertex_encoder
        From a width to an encoder of ``batch.x`` with that width.
    names
        The encodings.
    width
        The width of both together. Encodings get five sixteenths of it, at most 28 columns.

    Examples
    --------
    >>> from osan.nn.encoders import Numerical
    >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> WithEncoding(lambda width: Numerical(3, width), ["cse"], 16)(path).shape
    torch.Size([3, 16])
    """

    takes_batch = True

    def __init__(self, vertex_encoder: Callable[[int], Module], names: Sequence[str], width: int) -> None:
        super().__init__()
        columns = max(1, min(28, 5 * width // 16))
        self.feature_width = width - columns
        self.features = vertex_encoder(self.feature_width)
        self.encoding = Encoding(names, columns)

    def forward(self, batch: Data) -> Tensor:
        """Shape ``[vertices, width]``."""
        features = encoded_vertices(self.features, batch, "vertex_encoder", self.feature_width)
        return torch.cat((features, self.encoding(batch)), dim=1)


def graph_pointers(batch: Data) -> Tensor:
    """Where the vertices of each graph begin, and where the last ones end; shape ``[graphs + 1]``, on CPU."""
    ptr = getattr(batch, "ptr", None)
    if ptr is not None:
        return ptr.cpu()
    graph, count = graph_index(batch)
    sizes = torch.bincount(graph, minlength=count).cpu()
    return torch.cat((sizes.new_zeros(1), sizes.cumsum(0)))
