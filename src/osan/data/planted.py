"""The planted motif: trees with one triangle, whose vertices alone decide the target."""

from __future__ import annotations

import networkx as nx
import numpy as np
import torch
from torch_geometric.data import Data

from osan.errors import OsanError


def planted_motif(num_graphs: int, seed: int) -> list[Data]:
    """Random trees of 14 to 20 vertices with one planted triangle.

    Each vertex has the feature 0 or 1 with equal chance. Two neighbours of a vertex are joined, which gives
    the graph its only cycle; the target is the sum of the features of that triangle. A network must find
    the triangle and look at nothing else.

    Parameters
    ----------
    num_graphs
        How many graphs.
    seed
        Equal seeds give equal graphs.

    Returns
    -------
    list of Data
        ``x`` integer of shape (n, 1), ``edge_index``, ``y`` float of shape (1, 1).

    Examples
    --------
    >>> graph = planted_motif(1, seed=0)[0]
    >>> graph.num_edges == 2 * graph.num_nodes  # a tree and one more edge
    True
    """
    if num_graphs < 1:
        raise OsanError(f"num_graphs must be at least 1, got {num_graphs}")
    rng = np.random.default_rng(seed)
    return [_one(rng) for _ in range(num_graphs)]


def _one(rng: np.random.Generator) -> Data:
    size = int(rng.integers(14, 21))
    # Every sequence is the Pruefer code of one tree: trees are drawn uniformly.
    tree = nx.from_prufer_sequence(rng.integers(0, size, size - 2).tolist())
    centre = rng.choice([v for v in range(size) if tree.degree[v] > 1])
    ends = rng.choice(sorted(tree[centre]), 2, replace=False)
    tree.add_edge(*ends.tolist())
    x = rng.integers(0, 2, size)
    edges = np.array(tree.edges).T
    both = np.concatenate([edges, edges[::-1]], axis=1)
    target = float(x[[centre, *ends]].sum())
    return Data(
        x=torch.from_numpy(x).reshape(-1, 1),
        edge_index=torch.from_numpy(both[:, np.lexsort(both[::-1])]),
        y=torch.tensor([[target]]),
    )
