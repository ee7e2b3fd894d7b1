"""Choices that together cover every vertex: an exact transportation problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.compiled import njit
from osan.selection.ground import GroundSet
from osan.selection.problem import Problem
from osan.selection.topk import kept, ranks, top
from osan.words import Operation

if TYPE_CHECKING:
    from osan.selection.policy import Policy

Integers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]

_FAR = np.int64(1) << 62


@dataclass(frozen=True)
class CoverProblem(Problem):
    """Choose m sets of vertices jointly, so that every vertex is part of at least one subgraph.

    Parameters
    ----------
    policy, ground
        See :class:`~osan.selection.problem.Problem`.
    keep
        How many vertices of each graph a choice holds, shape ``[graphs]``.
    """

    keep: Tensor

    noun: ClassVar[str] = "vertex"
    plural: ClassVar[str] = "vertices"
    operations: ClassVar[tuple[Operation, ...]] = ("delete", "select")

    @classmethod
    def of(cls, policy: Policy, batch: Data) -> Problem:
        """The problem that a policy poses on a batch."""
        ground = cls.ground_of(batch)
        return cls(policy, ground, kept(policy, ground, least=1))

    def solve(self, weights: Tensor, tie: Tensor) -> Tensor:
        """The best sets that cover; see :meth:`Problem.solve`."""
        return cover(weights, tie, self.ground, self.keep)


def cover(weights: Tensor, tie: Tensor, ground: GroundSet, keep: Tensor) -> Tensor:
    r"""Maximize the total weight of the m choices while as many vertices as possible are part of one.

    .. math:: \max \sum_{ij} \theta_{ij} z_{ij}, \quad \sum_j z_{ij} = K, \quad \sum_i z_{ij} \ge 1

    over 0/1 matrices z. If m K < n, the last condition becomes :math:`\sum_i z_{ij} \le 1`: as many vertices
    as possible are covered. The paper solves it as an integer program (appendix, "For vertices, we solve an
    Integer Linear Programming problem"). It is a flow from channels to vertices in which the first unit into
    a vertex earns a bonus. Without the bonus the top K of each channel are optimal. Granting the bonus to one
    uncovered vertex after the other changes the optimum by at most one shortest augmenting path (the
    successive-shortest-path argument), so the result is exact. Paths have at most m channels. Weights are
    rounded to multiples of :math:`2^{-40}` of the largest magnitude, so the search itself has no rounding.

    Parameters
    ----------
    weights, tie
        Shape ``[vertices, m]``; ``tie`` orders equal weights.
    ground
        The graph of each vertex.
    keep
        Vertices per choice of each graph, shape ``[graphs]``.

    Examples
    --------
    >>> ground = GroundSet(torch.tensor([0, 0, 0]), torch.arange(3), torch.tensor([3]))
    >>> weights = torch.tensor([[0.9, 0.9], [0.8, 0.5], [0.1, 0.2]])
    >>> cover(weights, torch.zeros(3, 2), ground, torch.tensor([2]))
    tensor([[1., 1.],
            [1., 0.],
            [0., 1.]])
    """
    chosen = top(ranks(weights, tie, ground), keep[ground.graph], ordered=False).bool()
    exact = weights.detach().cpu().double().numpy()
    largest = np.abs(exact).max(initial=0.0)
    whole = np.rint(exact / largest * 2.0**40).astype(np.int64) if largest > 0 else exact.astype(np.int64)
    pointer = np.concatenate([[0], np.cumsum(ground.sizes.cpu().numpy())])
    result = np.ascontiguousarray(chosen.cpu().numpy())
    # Search in a random order of the vertices, so that ties do not depend on their numbering.
    order = np.lexsort((tie[:, 0].cpu().numpy(), ground.graph.cpu().numpy()))
    shuffled = result[order]
    _repair(np.ascontiguousarray(whole[order]), shuffled, pointer)
    result[order] = shuffled
    return torch.from_numpy(result).to(weights)


@njit(cache=True)  # pragma: no cover - compiled
def _repair(weights: Integers, chosen: Bits, pointer: Integers) -> None:
    """Cover the uncovered vertices of each graph, one shortest augmenting path at a time."""
    for graph in range(pointer.size - 1):
        w = weights[pointer[graph] : pointer[graph + 1]]
        z = chosen[pointer[graph] : pointer[graph + 1]]
        times = np.zeros(w.shape[0], dtype=np.int64)
        for vertex in range(w.shape[0]):
            times[vertex] = z[vertex].sum()
        for new in np.flatnonzero(times == 0):
            # To give up a vertex that is covered twice raises the coverage: take any such path. To give up
            # one that is covered once does not: take only a path that gains weight.
            for spare in (True, False):  # compiled once; for each of two literals it would be compiled anew
                if _augment(w, z, times, new, spare):
                    break


@njit(cache=True)  # pragma: no cover - compiled
def _augment(w: Integers, z: Bits, times: Integers, new: int, spare: bool) -> bool:
    """Put ``new`` into a channel, along the path of channels that costs least.

    A path starts by taking a vertex out of a channel (one that is covered at least twice if ``spare``,
    exactly once otherwise), moves vertices from channel to channel, and ends by putting in ``new``.
    """
    n, m = w.shape
    cost = np.full(m, _FAR, dtype=np.int64)  # least cost of a path after which the channel lacks one vertex
    given = np.full(m, -1, dtype=np.int64)  # the vertex that the channel gives away
    before = np.full(m, -1, dtype=np.int64)  # the channel that gets it, -1 for none
    for vertex in range(n):
        if times[vertex] >= 2 if spare else times[vertex] == 1:
            for channel in range(m):
                if z[vertex, channel] and w[vertex, channel] < cost[channel]:
                    cost[channel] = w[vertex, channel]
                    given[channel] = vertex
    step = np.full((m, m), _FAR, dtype=np.int64)
    moved = np.full((m, m), -1, dtype=np.int64)
    for vertex in range(n):
        for taker in range(m):
            if not z[vertex, taker]:
                for giver in range(m):
                    change = w[vertex, giver] - w[vertex, taker]
                    if z[vertex, giver] and change < step[taker, giver]:
                        step[taker, giver] = change
                        moved[taker, giver] = vertex
    for _ in range(m - 1):  # Bellman and Ford; there are no cycles of negative cost
        changed = False
        for taker in range(m):
            if cost[taker] < _FAR:
                for giver in range(m):
                    if moved[taker, giver] >= 0 and cost[taker] + step[taker, giver] < cost[giver]:
                        cost[giver] = cost[taker] + step[taker, giver]
                        given[giver] = moved[taker, giver]
                        before[giver] = taker
                        changed = True
        if not changed:
            break
    last = -1
    for channel in range(m):
        if cost[channel] < _FAR and (last < 0 or cost[channel] - w[new, channel] < cost[last] - w[new, last]):
            last = channel
    if last < 0 or (not spare and cost[last] - w[new, last] >= 0):
        return False
    vertex, channel = int(new), last
    times[new] += 1
    while channel >= 0:
        z[vertex, channel] = True
        vertex, channel = int(given[channel]), _leave(z, given, before, channel)
    times[vertex] -= 1
    return True


@njit(cache=True)  # pragma: no cover - compiled
def _leave(z: Bits, given: Integers, before: Integers, channel: int) -> int:
    z[given[channel], channel] = False
    return int(before[channel])
