"""Generated tasks: they need no files, their ground truth is exact, and equal seeds give equal graphs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from osan.data.convert import from_graphs
from osan.data.flat import flatten
from osan.data.generated.planted import planted_motif
from osan.data.generated.twisted import num_colors, twisted_pairs
from osan.data.splits import Split, random_split
from osan.data.task import Features, Task, make_task
from osan.errors import OsanError
from osan.graphs import Graph, csl

CSL_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)


def twisted_task(seed: int = 0, k: int = 2, num_pairs: int = 20, copies: int = 10) -> Task:
    """Whether a CFI graph is twisted: k-OSAN can tell, (k - 1)-OSAN cannot.

    The pairs are those of :func:`osan.data.twisted_pairs`. Each of the ``2 * num_pairs`` graphs comes in
    ``copies`` random numberings: one in ten is in the validation split, one in ten in the test split, at
    least one in each. A network that cannot see the twist gives both graphs of a pair the same answer, so
    its accuracy is exactly 1/2 on every split. Invariant networks see nothing new in the test split, so
    their test accuracy shows what they can express.

    >>> task = twisted_task(seed=0, k=1, num_pairs=2, copies=5)
    >>> [len(part) for part in task.splits.values()], task.vertex_features.sizes
    ([12, 4, 4], (15,))
    """
    pairs = twisted_pairs(k, num_pairs, seed)
    originals = [(graph, twisted) for pair in pairs for graph, twisted in ((pair.a, 0), (pair.b, 1))]
    graphs, split = relabeled_copies([graph for graph, _ in originals], copies, seed)
    y = torch.tensor([float(twisted) for _, twisted in originals]).repeat_interleave(copies).reshape(-1, 1)
    return make_task(
        "twisted-pairs",
        from_graphs(graphs, y),
        split,
        kind="binary",
        metric="accuracy",
        vertex_features=Features(sizes=(num_colors(k),)),
    )


def csl_task(seed: int = 0, copies: int = 15) -> Task:
    """Circular skip links: the ten classes CSL(41, s) of Murphy et al. (2019) with 15 graphs each.

    >>> task = csl_task()
    >>> task.num_targets, [len(part) for part in task.splits.values()]
    (10, [130, 10, 10])
    """
    graphs, split = relabeled_copies([csl(41, skip) for skip in CSL_SKIPS], copies, seed)
    y = torch.arange(len(CSL_SKIPS)).repeat_interleave(copies)
    return make_task(
        "csl-generated",
        from_graphs(graphs, y),
        split,
        kind="multiclass",
        metric="accuracy",
        vertex_features=Features(sizes=(1,)),
    )


def planted_task(seed: int = 0, num_graphs: int = 1000) -> Task:
    """The sum of the features of the only triangle of a graph.

    The graphs are those of :func:`osan.data.planted_motif`.
    """
    graphs = flatten(planted_motif(num_graphs, seed))
    return make_task(
        "planted-motif",
        # The features 0 and 1 as categories, like the labels of the other generated graphs.
        graphs.with_tensors(x=graphs.tensors["x"].long()),
        random_split(num_graphs, seed),
        kind="regression",
        metric="mae",
        vertex_features=Features(sizes=(2,)),
    )


GENERATED: dict[str, Callable[..., Task]] = {
    "twisted-pairs": twisted_task,
    "csl-generated": csl_task,
    "planted-motif": planted_task,
}


def relabeled_copies(graphs: list[Graph], copies: int, seed: int) -> tuple[list[Graph], Split]:
    """``copies`` random numberings of each graph, and a split with every graph in each of its parts."""
    if copies < 3:
        raise OsanError(f"copies: expected at least 3, one for each split, got {copies}")
    rng = np.random.default_rng([seed, 2])
    out = [graph.permuted(rng.permutation(graph.num_vertices)) for graph in graphs for _ in range(copies)]
    held = max(1, copies // 10)
    place = torch.arange(len(out)) % copies
    return out, {
        "train": (place >= 2 * held).nonzero().reshape(-1),
        "val": (place < held).nonzero().reshape(-1),
        "test": ((place >= held) & (place < 2 * held)).nonzero().reshape(-1),
    }
