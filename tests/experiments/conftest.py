"""A few graphs of every dataset of the paper."""

import shutil
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from osan.data import Normalization, Task, load
from osan.data.published import readers
from osan.data.published.loading import find, prepare
from osan.data.task import make_task
from osan.training.settings import Settings


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


def write_qm9(root: Path, source: Path, count: int = 12) -> None:
    """The first molecules of QM9 in its raw format; reading all would take most of the test's time."""
    folder = root / "QM9" / "qm9_12k" / "raw"
    folder.mkdir(parents=True)
    raw = source / "QM9" / "qm9_12k" / "raw"
    with (raw / "gdb9.sdf").open() as stream:
        records = stream.read(count * 10_000).split("$$$$\n")[:count]
    (folder / "gdb9.sdf").write_text("".join(record + "$$$$\n" for record in records))
    with (raw / "gdb9.sdf.csv").open() as stream:
        (folder / "gdb9.sdf.csv").write_text("".join(islice(stream, count + 1)))
    shutil.copy(raw / "uncharacterized.txt", folder)


@pytest.fixture(scope="session")
def few(osan_data: Path, real_cache: Path, tmp_path_factory: pytest.TempPathFactory):
    """``few(settings)``: the task of a recipe with a handful of graphs of its dataset in each split."""
    cache_folder = tmp_path_factory.mktemp("cache")
    small = tmp_path_factory.mktemp("small")
    write_alchemy(small)
    write_qm9(small, osan_data)

    @cache
    def whole(name: str, fold: int | None, distances: bool) -> Task:
        if name not in ("alchemy", "qm9"):
            return load(name, osan_data, cache=real_cache, fold=fold)
        # The published splits have 12 000 graphs; here each gets a third of twelve.
        source = find(name)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(readers, "SUBSET", (4, 4, 4))
            made = prepare(source, small, cache_folder)
        made = source.options["distances"](made) if distances else made
        parts = {part: torch.arange(i, 12, 3) for i, part in enumerate(("train", "val", "test"))}
        return make_task(
            name,
            made.graphs,
            parts,
            kind=source.kind,
            metric=source.metric,
            vertex_features=made.vertex_features,
            edge_features=made.edge_features,
            normalize=source.normalize,
        )

    def some(settings: Settings) -> Task:
        wanted = settings.data
        task = whole(wanted.dataset, 0 if wanted.fold == "seed" else None, bool(wanted.options))
        parts = {name: part[_both(part.y)] for name, part in task.splits.items()}
        scale = None if task.normalization is None else Normalization.of(parts["train"].y)
        return replace(task, **parts, normalization=scale, metric=wanted.metric or task.metric)

    return some


def _both(y: torch.Tensor, count: int = 4) -> torch.Tensor:
    """Positions of a few graphs; of both classes, where there are just two values."""
    values = y.reshape(len(y), -1)[:, 0]
    if len(values.unique()) == 2:
        halves = [(values == value).nonzero().flatten()[: count // 2] for value in values.unique()]
        return torch.cat(halves)
    return torch.arange(min(count, len(y)))
