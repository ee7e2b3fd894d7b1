"""Encoders: from the features of a dataset to rows of one width."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import Embedding, Linear, Module, ModuleList, Parameter
from torch_geometric.data import Data

from osan.errors import OsanError
from osan.nn.mlp import MLP

# The numbers of values of OGB's nine atom and three bond features (``ogb.utils.features``).
OGB_ATOM_FEATURES = (119, 5, 12, 12, 10, 6, 6, 2, 2)
OGB_BOND_FEATURES = (5, 6, 2)


class Categorical(Module):
    """The sum of one learned embedding per integer column, as in OGB's atom and bond encoders.

    Parameters
    ----------
    sizes
        The number of values of each column.
    width
        The width of the embedding.

    Examples
    --------
    >>> Categorical([3, 2], 8)(torch.tensor([[2, 0], [1, 1]])).shape
    torch.Size([2, 8])
    """

    def __init__(self, sizes: Sequence[int], width: int) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        self.embeddings = ModuleList(Embedding(size, width) for size in sizes)
        for weight in self.parameters():
            torch.nn.init.xavier_uniform_(weight)

    def forward(self, x: Tensor) -> Tensor:
        """Integers of shape ``[rows, columns]``, or ``[rows]`` for one column, to ``[rows, width]``."""
        x = x.unsqueeze(1) if x.dim() == 1 else x
        if x.dim() != 2 or x.size(1) != len(self.sizes) or x.is_floating_point():
            raise OsanError(
                f"categorical features: expected integers of shape [rows, {len(self.sizes)}], "
                f"got {x.dtype} of shape {list(x.shape)}"
            )
        if x.numel():
            low, high = x.amin(0).tolist(), x.amax(0).tolist()
            for column, (least, most, size) in enumerate(zip(low, high, self.sizes, strict=True)):
                if least < 0 or most >= size:
                    raise OsanError(
                        f"categorical features: expected values 0 to {size - 1} in column {column}, "
                        f"got {least} to {most}"
                    )
        out = self.embeddings[0](x[:, 0])
        for column in range(1, len(self.sizes)):
            out = out + self.embeddings[column](x[:, column])
        return out


class Constant(Module):
    """The same learned row for every vertex: a network behind it sees the structure of the graph only.

    For an upstream network that could otherwise answer by its choice, from what it sees in the features,
    instead of finding what matters.

    Examples
    --------
    >>> Constant(8)(torch.zeros(2, 3)).shape
    torch.Size([2, 8])
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.row = Parameter(torch.randn(width))

    def forward(self, x: Tensor) -> Tensor:
        """Features of shape ``[rows, columns]`` to ``[rows, width]``."""
        return self.row.expand(len(x), -1)


class Numerical(Module):
    """A linear map of real-valued columns.

    Examples
    --------
    >>> Numerical(3, 8)(torch.zeros(2, 3)).shape
    torch.Size([2, 8])
    """

    def __init__(self, columns: int, width: int) -> None:
        super().__init__()
        self.linear = Linear(columns, width)

    def forward(self, x: Tensor) -> Tensor:
        """Numbers of shape ``[rows, columns]`` to ``[rows, width]``."""
        x = x.unsqueeze(1) if x.dim() == 1 else x
        if x.dim() != 2 or x.size(1) != self.linear.in_features:
            raise OsanError(
                f"numerical features: expected shape [rows, {self.linear.in_features}], got {list(x.shape)}"
            )
        return self.linear(x.to(self.linear.weight.dtype))


class EdgeMLP(Module):
    """Edge features through a two-layer perceptron, as in the paper's GINE layers.

    Parameters
    ----------
    features
        The sizes of integer columns, or the number of real-valued ones.
    width
        The width of the layer.

    Examples
    --------
    >>> EdgeMLP([4], 8)(torch.tensor([1, 3])).shape
    torch.Size([2, 8])
    """

    def __init__(self, features: Sequence[int] | int, width: int) -> None:
        super().__init__()
        self.first = encoder(features, width)
        self.second = MLP([width, width])

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``[edges]`` or ``[edges, columns]`` to ``[edges, width]``."""
        return self.second(torch.relu(self.first(x)))


def as_encoder(encoder: Module | Callable[[], Module] | None, name: str) -> Module | None:
    """An encoder that is given as a module, or as a function that makes one.

    >>> as_encoder(lambda: Numerical(3, 8), "vertex_encoder")
    Numerical(
      (linear): Linear(in_features=3, out_features=8, bias=True)
    )
    """
    if encoder is None or isinstance(encoder, Module):
        return encoder
    made = encoder() if callable(encoder) else encoder
    if not isinstance(made, Module):
        raise OsanError(f"{name}: expected a module or a function that makes one, got {made!r}")
    return made


def encoder(features: Sequence[int] | int, width: int) -> Module:
    """A :class:`Categorical` encoder for a sequence of sizes, a :class:`Numerical` one for a number."""
    return Numerical(features, width) if isinstance(features, int) else Categorical(features, width)


def encoded(encoder: Module, features: Tensor, name: str, width: int) -> Tensor:
    """The result of an encoder, checked to have one row of the given width for each row of features.

    ``name`` is that of the encoder, for the error.

    >>> encoded(Embedding(9, 8), torch.zeros(5, 1, dtype=torch.long), "vertex_encoder", 8)
    Traceback (most recent call last):
    osan.errors.OsanError: vertex_encoder: expected shape [5, 8] for features of shape [5, 1], got [5, 1, 8]
    """
    out: Tensor = encoder(features)
    if out.shape != (len(features), width):
        raise OsanError(
            f"{name}: expected shape [{len(features)}, {width}] for features of shape "
            f"{list(features.shape)}, got {list(out.shape)}"
        )
    return out


def encoded_vertices(encoder: Module, batch: Data, name: str, width: int) -> Tensor:
    """The result of a vertex encoder, checked to have one row of the given width for each vertex.

    It is called with ``batch.x``, or with the batch itself if it has ``takes_batch = True``.
    """
    if getattr(encoder, "takes_batch", False):
        out: Tensor = encoder(batch)
        if out.shape != (batch.num_nodes, width):
            got = list(out.shape)
            raise OsanError(f"{name}: expected shape [{batch.num_nodes}, {width}], got {got}")
        return out
    x = getattr(batch, "x", None)
    if x is None:
        where = name.removesuffix("vertex_encoder")
        raise OsanError(
            f"{where}batch.x: expected vertex features of shape [{batch.num_nodes}, columns], got none"
        )
    return encoded(encoder, x, name, width)


@torch.compiler.disable
def warn_unseen(batch: Data, width: int) -> bool:
    """Warn that vertex features are not used, if there are some; return whether it warned.

    >>> warn_unseen(Data(num_nodes=3), 8)
    False
    """
    x = getattr(batch, "x", None)
    if not isinstance(x, Tensor) or not x.numel():
        return False
    columns = x.size(1) if x.dim() > 1 else 1
    fitting = f"Numerical({columns}, {width})" if x.is_floating_point() else f"Categorical(sizes, {width})"
    warnings.warn(
        f"batch.x of shape {list(x.shape)} is not used, because there is no vertex_encoder: all vertices "
        f"start with the same features; pass vertex_encoder=osan.nn.{fitting}, for example",
        stacklevel=2,
    )
    return True
