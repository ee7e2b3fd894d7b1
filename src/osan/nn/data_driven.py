"""Data-driven networks: upstream, policy, estimator and downstream as one module."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explanation

from osan.bags import SubgraphBag, from_choice
from osan.bags.operations import Deleted
from osan.errors import OsanError
from osan.nn.adapter import takes
from osan.nn.output import Output
from osan.selection import (
    Estimator,
    Noise,
    Policy,
    Problem,
    Random,
    Randomness,
    Selected,
    Selection,
    all_subgraphs,
    cosine_similarity,
    uniform_divergence,
)
from osan.selection.select import Pose

Auxiliary = Literal["cosine", "uniform"]
Combine = Literal["mean", "vote"]


class DataDrivenOSAN(nn.Module):
    r"""A network that learns which subgraphs to look at (paper, "Data-driven Subgraph-enhanced GNNs").

    .. math:: f_{W_2}(G, H, \{\!\{g_1, \dots, g_m\}\!\}), \quad g_i = z^*(\theta_i + \epsilon_i), \quad
        \theta = h_{W_1}(G, H)

    In training mode every call draws one set of subgraphs, with gradients for both networks. In evaluation
    mode it draws ``samples`` of them and joins the predictions; the noise then depends on ``seed`` and on
    each graph alone (``batch.graph_id`` of shape ``[graphs]``, where present, otherwise its place in the
    batch).

    Parameters
    ----------
    upstream
        From a batch to weights, e.g. :class:`osan.nn.Upstream`; ``None`` with the ``Random`` estimator and
        with policies ``x all``.
    downstream
        Called with a batch and a bag, gives the prediction; around a model that takes a batch alone put
        :class:`osan.nn.OnSubgraphs`. While gradients are on, what is removed stays in the bag with weight 0:
        a network of your own has to look at ``bag.weight`` and ``bag.edge_weight``, or it sees whole graphs
        and the upstream network learns nothing, of which the first call in training mode warns.
    policy
        A policy or its text, e.g. ``"delete 1 vertex x 3"``.
    estimator, noise, pose
        See :class:`osan.selection.Selection`; the paper's by default.
    auxiliary, auxiliary_weight
        Loss for diversity: ``"cosine"`` (the paper's main text) or ``"uniform"`` (its appendix, and the
        authors' code), and its factor.
    samples, seed, evaluation_noise, combine
        Evaluation: number R of samples, seed, noise (that of training by default) and whether predictions are
        averaged (``"mean"``) or vote for classes (``"vote"``: the result holds the share of votes of each
        class; with a single column that of the positive class minus 1/2).
    deleted, whole_graph, agg
        See :func:`osan.bags.from_choice`.

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
    >>> model = DataDrivenOSAN(upstream, Edges(), "delete 1 edge x 2")
    >>> model(path).prediction.tolist()
    [[4.0]]
    """

    def __init__(
        self,
        upstream: nn.Module | None,
        downstream: nn.Module,
        policy: Policy | str,
        *,
        estimator: Estimator | None = None,
        noise: Noise | None = None,
        pose: Pose | None = None,
        auxiliary: Auxiliary | None = None,
        auxiliary_weight: float = 1.0,
        samples: int = 5,
        seed: int = 0,
        evaluation_noise: Noise | None = None,
        combine: Combine = "mean",
        deleted: Deleted = "masked",
        whole_graph: bool = False,
        agg: Literal["mean", "sum"] = "mean",
    ) -> None:
        super().__init__()
        if not takes(downstream, "batch", "bag"):
            name = type(downstream).__name__
            raise OsanError(
                f"downstream: expected a network that is called with a batch and a bag, which {name} is not; "
                f"OnSubgraphs({name}(...)) makes one of a model of graphs"
            )
        self.upstream, self.downstream = upstream, downstream
        self.selection = Selection(policy, estimator, noise, pose)
        self.looked = False  # whether it is known that predictions depend on the choice
        if auxiliary not in (None, "cosine", "uniform"):
            raise OsanError(f"auxiliary: must be None, 'cosine' or 'uniform', not {auxiliary!r}")
        if combine not in ("mean", "vote"):
            raise OsanError(f"combine: must be 'mean' or 'vote', not {combine!r}")
        if samples < 1:
            raise OsanError(f"samples: must be at least 1, not {samples!r}")
        learns = self.policy.count != "all" and not isinstance(self.selection.estimator, Random)
        if learns and upstream is None:
            raise OsanError("upstream: missing; only the Random estimator and policies 'x all' need none")
        self.auxiliary, self.auxiliary_weight = auxiliary, auxiliary_weight
        self.samples, self.seed, self.combine = samples, seed, combine
        self.evaluation_noise = self.selection.noise if evaluation_noise is None else evaluation_noise
        self.deleted, self.whole_graph, self.agg = deleted, whole_graph, agg

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self.selection.policy

    def weigh(self, batch: Data, problem: Problem) -> Tensor:
        """The weights of a batch; zeros where nothing is learned."""
        if self.upstream is not None:
            weights: Tensor = self.upstream(batch)
            if weights.dim() != 2 or weights.size(1) != self.policy.count:
                raise OsanError(
                    f"upstream: expected {self.policy.count} columns, one per subgraph of policy "
                    f"{str(self.policy)!r}, not weights of shape {list(weights.shape)}"
                )
            if self.policy.weighs_edges and len(weights) == batch.num_nodes != problem.ground.num_rows:
                raise OsanError(
                    f"upstream: policy {str(self.policy)!r} weighs edges, of which there are "
                    f"{problem.ground.num_rows}, not the {len(weights)} vertices; build it with edges=True"
                )
            return weights
        return torch.zeros(problem.ground.num_rows, int(self.policy.count), device=batch.edge_index.device)

    def bag_of(self, batch: Data, selected: Selected) -> SubgraphBag:
        """The bag of a choice. A tree spans the graph, so no vertex is lost with it."""
        policy = self.policy
        return from_choice(
            batch,
            selected.choice,
            what="edge" if policy.weighs_edges else "vertex",
            operation="delete" if policy.what == "tree" else policy.operation,
            ordered=policy.ordered,
            deleted=self.deleted,
            whole_graph=self.whole_graph,
            agg=self.agg,
        )

    def forward(self, batch: Data) -> Output:
        """Predict: one sample with gradients in training mode, ``samples`` joined ones otherwise."""
        estimator = self.selection.estimator
        if self.policy.count == "all":
            bag = all_subgraphs(self.policy, batch, deleted=self.deleted, whole_graph=self.whole_graph)
            none = torch.zeros(bag.num_graphs, device=batch.edge_index.device)
            prediction = self.downstream(batch, bag)
            return Output(prediction, none.sum(), None, (bag,), (), (prediction,), estimator, none)
        problem = self.selection.pose(batch)
        weights = self.weigh(batch, problem)
        selected: tuple[Selected, ...] = (
            (self.selection(batch, weights, problem=problem),)
            if self.training
            else self._sampled(batch, problem, weights, self.samples)
        )
        bags = tuple(self.bag_of(batch, one) for one in selected)
        each = tuple(self.downstream(batch, bag) for bag in bags)
        prediction = self._join(each)
        if self.training and not self.looked:
            self.looked = True
            _warn_if_ignored(prediction, selected[0].choice)
        diversity = torch.stack([self._diversity(one) for one in selected]).mean(0)
        auxiliary = estimator.join(diversity)
        return Output(prediction, auxiliary, weights, bags, selected, each, estimator, diversity)

    def explain(self, batch: Data, samples: int = 20) -> Explanation:
        """How often each vertex or edge is part of a subgraph, over samples of the evaluation noise.

        Returns
        -------
        Explanation
            A PyG explanation of the batch with ``frequency`` of shape ``[vertices, m]`` or ``[edges, m]``,
            its mean over the m subgraphs as ``node_mask`` or ``edge_mask``, and the ``weights``.
        """
        weights, selected = self.drawn(batch, samples)
        chosen = [one.choice != 0 for one in selected]
        frequency = torch.stack(chosen).to(weights.dtype).mean(0)
        masks = (
            {"edge_mask": frequency.mean(1)}
            if self.policy.weighs_edges
            else {"node_mask": frequency.mean(1, keepdim=True)}
        )
        kept = {name: batch[name] for name in ("x", "edge_index", "edge_attr", "batch") if name in batch}
        explanation = Explanation(**kept, **masks, frequency=frequency, weights=weights)
        explanation.num_nodes = batch.num_nodes
        return explanation

    def drawn(self, batch: Data, samples: int) -> tuple[Tensor, tuple[Selected, ...]]:
        """The weights of a batch and samples of the evaluation noise, without a look at the subgraphs."""
        if samples < 1:
            raise OsanError(f"samples: must be at least 1, not {samples!r}")
        if self.policy.count == "all":
            raise OsanError("with a policy 'x all' nothing is chosen, so there is nothing to explain")
        problem = self.selection.pose(batch)
        training = self.training
        self.eval()
        try:
            with torch.no_grad():
                weights = self.weigh(batch, problem)
                return weights, self._sampled(batch, problem, weights, samples)
        finally:
            self.train(training)

    def _sampled(self, batch: Data, problem: Problem, weights: Tensor, samples: int) -> tuple[Selected, ...]:
        randomness = Randomness.of(batch, self.seed)
        noise = self.evaluation_noise
        return tuple(
            self.selection(batch, weights, randomness.repeat(sample), noise, problem)
            for sample in range(samples)
        )

    def _diversity(self, selected: Selected) -> Tensor:
        """The weighted auxiliary loss of each graph, shape ``[graphs]``."""
        ground = selected.problem.ground
        if self.auxiliary is None:
            return selected.choice.new_zeros(ground.num_graphs)
        loss = cosine_similarity if self.auxiliary == "cosine" else uniform_divergence
        return self.auxiliary_weight * loss(ground.gather(selected.choice), ground)

    def _join(self, predictions: tuple[Tensor, ...]) -> Tensor:
        if self.training or self.combine == "mean":
            return torch.stack(predictions).mean(0)
        if predictions[0].dim() == 1 or predictions[0].size(-1) == 1:
            return torch.stack([(each > 0).to(each.dtype) for each in predictions]).mean(0) - 0.5
        classes = predictions[0].size(-1)
        votes = [nn.functional.one_hot(each.argmax(-1), classes) for each in predictions]
        return torch.stack(votes).to(predictions[0].dtype).mean(0)


@torch.compiler.disable
def _warn_if_ignored(prediction: Tensor, choice: Tensor) -> None:
    """Warn of a prediction through which no gradient comes back to the choice."""
    sought = choice.grad_fn
    if sought is None:
        return
    waiting: list[Any] = [prediction.grad_fn]
    seen: set[Any] = {None}
    while waiting:
        node = waiting.pop()
        if node is sought:
            return
        if node not in seen:
            seen.add(node)
            waiting += [before for before, _ in node.next_functions]
    warnings.warn(
        "downstream: the prediction does not depend on which subgraphs are chosen, so the upstream network "
        "learns nothing from it; pass on bag.weight and bag.edge_weight (or marks), as osan.nn.convolve, "
        "osan.nn.Pool and osan.nn.OnSubgraphs do",
        stacklevel=3,
    )
