"""Ego-nets: all vertices within some hops of a center, chosen by their weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags import SubgraphBag, all_egos
from osan.bags.enumerate import balls
from osan.selection.ground import GroundSet
from osan.selection.problem import Problem
from osan.selection.topk import ranks
from osan.words import Deleted, Operation

if TYPE_CHECKING:
    from osan.selection.policy import Policy

EgoWeight = Literal["mean", "sum", "root"]


@dataclass(frozen=True)
class Balls:
    """The ball around every vertex, as pairs (center, member), each of shape ``[pairs]``."""

    center: Tensor
    member: Tensor


@dataclass(frozen=True)
class EgoProblem(Problem):
    """Select one ego-net, or delete one.

    Parameters
    ----------
    policy, ground
        See :class:`~osan.selection.problem.Problem`.
    balls
        The ego-net of every vertex.
    """

    balls: Balls

    noun: ClassVar[str] = "ego"
    plural: ClassVar[str] = "ego"
    hyphen: ClassVar[bool] = True
    operations: ClassVar[tuple[Operation, ...]] = ("delete", "select")
    by: ClassVar[tuple[str, ...]] = ("mean", "sum", "root")

    @classmethod
    def of(cls, policy: Policy, batch: Data) -> Problem:
        """The problem that a policy poses on a batch."""
        return cls(policy, cls.ground_of(batch), balls_of(batch.edge_index, batch.num_nodes, policy.size))

    def solve(self, weights: Tensor, tie: Tensor) -> Tensor:
        """The vertices that are part of the subgraph; see :meth:`Problem.solve`."""
        delete = self.policy.operation == "delete"
        return ego(weights, tie, self.ground, self.balls, delete=delete, by=self.policy.by)

    @classmethod
    def every(
        cls, policy: Policy, batch: Data, *, deleted: Deleted = "masked", whole_graph: bool = False
    ) -> SubgraphBag:
        """The bag of the ego-nets of all vertices."""
        return all_egos(
            batch, policy.size, operation=policy.operation, deleted=deleted, whole_graph=whole_graph
        )


def balls_of(edge_index: Tensor, num_vertices: int, radius: int) -> Balls:
    """All pairs of vertices at distance of at most ``radius``.

    Examples
    --------
    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> pairs = balls_of(path, 3, radius=1)
    >>> list(zip(pairs.center.tolist(), pairs.member.tolist()))
    [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)]
    """
    every = torch.arange(num_vertices, device=edge_index.device)
    return Balls(*balls(edge_index, num_vertices, every, radius))


def ego_weights(weights: Tensor, nets: Balls, by: str) -> Tensor:
    """Weight of the ego-net of every vertex, shape ``[vertices, m]``.

    With ``"sum"`` the best ego-net is the most probable choice of the paper's p(z; theta). ``"mean"``, the
    default, does not favor large ones. ``"root"`` looks at the center only.
    """
    if by == "root":
        return weights
    total = torch.zeros_like(weights).index_add(0, nets.center, weights[nets.member])
    return total if by == "sum" else total / _sizes(nets, weights.size(0)).unsqueeze(1)


def ego(weights: Tensor, tie: Tensor, ground: GroundSet, nets: Balls, *, delete: bool, by: str) -> Tensor:
    """Keep the ego-net of the largest weight, or all but the one of the smallest weight.

    An ego-net that is the whole graph is never deleted. If all of them are, nothing is deleted.
    """
    value = ego_weights(weights, nets, by)
    if delete:
        proper = _sizes(nets, weights.size(0)) < ground.sizes[ground.graph]
        value = torch.where(proper.unsqueeze(1), -value, -torch.inf)
    center = ranks(value, tie, ground) == 0
    if delete:
        center = center & proper.unsqueeze(1)
    inside = torch.zeros_like(weights).index_add(0, nets.member, center[nets.center].to(weights.dtype))
    return 1 - inside if delete else inside


def _sizes(nets: Balls, num_vertices: int) -> Tensor:
    ones = torch.ones_like(nets.center)
    return ones.new_zeros(num_vertices).index_add(0, nets.center, ones)
