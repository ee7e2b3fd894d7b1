"""A few graphs of every dataset of the paper."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from osan.data import Normalisation, Task, load


def write_alchemy(root: Path, graphs: int = 12) -> None:
    """A folder like Alchemy's in the TU collection: random trees, six atoms, four bonds, twelve targets."""
    rng = np.random.default_rng(0)
    folder = root / "TU" / "alchemy_full" / "raw"
    folder.mkdir(parents=True)
    arcs: list[tuple[int, int]] = []
    indicator: list[int] = []
    for graph in range(1, graphs + 1):
        size, start = int(rng.integers(8, 13)), len(indicator) + 1
        tree = nx.random_labeled_tree(size, seed=graph)
        arcs += [(start + u, start + v) for a, b in tree.edges for u, v in ((a, b), (b, a))]
        indicator += [graph] * size
    columns = {
        "A": np.array(arcs),
        "graph_indicator": np.array(indicator),
        "node_labels": np.arange(len(indicator)) % 6,
        "edge_labels": np.arange(len(arcs)) // 2 % 4,
        "graph_attributes": rng.normal(size=(graphs, 12)),
    }
    for name, values in columns.items():
        form = "%.6f" if name == "graph_attributes" else "%d"
        np.savetxt(folder / f"alchemy_full_{name}.txt", values, fmt=form, delimiter=", ")


@pytest.fixture(scope="session")
def few(osan_data: Path, tmp_path_factory: pytest.TempPathFactory):
    """``few(settings)``: the task of a recipe with a handful of real graphs in each split."""
    from osan.data.loading import find

    cache_folder = tmp_path_factory.mktemp("cache")
    alchemy = tmp_path_factory.mktemp("alchemy")
    write_alchemy(alchemy)

    @cache
    def whole(name: str, fold: int | None, distances: bool) -> Task:
        options = {"distances": True} if distances else {}
        root = alchemy if name == "alchemy" else osan_data
        if name == "alchemy":
            # The published subset has 12 000 graphs; here each split gets some of the twelve.
            from osan.data import loading
            from osan.data.task import make_task

            source = find(name)
            made = loading.prepare(source, root, cache_folder)
            parts = {part: torch.arange(i, 12, 3) for i, part in enumerate(("train", "val", "test"))}
            return make_task(
                name, made.graphs, parts, kind=source.kind, metric=source.metric,
                vertex_features=made.vertex_features, edge_features=made.edge_features, normalise=True,
            )  # fmt: skip
        return load(name, root, cache=cache_folder, fold=fold, **options)

    def some(settings) -> Task:
        wanted = settings.data
        task = whole(wanted.dataset, 0 if wanted.fold == "seed" else None, bool(wanted.options))
        parts = {name: part[_both(part.y)] for name, part in task.splits.items()}
        scale = None if task.normalisation is None else Normalisation.of(parts["train"].y)
        return replace(task, **parts, normalisation=scale, metric=wanted.metric or task.metric)

    return some


def _both(y: torch.Tensor, count: int = 4) -> torch.Tensor:
    """Positions of a few graphs; of both classes, where there are just two values."""
    values = y.reshape(len(y), -1)[:, 0]
    if len(values.unique()) == 2:
        halves = [(values == value).nonzero().flatten()[: count // 2] for value in values.unique()]
        return torch.cat(halves)
    return torch.arange(min(count, len(y)))
