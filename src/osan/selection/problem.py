"""What every kind of choice has in common: a ground set, a solver, and how a choice becomes a bag."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from torch import Tensor
from torch_geometric.data import Data

from osan.bags import SubgraphBag, from_choice
from osan.errors import OsanError
from osan.selection.ground import GroundSet
from osan.words import Agg, Deleted, Operation, What

if TYPE_CHECKING:
    from osan.selection.policy import Policy


@dataclass(frozen=True)
class Problem(ABC):
    r"""A policy on a batch: the z in Z with the largest :math:`\langle z, \theta \rangle`.

    There is one subclass for each kind of choice. A subclass has to define :meth:`solve`. It overrides
    :meth:`of` if the solver needs more than the ground set, :meth:`bag` if the choice is not simply what the
    subgraph consists of, and :meth:`every` if all subgraphs of its kind can be listed. To name a kind in a
    policy's text, add it to :data:`~osan.selection.kinds.KINDS` or write ``module:Name``.

    Parameters
    ----------
    policy
        Which choices Z contains.
    ground
        The elements to choose from.

    Attributes
    ----------
    noun, plural
        The words for it in a policy's text. A kind outside of ``KINDS`` has the noun ``module:Name``.
    sized
        Whether the text has a number: ``delete 2 vertices``, but ``tree``.
    hyphen
        Whether a hyphen joins the number and the noun: ``2-ego``.
    bare
        Whether the text leaves out the operation: ``tree``.
    operations
        The operations that make sense.
    orders
        Whether what is chosen can be ranked (``ordered``). The solver then has to give ranks.
    by
        The words that can follow ``by``, the default first; empty if there is no such option.
    weighs
        Whether weights and choices have one row per vertex or per edge.
    masks
        Whether weights may be minus infinity: such elements are chosen only if there are too few others.
    distinct
        Whether subgraphs can be drawn without replacement (``x 3 distinct``) and elements can be barred.

    Examples
    --------
    >>> import torch
    >>> class Positive(Problem):
    ...     sized = False
    ...     def solve(self, weights, tie):
    ...         return (weights > 0).to(weights.dtype)
    >>> from osan.selection import Policy, Selection
    >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> select = Selection(Policy("select", Positive), noise="none")
    >>> select(path, torch.tensor([[0.3], [-0.1], [0.5]])).choice.T
    tensor([[1., 0., 1.]])
    """

    policy: Policy
    ground: GroundSet

    noun: ClassVar[str] = ""
    plural: ClassVar[str] = ""
    sized: ClassVar[bool] = True
    hyphen: ClassVar[bool] = False
    bare: ClassVar[bool] = False
    operations: ClassVar[tuple[Operation, ...]] = ("delete", "select", "mark")
    orders: ClassVar[bool] = False
    by: ClassVar[tuple[str, ...]] = ()
    weighs: ClassVar[What] = "vertex"
    masks: ClassVar[bool] = False
    distinct: ClassVar[bool] = False

    @classmethod
    def of(cls, policy: Policy, batch: Data) -> Problem:
        """The problem that a policy poses on a batch."""
        return cls(policy, cls.ground_of(batch))

    @classmethod
    def ground_of(cls, batch: Data) -> GroundSet:
        """The elements that this kind weighs."""
        return GroundSet.edges(batch) if cls.weighs == "edge" else GroundSet.vertices(batch)

    @abstractmethod
    def solve(self, weights: Tensor, tie: Tensor) -> Tensor:
        """The best choice.

        Parameters
        ----------
        weights
            Shape ``[elements, m]``, without gradients.
        tie
            Random numbers of the same shape. They order equal weights, so that sizes are exact and the answer
            does not depend on the numbering.

        Returns
        -------
        Tensor
            Float choice of shape ``[elements, m]``: 0 for what is not part of the subgraph, otherwise 1, or
            K + 1 - r for rank r among K.
        """

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
        """The bag of a choice.

        Parameters
        ----------
        batch
            The graphs.
        choice
            One row per vertex, or per column of ``edge_index``; shape ``[rows, m]``.
        deleted, whole_graph, agg, columns
            See :func:`osan.bags.from_choice`. A kind of its own without ``columns`` is fine: samples are
            then evaluated from a bag for each.
        """
        return from_choice(
            batch,
            choice,
            what=self.weighs,
            operation=self.policy.operation,
            ordered=self.policy.ordered,
            deleted=deleted,
            whole_graph=whole_graph,
            agg=agg,
            symmetric=True,  # rows of an edge come from one element
            columns=columns,
        )

    @classmethod
    def every(
        cls, policy: Policy, batch: Data, *, deleted: Deleted = "masked", whole_graph: bool = False
    ) -> SubgraphBag:
        """The bag of all subgraphs of this kind, for policies ``x all``."""
        raise not_enumerable(policy)


def not_enumerable(policy: Policy) -> OsanError:
    """The error for a policy ``x all`` whose subgraphs are not listed."""
    return OsanError(
        "policy: expected vertices, edges or ego-nets without order or cover for 'x all', "
        f"got {str(policy)!r}; use a number such as 'x 3'"
    )
