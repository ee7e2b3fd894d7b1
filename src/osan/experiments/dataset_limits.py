"""What a network can reach at best on a dataset, from the colors of its graphs alone.

A network that is bounded by a test gives graphs of one color the same prediction, whatever its weights. So
the best constants, one per color, bound its score before anything is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.data.flat import FlatDataset
from osan.data.task import Task
from osan.errors import OsanError
from osan.graphs import Graph, as_graph
from osan.training.scores import score
from osan.wl import WLTest, refine

#: 1-WL bounds message passing networks, 1-OSWL those that also see every graph with one vertex marked.
TESTS = (WLTest("wl", k=1), WLTest("oswl", k=1))
_METRICS = ("mae", "rmse", "r2", "accuracy", "rocauc")


@dataclass(frozen=True)
class Limit:
    """How far a test sees on a dataset.

    Attributes
    ----------
    test
        The test.
    colors
        The number of colors of the graphs.
    confused
        The number of graphs that have the color of a graph with another target.
    best
        The best score that a function of the color can have on all graphs, by the metric of the task.
    """

    test: WLTest
    colors: int
    confused: int
    best: float


def limits(
    task: Task,
    tests: Sequence[WLTest] = TESTS,
    *,
    layers: int | None = None,
    structure: bool = False,
    progress: Callable[[WLTest], None] | None = None,
) -> list[Limit]:
    r"""The best scores that networks bounded by some tests can have on a dataset.

    .. math:: \min_f \sum_G \ell(f(C(G)), y_G) = \sum_c \min_a \sum_{C(G) = c} \ell(a, y_G)

    with the color C(G) that the test gives a graph. All splits count together: not even a network that was
    trained on the test split could do better. If two tests have the same number of colors, the stronger one
    sees nothing more in this dataset.

    Parameters
    ----------
    task
        The dataset, as :func:`osan.data.load` gives it, with the metric ``"mae"``, ``"rmse"``, ``"r2"``,
        ``"accuracy"`` or ``"rocauc"``.
    tests
        1-WL and 1-OSWL by default.
    layers
        Stop after this many rounds, as a network with so many layers does; ``None`` refines until stable.
    structure
        Whether to leave out the features of vertices and edges.
    progress
        Called with each test before it runs.

    Returns
    -------
    list[Limit]
        One for each test.

    Examples
    --------
    >>> from osan.data import load
    >>> [(str(limit.test), limit.colors, round(limit.best, 2)) for limit in limits(load("csl-generated"))]
    [('1-WL', 1, 0.1), ('1-OSWL', 10, 1.0)]
    """
    if task.metric not in _METRICS:
        raise OsanError(f"metric: expected one of {', '.join(_METRICS)}, got {task.metric!r}")
    whole = task.whole
    graphs = _graphs(whole, structure)
    out = []
    for test in tests:
        if progress is not None:
            progress(test)
        colors = torch.from_numpy(refine(graphs, test, rounds=layers).graph_colors).long()
        best = float(score(best_constants(whole.y, colors, task), whole.y, task.kind, task.metric))
        out.append(Limit(test, len(torch.unique(colors)), _confused(whole.y, colors), best))
    return out


def best_constants(y: Tensor, colors: Tensor, task: Task) -> Tensor:
    """The best prediction for each graph that depends on its color alone, as :func:`score` takes them.

    They are medians for the mean absolute error, means for the squared one, and the shares of classes
    otherwise: ranking by them maximizes ROC-AUC, by the lemma of Neyman and Pearson.

    Parameters
    ----------
    y
        The targets of all graphs, as :class:`osan.data.Task` has them.
    colors
        Shape ``[graphs]``.
    task
        Says the kind of task and its metric.
    """
    if task.kind == "multiclass":
        known = torch.nn.functional.one_hot(y.clamp(min=0), task.num_targets) * (y >= 0)[:, None]
        return _sums(known.double(), colors)[colors]
    values = y.double()
    if task.metric == "mae":
        return torch.stack([_medians(column, colors) for column in values.T], dim=1)
    present = ~values.isnan()
    means = _sums(torch.where(present, values, 0.0), colors) / _sums(present.double(), colors).clamp(min=1)
    # Accuracy looks at the sign.
    return means[colors] - (0.5 if task.kind == "binary" else 0.0)


def _graphs(whole: FlatDataset, structure: bool) -> list[Graph]:
    if not structure:
        return [as_graph(data) for data in whole]
    return [as_graph(Data(edge_index=data.edge_index, num_nodes=data.num_nodes)) for data in whole]


def _sums(rows: Tensor, colors: Tensor) -> Tensor:
    """The sum of the rows of each color."""
    return rows.new_zeros(int(colors.max()) + 1, rows.size(1)).index_add(0, colors, rows)


def _medians(values: Tensor, colors: Tensor) -> Tensor:
    """The median of the values of each graph's color; those that are NaN do not count."""
    present = ~values.isnan()
    some, groups = values[present].numpy(), colors[present].numpy()
    ordered = some[np.lexsort((some, groups))]
    count = np.bincount(groups, minlength=int(colors.max()) + 1)
    start = np.cumsum(count) - count
    middle = np.where(count > 0, start + (count - 1) // 2, 0), np.where(count > 0, start + count // 2, 0)
    medians = (ordered[middle[0]] + ordered[middle[1]]) / 2 if len(ordered) else np.zeros(len(count))
    return torch.from_numpy(medians)[colors]


def _confused(y: Tensor, colors: Tensor) -> int:
    """How many graphs share their color with a graph of another target."""
    rows = y.reshape(len(y), -1).double().nan_to_num(nan=torch.inf)
    target = torch.unique(rows, dim=0, return_inverse=True)[1]
    pairs = torch.unique(torch.stack((colors, target)), dim=1)
    targets_of_color = torch.bincount(pairs[0], minlength=int(colors.max()) + 1)
    return int((targets_of_color[colors] > 1).sum())
