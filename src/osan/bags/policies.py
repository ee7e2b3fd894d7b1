"""Bags that need no learning: all subgraphs of a kind, or a random sample of them."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags.bag import SubgraphBag
from osan.bags.build import edge_position_of, full_bag, induced_bag, vertex_shift, with_whole_graph
from osan.bags.edges import undirected_edges
from osan.bags.enumerate import ego_copies, num_subsets, num_tuples, subsets_of, tuples_of, walks_of
from osan.bags.layout import Layout, layout_of
from osan.bags.operations import (
    Deleted,
    Operation,
    check_operation,
    operate_on_edges,
    operate_on_vertices,
)
from osan.errors import OsanError
from osan.memory import require_free


def whole_graphs(batch: Data) -> SubgraphBag:
    """The bag whose only member is the graph itself: a plain network.

    Examples
    --------
    >>> whole_graphs(Data(num_nodes=3, edge_index=torch.tensor([[0, 1], [1, 0]])))
    SubgraphBag(1 subgraph of 1 graph: 3 copies of 3 vertices, 2 copied edges)
    """
    layout = layout_of(batch)
    return full_bag(layout, torch.arange(layout.num_graphs, device=layout.device))


def all_tuples(
    batch: Data, k: int, *, operation: Operation = "mark", repeats: bool = True, whole_graph: bool = False
) -> SubgraphBag:
    """All ordered k-vertex subgraphs of each graph (paper, section "Ordered subgraph WL").

    Parameters
    ----------
    batch
        A PyG ``Batch``, or one ``Data``.
    k
        The length of the tuples; 0 gives the empty tuple, hence the graph itself.
    operation
        ``"mark"`` leaves the graph as it is (the tuple is seen through the atomic type), ``"select"`` takes
        the subgraph induced by the tuple, ``"delete"`` the one without it.
    repeats
        Whether all of V(G)^k is meant, or tuples of k different vertices.
    whole_graph
        Whether each graph itself is one more member.

    Examples
    --------
    >>> edge = Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> all_tuples(edge, 2).tuples.tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    layout = layout_of(batch)
    counts = num_tuples(layout.sizes, k, repeats=repeats)
    _check_memory(layout, counts, k, operation, "tuples", "random_tuples")
    rows, graph = tuples_of(layout.sizes, layout.first, k, repeats=repeats)
    return vertex_bag(layout, rows, graph, operation, ordered=True, whole_graph=whole_graph)


