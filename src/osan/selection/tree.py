"""Maximum spanning trees, or forests, of all graphs and channels in one sparse call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags import SubgraphBag, from_choice, maximum_spanning_forest
from osan.selection.problem import Problem
from osan.words import Agg, Deleted, Operation, What

if TYPE_CHECKING:
    from osan.selection.policy import Policy


@dataclass(frozen=True)
class TreeProblem(Problem):
    """Choose a maximum spanning tree, or a forest if the graph is not connected.

    Parameters
    ----------
    policy, ground
        See :class:`~osan.selection.problem.Problem`.
    ends
        End vertices of each edge, shape ``[2, elements]``.
    num_vertices
        Number of vertices of the batch.
    """

    ends: Tensor
    num_vertices: int

    noun: ClassVar[str] = "tree"
    plural: ClassVar[str] = "trees"
    sized: ClassVar[bool] = False
    bare: ClassVar[bool] = True
    operations: ClassVar[tuple[Operation, ...]] = ("select",)
    weighs: ClassVar[What] = "edge"
    masks: ClassVar[bool] = True

    @classmethod
    def of(cls, policy: Policy, batch: Data) -> Problem:
        """The problem that a policy poses on a batch."""
        ground = cls.ground_of(batch)
        return cls(policy, ground, ground.pick(batch.edge_index.sort(dim=0).values), batch.num_nodes)

    def solve(self, weights: Tensor, tie: Tensor) -> Tensor:
        """The heaviest forest; see :meth:`Problem.solve`."""
        return spanning_forest(weights, tie, self.ends, self.num_vertices)

    def bag(
        self,
        batch: Data,
        choice: Tensor,
        *,
        deleted: Deleted = "masked",
        whole_graph: bool = False,
        agg: Agg = "mean",
        columns: tuple[Tensor, Tensor] | None = None,
    ) -> SubgraphBag:
        """The bag of a choice: the other edges are deleted, since a tree spans the graph."""
        return from_choice(
            batch,
            choice,
            what="edge",
            operation="delete",
            deleted=deleted,
            whole_graph=whole_graph,
            agg=agg,
            symmetric=True,
            columns=columns,
        )


def spanning_forest(weights: Tensor, tie: Tensor, ends: Tensor, num_vertices: int) -> Tensor:
    """The edges of a maximum spanning forest, for each channel; self-loops are never part of one.

    Every channel gets its own copy of the vertices, so that one call solves all. Edges are passed in random
    order, since the solver prefers the first one of equal weight.

    Parameters
    ----------
    weights, tie
        Shape ``[edges, m]``; ``tie`` orders equal weights.
    ends
        End vertices of each undirected edge, shape ``[2, edges]``.
    num_vertices
        Number of vertices of the batch.

    Returns
    -------
    Tensor
        0 or 1, shape ``[edges, m]``.

    Examples
    --------
    >>> triangle = torch.tensor([[0, 0, 1], [1, 2, 2]])
    >>> spanning_forest(torch.tensor([[0.1], [0.2], [0.3]]), torch.zeros(3, 1), triangle, 3).T
    tensor([[0., 1., 1.]])
    """
    channels = weights.size(1)
    order = torch.argsort(tie.flatten())
    edge, channel = order // channels, order % channels
    source, target = ends[:, edge] + channel * num_vertices
    chosen = maximum_spanning_forest(source, target, weights.flatten()[order], num_vertices * channels)
    forest = torch.zeros(weights.numel(), dtype=weights.dtype, device=weights.device)
    return forest.scatter(0, order, chosen.to(weights.dtype)).view_as(weights)
