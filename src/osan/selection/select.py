"""Selection: a policy, an estimator and a noise, ready to turn weights into choices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from osan.errors import OsanError
from osan.selection.estimator import Draw, Estimator
from osan.selection.imle import IMLE
from osan.selection.noise import Noise
from osan.selection.policy import Policy
from osan.selection.problem import Problem, pose
from osan.selection.randomness import Randomness
from osan.selection.relaxed import SIMPLE, ScoreFunction, StraightThrough

Pose = Callable[[Policy, Data], Problem]


@dataclass(frozen=True)
class Selected:
    """The subgraphs that were chosen.

    Parameters
    ----------
    choice
        Shape ``[vertices, m]``, or ``[edges, m]`` aligned with ``edge_index``; non-zero for what is part of
        the i-th subgraph, and K + 1 - r for rank r among K in the ordered case.
    problem
        What the choice solves.
    log_prob
        Log-probability of each choice, shape ``[graphs, m]``, where the estimator uses it.
    """

    choice: Tensor
    problem: Problem
    log_prob: Tensor | None = None


class Selection(nn.Module):
    """Draw choices for weights, with gradients (paper, section "Data-driven Subgraph-enhanced GNNs").

    Parameters
    ----------
    policy
        A :class:`~osan.selection.policy.Policy` or its text.
    estimator
        Says what gradient the weights get; the paper's :class:`~osan.selection.imle.IMLE` by default.
    noise
        Perturbs the weights; Gumbel(0, 1) by default.
    pose
        How the policy is posed on a batch, for a policy of your own: from a policy and a batch to a
        :class:`~osan.selection.Problem`; :func:`osan.selection.pose` by default. The policy then says what is
        weighed, what is done with it and how many subgraphs there are. For estimators that need nothing but
        a solver (I-MLE, adaptive I-MLE, ``Random``, your own).

    Examples
    --------
    >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> select = Selection("select 2 vertices", noise=Noise("none"))
    >>> select(path, torch.tensor([[0.3], [0.1], [0.5]])).choice.T
    tensor([[1., 0., 1.]])
    """

    def __init__(
        self,
        policy: Policy | str,
        estimator: Estimator | None = None,
        noise: Noise | None = None,
        pose: Pose | None = None,
    ) -> None:
        super().__init__()
        self.policy = Policy.parse(policy) if isinstance(policy, str) else policy
        if not isinstance(estimator, Estimator | None):
            raise OsanError(f"estimator: expected an Estimator such as SIMPLE(), not {estimator!r}")
        if not isinstance(noise, Noise | None):
            raise OsanError(f"noise: expected a Noise such as Noise('gaussian'), not {noise!r}")
        self.estimator = IMLE() if estimator is None else estimator
        self.noise = Noise() if noise is None else noise
        self.own_pose = pose
        if pose is not None and isinstance(estimator, SIMPLE | StraightThrough | ScoreFunction):
            raise OsanError(
                f"pose: {type(estimator).__name__} is for subsets of a given size, not for choices of your "
                "own; use IMLE, which needs a solver only"
            )
        if pose is not None and self.policy.count == "all":
            raise OsanError(
                "pose: with a policy 'x all' nothing is chosen; say how many subgraphs, as in 'x 3'"
            )

    def pose(self, batch: Data) -> Problem:
        """The policy posed on a batch."""
        if self.own_pose is None:
            return pose(self.policy, batch)
        problem = self.own_pose(self.policy, batch)
        if not isinstance(problem, Problem):
            raise OsanError(
                "pose: expected a function from a policy and a batch to a Problem, but it gave "
                f"{type(problem).__name__}"
            )
        return problem

    @torch.compiler.disable  # sizes depend on values: nothing to compile
    def forward(
        self,
        batch: Data,
        weights: Tensor,
        randomness: Randomness | None = None,
        noise: Noise | None = None,
        problem: Problem | None = None,
    ) -> Selected:
        """Choose m subgraphs of every graph.

        Parameters
        ----------
        batch
            The graphs.
        weights
            Shape ``[vertices, m]``, or ``[edges, m]`` aligned with ``edge_index`` (the two directions of an
            edge count by their mean).
        randomness
            Fresh for every call by default.
        noise
            Another noise than that of training, for evaluation.
        problem
            The policy posed on the batch, where it is at hand from an earlier call.
        """
        problem = self.pose(batch) if problem is None else problem
        rows = problem.ground.num_rows
        if weights.dim() != 2 or weights.size(0) != rows or weights.size(1) < 1:
            kind = "edges" if self.policy.weighs_edges else "vertices"
            raise OsanError(
                f"weights: expected shape [{rows}, m] for {rows} {kind} and m of at least 1 subgraphs, "
                f"not {list(weights.shape)}"
            )
        noise = self.noise if noise is None else noise
        self.estimator.check(problem, noise)
        randomness = Randomness.of(batch) if randomness is None else randomness
        scaled = problem.ground.gather(weights) / noise.temperature
        draw = self.estimator(problem, scaled, noise, randomness)
        if not isinstance(draw, Draw) or draw.choice.shape != scaled.shape:
            given = (
                f"a choice of shape {list(draw.choice.shape)}"
                if isinstance(draw, Draw)
                else type(draw).__name__
            )
            raise OsanError(
                f"estimator: {type(self.estimator).__name__} must give Draw(choice) with a choice of shape "
                f"{list(scaled.shape)}, [elements, m], not {given}"
            )
        return Selected(problem.ground.spread(draw.choice), problem, draw.log_prob)

    def extra_repr(self) -> str:
        return f"policy={str(self.policy)!r}, noise={self.noise}"
