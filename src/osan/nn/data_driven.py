"""Data-driven networks: upstream network, policy, estimator and downstream network as one module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explanation

from osan.bags import SubgraphBag
from osan.bags.choice import inclusion
from osan.errors import OsanError
from osan.nn.adapter import takes
from osan.nn.class_cache import ClassCache
from osan.nn.fixed_bags import predicted, predictions
from osan.nn.ignored import warn_if_constant, warn_if_ignored
from osan.nn.output import Output
from osan.nn.samples import BagsLater, samples_together
from osan.selection import (
    Estimator,
    Noise,
    Policy,
    Problem,
    Randomness,
    Selected,
    Selection,
    agreement,
    all_subgraphs,
    auxiliary_loss,
    make_noise,
    problem_for,
)
from osan.selection.auxiliary import AuxiliaryLoss, resolve_auxiliary
from osan.selection.noise import Distribution
from osan.selection.select import Weigh
from osan.words import Agg, Deleted

Combine = Literal["mean", "vote"]


class DataDrivenOSAN(nn.Module):
    r"""A network that learns which subgraphs to look at (paper, "Data-driven Subgraph-enhanced GNNs").

    .. math:: f_{W_2}(G, H, \{\!\{g_1, \dots, g_m\}\!\}), \quad g_i = z^*(\theta_i + \epsilon_i), \quad
        \theta = h_{W_1}(G, H)

    In training mode every call draws one set of subgraphs, with gradients for both networks. In evaluation
    mode it draws ``samples`` of them and combines the predictions. The noise then depends only on ``seed``
    and on each graph: on ``batch.graph_id`` of shape ``[graphs]`` if present, otherwise on its position in
    the batch.

    Parameters
    ----------
    upstream
        Any module from a batch to weights, e.g. :class:`osan.nn.Upstream`; ``None`` with the ``Random``
        estimator and with policies ``x all``. For policies ``in turn`` it is called again before every
        further draw, as ``upstream(batch, so_far)``; see :class:`osan.nn.Upstream`.
    downstream
        Called with a batch and a bag, returns the prediction. Wrap a model that takes only a batch in
        :class:`osan.nn.OnSubgraphs`. While gradients are on, removed copies stay in the bag with weight 0. A
        custom network has to use ``bag.weight`` and ``bag.edge_weight``. Otherwise it sees whole graphs and
        the upstream network learns nothing; the first call in training mode warns about this, and about
        weights without a gradient.
    policy
        A policy or its text, e.g. ``"delete 1 vertex x 3"``.
    estimator, noise, temperature
        See :class:`osan.selection.Selection`; the paper's by default.
    auxiliary, auxiliary_weight
        Loss for diversity and its factor: ``"cosine"`` (the paper's main text), ``"uniform"`` (its appendix,
        and the authors' code), or a custom function ``(choice [elements, m], ground) -> [graphs]`` or its
        ``"module:name"``.
    bar
        Share of the elements of each graph that are barred from choice in a training step; see
        :class:`osan.selection.Selection`.
    samples, seed, evaluation_noise, combine
        Evaluation: number R of samples, seed, noise (that of training by default) and whether predictions are
        averaged (``"mean"``) or vote for classes (``"vote"``). A vote gives the share of votes of each class;
        with a single column the share of the positive class minus 1/2. Without noise (``"none"``) samples
        differ in ties only, so one is enough; equal samples are computed once.
    deleted, whole_graph, agg
        See :func:`osan.bags.from_choice`.

    Attributes
    ----------
    noise_factor
        What the scale of the noise is multiplied by in training, 1 at first. Lower it from epoch to epoch to
        let the noise fade; evaluation has a noise of its own.
    settled
        Whether the choice is fixed, ``False`` at first. Once it is set, training sees the subgraphs that
        evaluation would choose, and the upstream network gets no gradients: the downstream network learns
        to use a choice that no longer changes.

    Examples
    --------
    >>> from osan.nn.upstream import Upstream
    >>> class Edges(nn.Module):
    ...     def forward(self, batch, bag):
    ...         kept = bag.edge_weight if bag.edge_weight is not None else torch.ones(bag.num_copied_edges)
    ...         subgraph = bag.subgraph[bag.edge_index[0]]
    ...         return torch.zeros(bag.num_graphs).index_add(0, bag.graph[subgraph], kept).unsqueeze(1)
    >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> upstream = Upstream(count=2, width=4, vertex_encoder=nn.Linear(3, 4), edges=True)
    >>> model = DataDrivenOSAN(upstream, Edges(), "delete 1 edge x 2", estimator="simple")
    >>> model(path).prediction.tolist()
    [[4.0]]
    """

    def __init__(
        self,
        upstream: nn.Module | None,
        downstream: nn.Module,
        policy: Policy | str,
        *,
        estimator: Estimator | type[Estimator] | str | None = None,
        noise: Noise | Distribution | str | None = None,
        temperature: float = 1.0,
        bar: float = 0.0,
        auxiliary: AuxiliaryLoss | str | None = None,
        auxiliary_weight: float = 1.0,
        samples: int = 5,
        seed: int = 0,
        evaluation_noise: Noise | Distribution | str | None = None,
        combine: Combine = "mean",
        deleted: Deleted = "masked",
        whole_graph: bool = False,
        agg: Agg = "mean",
    ) -> None:
        super().__init__()
        if not takes(downstream, "batch", "bag"):
            name = type(downstream).__name__
            raise OsanError(
                f"downstream: expected a network that is called with a batch and a bag, got {name}; wrap a "
                f"model of graphs as OnSubgraphs({name}(...))"
            )
        self.upstream, self.downstream = upstream, downstream
        self.selection = Selection(policy, estimator, noise, temperature=temperature, bar=bar)
        self.noise_factor, self.settled = 1.0, False
        self.checked_downstream = False  # whether predictions depend on the choice, at the first call
        if auxiliary is not None:
            resolve_auxiliary(auxiliary)
        if combine not in ("mean", "vote"):
            raise OsanError(f"combine: expected 'mean' or 'vote', got {combine!r}")
        _check_samples(samples)
        if self._weighs and upstream is None:
            raise OsanError(
                "upstream: expected a module from a batch to weights, got None; only the Random estimator "
                "and policies 'x all' need none"
            )
        in_turn = self.policy.channels == "in turn" and self.policy.count != 1
        if in_turn and upstream is not None and not takes(upstream, "batch", "so_far"):
            raise OsanError(
                f"upstream: expected a module that is called with a batch and the choices so far for policy "
                f"{str(self.policy)!r}, got {type(upstream).__name__}; use 'distinct' instead of 'in turn'"
            )
        self.auxiliary, self.auxiliary_weight = auxiliary, auxiliary_weight
        self.samples, self.seed, self.combine = samples, seed, combine
        self.evaluation_noise = (
            self.selection.noise if evaluation_noise is None else make_noise(evaluation_noise)
        )
        self.deleted, self.whole_graph, self.agg = deleted, whole_graph, agg
        self.cache: ClassCache | None = None

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self.selection.policy

    @property
    def learns(self) -> bool:
        """Whether the choice of subgraphs is learned, so that there are weights to train."""
        trained = self.upstream is not None and any(True for _ in self.upstream.parameters())
        return self._weighs and trained

    @property
    def _weighs(self) -> bool:
        """Whether the choice depends on weights, and can pass gradients on to them."""
        return self.policy.count != "all" and self.selection.estimator.learns

    @property
    def always_the_same(self) -> bool:
        """Whether a graph always has the same bag."""
        return self.policy.count == "all"

    def make_bag(self, batch: Data) -> SubgraphBag:
        """All subgraphs of a policy ``x all``."""
        return all_subgraphs(self.policy, batch, deleted=self.deleted, whole_graph=self.whole_graph)

    @property
    def training_noise(self) -> Noise:
        """The noise of training with its present scale; that of evaluation once the choice is settled."""
        return self.evaluation_noise if self.settled else self.selection.noise.scaled(self.noise_factor)

    def weigh(self, batch: Data, problem: Problem, so_far: Tensor | None = None) -> Tensor:
        """The weights of a batch, given the choices so far if any; zeros without an upstream network."""
        if self.upstream is None:
            rows = problem.ground.num_rows
            return torch.zeros(rows, self.policy.columns, device=batch.edge_index.device)
        if self.settled:
            self.upstream.eval()  # norms as in evaluation, too
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.settled):
            weights: Tensor = self.upstream(batch) if so_far is None else self.upstream(batch, so_far)
        if not isinstance(weights, Tensor):
            raise OsanError(
                f"upstream: expected {type(self.upstream).__name__} to return a tensor of weights, got "
                f"{type(weights).__name__}"
            )
        if weights.dim() != 2 or weights.size(1) != self.policy.columns:
            wanted = (
                "1 column" if self.policy.in_sequence else f"{self.policy.count} columns, one per subgraph"
            )
            raise OsanError(
                f"upstream: expected {wanted} of policy {str(self.policy)!r}, got weights of shape "
                f"{list(weights.shape)}"
            )
        if self.policy.weighs_edges and len(weights) == batch.num_nodes != problem.ground.num_rows:
            raise OsanError(
                f"upstream: expected weights of {problem.ground.num_rows} edges for policy "
                f"{str(self.policy)!r}, got weights of {len(weights)} vertices; build it with edges=True"
            )
        return weights

    def forward(self, batch: Data) -> Output:
        """Predict: one sample with gradients in training mode, otherwise ``samples`` combined ones."""
        estimator = self.selection.estimator
        if self.policy.count == "all":
            return Output(*predicted(self.downstream, batch, self.make_bag, self.cache), estimator=estimator)
        problem = problem_for(self.policy, batch)
        first = self.weigh(batch, problem)
        selected: tuple[Selected, ...]
        if self.training:
            weigh = self._in_turn(batch, problem, first)
            self.selection.train(not self.settled)  # a settled choice bars nothing
            selected = (self.selection(batch, weigh, noise=self.training_noise, problem=problem),)
        else:
            selected = self._sample(batch, problem, first, self.samples)
        bags, each = self._look(batch, selected)
        prediction = self._combine(each)
        if self.training and not self.checked_downstream:
            self.checked_downstream = True
            warn_if_ignored(prediction, selected[0].choice)
            if self.learns and self.upstream is not None and not self.settled:
                warn_if_constant(first, self.upstream)
        diversity = torch.stack([self._diversity(one) for one in selected]).mean(0)
        return Output(prediction, bags, _joined(selected), selected, each, estimator, diversity)

    def _in_turn(self, batch: Data, problem: Problem, first: Tensor) -> Tensor | Weigh:
        """The weights of the first draw and, for policies in turn, how to get those of the others."""
        if self.policy.channels != "in turn" or self.upstream is None:
            return first
        return lambda so_far: first if so_far.size(1) == 0 else self.weigh(batch, problem, so_far)

    def _look(
        self, batch: Data, selected: tuple[Selected, ...]
    ) -> tuple[Sequence[SubgraphBag], tuple[Tensor, ...]]:
        """The bag of each sample and its prediction; without noise, equal samples are computed once."""
        look: dict[str, Any] = {"deleted": self.deleted, "whole_graph": self.whole_graph, "agg": self.agg}
        silent = not self.training and self.evaluation_noise.silent
        first: list[int] = []
        for number, one in enumerate(selected):
            earlier = range(number) if silent else ()
            first.append(next((i for i in earlier if selected[i].choice.equal(one.choice)), number))
        different = sorted(set(first))
        together = None
        if len(different) > 1 and not self.training:
            together = samples_together(self.downstream, batch, [selected[i] for i in different], look)
        if together is not None:
            place = {i: number for number, i in enumerate(different)}
            later = BagsLater(batch, selected, look)
            return later, tuple(together[place[i]] for i in first)
        bags = {i: selected[i].problem.bag(batch, selected[i].choice, **look) for i in different}
        each = dict(zip(bags, predictions(self.downstream, batch, list(bags.values())), strict=True))
        return tuple(bags[i] for i in first), tuple(each[i] for i in first)

    def explain(self, batch: Data, samples: int = 20) -> Explanation:
        """How often each vertex or edge is part of a subgraph, over samples of the evaluation noise.

        Returns
        -------
        Explanation
            A PyG explanation of the batch with ``frequency`` of shape ``[vertices, m]`` or ``[edges, m]``,
            its mean over the m subgraphs as ``node_mask`` or ``edge_mask``, the share of samples in which any
            subgraph selects, marks or deletes it as ``touched``, and the ``weights``. For policies of
            vertices ``edge_mask`` is the share of subgraphs with both ends of an edge or, where vertices are
            marked, with one of them. ``soft`` says whether a choice has parts: they count as such.
        """
        weights, selected = self.draw(batch, samples)
        chosen = [inclusion(one.choice).to(weights.dtype) for one in selected]
        frequency = torch.stack(chosen).mean(0)
        if self.policy.weighs_edges:
            masks = {"edge_mask": frequency.mean(1)}
        else:
            joined = torch.maximum if self.policy.operation == "mark" else torch.minimum
            u, v = batch.edge_index
            edges = torch.stack([joined(one[u], one[v]).mean(1) for one in chosen]).mean(0)
            masks = {"node_mask": frequency.mean(1, keepdim=True), "edge_mask": edges}
        kept = {name: batch[name] for name in ("x", "edge_index", "edge_attr", "batch") if name in batch}
        parts = [1 - one if self.policy.operation == "delete" else one for one in chosen]
        touched = torch.stack([part.amax(1) for part in parts]).mean(0)
        explanation = Explanation(**kept, **masks, frequency=frequency, touched=touched, weights=weights)
        explanation.num_nodes = batch.num_nodes
        explanation.soft = any(bool(((one > 0) & (one < 1)).any()) for one in chosen)
        return explanation

    def draw(self, batch: Data, samples: int) -> tuple[Tensor, tuple[Selected, ...]]:
        """The weights of a batch and samples of its choices, without running the downstream network.

        In turn, the weights of later draws depend on the earlier ones; they are those of the first sample.
        """
        _check_samples(samples)
        if self.policy.count == "all":
            raise OsanError(
                f"policy: expected a number of subgraphs to choose, got {str(self.policy)!r}, which chooses "
                "nothing"
            )
        problem = problem_for(self.policy, batch)
        training = self.training
        self.eval()
        try:
            with torch.no_grad():
                selected = self._sample(batch, problem, self.weigh(batch, problem), samples)
                return _joined(selected), selected
        finally:
            self.train(training)

    def agreement(self, batch: Data, out: Output) -> tuple[Tensor, Tensor]:
        """How much two samples agree under the noise of *training*: whether a preference has been learned.

        Parameters
        ----------
        batch, out
            A batch and the output for it, in evaluation mode.

        Returns
        -------
        tuple[Tensor, Tensor]
            Numerator and denominator of Cohen's kappa (:func:`osan.selection.agreement`), summed over graphs
            and subgraphs. Sum them over batches before you divide.
        """
        selected, noise = out.selected, self.training_noise
        if len(selected) < 2 or noise != self.evaluation_noise:
            problem, weights = selected[0].problem, selected[0].weights[0]
            selected = self._sample(batch, problem, weights, 2, noise)
        excess, most = agreement([one.touched for one in selected], selected[0].problem.ground)
        return excess.sum(), most.sum()

    def _sample(
        self, batch: Data, problem: Problem, first: Tensor, samples: int, noise: Noise | None = None
    ) -> tuple[Selected, ...]:
        weights = self._in_turn(batch, problem, first)
        randomness = Randomness.of(batch, self.seed)
        noise = self.evaluation_noise if noise is None else noise
        return tuple(
            self.selection(batch, weights, randomness.repeat(sample), noise, problem)
            for sample in range(samples)
        )

    def _diversity(self, selected: Selected) -> Tensor:
        """The weighted auxiliary loss of each graph, shape ``[graphs]``."""
        ground = selected.problem.ground
        if self.auxiliary is None:
            return selected.choice.new_zeros(ground.num_graphs)
        return self.auxiliary_weight * auxiliary_loss(self.auxiliary, ground.gather(selected.choice), ground)

    def _combine(self, predictions: tuple[Tensor, ...]) -> Tensor:
        if self.training or self.combine == "mean":
            return torch.stack(predictions).mean(0)
        if predictions[0].dim() == 1 or predictions[0].size(-1) == 1:
            return torch.stack([(each > 0).to(each.dtype) for each in predictions]).mean(0) - 0.5
        classes = predictions[0].size(-1)
        votes = [nn.functional.one_hot(each.argmax(-1), classes) for each in predictions]
        return torch.stack(votes).to(predictions[0].dtype).mean(0)


def _joined(selected: tuple[Selected, ...]) -> Tensor:
    """The weights of the first sample, one column for each draw that has weights of its own."""
    weights = selected[0].weights
    return weights[0] if len(weights) == 1 else torch.cat(weights, dim=1)


def _check_samples(samples: int) -> None:
    if samples < 1:
        raise OsanError(f"samples: expected at least 1, got {samples!r}")
