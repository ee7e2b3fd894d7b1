"""Two ways to build a bag: copy everything and remove copies, or list the copies to keep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from osan.bags.bag import SubgraphBag
from osan.bags.layout import Layout, ragged, starts


def full_bag(
    layout: Layout, graph: Tensor, tuples: Tensor | None = None, shift: Tensor | None = None
) -> SubgraphBag:
    """Copy every vertex and edge of its graph into each subgraph.

    Parameters
    ----------
    layout
        The batch.
    graph
        The graph of each subgraph, sorted; shape ``[subgraphs]``.
    tuples
        The tuples of the bag.
    shift
        The result of :func:`vertex_shift`, if already known.
    """
    shift = vertex_shift(layout, graph) if shift is None else shift
    subgraph = torch.repeat_interleave(layout.sizes.index_select(0, graph))
    vertex = torch.arange(subgraph.numel(), device=layout.device).sub_(shift.index_select(0, subgraph))
    edge_first = layout.edge_first.index_select(0, graph)
    position, owner = ragged(edge_first, layout.edge_sizes.index_select(0, graph))
    return SubgraphBag(
        vertex,
        subgraph,
        layout.ends.index_select(1, position).add_(shift.index_select(0, owner)),
        layout.order.index_select(0, position),
        graph,
        layout.num_vertices,
        layout.num_edges,
        layout.num_graphs,
        tuples=tuples,
    )


def thinned(bag: SubgraphBag, copies: Tensor | None = None, edges: Tensor | None = None) -> SubgraphBag:
    """Remove the copies and copied edges that are not kept.

    A copied edge also goes if one of its ends goes.

    Parameters
    ----------
    bag
        A bag.
    copies
        Boolean, shape ``[copies]``; ``None`` keeps all.
    edges
        Boolean, shape ``[copied edges]``; ``None`` keeps all.
    """
    edge_index = bag.edge_index
    if copies is not None:
        source, target = edge_index.unbind()
        both = copies.index_select(0, source) & copies.index_select(0, target)
        edges = both if edges is None else both & edges
    kept_edges = None if edges is None else edges.nonzero().flatten()
    if kept_edges is not None:
        edge_index = edge_index.index_select(1, kept_edges)
    kept_copies = None if copies is None else copies.nonzero().flatten()
    if copies is not None:
        edge_index = (copies.cumsum(0) - 1).index_select(0, edge_index.flatten()).view(2, -1)
    changed: dict[str, Any] = {"edge_index": edge_index}
    for names, kept in (
        (SubgraphBag.PER_COPY, kept_copies),
        (SubgraphBag.PER_EDGE, kept_edges),
    ):
        if kept is not None:
            values = {name: getattr(bag, name) for name in names}
            changed |= {n: value.index_select(0, kept) for n, value in values.items() if value is not None}
    return replace(bag, **changed)


def vertex_shift(layout: Layout, graph: Tensor) -> Tensor:
    """The offset from a vertex to its copy in :func:`full_bag`, for each subgraph; shape ``[subgraphs]``."""
    return starts(layout.sizes.index_select(0, graph)) - layout.first.index_select(0, graph)


def edge_position_of(layout: Layout, graph: Tensor, subgraph: Tensor, column: Tensor) -> Tensor:
    """The position in :func:`full_bag` of the copy of each column of ``edge_index`` in its subgraph."""
    place = torch.empty_like(layout.order)
    place[layout.order] = torch.arange(layout.num_edges, device=layout.device)
    return starts(layout.edge_sizes[graph])[subgraph] + place[column] - layout.edge_first[graph[subgraph]]


def induced_bag(
    layout: Layout, graph: Tensor, subgraph: Tensor, vertex: Tensor, tuples: Tensor | None = None
) -> SubgraphBag:
    """Build the subgraphs induced by the given vertices.

    Time and memory grow with the copies and their neighbors, not with subgraphs times vertices: small
    subgraphs of a large graph are cheap.

    Parameters
    ----------
    layout
        The batch.
    graph
        The graph of each subgraph, sorted; shape ``[subgraphs]``.
    subgraph, vertex
        The copies, in any order, repeats allowed; shape ``[copies]``.
    tuples
        The tuples of the bag.
    """
    keys = torch.unique(subgraph * layout.num_vertices + vertex)
    subgraph = keys // max(layout.num_vertices, 1)
    vertex = keys - subgraph * layout.num_vertices
    # The incoming edges of each copy, so that copied edges are sorted by their target.
    counts = torch.bincount(layout.ends[1], minlength=layout.num_vertices)
    position, target = ragged(starts(counts)[vertex], counts[vertex])
    wanted = subgraph[target] * layout.num_vertices + layout.ends[0, position]
    source = torch.searchsorted(keys, wanted)
    present = keys[source.clamp(max=max(keys.numel() - 1, 0))] == wanted
    return SubgraphBag(
        vertex,
        subgraph,
        torch.stack((source[present], target[present])),
        layout.order[position[present]],
        graph,
        layout.num_vertices,
        layout.num_edges,
        layout.num_graphs,
        tuples=tuples,
    )


def with_whole_graph(bag: SubgraphBag, layout: Layout) -> SubgraphBag:
    """Add each graph itself as one more subgraph, the last one of the graph.

    The new copies have weight 1 and neither mark nor rank.
    """
    whole = full_bag(layout, torch.arange(layout.num_graphs, device=layout.device))
    before = bag.subgraphs_per_graph.cumsum(0)
    renamed = torch.cat((bag.subgraph + bag.graph[bag.subgraph], whole.subgraph + before[whole.subgraph]))
    order = torch.argsort(renamed, stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel(), device=order.device)
    edge_index = place[torch.cat((bag.edge_index, whole.edge_index + bag.num_copies), dim=1)]
    by_target = torch.argsort(edge_index[1], stable=True)
    graph = torch.cat((bag.graph, torch.arange(layout.num_graphs, device=layout.device)))
    by_graph = torch.argsort(graph, stable=True)

    def joined(value: Tensor | None, fill: float, rows: int, reorder: Tensor) -> Tensor | None:
        if value is None:
            return None
        return torch.cat((value, value.new_full((rows, *value.shape[1:]), fill)))[reorder]

    copies, edges = whole.num_copies, whole.num_copied_edges
    return replace(
        bag,
        vertex=torch.cat((bag.vertex, whole.vertex))[order],
        subgraph=renamed[order],
        edge_index=edge_index[:, by_target],
        edge=torch.cat((bag.edge, whole.edge))[by_target],
        graph=graph[by_graph],
        weight=joined(bag.weight, 1, copies, order),
        edge_weight=joined(bag.edge_weight, 1, edges, by_target),
        mark=joined(bag.mark, 0, copies, order),
        edge_mark=joined(bag.edge_mark, 0, edges, by_target),
        rank=joined(bag.rank, 0, copies, order),
        tuples=joined(bag.tuples, -1, layout.num_graphs, by_graph),
    )
