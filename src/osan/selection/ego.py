"""Ego-nets: all vertices within some hops of a centre, chosen by their weight."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from osan.selection.ground import GroundSet
from osan.selection.policy import EgoWeight
from osan.selection.topk import ranks


@dataclass(frozen=True)
class Balls:
    """The ball around every vertex, as pairs (centre, member), each of shape ``[pairs]``."""

    centre: Tensor
    member: Tensor


def balls(edge_index: Tensor, num_vertices: int, radius: int) -> Balls:
    """All pairs of vertices at distance of at most ``radius``, by breadth-first search from all at once.

    Examples
    --------
    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> ball = balls(path, 3, radius=1)
    >>> list(zip(ball.centre.tolist(), ball.member.tolist()))
    [(0, 0), (1, 1), (2, 2), (0, 1), (1, 0), (1, 2), (2, 1)]
    """
    source, target = edge_index
    neighbour = target[torch.argsort(source, stable=True)]
    degree = torch.zeros(num_vertices, dtype=torch.long, device=source.device)
    degree = degree.index_add(0, source, torch.ones_like(source))
    start = degree.cumsum(0) - degree
    frontier = torch.arange(num_vertices, device=source.device) * (num_vertices + 1)
    seen = frontier
    for _ in range(radius):
        centre, vertex = frontier // num_vertices, frontier % num_vertices
        out = degree[vertex]
        origin = torch.repeat_interleave(out)
        within = torch.arange(origin.numel(), device=source.device) - (out.cumsum(0) - out)[origin]
        reached = torch.unique(centre[origin] * num_vertices + neighbour[start[vertex][origin] + within])
        frontier = reached[~torch.isin(reached, seen)]
        seen = torch.cat([seen, frontier])
    return Balls(seen // num_vertices, seen % num_vertices)


def ego_weights(weights: Tensor, balls: Balls, by: EgoWeight) -> Tensor:
    """Weight of the ego-net of every vertex, shape ``[vertices, m]``.

    With ``"sum"`` the best ego-net is the most probable choice of the paper's p(z; theta); ``"mean"``, the
    default, does not favour large ones; ``"root"`` ignores all but the centre.
    """
    if by == "root":
        return weights
    total = torch.zeros_like(weights).index_add(0, balls.centre, weights[balls.member])
    return total if by == "sum" else total / _sizes(balls, weights.size(0)).unsqueeze(1)


def ego(
    weights: Tensor, tie: Tensor, ground: GroundSet, balls: Balls, *, delete: bool, by: EgoWeight
) -> Tensor:
    """Keep the ego-net of the largest weight, or all but the one of the smallest weight.

    An ego-net that is the whole graph is never deleted; where all of them are, nothing is.
    """
    value = ego_weights(weights, balls, by)
    if delete:
        proper = _sizes(balls, weights.size(0)) < ground.sizes[ground.graph]
        value = torch.where(proper.unsqueeze(1), -value, -torch.inf)
    centre = ranks(value, tie, ground) == 0
    if delete:
        centre = centre & proper.unsqueeze(1)
    inside = torch.zeros_like(weights).index_add(0, balls.member, centre[balls.centre].to(weights.dtype))
    return 1 - inside if delete else inside


def _sizes(balls: Balls, num_vertices: int) -> Tensor:
    ones = torch.ones_like(balls.centre)
    return ones.new_zeros(num_vertices).index_add(0, balls.centre, ones)
