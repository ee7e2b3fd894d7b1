"""The upstream network: from a graph to the weights of its vertices or edges."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import BatchNorm, GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from osan.errors import OsanError
from osan.nn.encoders import as_encoder, encoded, encoded_vertices, warn_unseen
from osan.nn.messages import sum_of_messages
from osan.nn.norm import normalized
from osan.nn.options import Encoder


class Upstream(nn.Module):
    r"""The network that gives weights :math:`\theta = h_{W_1}(G, H)` (paper, "Upstream models").

    Three GCN layers with batch norm and ReLU after each, then m channels per vertex, or per edge from the
    features of its end vertices and its attributes.

    Parameters
    ----------
    count
        Number m of subgraphs, one channel each.
    width
        Width of the layers, that of the downstream network in the paper.
    edges
        Whether to weigh edges rather than vertices.
    vertex_encoder
        From ``batch.x`` to features of shape ``[vertices, width]``: a module, or a function that makes one.
        Without it a custom ``model`` gets ``batch.x`` itself. The GCN, or a model if there is no ``x``,
        starts with the same learned features at every vertex; the GCN warns once if there is an ``x``.
    edge_encoder
        From ``batch.edge_attr`` to ``[edges, width]``, for ``edges=True`` only: a module, or a function that
        makes one. Without it edge attributes are not used.
    model
        Any PyG model, called with features and ``edge_index``, instead of the GCN. If it has
        ``out_channels``, that is its output width.
    layers
        Number of GCN layers.
    in_turn
        Whether to look at the subgraphs chosen so far, for policies ``in turn``: a learned vector is added to
        the features of vertices that are selected, marked or deleted already, or are ends of such edges.

    Examples
    --------
    >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> Upstream(count=5, width=8, vertex_encoder=nn.Linear(3, 8))(path).shape
    torch.Size([3, 5])
    >>> Upstream(count=5, width=8, vertex_encoder=nn.Linear(3, 8), edges=True)(path).shape
    torch.Size([4, 5])
    """

    def __init__(
        self,
        count: int,
        width: int,
        *,
        edges: bool = False,
        vertex_encoder: Encoder | None = None,
        edge_encoder: Encoder | None = None,
        model: nn.Module | None = None,
        layers: int = 3,
        in_turn: bool = False,
    ) -> None:
        super().__init__()
        if count < 1 or width < 1 or layers < 1:
            given = f"{count!r}, {width!r} and {layers!r}"
            raise OsanError(f"upstream: expected count, width and layers of at least 1, got {given}")
        if edge_encoder is not None and not edges:
            raise OsanError(
                "upstream: edge_encoder: expected none, since vertices are weighed without edge attributes, "
                "got one; build it with edges=True for an edge policy, or leave the encoder out"
            )
        self.width, self.edges = width, edges
        self.given, self.warned = model is not None, False
        self.vertex_encoder = as_encoder(vertex_encoder, "upstream: vertex_encoder")
        self.edge_encoder = as_encoder(edge_encoder, "upstream: edge_encoder")
        self.start = nn.Parameter(torch.randn(width)) if vertex_encoder is None else None
        self.model = _GCN(width, layers) if model is None else model
        features = getattr(self.model, "out_channels", width)
        if edges:
            ends = 2 * features + (width if edge_encoder is not None else 0)
            self.out: nn.Module = nn.Sequential(nn.Linear(ends, width), nn.ReLU(), nn.Linear(width, count))
        else:
            self.out = nn.Linear(features, count)
        self.mark = nn.Parameter(torch.randn(width)) if in_turn else None

    def forward(self, batch: Data, so_far: Tensor | None = None) -> Tensor:
        """Weights of shape ``[vertices, m]``, or ``[edges, m]`` aligned with ``edge_index``.

        Parameters
        ----------
        batch
            The graphs.
        so_far
            What was selected, marked or deleted by earlier draws, 1 or 0, shape ``[vertices, t]`` or
            ``[edges, t]``.
        """
        h = self._features(batch)
        if so_far is not None and so_far.size(1) > 0:
            h = self._marked(h, batch, so_far)
        h = self.model(h, batch.edge_index)
        if not self.edges:
            return self.out(h)
        parts = [h[batch.edge_index[0]], h[batch.edge_index[1]]]
        if self.edge_encoder is not None:
            attributes = getattr(batch, "edge_attr", None)
            if attributes is None:
                raise OsanError("upstream: batch.edge_attr: expected a tensor for its encoder, got none")
            parts.append(encoded(self.edge_encoder, attributes, "upstream: edge_encoder", self.width))
        return self.out(torch.cat(parts, dim=1))

    def _marked(self, h: Tensor, batch: Data, so_far: Tensor) -> Tensor:
        """Features with the choices so far."""
        if self.mark is None or len(self.mark) != h.size(1):
            given = "in_turn=False" if self.mark is None else f"features of width {h.size(1)}"
            raise OsanError(
                f"upstream: expected in_turn=True and features of width {self.width} for a policy in turn, "
                f"got {given}; pass a vertex_encoder for features of another width"
            )
        times = so_far.sum(1, keepdim=True).to(h.dtype)
        if self.edges:
            times = times.new_zeros(len(h), 1).index_add(0, batch.edge_index[1], times)
        return h + times * self.mark

    def _features(self, batch: Data) -> Tensor:
        if self.vertex_encoder is not None:
            return encoded_vertices(self.vertex_encoder, batch, "upstream: vertex_encoder", self.width)
        x = getattr(batch, "x", None)
        if self.given and x is not None and x.numel():
            wanted = getattr(self.model, "in_channels", None)
            if isinstance(wanted, int) and wanted not in (-1, x.size(-1)):  # -1 in PyG: any number
                raise OsanError(
                    f"upstream: batch.x: expected {wanted} columns for the model, got shape {list(x.shape)}; "
                    f"pass width={wanted} and vertex_encoder=torch.nn.Linear({x.size(-1)}, {wanted})"
                )
            return x
        self.warned = self.warned or warn_unseen(batch, self.width)
        return self.start.expand(batch.num_nodes, -1)  # type: ignore[union-attr]


class _GCN(nn.Module):
    """GCN layers with batch norm and ReLU after each (PyG's model has neither after the last)."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(GCNConv(width, width, normalize=False) for _ in range(layers))
        self.norms = nn.ModuleList(BatchNorm(width, allow_single_element=True) for _ in range(layers))

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        # The same for all layers, each of which would compute it again.
        edge_index, weight = gcn_norm(edge_index, num_nodes=len(h), dtype=h.dtype)
        conv: Any
        for conv, norm in zip(self.convs, self.norms, strict=True):
            # What the layer and its norm compute, without a tensor per edge and with the activation.
            h = sum_of_messages(conv.lin(h), edge_index, weight=weight) + conv.bias
            h = normalized(norm.module, h, activation=torch.nn.functional.relu)
        return h
