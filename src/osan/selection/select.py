"""Selection: a policy, an estimator and a noise that turn weights into choices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

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
from osan.selection.sequence import draw_among, draw_in_sequence, unbarred
from osan.selection.topk import SubsetProblem

# From what was selected, marked or deleted so far, shape [rows, t], to the weights of the next draw, shape
# [rows, 1].
Weigh = Callable[[Tensor], Tensor]


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
        Log-probability of each choice (given the earlier ones, if they are drawn in sequence), shape
        ``[graphs, m]``, if the estimator uses it.
    weights
        The weights of the draws: one tensor for all, or one of shape ``[rows, 1]`` for each draw in turn.
    """

    choice: Tensor
    problem: Problem
    log_prob: Tensor | None = None
    weights: tuple[Tensor, ...] = ()

    @property
    def touched(self) -> Tensor:
        """The sets to compare between samples, as 0 and 1: one column per subgraph.

        Subgraphs that are drawn in sequence give one column for all: what any of them selects, marks or
        deletes.
        """
        chosen = self.choice.detach() != 0
        if self.problem.policy.in_sequence:
            part = ~chosen if self.problem.policy.operation == "delete" else chosen
            chosen = part.any(dim=1, keepdim=True)
        return chosen.to(self.choice.dtype)


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
    bar
        The share of the elements of each graph, at least 0 and below 1, that cannot be selected, marked or
        deleted in a training step. They are drawn anew in every step and are the same for all subgraphs of a
        graph. For policies of vertices or edges without cover.

    Examples
    --------
    >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> select = Selection("select 2 vertices", noise="none")
    >>> select(path, torch.tensor([[0.3], [0.1], [0.5]])).choice.T
    tensor([[1., 0., 1.]])
    >>> select = Selection("mark 1 vertex x 2 distinct", noise="none")
    >>> select(path, torch.tensor([[0.3], [0.1], [0.5]])).choice.T
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """

    def __init__(
        self,
        policy: Policy | str,
        estimator: Estimator | type[Estimator] | str | None = None,
        noise: Noise | Distribution | str | None = None,
        *,
        temperature: float = 1.0,
        bar: float = 0.0,
    ) -> None:
        super().__init__()
        self.policy = Policy.parse(policy) if isinstance(policy, str) else policy
        self.estimator = make_estimator(estimator)
        self.noise = make_noise(noise)
        if not temperature > 0:
            raise OsanError(f"temperature: expected a number above 0, got {temperature!r}")
        if not 0 <= bar < 1:
            raise OsanError(f"bar: expected a share of at least 0 and below 1, got {bar!r}")
        if bar and not self.policy.kind.distinct:
            raise OsanError(
                f"bar: expected a policy of vertices or edges without cover, got {str(self.policy)!r}"
            )
        self.temperature, self.bar = temperature, bar

    @torch.compiler.disable  # sizes depend on values: nothing to compile
    def forward(
        self,
        batch: Data,
        weights: Tensor | Weigh,
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
            If the policy draws in sequence (``x 3 distinct`` or ``x 3 in turn``), there is one column, or a
            function that gives this column for every draw. It is called with what was selected, marked or
            deleted so far, 1 or 0, of shape ``[rows, t]`` before draw t = 0, 1, ...
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
        noise = self.noise if noise is None else noise
        self.estimator.check(problem, noise)
        randomness = Randomness.of(batch) if randomness is None else randomness
        if self.policy.in_sequence:
            return self._in_sequence(problem, weights, randomness, noise)
        if not isinstance(weights, Tensor):
            raise OsanError(f"weights: expected a tensor for policy {str(self.policy)!r}, got a function")
        scaled = self._scaled(problem, weights)
        allowed = self._allowed(problem, randomness, 1)
        draw = self._draw(problem, scaled, allowed, noise, randomness)
        return Selected(problem.ground.spread(draw.choice), problem, draw.log_prob, (weights,))

    def _in_sequence(
        self, problem: Problem, weights: Tensor | Weigh, randomness: Randomness, noise: Noise
    ) -> Selected:
        subset, count, ground = _subset(problem), int(self.policy.count), problem.ground
        used: list[Tensor] = []

        def step(number: int, free: Tensor | None, touched: Tensor) -> Draw:
            if not isinstance(weights, Tensor):
                used.append(weights(ground.spread(touched)))
            elif number == 0:
                used.append(weights)
            scaled = self._scaled(problem, used[-1], single=True)
            return self._draw(problem, scaled, free, noise, randomness.of_channel(number))

        draw = draw_in_sequence(subset, count, step, randomness, self._allowed(problem, randomness, count))
        return Selected(ground.spread(draw.choice), problem, draw.log_prob, tuple(used))

    def _allowed(self, problem: Problem, randomness: Randomness, count: int) -> Tensor | None:
        """What is not barred in this step; ``None`` if nothing is."""
        if not (self.training and self.bar):
            return None
        return unbarred(_subset(problem), self.bar, count, randomness)

    def _scaled(self, problem: Problem, weights: Tensor, single: bool = False) -> Tensor:
        """The weights of the elements, divided by the temperature, after a look at their shape and values."""
        rows, columns = problem.ground.num_rows, "1" if single else "m"
        if (
            weights.dim() != 2
            or weights.size(0) != rows
            or (weights.size(1) != 1 if single else weights.size(1) < 1)
        ):
            kind = "edges" if problem.weighs == "edge" else "vertices"
            reason = f"policy {str(self.policy)!r}" if single else "m of at least 1 subgraphs"
            raise OsanError(
                f"weights: expected shape [{rows}, {columns}] for {rows} {kind} and {reason}, "
                f"got {list(weights.shape)}"
            )
        scaled = problem.ground.gather(weights) / self.temperature
        self._check_finite(scaled.detach(), problem)
        return scaled

    def _draw(
        self, problem: Problem, weights: Tensor, free: Tensor | None, noise: Noise, randomness: Randomness
    ) -> Draw:
        """A draw of the estimator among the free elements, after a look at its shape."""
        if free is not None:
            draw = partial(self._draw, free=None, noise=noise, randomness=randomness)
            return draw_among(_subset(problem), weights, free, draw)
        drawn = self.estimator(problem, weights, noise, randomness)
        if not isinstance(drawn, Draw) or drawn.choice.shape != weights.shape:
            self._check_solver(problem, weights.detach())
            given = (
                f"a choice of shape {list(drawn.choice.shape)}"
                if isinstance(drawn, Draw)
                else type(drawn).__name__
            )
            raise OsanError(
                f"estimator: expected {type(self.estimator).__name__} to return Draw(choice) with a choice "
                f"of shape {list(weights.shape)}, [elements, m], got {given}"
            )
        return drawn

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
        bar = f", bar={self.bar:g}" if self.bar else ""
        return f"policy={str(self.policy)!r}, noise={self.noise}, temperature={self.temperature:g}{bar}"


def _subset(problem: Problem) -> SubsetProblem:
    """The problem itself, for policies of which :class:`Policy` has made sure."""
    if not isinstance(problem, SubsetProblem):
        raise OsanError(f"policy: expected a SubsetProblem, got {type(problem).__name__}")
    return problem
