"""Subsets: the k largest weights of every graph and channel, with exact sizes and random ties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan import devices
from osan.bags import SubgraphBag, all_edges, all_subsets
from osan.errors import OsanError
from osan.selection.ground import GroundSet
from osan.selection.problem import Problem, not_enumerable
from osan.selection.rank_kernels import ranks_of_parts
from osan.words import Deleted, Operation, What

if TYPE_CHECKING:
    from osan.selection.policy import Policy


_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


@dataclass(frozen=True)
class SubsetProblem(Problem):
    """Choose the elements with the largest weights, a given number of them in each graph.

    This is what the estimators for subsets (SIMPLE, straight-through, score function) work with. To choose
    subsets of other sizes, subclass :class:`VertexProblem` or :class:`EdgeProblem` and override ``of``.

    Parameters
    ----------
    policy, ground
        See :class:`~osan.selection.problem.Problem`.
    keep
        How many elements of each graph a choice holds, integers of shape ``[graphs]`` from 0 to the number of
        elements.
    most
        An upper bound of :attr:`changed`. Read from ``keep`` if missing, which waits for the device.
    """

    keep: Tensor
    most: int | None = None

    masks: ClassVar[bool] = True
    distinct: ClassVar[bool] = True

    def __post_init__(self) -> None:
        wanted, keep = self.ground.sizes, self.keep
        if not isinstance(keep, Tensor) or keep.dtype not in _INTEGERS or keep.shape != wanted.shape:
            got = f"{keep.dtype} of shape {list(keep.shape)}" if isinstance(keep, Tensor) else repr(keep)
            raise OsanError(
                f"policy: expected integers of shape {list(wanted.shape)} as keep of {type(self).__name__}, "
                f"got {got}; begin with ground.sizes and divide by //"
            )
        # The sizes of the kinds that come with osan are right, and other devices would have to wait.
        if devices.on_cpu(keep) or type(self) not in (VertexProblem, EdgeProblem, ElementProblem):
            self._check_sizes()

    @torch.compiler.disable
    def _check_sizes(self) -> None:
        sizes = self.ground.sizes
        wrong = (self.keep < 0) | (self.keep > sizes)
        if not wrong.any():
            return
        graph = int(wrong.nonzero()[0])
        raise OsanError(
            f"policy: expected keep of {type(self).__name__} from 0 to {int(sizes[graph])}, the size of "
            f"graph {graph}, got {int(self.keep[graph])}; use torch.minimum(keep, ground.sizes)"
        )

    @property
    def deletes(self) -> bool:
        """Whether the elements that matter are those left out."""
        return self.policy.operation == "delete"

    @property
    def changed(self) -> Tensor:
        """How many elements of each graph are selected or, if the policy deletes, left out."""
        return self.ground.sizes - self.keep if self.deletes else self.keep

    @property
    def largest(self) -> int:
        """An upper bound of :attr:`changed`."""
        if self.most is not None:
            return self.most
        return int(self.changed.max()) if self.changed.numel() else 0

    def among(self, free: Tensor) -> SubsetProblem:
        """The problem of selecting, marking or deleting as many elements as before among some of them.

        Parameters
        ----------
        free
            The numbers of these elements in increasing order, in each graph at least :attr:`changed`.

        Examples
        --------
        >>> from osan.selection import Policy, problem_for
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> rest = problem_for(Policy.parse("delete 1 vertex"), path).among(torch.tensor([0, 2]))
        >>> rest.solve(torch.tensor([[0.3], [0.5]]), torch.zeros(2, 1)).T
        tensor([[0., 1.]])
        """
        ground = self.ground.among(free)
        return replace(self, ground=ground, keep=ground.sizes - self.changed if self.deletes else self.keep)

    def solve(self, weights: Tensor, tie: Tensor) -> Tensor:
        """The top elements; see :meth:`Problem.solve`."""
        rank = ranks(weights, tie, self.ground)
        return top(rank, self.keep[self.ground.graph], self.policy.ordered).to(weights.dtype)


class VertexProblem(SubsetProblem):
    """Delete, select or mark k vertices; they can be ordered.

    Deleting all vertices of a graph keeps one. Selecting more than there are keeps all.

    Examples
    --------
    >>> from osan.selection import Policy, problem_for
    >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> problem = problem_for(Policy.parse("delete 1 vertex ordered"), path)
    >>> problem.solve(torch.tensor([[0.3], [0.1], [0.5]]), torch.zeros(3, 1)).T
    tensor([[1., 0., 2.]])
    """

    noun: ClassVar[str] = "vertex"
    plural: ClassVar[str] = "vertices"
    orders: ClassVar[bool] = True

    @classmethod
    def of(cls, policy: Policy, batch: Data) -> Problem:
        """The problem that a policy poses on a batch."""
        ground = cls.ground_of(batch)
        return cls(policy, ground, kept(policy, ground, least=1), policy.size)

    @classmethod
    def every(
        cls, policy: Policy, batch: Data, *, deleted: Deleted = "masked", whole_graph: bool = False
    ) -> SubgraphBag:
        """The bag of all sets of k vertices."""
        if policy.ordered or _has_other_sets(cls, VertexProblem):
            raise not_enumerable(policy)
        return all_subsets(
            batch, policy.size, operation=policy.operation, deleted=deleted, whole_graph=whole_graph
        )


class EdgeProblem(SubsetProblem):
    """Delete or select k edges. All edges may be deleted; a graph without edges has an empty choice.

    Examples
    --------
    >>> from osan.selection import Policy, problem_for
    >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> problem_for(Policy.parse("delete 1 edge"), path).keep
    tensor([1])
    """

    noun: ClassVar[str] = "edge"
    plural: ClassVar[str] = "edges"
    operations: ClassVar[tuple[Operation, ...]] = ("delete", "select")
    weighs: ClassVar[What] = "edge"

    @classmethod
    def of(cls, policy: Policy, batch: Data) -> Problem:
        """The problem that a policy poses on a batch."""
        ground = cls.ground_of(batch)
        return cls(policy, ground, kept(policy, ground, least=0), policy.size)

    @classmethod
    def every(
        cls, policy: Policy, batch: Data, *, deleted: Deleted = "masked", whole_graph: bool = False
    ) -> SubgraphBag:
        """The bag of all sets of k edges."""
        if _has_other_sets(cls, EdgeProblem):
            raise not_enumerable(policy)
        return all_edges(
            batch, policy.size, operation=policy.operation, deleted=deleted, whole_graph=whole_graph
        )


class ElementProblem(SubsetProblem):
    """Delete or select k elements of sets without a graph; they can be ordered.

    The sets are a :class:`~osan.selection.GroundSet`, which takes the place of the batch. Selecting more than
    there are keeps all; all may be deleted.

    Examples
    --------
    >>> from osan.selection import Selection
    >>> pair = GroundSet.of_sizes([3, 2])
    >>> select = Selection("select 2 elements", noise="none")
    >>> select(pair, torch.tensor([[0.3], [0.1], [0.5], [0.2], [0.4]])).choice.T
    tensor([[1., 0., 1., 1., 1.]])
    """

    noun: ClassVar[str] = "element"
    plural: ClassVar[str] = "elements"
    operations: ClassVar[tuple[Operation, ...]] = ("delete", "select")
    orders: ClassVar[bool] = True

    @classmethod
    def of(cls, policy: Policy, batch: Data | GroundSet) -> Problem:
        """The problem that a policy poses on sets."""
        if not isinstance(batch, GroundSet):
            raise OsanError(
                f"batch: expected a GroundSet for policy {str(policy)!r}, got a {type(batch).__name__}; "
                "choose vertices or edges of graphs instead"
            )
        return cls(policy, batch, kept(policy, batch, least=0), policy.size)


def _has_other_sets(kind: type[Problem], base: type[Problem]) -> bool:
    """Whether a subclass changes what can be chosen, but not the list of it."""
    changed = {name for each in kind.__mro__[: kind.__mro__.index(base)] for name in vars(each)}
    return "every" not in changed and not changed.isdisjoint(("of", "ground_of", "solve", "bag"))


def kept(policy: Policy, ground: GroundSet, least: int) -> Tensor:
    """How many elements of each graph are part of a subgraph, at least ``least`` where there are that many.

    >>> from osan.selection import Policy
    >>> ground = GroundSet(torch.tensor([0, 0, 0, 1]), torch.tensor([0, 1, 2, 0]), torch.tensor([3, 1]))
    >>> kept(Policy.parse("delete 1 vertex"), ground, least=1)
    tensor([2, 1])
    """
    if policy.operation == "delete":
        return torch.minimum((ground.sizes - policy.size).clamp(min=least), ground.sizes)
    return ground.sizes.clamp(max=policy.size)


def ranks(weights: Tensor, tie: Tensor, ground: GroundSet) -> Tensor:
    """Rank of each element within its graph, for each channel: 0 for the largest weight.

    The paper counts O(n + k log k) for one graph by selecting before sorting. Selection leaves ties to the
    memory layout, and the sorts are a negligible part of a training step (``benchmarks/selection_cost.py``).
    On the CPU every graph and channel is sorted on its own; other devices sort all at once.

    Parameters
    ----------
    weights, tie
        Shape ``[elements, m]``; ``tie`` orders equal weights.
    ground
        The graph of each element.

    Examples
    --------
    >>> ground = GroundSet(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0]), torch.tensor([2, 1]))
    >>> ranks(torch.tensor([[0.1], [0.9], [0.5]]), torch.zeros(3, 1), ground).T
    tensor([[1, 0, 0]])
    """
    if devices.on_cpu(weights):
        arrays = [t.detach().contiguous().numpy() for t in (weights.double(), tie.double(), ground.sizes)]
        rank = torch.empty(weights.shape, dtype=torch.long)
        ranks_of_parts(*arrays, rank.numpy())
        return rank
    return _sorted_ranks(weights, tie, ground)


def _sorted_ranks(weights: Tensor, tie: Tensor, ground: GroundSet) -> Tensor:
    """The same for all graphs at once."""
    order = torch.argsort(tie, dim=0)
    order = order.gather(0, torch.argsort(weights.gather(0, order), dim=0, descending=True, stable=True))
    order = order.gather(0, torch.argsort(ground.graph[order], dim=0, stable=True))
    # Elements are grouped by graph both before and after sorting, so positions within a graph are the same.
    return torch.empty_like(order).scatter_(0, order, ground.position.unsqueeze(1).expand_as(order))


def top(rank: Tensor, keep: Tensor, ordered: bool) -> Tensor:
    """Encode the first ``keep`` ranks: 1, or in the ordered case K + 1 - r for the r-th of K.

    Examples
    --------
    >>> top(torch.tensor([[2], [0], [1]]), torch.tensor([2, 2, 2]), ordered=True).T
    tensor([[0, 2, 1]])
    """
    value = (keep.unsqueeze(1) - rank).clamp(min=0)
    return value if ordered else value.clamp(max=1)
