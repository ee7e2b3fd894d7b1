"""Bags as a PyG transform: made once per graph, batched by PyG's own ``DataLoader``."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor
from torch.utils.data import get_worker_info
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from osan.bags.bag import SubgraphBag
from osan.bags.layout import num_graphs_of, starts
from osan.errors import OsanError

# The parts of a bag that hold no numbers of vertices, edges, copies, subgraphs or graphs, and all others but
# edge_index.
_PLAIN = ("weight", "edge_weight", "mark", "edge_mark", "rank")
_PARTS = ("vertex", "subgraph", "edge", "graph", "tuples", *_PLAIN)


class AddBag(BaseTransform):  # type: ignore[misc, unused-ignore]
    """Add the bag that a policy makes of a graph to the graph.

    Use it as the ``pre_transform`` of a dataset to compute bags once, as its ``transform`` to draw new random
    ones each time; in the training loop :func:`bag_of` gives the bag of a whole batch. Random policies then
    draw from torch's own generator, which a ``DataLoader`` seeds anew for each worker and epoch; a generator
    of your own would be copied to every worker, and draw the same in all of them and in every epoch.

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

    def forward(self, data: Data) -> Data:
        """The same graph with its bag."""
        if get_worker_info() is not None and any(isinstance(value, Generator) for value in self._given()):
            raise OsanError(
                "AddBag: each worker has a copy of the policy's generator, which draws the same subgraphs in "
                "all of them and in every epoch; leave out the generator, or load with num_workers=0"
            )
        bag = self.policy(data)
        if bag.num_graphs != 1:
            raise OsanError(f"AddBag: expected the bag of one graph, got one of {bag.num_graphs} graphs")
        for name in _PARTS:
            if getattr(bag, name) is not None:
                data[f"bag_{name}"] = getattr(bag, name)
            elif f"bag_{name}" in data:  # of an earlier bag
                del data[f"bag_{name}"]
        # All numbers are those within the graph, and no attribute of the bag is called an index, which PyG
        # would shift in a batch: bag_of does it, by the sizes.
        data.bag_ends = bag.edge_index.T.contiguous()
        sizes = (bag.num_vertices, bag.num_edges, bag.num_copies, bag.num_subgraphs, bag.num_copied_edges)
        data.bag_sizes = torch.tensor([sizes])
        return data

    def _given(self) -> tuple[Any, ...]:
        policy = self.policy
        return (*policy.args, *policy.keywords.values()) if isinstance(policy, partial) else ()

    def __repr__(self) -> str:
        """Names the policy: PyG compares it with that of the processed files."""
        policy = self.policy
        given = [_text(policy.func if isinstance(policy, partial) else policy)]
        if isinstance(policy, partial):
            given += [*map(_text, policy.args), *(f"{k}={_text(v)}" for k, v in policy.keywords.items())]
        return f"{type(self).__name__}({', '.join(given)})"


def _text(value: Any) -> str:
    """A value in words that are the same in the next process: no place in memory."""
    name = getattr(value, "__qualname__", None)
    return str(name) if name is not None else re.sub(r"<(\S+).*>", r"\1", repr(value))


def bag_of(batch: Data) -> SubgraphBag:
    """The bag of a batch (or of one graph) whose graphs went through :class:`AddBag`."""
    if "bag_sizes" not in batch:
        raise OsanError("batch.bag_sizes: missing; send the graphs through osan.bags.AddBag first")
    vertices, edges, copies, subgraphs, copied_edges = batch.bag_sizes.T.to(batch.edge_index.device)

    def shifted(name: str, by: Tensor, counts: Tensor) -> Tensor:
        shift = starts(by).repeat_interleave(counts)
        rows: Tensor = batch[name]
        return rows + shift.view(-1, *[1] * (rows.dim() - 1))

    parts: dict[str, Tensor] = {name: batch[f"bag_{name}"] for name in _PLAIN if f"bag_{name}" in batch}
    if "bag_tuples" in batch:
        missing = batch.bag_tuples < 0  # no vertex, whatever the place of the graph
        parts["tuples"] = shifted("bag_tuples", vertices, subgraphs).masked_fill(missing, -1)
    return SubgraphBag(
        vertex=shifted("bag_vertex", vertices, copies),
        subgraph=shifted("bag_subgraph", subgraphs, copies),
        edge_index=shifted("bag_ends", copies, copied_edges).T.contiguous(),
        edge=shifted("bag_edge", edges, copied_edges),
        graph=shifted("bag_graph", torch.ones_like(vertices), subgraphs),
        num_vertices=batch.num_nodes,
        num_edges=batch.num_edges,
        num_graphs=num_graphs_of(batch),
        **parts,
    )
