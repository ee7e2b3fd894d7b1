r"""Weighers: from a batch to the weights :math:`\theta` by which subgraphs are chosen.

The upstream network learns them. A centrality fixes them. A prior starts from a centrality and learns how to
depart from it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import Linear

from osan import devices
from osan.bags.layout import graph_index
from osan.data.centralities import score
from osan.errors import OsanError
from osan.nn.structure import graph_pointers


class CentralityWeigher(nn.Module):
    r"""Weights from a centrality of the vertices, the same in every channel; nothing is learned.

    .. math:: \theta_v = \frac{\log(1 + c_v) - \mu_G}{\sigma_G}

    with mean and standard deviation over the vertices of each graph. The weight of an edge is the sum of
    those of its ends. Vertices that look alike have equal weights, so the choice among them is random rather
    than by their numbers.

    Parameters
    ----------
    name
        ``"centrality"``, ``"degree"``, ``"pagerank"``, ``"core"`` or ``module:name``: see
        :data:`osan.data.CENTRALITIES`. Batches that have a ``score`` of shape ``[vertices, 1]`` keep it.
    columns
        The number of columns.
    edges
        Whether to weigh edges.

    References
    ----------
    Southern et al., "Balancing efficiency and expressiveness: subgraph GNNs with walk-based centrality", ICML
    2025.

    Examples
    --------
    >>> star = Data(num_nodes=4, edge_index=torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]]))
    >>> CentralityWeigher("degree")(star).argmax().item()
    0
    """

    def __init__(self, name: str = "centrality", columns: int = 1, *, edges: bool = False) -> None:
        super().__init__()
        self.name, self.columns, self.edges = name, columns, edges

    def forward(self, batch: Data, so_far: Tensor | None = None) -> Tensor:
        """Weights of shape ``[vertices, columns]`` or ``[edges, columns]``; ``so_far`` does not matter."""
        values = getattr(batch, "score", None)
        if values is None:
            values = score(batch.edge_index.cpu(), graph_pointers(batch), self.name)
            values = devices.sent(values, batch.edge_index.device)
        exact = values.to(devices.widest(values.device)).flatten()
        weights = standardized(torch.log1p(exact), *graph_index(batch))
        if self.edges:
            weights = weights[batch.edge_index].sum(0)
        return weights.to(torch.get_default_dtype())[:, None].expand(-1, self.columns)

    def extra_repr(self) -> str:
        return f"{self.name}, columns={self.columns}"


class Prior(nn.Module):
    r"""A centrality plus an upstream network that starts at zero.

    .. math:: \theta = a \, \theta^{\text{centrality}} + h_{W_1}(G, H)

    with a learned strength a. Training starts with the central choice and departs from it as it learns.

    Parameters
    ----------
    upstream
        The network; the last linear map of its ``out`` is set to zero.
    centrality
        The weights to start from.
    strength
        The first value of a. Gumbel noise has a standard deviation of 1.28.

    Examples
    --------
    >>> from osan.nn.upstream import Upstream
    >>> star = Data(num_nodes=4, edge_index=torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]]))
    >>> prior = Prior(Upstream(1, 8), CentralityWeigher())
    >>> prior(star).argmax().item()
    0
    """

    def __init__(self, upstream: nn.Module, centrality: nn.Module, strength: float = 1.0) -> None:
        super().__init__()
        self.upstream, self.centrality = neutral(upstream), centrality
        self.strength = nn.Parameter(torch.tensor(float(strength)))

    def forward(self, batch: Data, so_far: Tensor | None = None) -> Tensor:
        """Weights of shape ``[vertices, columns]`` or ``[edges, columns]``."""
        learned: Tensor = self.upstream(batch) if so_far is None else self.upstream(batch, so_far)
        return learned + self.strength * self.centrality(batch)


def neutral(upstream: nn.Module) -> nn.Module:
    """The same upstream network, with weights that are all 0 before training: it begins without a preference.

    Weights as drawn prefer some vertices by chance, so the first subgraphs contain those. With equal weights,
    noise and ties decide at first.

    Parameters
    ----------
    upstream
        The network; the last linear map of its ``out`` is set to zero.

    Examples
    --------
    >>> from osan.nn.upstream import Upstream
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> neutral(Upstream(1, 8))(path).flatten().tolist()
    [0.0, 0.0, 0.0]
    """
    out = getattr(upstream, "out", None)
    parts = out.modules() if isinstance(out, nn.Module) else ()
    last = [part for part in parts if isinstance(part, nn.Linear | Linear)]
    if not last:
        raise OsanError("weigher: expected an upstream network with a last linear map 'out', got none")
    nn.init.zeros_(last[-1].weight)
    if last[-1].bias is not None:
        nn.init.zeros_(last[-1].bias)
    return upstream


def standardized(values: Tensor, graph: Tensor, graphs: int) -> Tensor:
    """Values with mean 0 and standard deviation 1 in each graph; 0 where all are equal. ``[vertices]``.

    >>> standardized(torch.tensor([1.0, 3.0, 5.0]), torch.tensor([0, 0, 1]), 2)
    tensor([-1.,  1.,  0.])
    """
    count = torch.bincount(graph, minlength=graphs).clamp(min=1).to(values.dtype)
    mean = values.new_zeros(graphs).index_add(0, graph, values) / count
    centered = values - mean[graph]
    variance = values.new_zeros(graphs).index_add(0, graph, centered.square()) / count
    # A spread this small is rounding: the values are equal.
    scale = variance.sqrt()
    scale = torch.where(scale > 1e-9 * (1 + mean.abs()), scale, torch.inf)
    return centered / scale[graph]
