"""Message-passing layers one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, ModuleList, Parameter
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.convolution import (
    AllConv,
    ConvName,
    EdgeRows,
    MarkedConv,
    convolve,
    edge_mark_rows,
    edge_rows,
    make_conv,
    takes_edge_features,
)
from osan.nn.mlp import MLP, dropout
from osan.nn.norm import Activation, BagBatchNorm
from osan.words import Neighborhood


class Layer(Module):
    """Convolution, batch norm, activation, dropout, residual; removed copies count in none of them."""

    def __init__(
        self,
        conv: Module,
        width: int,
        *,
        edge_encoder: Module | None = None,
        norm: bool = True,
        activation: Activation | None = torch.nn.functional.relu,
        dropout: float = 0.0,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.conv = conv
        self.edge_encoder = edge_encoder if takes_edge_features(conv) else None
        self.edge_mark = Parameter(torch.randn(width)) if self.edge_encoder is not None else None
        self.norm = BagBatchNorm(width) if norm else None
        self.activation, self.dropout, self.residual = activation, dropout, residual

    def forward(self, h: Tensor, bag: SubgraphBag, edges: EdgeRows | None, kept: Tensor | None) -> Tensor:
        """Shape ``[copies, width]`` to the same."""
        own = None
        if self.edge_encoder is not None and edges is not None:
            own = edges.encoded(self.edge_encoder, h.size(1))
            if bag.edge_mark is not None and self.edge_mark is not None:
                own = edge_mark_rows(own, bag.edge_mark, self.edge_mark)
        out = convolve(self.conv, h, bag, own, kept)
        if out.shape != h.shape:
            raise OsanError(
                f"conv: {type(self.conv).__name__} must keep the shape {list(h.shape)}, [copies, width], "
                f"but gave {list(out.shape)}"
            )
        if self.norm is not None:
            out = self.norm(out, kept, self.activation)
        elif self.activation is not None:
            out = self.activation(out)
        out = dropout(out, self.dropout, self.training)
        return out + h if self.residual else out


class Stack(Module):
    r"""The T layers of a network, :math:`h^{(i+1)}_{v,g} = \mathsf{UPD}(h^{(i)}_{v,g}, \mathsf{AGG}(...))`.

    Parameters
    ----------
    width, layers
        The width of all features, and the number T of layers.
    conv
        ``"gin"``, ``"gine"``, ``"gcn"``, ``"pna"``, or a function from the width to a PyG layer.
    edge_encoder
        Called once per layer: a module from ``batch.edge_attr`` to rows of that width. An error if no layer
        looks at edge features.
    neighborhood
        The paper's square: ``"edges"`` (N(v)) or ``"all"`` (V(G)), for all layers or one for each.
    marked
        Whether marked and unmarked neighbors are aggregated apart.
    norm, activation, dropout, residual
        What each layer has.
    last_activation
        Whether the last layer has the activation too.
    options
        Passed to :func:`osan.nn.convolution.make_conv`: ``hidden``, ``degrees``, ``towers``.
    """

    def __init__(
        self,
        width: int,
        layers: int,
        conv: ConvName | Callable[[int], Module] = "gin",
        *,
        edge_encoder: Callable[[], Module] | None = None,
        neighborhood: Neighborhood | Sequence[Neighborhood] = "edges",
        marked: bool = False,
        norm: bool = True,
        activation: Activation = torch.nn.functional.relu,
        dropout: float = 0.0,
        residual: bool = False,
        last_activation: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        if isinstance(edge_encoder, Module) or not (edge_encoder is None or callable(edge_encoder)):
            raise OsanError(
                "edge_encoder: expected a function that makes an encoder for each layer, such as "
                f"lambda: Numerical(3, {width}); got {type(edge_encoder).__name__}"
            )
        squares = [neighborhood] * layers if isinstance(neighborhood, str) else list(neighborhood)
        if len(squares) != layers or not set(squares) <= {"edges", "all"}:
            raise OsanError(
                f"neighborhood: expected 'edges' or 'all' for each of {layers} layers, got {squares}"
            )
        inner = {"norm": norm, "activation": activation, "edges": edge_encoder is not None, **options}

        def one(square: str) -> Module:
            if square == "all":
                hidden = options.get("hidden") or width
                return AllConv(MLP([width, hidden, width], norm=norm, activation=activation))
            if marked:
                return MarkedConv(make_conv(conv, width, **inner), make_conv(conv, width, **inner))
            return make_conv(conv, width, **inner)

        self.layers = ModuleList(
            Layer(
                one(square),
                width,
                edge_encoder=edge_encoder() if edge_encoder is not None else None,
                norm=norm,
                activation=activation if last_activation or i + 1 < layers else None,
                dropout=dropout,
                residual=residual,
            )
            for i, square in enumerate(squares)
        )
        if edge_encoder is not None and not self.looks_at_edges:
            raise OsanError(
                f"edge_encoder: no layer looks at edge features with conv={conv!r} and neighborhood="
                f"{neighborhood!r}; take conv='gine', 'pna' or a PyG layer with edge_attr on 'edges', or "
                "leave the encoder out"
            )

    @property
    def looks_at_edges(self) -> bool:
        """Whether some layer takes edge features."""
        return any(layer.edge_encoder is not None for layer in self.layers)

    def forward(self, h: Tensor, batch: Data, bag: SubgraphBag) -> Tensor:
        """Shape ``[copies, width]`` to the same."""
        if bag.edge_mark is not None and not self.looks_at_edges:
            raise OsanError(
                "bag.edge_mark: no layer of this network looks at edges; "
                "build it with conv='gine' and an edge_encoder"
            )
        edges = edge_rows(batch, bag) if self.looks_at_edges else None
        kept = None if bag.layer_weight is None else bag.layer_weight.detach() != 0
        for layer in self.layers:
            h = layer(h, bag, edges, kept)
        return h
