"""Index sets of all subgraphs of a kind: tuples, subsets, walks, ego-nets."""

from __future__ import annotations

import torch
from torch import Tensor

from osan import devices
from osan.bags.layout import Layout, ragged, starts
from osan.errors import OsanError
from osan.memory import require_free

# So many columns are made without asking whether they can be filled.
_FEW = 64


def check_size(name: str, value: int, least: int = 0) -> None:
    """Raise if a size is not an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise OsanError(f"{name}: expected an integer of at least {least}, got {value!r}")


def tuples_of(sizes: Tensor, first: Tensor, k: int, *, repeats: bool = True) -> tuple[Tensor, Tensor]:
    """All k-tuples over each of several blocks of consecutive elements.

    Parameters
    ----------
    sizes, first
        The number of elements of each block, and its first element; shape ``[blocks]``.
    k
        The length of the tuples.
    repeats
        Whether a tuple may contain an element twice.

    Returns
    -------
    tuple
        The tuples in lexicographic order, shape ``[tuples, k]``, and the block of each.

    Examples
    --------
    >>> tuples_of(torch.tensor([2]), torch.tensor([0]), 2)[0].tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    check_size("k", k)
    block = torch.arange(sizes.numel(), device=sizes.device)
    rows = block.new_empty((block.numel(), 0))
    for _ in range(k):
        new, owner = ragged(first[block], sizes[block])
        block, rows = block[owner], torch.cat((rows[owner], new[:, None]), dim=1)
        if not repeats:
            fresh = (rows[:, :-1] != rows[:, -1:]).all(dim=1)
            block, rows = block[fresh], rows[fresh]
    return rows, block


