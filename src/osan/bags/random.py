"""Random samples of subgraphs, drawn from the given generator or from torch's global one.

Draws are independent (the paper's random baseline) unless ``distinct=True``. Then the m subgraphs of a graph
are drawn without replacement, and a graph that has fewer of them gives them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from osan import devices
from osan.arguments import switch
from osan.bags import kernels
from osan.bags.bag import SubgraphBag
from osan.bags.build import full_bag, with_whole_graph
from osan.bags.builders import edge_bag, edge_blocks, ego_bag, vertex_bag
from osan.bags.edges import maximum_spanning_forest
from osan.bags.enumerate import (
    check_size,
    filled_columns,
    num_subsets,
    num_tuples,
    subsets_of,
    tuples_of,
    with_columns,
)
from osan.bags.layout import Layout, layout_of, ragged, starts
from osan.bags.operations import operate_on_vertices
from osan.errors import OsanError
from osan.memory import require_free
from osan.words import Deleted, Operation

# Spanning trees are costly to count, so drawing distinct ones stops after this many rounds without a new one.
_FRUITLESS_ROUNDS = 32
# Sorts after all places while sets are drawn.
_NOTHING = torch.iinfo(torch.long).max // 2

# Fewer subgraphs of each graph fit, whatever the graph.
_MANY = 10_000


def random_tuples(
    batch: Data,
    k: int,
    m: int,
    *,
    generator: Generator | None = None,
    operation: Operation = "mark",
    distinct: bool = False,
    whole_graph: bool = False,
) -> SubgraphBag:
    """m random elements of V(G)^k for each graph G; see :func:`osan.bags.all_tuples`.

    Examples
    --------
    >>> edge = Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> random_tuples(edge, 1, 2, generator=Generator().manual_seed(0), distinct=True).tuples.shape
    torch.Size([2, 1])
    """
    check_size("k", k)
    layout = layout_of(batch)
    _require_memory(layout, m, k, operation, distinct)

    def draw(graph: Tensor) -> Tensor:
        sizes = layout.sizes[graph, None].expand(-1, k)
        return layout.first[graph, None] + _below(sizes, generator)

    def every(graphs: Tensor) -> tuple[Tensor, Tensor]:
        return tuples_of(layout.sizes[graphs], layout.first[graphs], k)

    possible = num_tuples(layout.sizes, k)
    rows, graph = (
        _sample_distinct(draw, every, possible, m, generator) if distinct else _sample(draw, possible, m)
    )
    return vertex_bag(layout, rows, graph, operation, ordered=True, whole_graph=whole_graph)


def random_subsets(
    batch: Data,
    k: int,
    m: int,
    *,
    generator: Generator | None = None,
    operation: Operation = "delete",
    ordered: bool = False,
    distinct: bool = False,
    deleted: Deleted = "masked",
    whole_graph: bool = False,
) -> SubgraphBag:
    """Delete, select or mark m random sets of k vertices of each graph.

    A graph of fewer than k vertices has one such set: all of its vertices. With ``ordered``, the vertices of
    a subgraph (with ``operation="mark"``: its marked vertices) are ranked at random.

    Examples
    --------
    >>> triangle = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]))
    >>> random_subsets(triangle, 1, 5, generator=Generator().manual_seed(0))
    SubgraphBag(5 subgraphs of 1 graph: 10 copies of 3 vertices, 10 copied edges, tuples of 1)
    """
    layout = layout_of(batch)
    _require_memory(layout, m, k, operation, distinct)
    rows, graph = _sample_subsets(layout.sizes, layout.first, k, m, generator, distinct)
    bag = vertex_bag(layout, rows, graph, operation, deleted=deleted)
    if switch(ordered, "ordered"):
        member = bag.mark if operation == "mark" else bag.weight
        keys = _uniform((bag.num_copies,), generator, layout.device)
        keys = keys if member is None else torch.where(member != 0, keys, math.inf)
        if deleted == "isolated" and operation != "mark":
            raise OsanError("deleted: expected 'masked' or 'unpooled' for ordered subgraphs, got 'isolated'")
        rank = 1 + _places(bag.subgraph, keys, bag.num_subgraphs)
        bag = replace(bag, rank=rank if member is None else torch.where(member != 0, rank, 0))
    return with_whole_graph(bag, layout) if whole_graph else bag


def random_edges(
    batch: Data,
    k: int,
    m: int,
    *,
    generator: Generator | None = None,
    operation: Operation = "delete",
    distinct: bool = False,
    deleted: Deleted = "masked",
    whole_graph: bool = False,
) -> SubgraphBag:
    """Delete, select or mark m random sets of k undirected edges of each graph.

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> random_edges(path, 1, 5, generator=Generator().manual_seed(0))
    SubgraphBag(5 subgraphs of 1 graph: 15 copies of 3 vertices, 10 copied edges)
    """
    layout = layout_of(batch)
    _require_memory(layout, m, k, operation, distinct)
    sizes, first, columns = edge_blocks(layout, batch)
    rows, graph = _sample_subsets(sizes, first, k, m, generator, distinct)
    return edge_bag(layout, columns, rows, graph, operation, deleted, whole_graph=whole_graph)


def random_egos(
    batch: Data,
    hops: int,
    m: int,
    *,
    generator: Generator | None = None,
    operation: Operation = "select",
    mark_center: bool = False,
    distinct: bool = False,
    deleted: Deleted = "masked",
    whole_graph: bool = False,
) -> SubgraphBag:
    """The ego-nets of m random vertices of each graph; see :func:`osan.bags.all_egos`.

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> random_egos(path, 2, 4, generator=Generator().manual_seed(0))
    SubgraphBag(4 subgraphs of 1 graph: 12 copies of 3 vertices, 16 copied edges, tuples of 1)
    """
    layout = layout_of(batch)
    rows, _ = _sample_subsets(layout.sizes, layout.first, 1, m, generator, distinct)
    centers = rows[:, 0]
    return ego_bag(
        layout,
        centers[centers >= 0],
        hops,
        operation,
        mark_center=mark_center,
        deleted=deleted,
        whole_graph=whole_graph,
    )


def random_trees(
    batch: Data,
    m: int,
    *,
    generator: Generator | None = None,
    operation: Operation = "select",
    distinct: bool = False,
    deleted: Deleted = "isolated",
    whole_graph: bool = False,
) -> SubgraphBag:
    """m random spanning trees of each graph (forests, if it is not connected).

    A random tree is the maximum spanning tree of independent uniform edge weights. By default, every vertex
    stays, isolated ones included.

    Examples
    --------
    >>> triangle = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]))
    >>> random_trees(triangle, 3, generator=Generator().manual_seed(0), distinct=True)
    SubgraphBag(3 subgraphs of 1 graph: 9 copies of 3 vertices, 12 copied edges)
    """
    layout = layout_of(batch)
    sizes, first, columns = edge_blocks(layout, batch)
    ends = batch.edge_index[:, columns[:, 0]]
    width = int((layout.sizes - 1).clamp(min=0).max()) if layout.num_graphs else 0

    def draw(graph: Tensor) -> Tensor:
        edge, owner = ragged(first[graph], sizes[graph])
        shift = (starts(layout.sizes[graph]) - layout.first[graph])[owner]
        weights = _uniform((edge.numel(),), generator, layout.device)
        source, target = ends[:, edge] + shift
        chosen = maximum_spanning_forest(source, target, weights, int(layout.sizes[graph].sum()))
        edge, owner = edge[chosen], owner[chosen]
        counts = torch.bincount(owner, minlength=graph.numel())
        place = torch.arange(edge.numel(), device=layout.device) - starts(counts)[owner]
        rows = edge.new_full((graph.numel(), width), -1)
        rows[owner, place] = edge
        return rows

    possible = layout.sizes.new_full((layout.num_graphs,), math.inf, dtype=devices.widest(layout.device))
    rows, graph = _draw_distinct(draw, possible, m) if distinct else _sample(draw, possible, m)
    return edge_bag(layout, columns, rows, graph, operation, deleted, whole_graph=whole_graph)


def random_dropout(
    batch: Data,
    p: float,
    m: int,
    *,
    generator: Generator | None = None,
    deleted: Deleted = "masked",
    whole_graph: bool = False,
) -> SubgraphBag:
    """m subgraphs of each graph, from each of which every vertex is removed with probability p.

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> random_dropout(path, 0.0, 2, generator=Generator().manual_seed(0)).num_copies
    6
    """
    if not 0 <= p <= 1:
        raise OsanError(f"p: expected a probability between 0 and 1, got {p}")
    check_size("m", m)
    layout = layout_of(batch)
    _require_memory(layout, m, 1, "mark", False)
    bag = full_bag(layout, torch.arange(layout.num_graphs, device=layout.device).repeat_interleave(m))
    kept = torch.rand(bag.num_copies, generator=generator).to(layout.device) >= p
    bag = operate_on_vertices(bag, kept.to(torch.get_default_dtype()), "delete", deleted)
    return with_whole_graph(bag, layout) if whole_graph else bag


def _require_memory(layout: Layout, m: int, k: int, operation: str, distinct: bool) -> None:
    """Raise if a bag of m subgraphs of each graph does not fit in memory; distinct ones may be fewer."""
    check_size("m", m)
    check_size("k", k)
    if distinct or m < _MANY:
        return
    copies, arcs = layout.sizes.cpu().double(), layout.edge_sizes.cpu().double()
    if operation == "select":
        size = float(min(k, 2**31))
        copies, arcs = copies.clamp(max=size), arcs.clamp(max=size**2)
    needed = 8.0 * m * float((1 + 2 * copies + 3 * arcs).sum())
    require_free(needed, f"a bag of {m} subgraphs of each graph", "use fewer")


def _places(group: Tensor, keys: Tensor, groups: int) -> Tensor:
    """The place 0, 1, ... of each entry among the sorted keys of its group; groups are consecutive."""
    order = torch.argsort(keys, stable=True)
    order = order[torch.argsort(group[order], stable=True)]
    counts = torch.bincount(group, minlength=groups)
    places = torch.empty_like(order)
    places[order] = torch.arange(order.numel(), device=order.device) - starts(counts)[group[order]]
    return places


def _sample_subsets(
    sizes: Tensor, first: Tensor, k: int, m: int, generator: Generator | None, distinct: bool
) -> tuple[Tensor, Tensor]:
    check_size("k", k)

    def draw(block: Tensor) -> Tensor:
        # One after another: the r-th remaining element is element r + (number of i with c_i - i <= r), where
        # c are the sorted places of those already taken.
        left, rows = sizes.index_select(0, block), block.new_empty((block.numel(), 0))
        for taken in range(filled_columns(sizes, k)):
            place = _below(left - taken if taken else left, generator)
            if taken:
                shifted = rows - torch.arange(taken, device=sizes.device)
                place = place + (shifted <= place[:, None]).sum(dim=1)
            place = torch.where(left > taken, place, _NOTHING)
            rows = torch.cat((rows, place[:, None]), dim=1).sort(dim=1).values if taken else place[:, None]
        rows = torch.where(rows == _NOTHING, -1, rows + first.index_select(0, block)[:, None])
        return with_columns(rows, k)

    def every(blocks: Tensor) -> tuple[Tensor, Tensor]:
        return subsets_of(sizes[blocks], first[blocks], k)

    if distinct:
        return _sample_distinct(draw, every, num_subsets(sizes, k), m, generator)
    # Every block has a set, which may be empty.
    check_size("m", m)
    if k == 1 and sizes.device.type == "cpu" and not torch.compiler.is_compiling():
        numbers = _uniform((sizes.numel() * m,), generator, sizes.device)
        found = kernels.drawn(sizes.numpy(), first.numpy(), m, numbers.numpy())
        return torch.from_numpy(found[0]), torch.from_numpy(found[1])
    block = torch.arange(sizes.numel(), device=sizes.device).repeat_interleave(m)
    return draw(block), block


def _uniform(shape: Sequence[int], generator: Generator | None, device: torch.device) -> Tensor:
    """Uniform numbers of the CPU's generator, so that every device gets the same."""
    numbers = torch.rand(shape, generator=generator, dtype=torch.double)
    return cast(Tensor, devices.sent(numbers, device))


