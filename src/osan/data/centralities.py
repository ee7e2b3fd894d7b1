r"""Centralities: one number for each vertex that says how important its place in the graph is.

- ``centrality``: subgraph centrality, :math:`\sum_{k=1}^{16} (A^k)_{vv} / k!`
  (:func:`osan.data.encodings.centrality`).
- ``degree``: the number of neighbors.
- ``pagerank``: the share of time that a random surfer spends at the vertex (Brin and Page 1998).
- ``core``: the largest k such that the vertex is in a subgraph of smallest degree k (Seidman 1983).

All graphs are treated together, without a loop over graphs or vertices.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from osan.data.encodings import centrality
from osan.errors import OsanError
from osan.parts import resolve


def degree(edge_index: Tensor, ptr: Tensor) -> Tensor:
    """The number of arcs to each vertex, float64 of shape ``[vertices]``.

    >>> degree(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.tensor([0, 3]))
    tensor([1., 2., 1.], dtype=torch.float64)
    """
    return torch.bincount(edge_index[1], minlength=int(ptr[-1])).double()


def pagerank(edge_index: Tensor, ptr: Tensor, damping: float = 0.85, steps: int = 200) -> Tensor:
    r"""PageRank by power iteration, float64 of shape ``[vertices]``; the values of a graph sum to 1.

    .. math:: p_v = \frac{1 - d}{n} + d \Bigl(\sum_{u \to v} \frac{p_u}{\deg u}
              + \sum_{u: \deg u = 0} \frac{p_u}{n}\Bigr)

    Values are rounded to ten digits, so that vertices that look alike have equal values.

    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> [round(value, 4) for value in pagerank(path, torch.tensor([0, 3])).tolist()]
    [0.2568, 0.4865, 0.2568]
    """
    sizes = ptr.diff()
    graph = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    n = sizes.double()[graph]
    out_degree = torch.bincount(edge_index[0], minlength=int(ptr[-1])).double()
    share = torch.where(out_degree > 0, 1 / out_degree.clamp(min=1), 0.0)
    rank = 1 / n
    for _ in range(steps):
        passed = (rank * share)[edge_index[0]]
        stuck = torch.where(out_degree > 0, 0.0, rank)
        lost = rank.new_zeros(len(sizes)).index_add(0, graph, stuck)[graph]
        received = torch.zeros_like(rank).index_add(0, edge_index[1], passed)
        before, rank = rank, (1 - damping) / n + damping * (lost / n + received)
        if not bool(((rank - before).abs() > 1e-13).any()):
            break
    return rank.mul(1e10).round().div(1e10)


def core(edge_index: Tensor, ptr: Tensor) -> Tensor:
    """Core numbers, float64 of shape ``[vertices]``; self-loops do not count.

    Vertices of degree at most k are removed until none is left, for k = 0, 1, ...

    >>> triangle_with_tail = torch.tensor([[0, 1, 1, 2, 2, 0, 0, 3], [1, 0, 2, 1, 0, 2, 3, 0]])
    >>> core(triangle_with_tail, torch.tensor([0, 4])).tolist()
    [2.0, 2.0, 2.0, 1.0]
    """
    count = int(ptr[-1])
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    number = torch.zeros(count, dtype=torch.float64)
    present = torch.ones(count, dtype=torch.bool)
    k = 0
    while bool(present.any()):
        left = torch.bincount(edge_index[1], minlength=count)
        gone = present & (left <= k)
        if not bool(gone.any()):
            k = int(left[present].min())
            continue
        number[gone] = k
        present &= ~gone
        edge_index = edge_index[:, present[edge_index[0]] & present[edge_index[1]]]
    return number


Centrality = Callable[[Tensor, Tensor], Tensor]

#: The centralities by name: functions ``(edge_index, ptr) -> [vertices]``.
CENTRALITIES: dict[str, Centrality] = {
    "centrality": centrality,
    "degree": degree,
    "pagerank": pagerank,
    "core": core,
}


def score(edge_index: Tensor, ptr: Tensor, name: str) -> Tensor:
    """A centrality by its name or ``module:name``, float64 of shape ``[vertices]``, checked.

    >>> score(torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 3]), "degree").tolist()
    [1.0, 1.0, 0.0]
    """
    values: Tensor = resolve(name, CENTRALITIES, "selection.weigher")(edge_index, ptr)
    if values.shape != (int(ptr[-1]),) or not bool(values.isfinite().all()):
        raise OsanError(
            f"selection.weigher: expected one finite number per vertex from {name!r}, shape "
            f"[{int(ptr[-1])}], got shape {list(values.shape)}"
        )
    return values.double()
