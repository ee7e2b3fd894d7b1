"""One layer on a bag."""

from __future__ import annotations

from torch import Tensor
from torch.nn import Module

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.edges import EdgeRows
from osan.nn.layers import as_layer
from osan.nn.view import view_of


def convolve(conv: Module, h: Tensor, bag: SubgraphBag, edges: EdgeRows | Tensor | None = None) -> Tensor:
    """Run one layer on a bag.

    Parameters
    ----------
    conv
        Any PyG layer, or a layer that is called with ``(h, view)``.
    h
        Shape ``[copies, width]``.
    bag
        The bag; its edge weights scale the messages (see :mod:`osan.nn.layers`).
    edges
        Edge features for layers that take them, one row per copied edge: ``batch.edge_attr[bag.edge]``.

    Returns
    -------
    Tensor
        Shape ``[copies, width out]``.

    Examples
    --------
    >>> import torch
    >>> from osan import bags
    >>> from torch_geometric.data import Data
    >>> from torch_geometric.nn import GINEConv
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> path.edge_attr = torch.eye(4)
    >>> bag = bags.all_subsets(path, k=1)
    >>> conv = GINEConv(torch.nn.Linear(8, 8), edge_dim=4)
    >>> convolve(conv, torch.ones(bag.num_copies, 8), bag, path.edge_attr[bag.edge]).shape
    torch.Size([6, 8])
    """
    if len(h) != bag.num_copies:
        raise OsanError(
            f"h: expected {bag.num_copies} rows, one per copy as in x[bag.vertex], got {list(h.shape)}"
        )
    if isinstance(edges, Tensor):
        if edges.dim() != 2 or len(edges) != bag.num_copied_edges:
            raise OsanError(
                f"edges: expected shape [{bag.num_copied_edges}, d], one row per copied edge as in "
                f"batch.edge_attr[bag.edge], got {list(edges.shape)}"
            )
        edges = EdgeRows.one_per_edge(edges)
    return as_layer(conv)(h, view_of(bag, edges))
