"""An encoding and a dataset: ``data.encodings = ["my_data:sizes:2"]``, ``data.dataset = "my_data:trees"``."""

import torch

from osan.data import planted_motif, task_from_graphs


def sizes(edge_index, ptr, columns):
    """The number of vertices of the graph, in every column."""
    count = ptr.diff()
    return torch.repeat_interleave(count, count).float()[:, None].expand(-1, columns)


def trees(seed=0, graphs=30):
    """Trees with a triangle."""
    return task_from_graphs(planted_motif(graphs, seed=seed), name="trees", seed=seed)


def double(edge_index, ptr, columns):
    """No encoding: too many columns."""
    return sizes(edge_index, ptr, 2 * columns)


def make(seed=0):
    """No dataset: graphs without splits."""
    return planted_motif(10, seed=seed)
