"""The subgraphs of a bag as an ordinary PyG batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from osan.bags.bag import SubgraphBag
from osan.bags.build import thinned
from osan.errors import OsanError

# What says where things lie in the batch, and would say something wrong of its subgraphs.
_PLACES = {"index", "face", "adj"}


def as_batch(batch: Data, bag: SubgraphBag) -> Batch:
    """The subgraphs of a bag as the graphs of a PyG batch, for models that know nothing of bags.

    Vertices are numbered anew, ``batch.batch`` is the subgraph of each, and whatever has weight 0 is not
    there. A subgraph without vertices keeps its number, and ``ptr`` tells of it.

    Parameters
    ----------
    batch
        The batch the bag was made from.
    bag
        The bag. ``deleted="unpooled"`` is refused: no ordinary batch holds vertices that send messages and
        are left out of the pooling.

    Returns
    -------
    Batch
        With ``x``, ``edge_attr`` and every other tensor that has a row per vertex, edge or graph, each row
        repeated for every subgraph. Where there are as many edges as vertices, the name decides as it does
        in PyG: those with ``edge`` in them are of edges. Attributes that hold numbers of vertices
        (``..._index``, ``face``, ``adj``), lists and strings are left out. Of the bag come, where it has
        them, ``mark`` and ``rank`` of shape ``[vertices]``, ``edge_mark`` of shape ``[edges]`` and
        ``graph``, the graph of each subgraph.

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
    of_bag = {name: getattr(bag, name) for name in ("mark", "rank", "edge_mark")}
    parts |= {name: value for name, value in of_bag.items() if value is not None}
    sizes = torch.bincount(bag.subgraph, minlength=bag.num_subgraphs)
    ptr = torch.cat((sizes.new_zeros(1), sizes.cumsum(0)))
    return Batch(ptr=ptr, num_nodes=bag.num_copies, **parts)


def without_removed(bag: SubgraphBag) -> SubgraphBag:
    """The bag without the copies and copied edges of weight 0; those that stay keep their weights."""
    if bag.weight is not None and bag.edge_weight is None:
        raise OsanError(
            "bag.weight: some vertices send messages but are left out of the pooling (deleted='unpooled'), "
            "which only networks that pool by bag.weight can do; make the bag with deleted='masked'"
        )
    copies = None if bag.weight is None else bag.weight.detach() != 0
    edges = None if bag.edge_weight is None else bag.edge_weight.detach() != 0
    return bag if copies is None and edges is None else thinned(bag, copies, edges)


def _rows_of(name: str, value: object, bag: SubgraphBag) -> str | None:
    """What the rows of an attribute of the batch belong to: ``"vertex"``, ``"edge"``, ``"graph"`` or none."""
    words = name.split("_")
    if not isinstance(value, Tensor) or value.dim() == 0 or not _PLACES.isdisjoint(words):
        return None
    if name in ("batch", "ptr") or name.startswith("bag_") or name.endswith(("_batch", "_ptr")):
        return None
    counts = {"vertex": bag.num_vertices, "graph": bag.num_graphs, "edge": bag.num_edges}
    if "edge" in words:
        counts = {"edge": bag.num_edges}
    return next((of for of, count in counts.items() if len(value) == count), None)
