"""What a model gives for a batch, and which subgraphs it looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.selection import Estimator, Selected


@dataclass(frozen=True, eq=False, repr=False)
class Output:
    """The prediction of a model for a batch, and what it is based on.

    Models without a learned selection have a prediction and a bag only: ``Output(prediction, (bag,))``.

    Parameters
    ----------
    prediction
        Shape ``[graphs, out]`` (or what the downstream network gives).
    bags
        The bag that was used; in evaluation one per sample.
    weights
        The weights of the upstream network, shape ``[vertices, m]`` or ``[edges, m]``, with a single column
        for ``x m distinct``; ``None`` without weights. For ``x m in turn`` those of the first sample.
    selected
        The choice behind each bag; empty if nothing is chosen.
    each
        The predictions for each bag, which ``prediction`` combines; by default ``prediction`` alone.
    estimator
        What drew the choices; ``None`` if the model has none.
    diversity
        The auxiliary loss of each graph, weighted, shape ``[graphs]``; by default 0.
    """

    prediction: Tensor
    bags: Sequence[SubgraphBag]
    weights: Tensor | None = None
    selected: tuple[Selected, ...] = ()
    each: tuple[Tensor, ...] = ()
    estimator: Estimator | None = None
    diversity: Tensor | None = None

    def __post_init__(self) -> None:
        if not self.each:
            object.__setattr__(self, "each", (self.prediction,))

    @property
    def bag(self) -> SubgraphBag:
        """The (first) bag."""
        return self.bags[0]

    @property
    def num_graphs(self) -> int:
        """The number of graphs of the batch."""
        known = getattr(self.bags, "num_graphs", None)
        return self.bag.num_graphs if known is None else int(known)

    @property
    def auxiliary(self) -> Tensor:
        """The auxiliary loss of the batch, to add to the loss."""
        if self.diversity is None:
            return self.prediction.new_zeros(())
        return self._join(self.diversity)

    def objective(self, losses: Tensor) -> Tensor:
        """The number to differentiate, from one loss per graph (shape ``[graphs]``).

        It combines the losses by the estimator's ``reduction`` (without an estimator by their mean), and adds
        the auxiliary loss and what an estimator without a gradient through the choice needs.

        Examples
        --------
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> from osan.bags import whole_graphs
        >>> pair = Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]]))
        >>> Output(torch.zeros(1, 1), (whole_graphs(pair),)).objective(torch.tensor([2.0]))
        tensor(2.)
        """
        graphs = self.num_graphs
        if losses.shape != (graphs,):
            raise OsanError(
                f"losses: expected one per graph, shape [{graphs}], got {list(losses.shape)}; combine those "
                "of several targets or vertices of a graph first, for example by their mean"
            )
        total = self._join(losses)
        if self.diversity is not None:
            total = total + self.auxiliary
        if self.estimator is None or not self.selected:
            return total
        penalized = losses if self.diversity is None else losses + self.diversity
        return total + self.estimator.surrogate(penalized, self.selected[0].log_prob)

    def _join(self, losses: Tensor) -> Tensor:
        return losses.mean() if self.estimator is None else self.estimator.join(losses)

    def __repr__(self) -> str:
        weights = "None" if self.weights is None else list(self.weights.shape)
        return f"Output(prediction={list(self.prediction.shape)}, weights={weights}, bags={self.bags})"
