"""A policy posed on a batch: the solver z*(theta) for all graphs and all channels at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.selection.cover import cover
from osan.selection.ego import Balls, balls_of, ego
from osan.selection.ground import GroundSet, undirected_edges, vertices
from osan.selection.policy import Policy
from osan.selection.topk import ranks, top
from osan.selection.tree import spanning_forest


@dataclass(frozen=True)
class Problem:
    r"""Find :math:`z^*(\theta) = \arg\max_{z \in Z} \langle z, \theta \rangle` on every graph of a batch.

    Parameters
    ----------
    policy
        Which choices Z holds.
    ground
        The elements that are chosen from.
    keep
        How many elements of each graph a choice holds, shape ``[graphs]`` (vertex and edge policies).
    balls
        The ego-nets (ego policies).
    ends
        End vertices of each element, shape ``[2, elements]`` (trees).
    num_vertices
        Number of vertices of the batch (trees).
    """

    policy: Policy
    ground: GroundSet
    keep: Tensor
    balls: Balls | None = None
    ends: Tensor | None = None
    num_vertices: int = 0

    def solve(self, weights: Tensor, tie: Tensor) -> Tensor:
        """The best choice for weights of shape ``[elements, m]``.

        Equal weights are put in the order of ``tie``, random numbers of the same shape, so that sizes are
        exact and the answer does not depend on the numbering.

        Returns
        -------
        Tensor
            Float choice of shape ``[elements, m]``: 0 for what is not part of the subgraph, otherwise 1, or
            K + 1 - r for rank r among K.
        """
        policy, ground = self.policy, self.ground
        weights = weights.detach()
        if policy.cover:
            return cover(weights, tie, ground, self.keep)
        if self.balls is not None:
            return ego(weights, tie, ground, self.balls, delete=policy.operation == "delete", by=policy.by)
        if self.ends is not None:
            return spanning_forest(weights, tie, self.ends, self.num_vertices)
        return top(ranks(weights, tie, ground), self.keep[ground.graph], policy.ordered).to(weights.dtype)


@torch.compiler.disable  # sizes depend on values: nothing to compile
def pose(policy: Policy, batch: Data) -> Problem:
    """Pose a policy on a batch.

    A vertex policy that would delete all vertices of a graph keeps one, one that would select more than there
    are keeps all; edges may all be deleted. A graph without edges has an empty edge choice.

    Examples
    --------
    >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> problem = pose(Policy.parse("delete 1 vertex ordered"), path)
    >>> problem.solve(torch.tensor([[0.3], [0.1], [0.5]]), torch.zeros(3, 1)).T
    tensor([[1., 0., 2.]])
    """
    ground = undirected_edges(batch) if policy.weighs_edges else vertices(batch)
    least = 0 if policy.weighs_edges else 1
    if policy.operation == "delete":
        keep = torch.minimum((ground.sizes - policy.size).clamp(min=least), ground.sizes)
    else:
        keep = ground.sizes.clamp(max=policy.size)
    if policy.what == "ego":
        return Problem(policy, ground, keep, balls=balls_of(batch.edge_index, batch.num_nodes, policy.size))
    if policy.what == "tree":
        ends = ground.pick(batch.edge_index.sort(dim=0).values)
        return Problem(policy, ground, keep, ends=ends, num_vertices=batch.num_nodes)
    return Problem(policy, ground, keep)
