"""Weights of one size in every graph, with a learned scale."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from osan.bags.layout import graph_index


class Normalized(nn.Module):
    r"""The weights of another weigher, normalized in every graph and column, times a learned scale.

    .. math:: \theta'_j = e^s \, \frac{\theta_j - \mu_G}{\sqrt{\sigma_G^2 + \varepsilon}}

    with mean and variance over the rows of the graph. Noise of scale 1 then means the same in every graph
    and at every time of training, and a single number, learned, decides how much it matters. Equal weights
    stay equal.

    Parameters
    ----------
    weigher
        From a batch to weights of shape ``[vertices, columns]`` or ``[edges, columns]``.
    edges
        Whether these are weights of edges.
    epsilon
        Added to the variance, so that rounding errors of equal weights stay small.

    Examples
    --------
    >>> from osan.nn.weighers import CentralityWeigher
    >>> star = Data(num_nodes=4, edge_index=torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]]))
    >>> Normalized(CentralityWeigher("degree"))(star).std(0, correction=0).round(decimals=3)
    tensor([1.], grad_fn=<RoundBackward1>)
    """

    def __init__(self, weigher: nn.Module, *, edges: bool = False, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.weigher, self.edges, self.epsilon = weigher, edges, epsilon
        self.log_scale = nn.Parameter(torch.zeros(()))

    def forward(self, batch: Data, so_far: Tensor | None = None) -> Tensor:
        """Weights of the same shape as those of the weigher."""
        weights: Tensor = self.weigher(batch) if so_far is None else self.weigher(batch, so_far)
        graph, graphs = graph_index(batch)
        if self.edges:
            graph = graph[batch.edge_index[0]]
        number = torch.bincount(graph, minlength=graphs).clamp(min=1).unsqueeze(1)
        centered = weights - (_total(weights, graph, graphs) / number)[graph]
        variance = _total(centered.square(), graph, graphs) / number
        return self.log_scale.exp() * centered * (variance + self.epsilon).rsqrt()[graph]

    def extra_repr(self) -> str:
        return f"edges={self.edges}"


def _total(rows: Tensor, graph: Tensor, graphs: int) -> Tensor:
    return rows.new_zeros(graphs, rows.size(1)).index_add(0, graph, rows)
