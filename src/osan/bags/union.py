"""A bag as an ordinary PyG batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from osan.bags.bag import SubgraphBag
from osan.bags.build import thinned
from osan.errors import OsanError

# Attributes that hold vertex numbers, which are wrong in the subgraphs.
_PLACES = {"index", "face", "adj"}
# The fields of a bag that a batch carries along.
_LOOKS = ("mark", "rank", "edge_mark")


def as_batch(batch: Data, bag: SubgraphBag) -> Batch:
    """Turn the subgraphs of a bag into the graphs of a PyG batch, for any PyG model.

    Vertices are renumbered, ``batch.batch`` holds the subgraph of each, and copies and edges of weight 0 are
    removed. A subgraph without vertices keeps its number, see ``ptr``.

    Parameters
    ----------
    batch
        The batch the bag was made from.
    bag
        The bag. ``deleted="unpooled"`` raises: an ordinary batch has no vertices that send messages but are
        not pooled.

    Returns
    -------
    Batch
        With ``x``, ``edge_attr`` and every other tensor that has a row per vertex, edge or graph, each row
        repeated for every subgraph. If there are as many edges as vertices, the name decides, as in PyG:
        names with ``edge`` belong to edges. Attributes that hold vertex numbers (``..._index``, ``face``,
        ``adj``), lists and strings are left out. The bag adds ``graph``, the graph of each subgraph, and, if
        it has them, ``mark`` and ``rank`` of shape ``[vertices]`` and ``edge_mark`` of shape ``[edges]``.

    Examples
    --------
    >>> from osan import bags
    >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> subgraphs = as_batch(path, bags.all_subsets(path, k=1, operation="delete"))
    >>> subgraphs.num_graphs, subgraphs.batch.tolist(), subgraphs.edge_index.tolist()
    (3, [0, 0, 1, 1, 2, 2], [[1, 0, 5, 4], [0, 1, 4, 5]])
    >>> subgraphs.x.argmax(1).tolist()
    [1, 2, 0, 2, 0, 1]
    """
    bag.check(batch)
    bag = without_removed(bag)
    rows = {"vertex": bag.vertex, "edge": bag.edge, "graph": bag.graph}
    parts: dict[str, Any] = {}
    for name, value in batch.to_dict().items():
        of = _rows_of(name, value, bag)
        if of is not None:
            parts[name] = value.index_select(0, rows[of])
    parts |= {"edge_index": bag.edge_index, "batch": bag.subgraph, "graph": bag.graph}
    of_bag = {name: getattr(bag, name) for name in _LOOKS}
    parts |= {name: value for name, value in of_bag.items() if value is not None}
    sizes = torch.bincount(bag.subgraph, minlength=bag.num_subgraphs)
    ptr = torch.cat((sizes.new_zeros(1), sizes.cumsum(0)))
    return Batch(ptr=ptr, num_nodes=bag.num_copies, **parts)


def joined(bags: Sequence[SubgraphBag]) -> SubgraphBag:
    """The subgraphs of several bags of one batch as one bag: first those of the first bag, and so on.

    Subgraphs are therefore not sorted by graph. All bags have the same fields.

    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> joined([bags.whole_graphs(path), bags.all_subsets(path, k=3, operation="select")])
    SubgraphBag(2 subgraphs of 1 graph: 6 copies of 3 vertices, 8 copied edges)
    """
    copies = accumulate((bag.num_copies for bag in bags), initial=0)
    subgraphs = accumulate((bag.num_subgraphs for bag in bags), initial=0)

    def together(name: str) -> Tensor | None:
        values = [getattr(bag, name) for bag in bags]
        return None if any(value is None for value in values) else torch.cat(values)

    names = [name for name in (*SubgraphBag.PER_COPY, *SubgraphBag.PER_EDGE) if name != "subgraph"]
    lengths = {-1 if bag.tuples is None else bag.tuples.size(1) for bag in bags}
    same: dict[str, Any] = {name: together(name) for name in names}
    return replace(
        bags[0],
        **same,
        subgraph=torch.cat([bag.subgraph + shift for bag, shift in zip(bags, subgraphs, strict=False)]),
        edge_index=torch.cat(
            [bag.edge_index + shift for bag, shift in zip(bags, copies, strict=False)], dim=1
        ),
        graph=torch.cat([bag.graph for bag in bags]),
        # Tuples of different lengths have no common shape.
        tuples=together("tuples") if len(lengths) == 1 else None,
    )


def without_removed(bag: SubgraphBag) -> SubgraphBag:
    """Remove the copies and copied edges of weight 0; the others keep their weights."""
    if bag.weight is not None and bag.edge_weight is None:
        raise OsanError(
            "bag: expected deleted='masked' or 'isolated', got deleted='unpooled', whose removed vertices "
            "still send messages; only networks that pool by bag.weight support it"
        )
    copies = None if bag.weight is None else bag.weight.detach() != 0
    edges = None if bag.edge_weight is None else bag.edge_weight.detach() != 0
    return bag if copies is None and edges is None else thinned(bag, copies, edges)


def _rows_of(name: str, value: object, bag: SubgraphBag) -> str | None:
    """What an attribute of the batch has one row per: ``"vertex"``, ``"edge"``, ``"graph"`` or ``None``."""
    words = name.split("_")
    if not isinstance(value, Tensor) or value.dim() == 0 or not _PLACES.isdisjoint(words):
        return None
    if name in ("batch", "ptr") or name.startswith("bag_") or name.endswith(("_batch", "_ptr")):
        return None
    counts = {"vertex": bag.num_vertices, "graph": bag.num_graphs, "edge": bag.num_edges}
    if "edge" in words:
        counts = {"edge": bag.num_edges}
    return next((of for of, count in counts.items() if len(value) == count), None)
