"""How far each copy is from the marked vertices of its subgraph, with gradients for the marks."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.bags.enumerate import neighbors
from osan.bags.layout import edge_index_of, ragged
from osan.compiled import njit


@njit(nogil=True)
def _walk(begin, counts, adjacent, vertex, subgraph, num_vertices, given, out, most, back):  # type: ignore[no-untyped-def]
    """Search from every marked copy; add its mark to the column of each distance, or (``back``) gather it.

    Copies must be sorted by subgraph. Forward, ``given`` are marks and ``out`` columns; back, they are the
    gradients of the columns and those of the marks.
    """
    place = np.full(num_vertices, -1, np.int64)
    seen = np.full(num_vertices, -1, np.int64)
    queue = np.empty(num_vertices, np.int64)
    depth = np.empty(num_vertices, np.int64)
    start = 0
    while start < vertex.shape[0]:
        end = start
        while end < vertex.shape[0] and subgraph[end] == subgraph[start]:
            place[vertex[end]] = end
            end += 1
        for copy in range(start, end):
            if not back and given[copy, 0] == 0:
                continue
            head, tail = 0, 1
            queue[0], depth[0], seen[vertex[copy]] = vertex[copy], 0, copy
            while head < tail:
                v, d = queue[head], depth[head]
                head += 1
                row = place[v]
                if row >= 0:
                    if back:
                        out[copy, 0] += given[row, d]
                    else:
                        out[row, d] += given[copy, 0]
                if d == most:
                    continue
                for e in range(begin[v], begin[v] + counts[v]):
                    u = adjacent[e]
                    if seen[u] != copy:
                        seen[u] = copy
                        queue[tail], depth[tail] = u, d + 1
                        tail += 1
        for copy in range(start, end):
            place[vertex[copy]] = -1
        start = end


class _Columns(torch.autograd.Function):
    """The linear map from marks to columns; with ``back`` its transpose."""

    @staticmethod
    def forward(ctx: Any, given: Tensor, graph: tuple[Any, ...], most: int, back: bool) -> Tensor:
        ctx.graph, ctx.most, ctx.back = graph, most, back
        out = given.new_zeros(len(given), 1 if back else most + 1)
        _walk(*graph, given.detach().contiguous().numpy(), out.numpy(), most, back)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        found: Tensor = _Columns.apply(gradient, ctx.graph, ctx.most, not ctx.back)  # type: ignore[no-untyped-call]
        return found, None, None, None


def distance_columns(batch: Data, bag: SubgraphBag, mark: Tensor, most: int) -> Tensor:
    r"""How many marked vertices of its subgraph are at distance 0, 1, ..., ``most`` from each copy.

    .. math:: c_{(u,s),d} = \sum_{v \,:\, \mathrm{dist}_G(u, v) = d} m_{(v,s)}

    Distances are those of the graph, with edges followed in both directions. The columns are linear in the
    marks m, so each mark gets a gradient from all vertices near it, chosen or not. The time grows with the
    number of vertices within ``most`` steps of a marked vertex; where marks are learned, of any vertex.

    Parameters
    ----------
    batch, bag
        The batch, and a bag made from it.
    mark
        The mark of each copy, shape ``[copies]``.
    most
        The largest distance; what is farther from all marks has a row of zeros.

    Returns
    -------
    Tensor
        Shape ``[copies, most + 1]``.

    Examples
    --------
    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> bag = bags.from_choice(path, torch.tensor([[1.0], [0.0], [0.0]]), operation="mark")
    >>> distance_columns(path, bag, bag.mark, 1).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    begin, counts, adjacent = neighbors(edge_index_of(batch), bag.num_vertices)
    if mark.device.type != "cpu":
        return _composed(begin, counts, adjacent, bag, mark, most)
    order = None
    vertex, subgraph = bag.vertex, bag.subgraph
    if not bool((subgraph[1:] >= subgraph[:-1]).all()):
        order = torch.argsort(subgraph, stable=True)
        vertex, subgraph, mark = vertex[order], subgraph[order], mark[order]
    graph = (begin.numpy(), counts.numpy(), adjacent.numpy(), vertex.numpy(), subgraph.numpy())
    out: Tensor = _Columns.apply(mark[:, None], (*graph, bag.num_vertices), most, False)  # type: ignore[no-untyped-call]
    return out if order is None else torch.zeros_like(out).index_copy(0, order, out)


def _composed(
    begin: Tensor, counts: Tensor, adjacent: Tensor, bag: SubgraphBag, mark: Tensor, most: int
) -> Tensor:
    """The same by operations of torch, for other devices."""
    size = max(bag.num_vertices, 1)
    keys, order = (bag.subgraph * size + bag.vertex).sort()
    source = torch.arange(bag.num_copies, device=mark.device)
    if not mark.requires_grad:
        source = mark.nonzero().flatten()
    out = mark.new_zeros(bag.num_copies * (most + 1))
    reached = frontier = torch.arange(source.numel(), device=mark.device) * size + bag.vertex[source]
    for distance in range(most + 1):
        owner = torch.div(frontier, size, rounding_mode="floor")
        wanted = bag.subgraph[source[owner]] * size + frontier % size
        found = torch.searchsorted(keys, wanted).clamp_(max=max(len(keys) - 1, 0))
        there = keys[found] == wanted
        row, marked = order[found[there]], mark[source[owner[there]]]
        out = out.index_add(0, row * (most + 1) + distance, marked)
        vertex = frontier % size
        position, place = ragged(begin[vertex], counts[vertex])
        onward = torch.unique((frontier - vertex)[place] + adjacent[position])
        frontier = onward[~torch.isin(onward, reached)]
        reached = torch.cat((reached, frontier))
    return out.view(bag.num_copies, most + 1)
