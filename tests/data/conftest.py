"""Fixtures for the tests of data: published datasets, and small folders in their formats."""

from pathlib import Path

import numpy as np
import pytest

from osan.data import Task, load


@pytest.fixture(scope="session")
def real(osan_data: Path, real_cache: Path):
    """``real(name, ...)`` loads a published dataset from OSAN_DATA through the session's cache."""

    def load_real(name: str, **options: object) -> Task:
        return load(name, osan_data, cache=real_cache, **options)

    return load_real


def _write_tu(
    folder: Path, name: str, graphs: int, seed: int = 0, targets: int = 12
) -> dict[str, np.ndarray]:
    """A random TU folder: vertex and edge labels, and regression targets or (``targets=0``) two classes.

    Every third graph has no edge, the last one among them. Returns what was written.
    """
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    sizes = rng.integers(2, 6, graphs)
    indicator = np.repeat(np.arange(1, graphs + 1), sizes)
    arcs, edge_labels = [], []
    for graph, (start, size) in enumerate(zip(np.cumsum([0, *sizes[:-1]]), sizes, strict=True)):
        if (graphs - 1 - graph) % 3 == 0:
            continue
        for i in range(size - 1):  # a path
            label = int(rng.integers(0, 4))
            arcs += [(start + i + 1, start + i + 2), (start + i + 2, start + i + 1)]
            edge_labels += [label, label]
    labels = rng.integers(0, 6, sizes.sum())
    labels[:6] = np.arange(6)
    edge_labels[:8] = [0, 0, 1, 1, 2, 2, 3, 3]
    out = {"sizes": sizes, "arcs": np.array(arcs), "labels": labels, "edge_labels": np.array(edge_labels)}
    np.savetxt(folder / f"{name}_A.txt", out["arcs"], fmt="%d", delimiter=", ")
    np.savetxt(folder / f"{name}_graph_indicator.txt", indicator, fmt="%d")
    np.savetxt(folder / f"{name}_node_labels.txt", labels, fmt="%d")
    np.savetxt(folder / f"{name}_edge_labels.txt", out["edge_labels"], fmt="%d")
    if targets:
        out["y"] = rng.normal(size=(graphs, targets))
        np.savetxt(folder / f"{name}_graph_attributes.txt", out["y"], fmt="%.6f", delimiter=",")
    else:
        out["y"] = np.arange(graphs) % 2
        np.savetxt(folder / f"{name}_graph_labels.txt", out["y"], fmt="%d")
    return out


@pytest.fixture(scope="session")
def write_tu():
    """``write_tu(folder, name, graphs, ...)`` writes a small TU folder."""
    return _write_tu