def _below(sizes: Tensor, generator: Generator | None) -> Tensor:
    """A random integer from 0 to n - 1 for each n."""
    place = (_uniform(sizes.shape, generator, sizes.device) * sizes).long()
    return torch.minimum(place, sizes - 1)  # float32 may round up to n


def _sample(draw: Callable[[Tensor], Tensor], possible: Tensor, m: int) -> tuple[Tensor, Tensor]:
    """Draw m rows for each block that has any; return the rows and their blocks."""
    check_size("m", m)
    block = torch.repeat_interleave((possible > 0) * m)
    return draw(block), block


def _sample_distinct(
    draw: Callable[[Tensor], Tensor],
    every: Callable[[Tensor], tuple[Tensor, Tensor]],
    possible: Tensor,
    m: int,
    generator: Generator | None,
) -> tuple[Tensor, Tensor]:
    """Draw m distinct rows of each block, or all of them if there are fewer; return rows and blocks.

    If at least half of the rows of a block are wanted, they are chosen from the list that ``every`` returns:
    rejection sampling would need many rounds to find the last ones.
    """
    check_size("m", m)
    few = possible <= 2 * m
    listed = few.nonzero().flatten()
    rows, block = every(listed)
    keys = _uniform((block.numel(),), generator, possible.device)
    chosen = _places(block, keys, listed.numel()) < m
    drawn, drawn_block = _draw_distinct(draw, torch.where(few, 0, possible), m)
    block = torch.cat((listed[block[chosen]], drawn_block))
    order = torch.argsort(block, stable=True)
    return torch.cat((rows[chosen], drawn))[order], block[order]


