"""All subgraphs of a kind: tuples, sets of vertices or edges, ego-nets, walks."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags.bag import SubgraphBag
from osan.bags.build import full_bag, induced_bag
from osan.bags.builders import edge_bag, edge_blocks, ego_bag, membership, vertex_bag
from osan.bags.enumerate import ego_copies, num_subsets, num_tuples, subsets_of, tuples_of, walks_of
from osan.bags.layout import Layout, layout_of
from osan.memory import require_free
from osan.words import Deleted, Operation


def whole_graphs(batch: Data) -> SubgraphBag:
    """The bag whose only subgraph is the graph itself; a network on it is a plain one.

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
        The length of the tuples; 0 gives the graph itself.
    operation
        ``"mark"`` keeps the graph (the network sees the tuple through the atomic type), ``"select"`` takes
        the subgraph induced by the tuple, ``"delete"`` removes the tuple.
    repeats
        Whether a tuple may contain a vertex twice, as in V(G)^k.
    whole_graph
        Whether to add the graph itself as one more subgraph.

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
    """Delete, select or mark every set of k vertices of each graph.

    A graph of fewer than k vertices has one such set: all of its vertices.

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
    """Delete, select or mark every set of k undirected edges of each graph.

    A graph of fewer than k edges has one such set: all of its edges. See :func:`all_subsets`.

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
    """Select, delete or mark the ego-net of every vertex: all vertices within ``hops`` steps of it.

    Parameters
    ----------
    batch
        A PyG ``Batch``, or one ``Data``.
    hops
        The radius h.
    mark_center
        Whether to mark the center (ESAN's ego+); not with ``operation="mark"``.
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
    """For every walk (g1, ..., gk) the ego-net of g1, with the vertices of the walk marked.

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


def _check_memory(
    layout: Layout, counts: Tensor, k: int, operation: Operation, what: str, random: str
) -> None:
    """Raise if a bag of ``counts`` subgraphs per graph, each named by k elements, does not fit in memory.

    A subgraph needs its row (twice while rows grow), two integers per copy and three per copied edge.
    """
    copies, arcs = layout.sizes, layout.edge_sizes
    if operation == "select":
        copies, arcs = copies.clamp(max=k), arcs.clamp(max=k * k)
    needed = float((counts * 8 * (2 * k + 2 * copies + 3 * arcs)).sum())
    number = float(counts.sum())
    shown = f"{number:,.0f}" if number < 1e18 else f"{number:.1e}"
    require_free(needed, f"a bag of all {shown} {what}", f"use a smaller k, or a sample (osan.bags.{random})")
