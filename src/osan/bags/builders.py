"""From index sets to bags: sets of vertices, sets of edges, ego-nets."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags.bag import SubgraphBag
from osan.bags.build import edge_position_of, full_bag, induced_bag, vertex_shift, with_whole_graph
from osan.bags.deletions import Deletions
from osan.bags.edges import undirected_edges
from osan.bags.enumerate import ego_copies
from osan.bags.layout import Layout
from osan.bags.operations import check_operation, operate_on_edges, operate_on_vertices
from osan.errors import OsanError
from osan.words import Deleted, Operation


def vertex_bag(
    layout: Layout,
    rows: Tensor,
    graph: Tensor,
    operation: Operation,
    *,
    ordered: bool = False,
    deleted: Deleted = "masked",
    whole_graph: bool = False,
) -> SubgraphBag:
    """Apply an operation to sets (or tuples) of vertices.

    Parameters
    ----------
    layout
        The batch.
    rows
        One set per row, padded with -1; shape ``[subgraphs, k]``.
    graph
        The graph of each row, sorted; shape ``[subgraphs]``.
    operation, deleted, whole_graph
        As in :func:`osan.bags.from_choice`.
    ordered
        Whether to rank the copies by the place of their vertex in the row.
    """
    check_operation(operation, deleted)
    if operation == "delete" and deleted == "masked" and layout.device.type == "cpu":
        bag = _without_vertices(layout, graph, rows)
    else:
        flat = rows.flatten()
        present = (flat >= 0).nonzero().flatten()
        subgraph, vertex = present // max(rows.size(1), 1), flat.index_select(0, present)
        bag = _operate(layout, graph, subgraph, vertex, operation, deleted, rows)
    if ordered:
        bag = replace(bag, rank=_first_rank(bag, rows))
    return with_whole_graph(bag, layout) if whole_graph else bag


def edge_bag(
    layout: Layout,
    columns: Tensor,
    rows: Tensor,
    graph: Tensor,
    operation: Operation,
    deleted: Deleted = "masked",
    *,
    whole_graph: bool = False,
) -> SubgraphBag:
    """Apply an operation to sets of undirected edges.

    Parameters
    ----------
    layout, graph, operation, deleted, whole_graph
        As in :func:`vertex_bag`.
    columns
        The two columns of each undirected edge, see :func:`edge_blocks`; shape ``[edges, 2]``.
    rows
        One set of undirected edges per row, padded with -1; shape ``[subgraphs, k]``.
    """
    check_operation(operation, deleted, "edge")
    bag = full_bag(layout, graph)
    subgraph, place = (rows >= 0).nonzero(as_tuple=True)
    pairs = columns[rows[subgraph, place]]
    named = torch.zeros(bag.num_copied_edges, device=layout.device)
    for side in range(2):
        named[edge_position_of(layout, graph, subgraph, pairs[:, side])] = 1
    bag = operate_on_edges(bag, 1 - named if operation == "delete" else named, operation, deleted)
    return with_whole_graph(bag, layout) if whole_graph else bag


def ego_bag(
    layout: Layout,
    centers: Tensor,
    hops: int,
    operation: Operation,
    *,
    mark_center: bool = False,
    deleted: Deleted = "masked",
    whole_graph: bool = False,
) -> SubgraphBag:
    """Apply an operation to the ego-nets of the given vertices, which are sorted by graph."""
    if mark_center and operation == "mark":
        raise OsanError(
            "mark_center: expected operation 'select' or 'delete', got 'mark', which marks the whole ego-net"
        )
    check_operation(operation, deleted)
    graph = layout.graph_of_vertex()[centers]
    bag = _operate(layout, graph, *ego_copies(layout, centers, hops), operation, deleted, centers[:, None])
    if mark_center:
        bag = replace(bag, mark=membership(bag, centers[:, None]))
    return with_whole_graph(bag, layout) if whole_graph else bag


def edge_blocks(layout: Layout, batch: Data) -> tuple[Tensor, Tensor, Tensor]:
    """List the undirected edges of each graph: how many, the first one, and the two columns of each."""
    _, columns = undirected_edges(batch.edge_index, getattr(batch, "edge_attr", None))
    graph = layout.graph_of_vertex()[batch.edge_index[0, columns[:, 0]]]
    sizes = torch.bincount(graph, minlength=layout.num_graphs)
    return sizes, sizes.cumsum(0) - sizes, columns


def membership(bag: SubgraphBag, rows: Tensor) -> Tensor:
    """1 for each copy whose vertex is in the row of its subgraph, else 0; shape ``[copies]``."""
    member = (rows[bag.subgraph] == bag.vertex[:, None]).any(dim=1)
    return member.to(torch.get_default_dtype())


def _first_rank(bag: SubgraphBag, rows: Tensor) -> Tensor:
    """The first place, from 1, of each copy's vertex in the row of its subgraph; 0 if it is not in it."""
    if rows.size(1) == 0:
        return torch.zeros_like(bag.vertex)
    same = rows[bag.subgraph] == bag.vertex[:, None]
    return torch.where(same.any(dim=1), same.int().argmax(dim=1) + 1, 0)


def _without_vertices(layout: Layout, graph: Tensor, rows: Tensor) -> SubgraphBag:
    """The subgraphs that miss the vertices of their rows, on the CPU."""
    return SubgraphBag.without(Deletions(layout, graph, rows))


def _operate(
    layout: Layout,
    graph: Tensor,
    subgraph: Tensor,
    vertex: Tensor,
    operation: Operation,
    deleted: Deleted,
    tuples: Tensor,
) -> SubgraphBag:
    """Apply an operation to pairs (subgraph, vertex)."""
    if operation == "select" and deleted == "masked":
        return induced_bag(layout, graph, subgraph, vertex, tuples)
    shift = vertex_shift(layout, graph)
    bag = full_bag(layout, graph, tuples, shift)
    chosen = torch.full((bag.num_copies,), float(operation == "delete"), device=layout.device)
    # After a deletion, a subgraph consists of the vertices that were not named.
    chosen.index_fill_(0, shift.index_select(0, subgraph).add_(vertex), float(operation != "delete"))
    return operate_on_vertices(bag, chosen, operation, deleted)
