"""Bags as a PyG transform: made once per graph, batched by PyG's own ``DataLoader``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from osan.bags.bag import SubgraphBag
from osan.bags.layout import num_graphs_of
from osan.errors import OsanError

_PARTS = (
    "vertex",
    "subgraph",
    "edge_index",
    "edge",
    "graph",
    "weight",
    "edge_weight",
    "mark",
    "edge_mark",
    "rank",
    "tuples",
)


class DataWithBag(Data):
    """A ``Data`` that carries a bag in its attributes ``bag_...`` and batches them rightly."""

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if not key.startswith("bag_"):
            return super().__inc__(key, value, *args, **kwargs)
        return {
            "bag_vertex": self.num_nodes,
            "bag_subgraph": len(self.bag_graph),
            "bag_edge_index": len(self.bag_vertex),
            "bag_edge": self.num_edges,
            "bag_graph": 1,
        }.get(key, 0)

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if not key.startswith("bag_"):
            return super().__cat_dim__(key, value, *args, **kwargs)
        return 1 if key == "bag_edge_index" else 0


class AddBag(BaseTransform):  # type: ignore[misc, unused-ignore]
    """Add the bag that a policy makes of a graph to the graph.

    Use it as the ``pre_transform`` of a dataset to compute bags once, as its ``transform`` to draw new random
    ones each time; in the training loop :func:`bag_of` gives the bag of a whole batch.

    Parameters
    ----------
    policy
        A function from ``Data`` to :class:`~osan.bags.SubgraphBag`, such as
        ``functools.partial(bags.all_subsets, k=1)``.

    Examples
    --------
    >>> from functools import partial
    >>> from torch_geometric.loader import DataLoader
    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> graphs = [AddBag(partial(bags.all_subsets, k=1))(path) for _ in range(2)]
    >>> bag_of(next(iter(DataLoader(graphs, batch_size=2))))
    SubgraphBag(6 subgraphs of 2 graphs: 12 copies of 6 vertices, 8 copied edges, tuples of 1)
    """

    def __init__(self, policy: Callable[[Data], SubgraphBag]) -> None:
        self.policy = policy

    def forward(self, data: Data) -> DataWithBag:
        """The same graph with its bag."""
        bag = self.policy(data)
        if bag.num_graphs != 1:
            raise OsanError(f"AddBag: expected the bag of one graph, got one of {bag.num_graphs} graphs")
        parts = {f"bag_{name}": getattr(bag, name) for name in _PARTS if getattr(bag, name) is not None}
        return DataWithBag(**data.to_dict(), **parts)


def bag_of(batch: Data) -> SubgraphBag:
    """The bag of a batch (or of one graph) whose graphs went through :class:`AddBag`."""
    parts: dict[str, Tensor] = {
        name: batch[f"bag_{name}"]
        for name in _PARTS
        if f"bag_{name}" in batch and batch[f"bag_{name}"] is not None
    }
    if "graph" not in parts:
        raise OsanError("batch.bag_graph: missing; send the graphs through osan.bags.AddBag first")
    if "tuples" in parts and getattr(batch, "ptr", None) is not None:
        # Kept relative to the graph, since -1 (no vertex) must not be shifted.
        rows = parts["tuples"]
        parts["tuples"] = torch.where(rows < 0, rows, rows + batch.ptr[parts["graph"], None])
    return SubgraphBag(
        **parts, num_vertices=batch.num_nodes, num_edges=batch.num_edges, num_graphs=num_graphs_of(batch)
    )  # type: ignore[arg-type, unused-ignore]
