"""What each chosen subgraph does to a prediction: alone, left out, or replaced by random ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.data import FlatLoader
from osan.errors import OsanError
from osan.nn import DataDrivenOSAN, Output
from osan.report.frequencies import chosen_part, members_agreement
from osan.report.zinc import readable
from osan.selection import Noise, Policy, Problem, Random, Randomness, Selected, Selection, agreement
from osan.shown import html_frame
from osan.training.evaluation import evaluating, predict_members
from osan.training.members import joined, members_of
from osan.training.module import Learner
from osan.training.run import load_predictor
from osan.training.scores import losses_per_graph
from osan.training.tasks import load_task


@dataclass(frozen=True)
class SubgraphEffect:
    """A chosen subgraph of a graph; of an ensemble, values are means over the members that choose it.

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
    members
        How many members choose it.
    parts
        Which part of each element is chosen; all of it, 1, unless the choice is soft.
    """

    elements: tuple[int, ...]
    alone: float
    without: float
    random: float
    members: int = 1
    parts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.parts:
            object.__setattr__(self, "parts", (1.0,) * len(self.elements))

    @property
    def soft(self) -> bool:
        """Whether some element is chosen in part only."""
        return any(part < 1 for part in self.parts)


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
        nothing to choose. Of an ensemble, the mean over its members.
    subgraphs
        The subgraphs that are chosen without noise; of an ensemble, those of most members first.
    agreement
        How far the members of an ensemble agree, see :func:`~osan.report.frequencies.members_agreement`; NaN
        for a single network.
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
    agreement: float = float("nan")


@dataclass(frozen=True)
class Effects:
    """The effects of the choice on the graphs of a test split, by a network or an ensemble of ``members``.

    ``classes`` are the names of classes, if there are several.
    """

    name: str
    policy: Policy
    metric: str
    of_classes: bool
    looked: tuple[Looked, ...]
    members: int = 1
    classes: tuple[str, ...] = ()

    @property
    def soft(self) -> bool:
        """Whether some vertex or edge is chosen in part only."""
        return any(subgraph.soft for one in self.looked for subgraph in one.subgraphs)

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
        Predictions and errors are those of the whole ensemble; the effect of a subgraph is that on the
        prediction of the member that chooses it.
    """
    predictor = load_predictor(folder)
    members, settings, info = members_of(predictor), predictor.settings, predictor.info
    model = members[0].model
    if not isinstance(model, DataDrivenOSAN) or model.policy.count == "all":
        raise OsanError(
            f"selection.policy: expected a policy that chooses, got {settings.selection.policy!r}"
        )
    test = load_task(settings, data).test
    places = list(range(len(test))[:graphs]) if isinstance(graphs, int) else list(graphs)
    chosen = test[places]
    size = settings.training.batch_size
    # The mean over samples; where they vote, this is still a logit.
    official = joined(predict_members(predictor, chosen, size)[1].mean(1), info.kind)
    looked: list[Looked] = []
    for batch in FlatLoader(chosen, size):
        parts = [_part(member, batch, samples, draws) for member in members]
        here = range(len(looked), len(looked) + batch.num_graphs)
        found = _looked(parts, batch, official[here.start : here.stop], info.kind)
        looked += [
            replace(one, graph=readable(chosen[i], settings.data.dataset), number=places[i])
            for i, one in zip(here, found, strict=True)
        ]
    return Effects(
        settings.name,
        model.policy,
        info.metric,
        info.kind != "regression",
        tuple(looked),
        len(members),
        info.class_names if info.kind == "multiclass" else (),
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """What one network makes of a batch: its choice, and the subgraphs of each graph with their effects."""

    selected: Selected
    whole: Tensor
    settled: Tensor
    subgraphs: list[tuple[SubgraphEffect, ...]]


def _looked(parts: Sequence[_Part], batch: Data, official: Tensor, kind: str) -> list[Looked]:
    """The records of a batch, by what every member makes of it; graphs and positions are yet to be set."""
    whole = joined(torch.stack([part.whole for part in parts]), kind)
    agreed = torch.full((batch.num_graphs,), torch.nan)
    if len(parts) > 1:
        agreed = members_agreement([part.selected for part in parts])
    both = (official.to(whole.device), whole)
    shown = [_value(kind, each, batch.y) for each in both]
    errors = [losses_per_graph(each, batch.y, kind) for each in both]
    return [
        Looked(
            graph=batch,
            number=g,
            target=float(batch.y[g].flatten()[0]),
            prediction=float(shown[0][g]),
            whole=float(shown[1][g]),
            error=float(errors[0][g]),
            gain=float(errors[1][g] - errors[0][g]),
            settled=fmean(float(part.settled[g]) for part in parts),
            subgraphs=_shared([part.subgraphs[g] for part in parts]),
            agreement=float(agreed[g]),
        )
        for g in range(batch.num_graphs)
    ]


def _shared(members: Sequence[Sequence[SubgraphEffect]]) -> tuple[SubgraphEffect, ...]:
    """The subgraphs that members choose, each once, with the mean of its effects; those of most first.

    >>> one, two = (SubgraphEffect((0,), alone, 0.0, 0.0) for alone in (1.0, 3.0))
    >>> other = replace(one, elements=(4,))
    >>> [(each.elements, each.alone, each.members) for each in _shared([[one], [other, two]])]
    [((0,), 2.0, 2), ((4,), 1.0, 1)]
    """
    if len(members) == 1:
        return tuple(members[0])
    found: dict[tuple[int, ...], list[SubgraphEffect]] = {}
    for subgraphs in members:
        for one in subgraphs:
            found.setdefault(one.elements, []).append(one)
    out = [
        SubgraphEffect(
            elements,
            fmean(one.alone for one in same),
            fmean(one.without for one in same),
            fmean(one.random for one in same),
            sum(any(one.elements == elements for one in subgraphs) for subgraphs in members),
            tuple(map(fmean, zip(*(one.parts for one in same), strict=True))),
        )
        for elements, same in found.items()
    ]
    return tuple(sorted(out, key=lambda one: -one.members))


def _part(learner: Learner, batch: Data, samples: int, draws: int) -> _Part:
    """One pass per subgraph and replacement, for all graphs of a batch together."""
    with evaluating(learner, samples=1, noise=Noise("none")):
        return _effects_in(learner, batch, samples, draws)


def _effects_in(learner: Learner, batch: Data, samples: int, draws: int) -> _Part:
    model = learner.model
    assert isinstance(model, DataDrivenOSAN)
    out: Output = learner.look(batch)
    selected = out.selected[0]
    choice, problem = selected.choice, selected.problem
    count = choice.size(1)

    def value(columns: Tensor) -> Tensor:
        return _value(learner.info.kind, learner.with_choice(batch, problem, columns), batch.y)

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
    part = chosen_part(selected)
    ground = problem.ground
    graph_of_row = ground.graph if ground.element is None else ground.graph[ground.element]
    records = []
    for g in range(batch.num_graphs):
        rows = part[graph_of_row == g]  # the rows of a graph follow each other
        elements = [rows[:, i].nonzero().flatten() for i in range(count)]
        subgraphs = tuple(
            SubgraphEffect(
                tuple(elements[i].tolist()),
                float(alone[i][g]),
                float(without[i][g]),
                float(random[i][g]),
                parts=tuple(rows[elements[i], i].tolist()),
            )
            for i in range(count)
        )
        records.append(subgraphs)
    return _Part(selected, whole, settled, records)


def _value(kind: str, prediction: Tensor, y: Tensor) -> Tensor:
    """One number per graph: the first target, or the probability of the right class."""
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
