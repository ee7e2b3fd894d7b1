"""Selection: a policy, an estimator and a noise that turn weights into choices."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from osan.errors import OsanError
from osan.selection.estimator import Draw, Estimator
from osan.selection.estimators import make_estimator
from osan.selection.kinds import problem_for
from osan.selection.noise import Distribution, Noise, make_noise
from osan.selection.policy import Policy
from osan.selection.problem import Problem
from osan.selection.randomness import Randomness


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
        Log-probability of each choice, shape ``[graphs, m]``, if the estimator uses it.
    """

    choice: Tensor
    problem: Problem
    log_prob: Tensor | None = None


class Selection(nn.Module):
    r"""Draw choices for weights, with gradients (paper, section "Data-driven Subgraph-enhanced GNNs").

    .. math:: z = z^*(\theta / \tau + s \epsilon), \quad \epsilon \sim \rho

    Parameters
    ----------
    policy
        A :class:`~osan.selection.policy.Policy` or its text.
    estimator
        Defines the gradient of the weights: an :class:`~osan.selection.estimator.Estimator`, a name in
        ``ESTIMATORS`` or ``"module:name"``; the paper's :class:`~osan.selection.imle.IMLE` by default.
    noise
        Perturbs the weights: a :class:`~osan.selection.noise.Noise`, a name in ``NOISES``, a function or
        ``"module:name"``; Gumbel(0, 1) by default.
    temperature
        The divisor :math:`\tau` of the weights.

    Examples
    --------
    >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> select = Selection("select 2 vertices", noise="none")
    >>> select(path, torch.tensor([[0.3], [0.1], [0.5]])).choice.T
    tensor([[1., 0., 1.]])
    """

    def __init__(
        self,
        policy: Policy | str,
        estimator: Estimator | type[Estimator] | str | None = None,
        noise: Noise | Distribution | str | None = None,
        *,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        self.policy = Policy.parse(policy) if isinstance(policy, str) else policy
        self.estimator = make_estimator(estimator)
        self.noise = make_noise(noise)
        if not temperature > 0:
            raise OsanError(f"temperature: expected a number above 0, got {temperature!r}")
        self.temperature = temperature

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
            Shape ``[vertices, m]``, or ``[edges, m]`` aligned with ``edge_index`` (an edge has the mean
            weight of its two directions). Minus infinity masks an element: it is chosen only if there are too
            few others. Subsets and trees allow it; see also ``Estimator.masks``.
        randomness
            Fresh for every call by default.
        noise
            Another noise than that of training, for evaluation.
        problem
            What :func:`~osan.selection.problem_for` gives for the batch, if it is known from an earlier call.

        Raises
        ------
        OsanError
            If the shape is wrong, or a weight is NaN or infinite; the message has the graph's position in
            the batch.
        """
        problem = problem_for(self.policy, batch) if problem is None else problem
        rows = problem.ground.num_rows
        if weights.dim() != 2 or weights.size(0) != rows or weights.size(1) < 1:
            kind = "edges" if problem.weighs == "edge" else "vertices"
            raise OsanError(
                f"weights: expected shape [{rows}, m] for {rows} {kind} and m of at least 1 subgraphs, "
                f"got {list(weights.shape)}"
            )
        noise = self.noise if noise is None else noise
        self.estimator.check(problem, noise)
        randomness = Randomness.of(batch) if randomness is None else randomness
        scaled = problem.ground.gather(weights) / self.temperature
        self._check_finite(scaled.detach(), problem)
        draw = self.estimator(problem, scaled, noise, randomness)
        if not isinstance(draw, Draw) or draw.choice.shape != scaled.shape:
            self._check_solver(problem, scaled.detach())
            given = (
                f"a choice of shape {list(draw.choice.shape)}"
                if isinstance(draw, Draw)
                else type(draw).__name__
            )
            raise OsanError(
                f"estimator: expected {type(self.estimator).__name__} to return Draw(choice) with a choice "
                f"of shape {list(scaled.shape)}, [elements, m], got {given}"
            )
        return Selected(problem.ground.spread(draw.choice), problem, draw.log_prob)

    def _check_solver(self, problem: Problem, weights: Tensor) -> None:
        """Name the policy if its solver is what fails, rather than the estimator that calls it."""
        choice = problem.solve(weights, torch.zeros_like(weights))
        if not isinstance(choice, Tensor) or choice.shape != weights.shape:
            given = f"shape {list(choice.shape)}" if isinstance(choice, Tensor) else type(choice).__name__
            raise OsanError(
                f"policy: expected {type(problem).__name__}.solve to return shape {list(weights.shape)}, "
                f"[elements, m], got {given}"
            )

    def _check_finite(self, weights: Tensor, problem: Problem) -> None:
        """Refuse weights that would make the choice random without a word."""
        if bool(weights.isfinite().all()):  # the only value that is read back from the device
            return
        masks = problem.masks and self.estimator.masks
        wrong = ~weights.isfinite() & ~(weights.isneginf() & masks)
        if not bool(wrong.any()):
            return
        row, column = wrong.nonzero()[0].tolist()
        value, graph = weights[row, column].item(), int(problem.ground.graph[row])
        reason = ""
        if value == -torch.inf:
            reason = (
                f"; {type(self.estimator).__name__} with policy {str(self.policy)!r} cannot mask elements, "
                "use IMLE and a policy of vertices, edges or trees"
            )
        raise OsanError(
            f"weights: expected finite numbers, got {value:g} in graph {graph} of the batch, subgraph "
            f"{column}{reason}"
        )

    def extra_repr(self) -> str:
        return f"policy={str(self.policy)!r}, noise={self.noise}, temperature={self.temperature:g}"
