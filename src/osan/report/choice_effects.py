"""What each chosen subgraph does to a prediction: alone, left out, or replaced by random ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.data import FlatDataset, FlatLoader
from osan.errors import OsanError
from osan.nn import DataDrivenOSAN, Output
from osan.report.zinc import readable
from osan.selection import Noise, Policy, Problem, Random, Randomness, Selection, agreement
from osan.shown import html_frame
from osan.training.evaluation import evaluating, predict_samples
from osan.training.module import Learner
from osan.training.run import load_model
from osan.training.scores import losses_per_graph
from osan.training.tasks import load_task


@dataclass(frozen=True)
class SubgraphEffect:
    """A chosen subgraph of a graph.

    Parameters
    ----------
    elements
        The vertices, or the rows of ``edge_index``, that are deleted, kept or marked.
    alone
        The prediction from this subgraph alone.
    without
        How much the prediction changes if this subgraph is left out.
    random
        How much it changes on average if this subgraph is replaced by random ones.
    """

    elements: tuple[int, ...]
    alone: float
    without: float
    random: float


@dataclass(frozen=True, eq=False)
class Looked:
    """What a network chose in a graph, and what the choice does.

    Parameters
    ----------
    graph, number
        The graph, and its position in the test split.
    target, prediction
        The target and the prediction (for classes: the probability of the target).
    whole
        The prediction from the whole graph alone.
    error, gain
        The error of the prediction, and by how much that of ``whole`` is larger.
    settled
        Cohen's kappa between samples of the choice, from 0 (noise) to 1 (always the same); NaN if there is
        nothing to choose.
    subgraphs
        The subgraphs that are chosen without noise.
    """

    graph: Data
    number: int
    target: float
    prediction: float
    whole: float
    error: float
    gain: float
    settled: float
    subgraphs: tuple[SubgraphEffect, ...]


@dataclass(frozen=True)
class Effects:
    """The effects of the choice on the graphs of a test split."""

    name: str
    policy: Policy
    metric: str
    of_classes: bool
    looked: tuple[Looked, ...]

    def of(self, numbers: Collection[int]) -> Effects:
        """The same of some graphs only, by their positions."""
        return replace(self, looked=tuple(one for one in self.looked if one.number in numbers))

    def _repr_html_(self) -> str:
        from osan.report.choice_page import choice_page

        return html_frame(choice_page(self))


def effects(
    folder: str | Path,
    graphs: int | Sequence[int] = 100,
    *,
    samples: int = 20,
    draws: int = 5,
    data: Path | None = None,
) -> Effects:
    """The effect of every chosen subgraph on graphs of the test split of a run.

    Parameters
    ----------
    folder
        The folder of a finished run with a policy.
    graphs
        The number of graphs, of which the first are taken, or their positions.
    samples
        The number of perturbed samples behind ``settled``.
    draws
        The number of random subgraphs that replace each chosen one.
    data
        The folder of raw files; ``$OSAN_DATA`` by default.

    Returns
    -------
    Effects
        Of the first target, if there are several. Errors are absolute differences, for classes the loss.
    """
    learner, settings, info = load_model(folder)
    model = learner.model
    if not isinstance(model, DataDrivenOSAN) or model.policy.count == "all":
        raise OsanError(
            f"selection.policy: expected a policy that chooses, got {settings.selection.policy!r}"
        )
    test = load_task(settings, data).test
    places = list(range(len(test))[:graphs]) if isinstance(graphs, int) else list(graphs)
    chosen = test[places]
    # The mean over samples; where they vote, this is still a logit.
    joined = predict_samples(learner, chosen, settings.training.batch_size)[1].mean(0)
    found: list[Looked] = []
    with evaluating(learner, samples=1, noise=Noise("none")):
        for batch in FlatLoader(chosen, settings.training.batch_size):
            first = len(found)
            official = joined[first : first + batch.num_graphs]
            found += _looked(learner, batch, official, samples, draws, chosen, first)
    looked = tuple(
        replace(one, number=place, graph=readable(one.graph, settings.data.dataset))
        for one, place in zip(found, places, strict=True)
    )
    return Effects(settings.name, model.policy, info.metric, info.kind != "regression", looked)


def _looked(
    learner: Learner, batch: Data, official: Tensor, samples: int, draws: int, graphs: FlatDataset, first: int
) -> list[Looked]:
    """The records of a batch: one pass per subgraph and replacement, for all graphs together."""
    model = learner.model
    assert isinstance(model, DataDrivenOSAN)
    out: Output = learner.look(batch)
    selected = out.selected[0]
    choice, problem = selected.choice, selected.problem
    count = choice.size(1)

    def value(columns: Tensor) -> Tensor:
        return _value(learner, learner.with_choice(batch, problem, columns), batch.y)

    whole_choice = _whole(model, choice)
    base, whole = value(choice), learner.with_choice(batch, problem, whole_choice)
    alone = [value(choice[:, [i]]) for i in range(count)]
    rest = [
        choice[:, [j for j in range(count) if j != i]] if count > 1 else whole_choice for i in range(count)
    ]
    without = [value(columns) - base for columns in rest]
    random = [torch.zeros_like(base) for _ in range(count)]
    for draw in range(draws):
        other = _random_choice(model, batch, problem, draw)
        for i in range(count):
            random[i] += (
                value(torch.cat([choice[:, :i], other[:, [i]], choice[:, i + 1 :]], 1)) - base
            ) / draws
    settled = _settled(model, batch, samples)
    both = (official.to(base.device), whole)
    shown = [_value(learner, each, batch.y) for each in both]
    errors = [losses_per_graph(each, batch.y, learner.info.kind) for each in both]
    part = (choice == 0) if model.policy.operation == "delete" else (choice != 0)
    ground = problem.ground
    graph_of_row = ground.graph if ground.element is None else ground.graph[ground.element]
    records = []
    for g in range(batch.num_graphs):
        rows = part[graph_of_row == g]  # the rows of a graph follow each other
        subgraphs = tuple(
            SubgraphEffect(
                tuple(rows[:, i].nonzero().flatten().tolist()),
                float(alone[i][g]),
                float(without[i][g]),
                float(random[i][g]),
            )
            for i in range(count)
        )
        records.append(
            Looked(
                graph=graphs[first + g],
                number=first + g,
                target=float(batch.y[g].flatten()[0]),
                prediction=float(shown[0][g]),
                whole=float(shown[1][g]),
                error=float(errors[0][g]),
                gain=float(errors[1][g] - errors[0][g]),
                settled=float(settled[g]),
                subgraphs=subgraphs,
            )
        )
    return records


def _value(learner: Learner, prediction: Tensor, y: Tensor) -> Tensor:
    """One number per graph: the first target, or the probability of the right class."""
    kind = learner.info.kind
    if kind == "multiclass":
        classes = y.flatten().clamp(min=0).unsqueeze(1)
        return prediction.softmax(1).gather(1, classes).squeeze(1)
    if kind == "binary":
        positive = prediction[:, 0].sigmoid()
        return torch.where(y[:, 0] == 0, 1 - positive, positive)
    return prediction[:, 0]


def _whole(model: DataDrivenOSAN, choice: Tensor) -> Tensor:
    """The whole graph alone: no subgraph beside it, or one with nothing to mark or everything to keep."""
    if model.whole_graph:
        return choice[:, :0]
    column = choice[:, :1]
    return torch.zeros_like(column) if model.policy.operation == "mark" else torch.ones_like(column)


def _random_choice(model: DataDrivenOSAN, batch: Data, problem: Problem, draw: int) -> Tensor:
    weights = torch.zeros(problem.ground.num_rows, model.policy.columns, device=batch.edge_index.device)
    randomness = Randomness.of(batch, model.seed + 1).repeat(draw)
    return Selection(model.policy, Random())(batch, weights, randomness, Noise("none"), problem).choice


def _settled(model: DataDrivenOSAN, batch: Data, samples: int) -> Tensor:
    """Cohen's kappa between samples of each graph, under the noise of training."""
    if not model.learns or samples < 2:
        return torch.full((batch.num_graphs,), torch.nan)
    silent, model.evaluation_noise = model.evaluation_noise, model.training_noise
    try:
        _, selected = model.draw(batch, samples)
    finally:
        model.evaluation_noise = silent
    excess, most = agreement([one.touched for one in selected], selected[0].problem.ground)
    return excess.sum(1) / most.sum(1)
