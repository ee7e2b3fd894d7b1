"""What a network gives for a batch."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.selection import Estimator, Selected


@dataclass(frozen=True, eq=False, repr=False)
class Output:
    """What a data-driven network gives for a batch, and what it looked at.

    Parameters
    ----------
    prediction
        Shape ``[graphs, out]`` (or what the downstream network gives).
    auxiliary
        The auxiliary loss, weighted and joined over graphs; add it to the loss.
    weights
        What the upstream network gave, shape ``[vertices, m]`` or ``[edges, m]``; ``None`` without one.
    bags
        The bag that was used; in evaluation one per sample.
    selected
        The choice behind each bag; empty where all subgraphs are taken.
    each
        The predictions for each bag, from which ``prediction`` is joined.
    estimator
        What learns, or random sampling.
    diversity
        The auxiliary loss of each graph, shape ``[graphs]``, weighted but not joined.
    """

    prediction: Tensor
    auxiliary: Tensor
    weights: Tensor | None
    bags: tuple[SubgraphBag, ...]
    selected: tuple[Selected, ...]
    each: tuple[Tensor, ...]
    estimator: Estimator
    diversity: Tensor

    @property
    def bag(self) -> SubgraphBag:
        """The (first) bag."""
        return self.bags[0]

    def __repr__(self) -> str:
        weights = "None" if self.weights is None else list(self.weights.shape)
        return f"Output(prediction={list(self.prediction.shape)}, weights={weights}, bags={self.bags})"

    def objective(self, losses: Tensor) -> Tensor:
        """The number to differentiate, from one loss per graph (shape ``[graphs]``).

        It joins the losses as the estimator's ``reduction`` says, and adds the auxiliary loss and what an
        estimator without a gradient through the choice needs.
        """
        if losses.shape != self.diversity.shape:
            expected = list(self.diversity.shape)
            raise OsanError(
                f"losses: expected one per graph, shape {expected}, not {list(losses.shape)}; join those of "
                "several targets or vertices, by their mean for each graph say"
            )
        log_prob = self.selected[0].log_prob if self.selected else None
        surrogate = self.estimator.surrogate(losses + self.diversity, log_prob)
        return self.estimator.join(losses) + self.auxiliary + surrogate