def all_subsets(
    batch: Data,
    k: int,
    *,
    operation: Operation = "delete",
    deleted: Deleted = "masked",
    whole_graph: bool = False,
) -> SubgraphBag:
    """All sets of k vertices of each graph: deleted, selected or marked.

    A graph of fewer than k vertices has one such set, all of its vertices.

    Parameters
    ----------
    batch
        A PyG ``Batch``, or one ``Data``.
    k
        The size of the sets.
    operation, deleted, whole_graph
        As in :func:`osan.bags.from_choice`.

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> all_subsets(path, 2, operation="select").tuples.tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    layout = layout_of(batch)
    _check_memory(layout, num_subsets(layout.sizes, k), k, operation, "sets of vertices", "random_subsets")
    rows, graph = subsets_of(layout.sizes, layout.first, k)
    return vertex_bag(layout, rows, graph, operation, deleted=deleted, whole_graph=whole_graph)


def all_edges(
    batch: Data,
    k: int = 1,
    *,
    operation: Operation = "delete",
    deleted: Deleted = "masked",
    whole_graph: bool = False,
) -> SubgraphBag:
    """All sets of k undirected edges of each graph: deleted, selected or marked.

    A graph of fewer than k edges has one such set, all of its edges; see :func:`all_subsets`.

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> bag = all_edges(path)
    >>> bag.edge.tolist(), bag.subgraph[bag.edge_index[0]].tolist()
    ([3, 2, 1, 0], [0, 0, 1, 1])
    """
    layout = layout_of(batch)
    sizes, first, columns = edge_blocks(layout, batch)
    _check_memory(layout, num_subsets(sizes, k), k, "delete", "sets of edges", "random_edges")
    rows, graph = subsets_of(sizes, first, k)
    return edge_bag(layout, columns, rows, graph, operation, deleted, whole_graph=whole_graph)


def all_egos(
    batch: Data,
    hops: int,
    *,
    operation: Operation = "select",
    mark_center: bool = False,
    deleted: Deleted = "masked",
    whole_graph: bool = False,
) -> SubgraphBag:
    """The ego-net of every vertex: what lies within ``hops`` steps of it, selected, deleted or marked.

    Parameters
    ----------
    batch
        A PyG ``Batch``, or one ``Data``.
    hops
        The radius h.
    mark_center
        Whether the center is marked (ESAN's ego+); not together with ``operation="mark"``.
    operation, deleted, whole_graph
        As in :func:`osan.bags.from_choice`.

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> all_egos(path, 1, mark_center=True).mark.tolist()
    [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    """
    layout = layout_of(batch)
    centers = torch.arange(layout.num_vertices, device=layout.device)
    return ego_bag(
        layout, centers, hops, operation, mark_center=mark_center, deleted=deleted, whole_graph=whole_graph
    )


def all_walks(batch: Data, k: int, hops: int) -> SubgraphBag:
    """The ego-net of every vertex v once for each walk (v = g1, ..., gk), with the walk's vertices marked.

    These are the subgraphs of the k-extension of identity-aware GNNs (paper, appendix "Identity-aware GNNs").

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> bag = all_walks(path, k=2, hops=1)
    >>> bag.tuples.tolist(), bag.mark.tolist()
    ([[0, 1], [1, 0], [1, 2], [2, 1]], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    """
    layout = layout_of(batch)
    rows, graph = walks_of(layout, k)
    bag = induced_bag(layout, graph, *ego_copies(layout, rows[:, 0], hops))
    return replace(bag, tuples=rows, mark=membership(bag, rows))


def membership(bag: SubgraphBag, rows: Tensor) -> Tensor:
    """1 for the copies whose vertex is among the vertices of its subgraph's row, else 0."""
    member = (rows[bag.subgraph] == bag.vertex[:, None]).any(dim=1)
    return member.to(torch.get_default_dtype())


def first_rank(bag: SubgraphBag, rows: Tensor) -> Tensor:
    """The first place, counted from 1, of each copy's vertex in its subgraph's tuple; 0 for none."""
    if rows.size(1) == 0:
        return torch.zeros_like(bag.vertex)
    same = rows[bag.subgraph] == bag.vertex[:, None]
    return torch.where(same.any(dim=1), same.int().argmax(dim=1) + 1, 0)


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
    """The bag that an operation makes of sets (tuples) of vertices.

    Parameters
    ----------
    layout
        The batch.
    rows
        One set per row, filled up with -1; shape ``[subgraphs, k]``.
    graph
        The graph of each row, sorted.
    """
    check_operation(operation, deleted)
    flat = rows.flatten()
    there = (flat >= 0).nonzero().flatten()
    subgraph, vertex = there // max(rows.size(1), 1), flat.index_select(0, there)
    bag = operated(layout, graph, subgraph, vertex, operation, deleted, rows)
    if ordered:
        bag = replace(bag, rank=first_rank(bag, rows))
    return with_whole_graph(bag, layout) if whole_graph else bag


def operated(
    layout: Layout,
    graph: Tensor,
    subgraph: Tensor,
    vertex: Tensor,
    operation: Operation,
    deleted: Deleted,
    tuples: Tensor,
) -> SubgraphBag:
    """The bag that an operation makes of named pairs (subgraph, vertex)."""
    if operation == "select" and deleted == "masked":
        return induced_bag(layout, graph, subgraph, vertex, tuples)
    shift = vertex_shift(layout, graph)
    bag = full_bag(layout, graph, tuples, shift)
    chosen = torch.full((bag.num_copies,), float(operation == "delete"), device=layout.device)
    # What is deleted is what a subgraph does not consist of.
    chosen.index_fill_(0, shift.index_select(0, subgraph).add_(vertex), float(operation != "delete"))
    return operate_on_vertices(bag, chosen, operation, deleted)


def edge_blocks(layout: Layout, batch: Data) -> tuple[Tensor, Tensor, Tensor]:
    """The undirected edges of each graph: how many, the first, and the two columns of each."""
    _, columns = undirected_edges(batch.edge_index, getattr(batch, "edge_attr", None))
    graph = layout.graph_of_vertex()[batch.edge_index[0, columns[:, 0]]]
    sizes = torch.bincount(graph, minlength=layout.num_graphs)
    return sizes, sizes.cumsum(0) - sizes, columns


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
    """The bag that an operation makes of sets of undirected edges, one per row, filled up with -1."""
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
    """The bag of the ego-nets around the given vertices, which are sorted by graph."""
    if mark_center and operation == "mark":
        raise OsanError("mark_center: the ego-net itself is marked (operation='mark'); mark one of the two")
    check_operation(operation, deleted)
    graph = layout.graph_of_vertex()[centers]
    bag = operated(layout, graph, *ego_copies(layout, centers, hops), operation, deleted, centers[:, None])
    if mark_center:
        bag = replace(bag, mark=membership(bag, centers[:, None]))
    return with_whole_graph(bag, layout) if whole_graph else bag


def _check_memory(
    layout: Layout, counts: Tensor, k: int, operation: Operation, what: str, random: str
) -> None:
    """Refuse a bag of ``counts`` subgraphs of each graph, each named by k things, that would not fit.

    A subgraph needs its row (twice while rows grow), two integers per copy and three per copied edge.
    """
    copies, arcs = layout.sizes, layout.edge_sizes
    if operation == "select":
        copies, arcs = copies.clamp(max=k), arcs.clamp(max=k * k)
    needed = float((counts * 8 * (2 * k + 2 * copies + 3 * arcs)).sum())
    number = float(counts.sum())
    shown = f"{number:,.0f}" if number < 1e18 else f"{number:.1e}"
    require_free(
        needed, f"a bag of all {shown} {what}", f"take a smaller k, or a sample (osan.bags.{random})"
    )
