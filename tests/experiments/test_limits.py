"""What networks can reach at best: against brute force over all functions of the color."""

import itertools
import json

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data
from typer.testing import CliRunner

from osan import wl
from osan.cli import app
from osan.data import load, task_from_graphs
from osan.errors import OsanError
from osan.experiments import limits
from osan.experiments.dataset_limits import best_constants
from osan.training.scores import score
from osan.wl import WLTest

# Hexagon and two triangles look alike to 1-WL; the paths do not.
SHAPES = [
    nx.cycle_graph(6),
    nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)),
    nx.path_graph(6),
    nx.path_graph(5),
]


def task_of(y, kind, metric, shapes=SHAPES):
    graphs = []
    for number, target in enumerate(y):
        pairs = torch.tensor(list(shapes[number % len(shapes)].edges)).t()
        both = torch.cat([pairs, pairs.flip(0)], dim=1)
        nodes = shapes[number % len(shapes)].number_of_nodes()
        graphs.append(Data(x=torch.zeros(nodes, 1), edge_index=both, y=target.reshape(1, -1)))
    split = {"train": range(len(y) - 2), "val": [len(y) - 2], "test": [len(y) - 1]}
    return task_from_graphs(graphs, kind=kind, metric=metric, split=split)


def targets(kind, seed, missing=False):
    generator = torch.Generator().manual_seed(seed)
    if kind == "regression":
        y = torch.randint(0, 5, (12, 2), generator=generator).float()
    else:
        y = torch.randint(0, 2, (12, 1), generator=generator).float()
        y[:2] = torch.tensor([[0.0], [1.0]])
    if missing:
        y[3, 0] = torch.nan
    return y


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("kind", "metric"),
    [("regression", "mae"), ("regression", "rmse"), ("binary", "accuracy"), ("binary", "rocauc")],
)
def test_no_function_of_the_color_is_better(kind, metric, seed, missing):
    y = targets(kind, seed, missing)
    task = task_of(y, kind, metric)
    found = limits(task, [WLTest("wl", k=1)])[0]
    assert found.colors == 3
    color = torch.tensor([0, 0, 1, 2] * 3)
    # Constants to try: quarters for regression contain the medians; five ranks of three colors for classes.
    grid = torch.arange(0, 4.25, 0.25) if kind == "regression" else torch.tensor([-1.0, -0.5, 0.5, 1.0])
    better = max if task.direction == "max" else min
    reached = []
    for column in y.t():
        tried = torch.tensor(list(itertools.product(grid.tolist(), repeat=3)))[:, color]
        if kind == "regression":  # the errors of all functions at once
            errors = (tried - column).abs() ** (1 if metric == "mae" else 2)
            values = errors.nanmean(1) ** (1 if metric == "mae" else 0.5)
            # They are what the metric says.
            assert score(tried[:1].t(), column[:, None], kind, metric) == pytest.approx(float(values[0]))
            reached.append(float(values.min()))
        else:
            reached.append(
                better(float(score(each[:, None], column[:, None], kind, metric)) for each in tried)
            )
    brute = sum(reached) / len(reached)
    if metric == "rmse":  # means need not be on the grid
        assert brute - 0.05 < found.best <= brute + 1e-6
    else:
        assert found.best == pytest.approx(brute)


def test_more_colors_are_never_worse_and_pairs_are_counted():
    y = targets("regression", 0)
    task = task_of(y, "regression", "mae")
    one, marked = limits(task)
    assert (one.colors, marked.colors) == (3, 4)
    assert marked.best <= one.best
    graphs = [wl.refine(SHAPES).graph_colors[i % 4] for i in range(12)]
    alike = sum(any(graphs[i] == graphs[j] and not y[i].equal(y[j]) for j in range(12)) for i in range(12))
    assert one.confused == alike


def test_layers_and_structure():
    task = task_of(targets("regression", 1), "regression", "mae")
    assert limits(task, layers=0)[0].colors == 2  # by the number of vertices alone
    labeled = load("csl-generated")
    assert [x.colors for x in limits(labeled, structure=True)] == [1, 10]


def test_classes_with_names():
    csl = load("csl-generated")
    colors = torch.arange(len(csl.whole.y)) % 7
    best = best_constants(csl.whole.y, colors, csl).argmax(1)
    hits = 0
    for color in range(7):
        members = csl.whole.y[colors == color]
        hits += int(torch.bincount(members).max())
    assert int((best == csl.whole.y).sum()) == hits


def test_metrics_without_a_best_constant_are_refused():
    with pytest.raises(OsanError, match="metric: expected one of mae, rmse"):
        limits(task_of(targets("regression", 0), "regression", "spearman"))


def test_the_command():
    shown = CliRunner().invoke(app, ["data", "limits", "csl-generated", "--json"])
    assert [row["best accuracy"] for row in json.loads(shown.stdout)["limits"]] == pytest.approx([0.1, 1.0])
    shown = CliRunner().invoke(app, ["data", "limits", "csl-generated", "--layers", "2"])
    assert "graphs confused" in shown.stdout