def _draw_distinct(draw: Callable[[Tensor], Tensor], possible: Tensor, m: int) -> tuple[Tensor, Tensor]:
    """Draw distinct rows, m per block if there are as many; return the rows and their blocks.

    Redrawing duplicates, and only those, is sampling without replacement.
    """
    check_size("m", m)
    blocks = torch.arange(possible.numel(), device=possible.device)
    wanted = possible.clamp(max=m).long()
    block = blocks.repeat_interleave(wanted)
    rows = draw(block)
    fruitless, before, countable = 0, -1, bool(possible.isfinite().all())
    while countable or fruitless < _FRUITLESS_ROUNDS:
        stays = _first_of_equal(torch.cat((block[:, None], rows), dim=1))
        block, rows = block[stays], rows[stays]
        missing = wanted - torch.bincount(block, minlength=blocks.numel())
        if not bool(missing.any()):
            break
        fruitless = fruitless + 1 if block.numel() == before else 0
        before = block.numel()
        again = blocks.repeat_interleave(missing)
        block, rows = torch.cat((block, again)), torch.cat((rows, draw(again)))
    stays = _first_of_equal(torch.cat((block[:, None], rows), dim=1))
    block, rows = block[stays], rows[stays]
    order = torch.argsort(block, stable=True)
    return rows[order], block[order]


def _first_of_equal(rows: Tensor) -> Tensor:
    """True for the first of every set of equal rows."""
    inverse = torch.unique(rows, dim=0, return_inverse=True)[1]
    place = torch.arange(len(rows), device=rows.device)
    earliest = torch.full_like(place, len(rows)).scatter_reduce_(0, inverse, place, "amin")
    return earliest[inverse] == place
