"""The index ranges of the graphs of a PyG batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags import kernels
from osan.errors import OsanError

_NOWHERE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Layout:
    """The index tensors of a batch from which every bag is built.

    Edges are ordered by target, and hence by graph. Copied edges then need no sort of their own.

    Parameters
    ----------
    sizes, first
        The number of vertices of each graph, and its first vertex; shape ``[graphs]``.
    edge_sizes, edge_first
        The same for edges, ordered by target.
    order
        The column of ``edge_index`` at each position of that order; shape ``[edges]``.
    ends
        The two ends of the edges, in that order; shape ``[2, edges]``.
    """

    sizes: Tensor
    first: Tensor
    edge_sizes: Tensor
    edge_first: Tensor
    order: Tensor
    ends: Tensor

    @property
    def num_graphs(self) -> int:
        """The number of graphs, including empty ones."""
        return self.sizes.numel()

    @property
    def num_vertices(self) -> int:
        """The number of vertices of all graphs."""
        return int(self.sizes.sum())

    @property
    def num_edges(self) -> int:
        """The number of columns of ``edge_index``."""
        return self.order.numel()

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self.sizes.device

    def graph_of_vertex(self) -> Tensor:
        """The graph of each vertex, shape ``[vertices]``."""
        return torch.repeat_interleave(self.sizes)


def starts(counts: Tensor) -> Tensor:
    """The exclusive cumulative sum: the start of each of several consecutive blocks.

    >>> starts(torch.tensor([2, 0, 3]))
    tensor([0, 2, 2])
    """
    return counts.cumsum(0) - counts


def ragged(first: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Concatenate the ranges ``first[i], ..., first[i] + counts[i] - 1``; also return the i of each entry.

    >>> ragged(torch.tensor([5, 9]), torch.tensor([2, 1]))
    (tensor([5, 6, 9]), tensor([0, 0, 1]))
    """
    owner = torch.repeat_interleave(counts)
    shift = (first - starts(counts)).index_select(0, owner)
    return shift.add_(torch.arange(owner.numel(), device=counts.device)), owner


def num_graphs_of(batch: Data) -> int:
    """The number of graphs of a ``Batch`` or a ``Data``.

    A hand-made ``batch`` vector without ``ptr`` says nothing about empty graphs at its end: the number is
    then one more than its largest entry.
    """
    if getattr(batch, "batch", None) is None:
        return 1
    if getattr(batch, "ptr", None) is not None:
        return batch.ptr.numel() - 1
    return int(batch.batch.max()) + 1 if batch.batch.numel() else 0


def graph_index(batch: Data) -> tuple[Tensor, int]:
    """The graph of each vertex, shape ``[vertices]``, and the number of graphs.

    Reads no value back from the device, except for a hand-made ``batch`` vector.

    >>> graph_index(Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]])))
    (tensor([0, 0]), 1)
    """
    device, vector = edge_index_of(batch).device, getattr(batch, "batch", None)
    if vector is None:
        vector = torch.zeros(batch.num_nodes, dtype=torch.long, device=device)
    return vector, num_graphs_of(batch)


def edge_index_of(batch: Data) -> Tensor:
    """The edges of a batch; raise a helpful error if it has none."""
    edge_index = getattr(batch, "edge_index", None)
    if isinstance(edge_index, Tensor):
        return edge_index
    kind = type(batch).__name__
    advice = {
        "list": "; use torch_geometric.data.Batch.from_data_list",
        "HeteroData": "; use data.to_homogeneous()",
        "GroundSet": "; choose elements of sets, as in 'select 4 elements'",
    }
    raise OsanError(
        "batch.edge_index: expected an int64 tensor of shape [2, edges] in a PyG Data or Batch, "
        f"got a {kind} without one{advice.get(kind.removesuffix('Batch'), '')}"
    )


def layout_of(batch: Data) -> Layout:
    """Read and check the layout of a PyG ``Batch``, or of one ``Data``.

    Raises
    ------
    OsanError
        If ``edge_index`` is missing, has the wrong shape or type, is out of range or joins two graphs, or if
        ``batch`` is not sorted.

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> layout_of(path).sizes, layout_of(path).edge_sizes
    (tensor([3]), tensor([4]))
    """
    edge_index = edge_index_of(batch)
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or edge_index.dtype != torch.long:
        raise OsanError(
            "batch.edge_index: expected an int64 tensor of shape [2, edges], "
            f"got {edge_index.dtype} of shape {list(edge_index.shape)}"
        )
    count = batch.num_nodes
    if count is None:
        raise OsanError(
            "batch.num_nodes: expected a number, got None; set num_nodes, or x of shape [vertices, features]"
        )
    device, vector = edge_index.device, getattr(batch, "batch", None)
    if device.type == "cpu" and (made := _compiled(edge_index, vector, count, num_graphs_of(batch))):
        return made
    low, high = torch.aminmax(edge_index) if edge_index.numel() else (0, -1)
    if int(low) < 0 or int(high) >= count:
        raise OsanError(
            f"batch.edge_index: expected entries from 0 to {count - 1} (num_nodes = {count}), "
            f"got {int(low)} to {int(high)}"
        )
    if vector is None:
        sizes = torch.tensor([count], device=device)
    else:
        if vector.shape != (count,):
            raise OsanError(f"batch.batch: expected shape [{count}], got {list(vector.shape)}")
        if count and bool((vector[1:] < vector[:-1]).any()):
            raise OsanError(
                "batch.batch: expected a sorted vector, so that the vertices of each graph are consecutive"
            )
        sizes = torch.bincount(vector, minlength=num_graphs_of(batch))
    order = torch.argsort(edge_index[1], stable=True)
    ends = edge_index.index_select(1, order)
    if vector is None:
        edge_sizes = torch.tensor([order.numel()], device=device)
    else:
        source, target = vector.index_select(0, ends.flatten()).view(2, -1)
        if not torch.equal(source, target):
            column = int(order[(source != target).nonzero()[0, 0]])
            raise OsanError(
                f"batch.edge_index: expected edges within graphs, got column {column} between two graphs"
            )
        edge_sizes = torch.bincount(target, minlength=sizes.numel())
    return Layout(sizes, starts(sizes), edge_sizes, starts(edge_sizes), order, ends)


@torch.compiler.disable
def _compiled(edge_index: Tensor, vector: Tensor | None, count: int, graphs: int) -> Layout | None:
    """The layout, in one pass on the CPU; ``None`` if something is wrong with the batch."""
    if vector is not None and (vector.shape != (count,) or vector.dtype != torch.long):
        return None
    given = _NOWHERE if vector is None else vector.numpy()
    # The loop would be compiled anew for every layout of the memory.
    right, *found = kernels.laid_out(edge_index.contiguous().numpy(), given, count, graphs)
    if not right:
        return None
    sizes, edge_sizes, order, ends = map(torch.from_numpy, found)
    return Layout(sizes, starts(sizes), edge_sizes, starts(edge_sizes), order, ends)
