"""A planted motif: the answer lies in a small subgraph that has to be found."""

from __future__ import annotations

import networkx as nx
import numpy as np
import torch
from torch_geometric.data import Data

from osan.errors import OsanError


def planted_motif(num_graphs: int, seed: int) -> list[Data]:
    """Random trees with one planted triangle; the target is the sum of its vertex features.

    Each graph is a uniformly random labeled tree on 14 to 20 vertices with random 0/1 features. A random
    path of three vertices is closed to form the only triangle. Nothing else affects the target, so a
    network that sees three vertices can be exact if they are the right ones.

    Parameters
    ----------
    num_graphs
        Number of graphs.
    seed
        The same seed gives the same graphs.

    Returns
    -------
    list of Data
        Each with ``x`` of shape ``[n, 1]``, ``y`` of shape ``[1, 1]``, ``planted`` (bool, shape ``[n]``:
        the triangle) and ``graph_id``.

    Examples
    --------
    >>> graph = planted_motif(1, seed=0)[0]
    >>> int(graph.planted.sum()), bool(graph.y.item() == graph.x[graph.planted].sum())
    (3, True)
    """
    if num_graphs < 1:
        raise OsanError(f"num_graphs: expected at least 1, got {num_graphs}")
    rng = np.random.default_rng(seed)
    return [_one(rng, number) for number in range(num_graphs)]


def _one(rng: np.random.Generator, number: int) -> Data:
    n = int(rng.integers(14, 21))
    graph = nx.random_labeled_tree(n, seed=int(rng.integers(2**31)))
    middle = int(rng.choice([v for v in graph if graph.degree(v) >= 2]))
    first, last = (int(v) for v in rng.choice(sorted(graph[middle]), size=2, replace=False))
    graph.add_edge(first, last)
    pairs = torch.tensor(list(graph.edges), dtype=torch.long).t()
    x = torch.from_numpy(rng.integers(0, 2, size=(n, 1))).float()
    planted = torch.zeros(n, dtype=torch.bool)
    planted[[first, middle, last]] = True
    return Data(
        x=x,
        edge_index=torch.cat([pairs, pairs.flip(0)], dim=1),
        y=x[planted].sum().view(1, 1),
        planted=planted,
        graph_id=torch.tensor([number]),
    )