def subsets_of(sizes: Tensor, first: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """All k-subsets of each of several blocks of consecutive elements.

    A block of fewer than k elements has one subset: all of them, padded with -1. Parameters and results are
    those of :func:`tuples_of`.

    Examples
    --------
    >>> subsets_of(torch.tensor([3, 1]), torch.tensor([0, 3]), 2)[0].tolist()
    [[0, 1], [0, 2], [1, 2], [3, -1]]
    """
    check_size("k", k)
    block = torch.arange(sizes.numel(), device=sizes.device)
    rows, following = block.new_empty((block.numel(), 0)), first
    for chosen in range(filled_columns(sizes, k)):
        full = sizes[block] <= chosen
        # A prefix is extended only if enough elements follow to complete the subset.
        missing = sizes[block].clamp(max=k) - chosen
        counts = (first[block] + sizes[block] - following - missing + 1).clamp(min=0)
        new, owner = ragged(following, torch.where(full, 1, counts))
        new = torch.where(full[owner], -1, new)
        block, rows, following = block[owner], torch.cat((rows[owner], new[:, None]), dim=1), new + 1
    return with_columns(rows, k), block


def filled_columns(sizes: Tensor, k: int) -> int:
    """How many columns of rows of k different elements can be filled: no more than the largest block has.

    >>> filled_columns(torch.tensor([3, 100]), 10**9), filled_columns(torch.tensor([3]), 5)
    (100, 5)
    """
    # A few empty columns cost less than asking a GPU for the size.
    return k if k <= _FEW or not sizes.numel() else min(k, int(sizes.max()))


def with_columns(rows: Tensor, k: int) -> Tensor:
    """Rows with k columns, of which those that are missing hold -1.

    >>> with_columns(torch.tensor([[4, 5]]), 3).tolist()
    [[4, 5, -1]]
    """
    missing = k - rows.size(1)
    if missing == 0:
        return rows
    # Twice: as they are made, and for what comes next.
    require_free(16.0 * len(rows) * k, f"a table of {len(rows)} sets of {k} elements", "use a smaller k")
    return torch.nn.functional.pad(rows, (0, missing), value=-1)


def num_tuples(sizes: Tensor, k: int, *, repeats: bool = True) -> Tensor:
    """The number of rows of :func:`tuples_of` for each block, in double precision.

    Examples
    --------
    >>> num_tuples(torch.tensor([5, 1]), 2), num_tuples(torch.tensor([5, 1]), 2, repeats=False)
    (tensor([25.,  1.], dtype=torch.float64), tensor([20.,  0.], dtype=torch.float64))
    """
    check_size("k", k)
    n = sizes.to(devices.widest(sizes.device))
    if repeats:
        return n**k
    falling = torch.lgamma(n + 1) - torch.lgamma((n - k).clamp(min=0) + 1)
    return torch.where(n < k, 0.0, falling.exp().round())


def num_subsets(sizes: Tensor, k: int) -> Tensor:
    """The number of rows of :func:`subsets_of` for each block, in double precision.

    Examples
    --------
    >>> num_subsets(torch.tensor([5, 3, 1]), 2)
    tensor([10.,  3.,  1.], dtype=torch.float64)
    """
    check_size("k", k)
    n = sizes.to(devices.widest(sizes.device))
    chosen = n.clamp(max=k)
    return (torch.lgamma(n + 1) - torch.lgamma(chosen + 1) - torch.lgamma(n - chosen + 1)).exp().round()


def walks_of(layout: Layout, k: int) -> tuple[Tensor, Tensor]:
    """All walks (g1, ..., gk) along edges, in either direction, and the graph of each.

    Examples
    --------
    >>> from torch_geometric.data import Data
    >>> from osan.bags.layout import layout_of
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> walks_of(layout_of(path), 2)[0].tolist()
    [[0, 1], [1, 0], [1, 2], [2, 1]]
    """
    check_size("k", k, 1)
    begin, counts, neighbor = neighbors(layout.ends, layout.num_vertices)
    rows = torch.arange(layout.num_vertices, device=layout.device)[:, None]
    for _ in range(k - 1):
        position, owner = ragged(begin[rows[:, -1]], counts[rows[:, -1]])
        rows = torch.cat((rows[owner], neighbor[position, None]), dim=1)
    return rows, layout.graph_of_vertex()[rows[:, 0]]


def ego_copies(layout: Layout, center: Tensor, hops: int) -> tuple[Tensor, Tensor]:
    """The vertices within ``hops`` steps of each center, as pairs (index of the center, vertex).

    Edges are followed in both directions, as in :mod:`osan.wl`.

    Examples
    --------
    >>> from torch_geometric.data import Data
    >>> from osan.bags.layout import layout_of
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> ego_copies(layout_of(path), torch.tensor([0, 1]), 1)
    (tensor([0, 0, 1, 1, 1]), tensor([0, 1, 0, 1, 2]))
    """
    check_size("hops", hops)
    return balls(layout.ends, layout.num_vertices, center, hops)


def neighbors(edge_index: Tensor, num_vertices: int) -> tuple[Tensor, Tensor, Tensor]:
    """For each vertex the start and number of its neighbors, then the list of neighbors.

    Two vertices are neighbors if an edge joins them in either direction; each is listed once, in order.

    Examples
    --------
    >>> neighbors(torch.tensor([[0, 0, 2], [1, 1, 1]]), 3)
    (tensor([0, 1, 3]), tensor([1, 2, 1]), tensor([1, 0, 2, 1]))
    """
    size = max(num_vertices, 1)
    source, target = torch.cat((edge_index, edge_index.flip(0)), dim=1)
    pairs = torch.unique(source * size + target)
    counts = torch.bincount(pairs // size, minlength=num_vertices)
    return starts(counts), counts, pairs % size


def balls(edge_index: Tensor, num_vertices: int, center: Tensor, hops: int) -> tuple[Tensor, Tensor]:
    """The result of :func:`ego_copies`, from edges in any order."""
    size = max(num_vertices, 1)
    begin, counts, adjacent = neighbors(edge_index, num_vertices)
    reached = torch.arange(center.numel(), device=center.device) * size + center
    frontier = reached
    for _ in range(hops):
        vertex = frontier % size
        position, owner = ragged(begin[vertex], counts[vertex])
        neighbor = (frontier - vertex)[owner] + adjacent[position]
        before = reached
        reached = torch.unique(torch.cat((before, neighbor)))
        if reached.numel() == before.numel():
            break
        # `before` is sorted, so one look-up per pair finds the new ones.
        found = torch.searchsorted(before, reached).clamp_(max=before.numel() - 1)
        frontier = reached[before[found] != reached]
    return reached // size, reached % size
