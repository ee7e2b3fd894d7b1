"""Bags as a PyG transform: made per graph, batched by PyG's ``DataLoader``."""

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

# Fields that hold indices are shifted when graphs are batched; the other fields of copies and edges are not.
_INDICES = ("vertex", "subgraph", "edge")
_PLAIN = tuple(name for name in SubgraphBag.PER_COPY + SubgraphBag.PER_EDGE if name not in _INDICES)
_PARTS = (*_INDICES, "graph", "tuples", *_PLAIN)


class AddBag(BaseTransform):  # type: ignore[misc, unused-ignore]
    """Make the bag of a graph and store it in the graph.

    Use it as the ``pre_transform`` of a dataset to compute bags once, or as its ``transform`` to draw new
    random ones each time. In the training loop, :func:`bag_of` returns the bag of a whole batch.

    Random bags should draw from torch's global generator, which a ``DataLoader`` seeds for each worker and
    epoch. A custom generator would be copied to every worker and draw the same subgraphs in all of them.

    Parameters
    ----------
    make_bag
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

    def __init__(self, make_bag: Callable[[Data], SubgraphBag]) -> None:
        self.make_bag = make_bag

    def forward(self, data: Data) -> Data:
        """Add the bag to a graph."""
        if get_worker_info() is not None and any(isinstance(value, Generator) for value in self._given()):
            raise OsanError(
                "make_bag: expected no generator with DataLoader workers, got one, which would draw the same "
                "subgraphs in every worker and epoch; leave out the generator, or use num_workers=0"
            )
        bag = self.make_bag(data)
        if bag.num_graphs != 1:
            raise OsanError(f"make_bag: expected the bag of one graph, got one of {bag.num_graphs} graphs")
        for name in _PARTS:
            if getattr(bag, name) is not None:
                data[f"bag_{name}"] = getattr(bag, name)
            elif f"bag_{name}" in data:  # left by an earlier bag
                del data[f"bag_{name}"]
        # All indices are local to the graph. No attribute is called an index, since PyG would shift it in a
        # batch: bag_of does that by the sizes.
        data.bag_ends = bag.edge_index.T.contiguous()
        sizes = (bag.num_vertices, bag.num_edges, bag.num_copies, bag.num_subgraphs, bag.num_copied_edges)
        data.bag_sizes = torch.tensor([sizes])
        return data

    def _given(self) -> tuple[Any, ...]:
        make = self.make_bag
        return (*make.args, *make.keywords.values()) if isinstance(make, partial) else ()

    def __repr__(self) -> str:
        """The function and its arguments: PyG compares the text with that of its processed files."""
        make = self.make_bag
        given = [_text(make.func if isinstance(make, partial) else make)]
        if isinstance(make, partial):
            given += [*map(_text, make.args), *(f"{k}={_text(v)}" for k, v in make.keywords.items())]
        return f"{type(self).__name__}({', '.join(given)})"


def _text(value: Any) -> str:
    """A text for a value that is the same in the next process: without its address in memory."""
    name = getattr(value, "__qualname__", None)
    return str(name) if name is not None else re.sub(r"<(\S+).*>", r"\1", repr(value))


def bag_of(batch: Data) -> SubgraphBag:
    """The bag of a batch (or of one graph) whose graphs went through :class:`AddBag`."""
    if "bag_sizes" not in batch:
        raise OsanError(
            "batch.bag_sizes: expected the sizes of a bag, got none; apply osan.bags.AddBag first"
        )
    vertices, edges, copies, subgraphs, copied_edges = batch.bag_sizes.T.to(batch.edge_index.device)

    def shifted(name: str, by: Tensor, counts: Tensor) -> Tensor:
        shift = starts(by).repeat_interleave(counts)
        rows: Tensor = batch[name]
        return rows + shift.view(-1, *[1] * (rows.dim() - 1))

    parts: dict[str, Tensor] = {name: batch[f"bag_{name}"] for name in _PLAIN if f"bag_{name}" in batch}
    if "bag_tuples" in batch:
        missing = batch.bag_tuples < 0  # padding, which is not shifted
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
