"""Message-passing layers one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import Module, ModuleList, Parameter
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.edges import EdgeRows
from osan.nn.fused import fused
from osan.nn.layers import GIN, AcrossConv, AllConv, Conv, LayerSpec, MarkedConv, make_layer
from osan.nn.mlp import dropout
from osan.nn.norm import Activation, BagBatchNorm
from osan.nn.options import checked
from osan.nn.view import View, views
from osan.words import Neighborhood


class Layer(Module):
    """A layer with what surrounds it: edge encoder, batch norm, activation, dropout and residual.

    Parameters
    ----------
    conv
        Called with ``(h, view)``.
    width
        The width of the features.
    edge_encoder
        From ``batch.edge_attr`` to rows of that width; unused if the layer does not look at edges.
    edge_mark
        Whether a learned vector is added to the features of marked edges.
    norm, activation, dropout, residual
        What follows the layer.
    shared_dropout
        Whether copies that share a row share its dropout; otherwise no rows are shared in training.
    """

    def __init__(
        self,
        conv: Module,
        width: int,
        *,
        edge_encoder: Module | None = None,
        edge_mark: bool = False,
        norm: bool = True,
        activation: Activation | None = torch.nn.functional.relu,
        dropout: float = 0.0,
        residual: bool = False,
        shared_dropout: bool = False,
    ) -> None:
        super().__init__()
        self.conv = conv
        self.edge_encoder = edge_encoder if getattr(conv, "looks_at_edges", False) else None
        learned = edge_mark and self.edge_encoder is not None
        self.edge_mark = Parameter(torch.randn(width)) if learned else None
        self.norm = BagBatchNorm(width) if norm else None
        self.activation, self.dropout, self.residual = activation, dropout, residual
        self.shared_dropout = shared_dropout

    def forward(self, h: Tensor, view: View) -> Tensor:
        """Shape ``[rows in, width]`` to ``[rows out, width]``."""
        edges = None
        if self.edge_encoder is not None and view.edges is not None:
            edges = view.edges.encoded(self.edge_encoder, h.size(1))
            if view.edge_mark is not None and self.edge_mark is not None:
                marks = view.edge_mark.to(self.edge_mark.dtype)[:, None]
                edges = EdgeRows.one_per_edge(edges.full() + marks * self.edge_mark)
        out = fused(self, h, view, edges)
        if out is None:
            out = self.in_parts(h, view, edges)
        if self.training and self.dropout:
            out = dropout(out, self.dropout, True)
        return out + view.own(h) if self.residual else out

    def in_parts(self, h: Tensor, view: View, edges: EdgeRows | None) -> Tensor:
        """Convolution, norm and activation."""
        out: Tensor = self.conv(h, view.with_edges(edges))
        if out.shape != (view.num_rows, h.size(1)):
            inner = getattr(self.conv, "conv", self.conv)
            raise OsanError(
                f"conv: expected {type(inner).__name__} to return shape {[view.num_rows, h.size(1)]}, "
                f"[rows, width], got {list(out.shape)}"
            )
        if self.norm is not None:
            out = self.norm(out, view.count, self.activation)
        elif self.activation is not None:
            out = self.activation(out)
        return out


class Stack(Module):
    r"""The T layers of a network, :math:`h^{(i+1)}_{v,g} = \mathsf{UPD}(h^{(i)}_{v,g}, \mathsf{AGG}(...))`.

    Parameters
    ----------
    width, layers
        The width of all features, and the number T of layers.
    conv
        ``"gin"``, ``"gine"``, ``"gcn"``, ``"pna"``, ``"module:name"``, or a function from the width to a
        layer: any layer of PyG, or one that is called with ``(h, view)``.
    edge_encoder
        A function that makes an encoder from ``batch.edge_attr`` to rows of that width. It is called once per
        layer, so each layer has its own. An error if no layer looks at edge features.
    edge_mark
        Whether layers that look at edges add a learned vector to the features of marked edges.
    neighborhood
        The neighborhood that is aggregated: ``"edges"`` (N(v)) or ``"all"`` (V(G)), for all layers or one for
        each.
    marked
        Whether marked and unmarked neighbors are aggregated separately.
    across
        Whether a GIN beside each layer sends messages between the copies of a vertex in subgraphs whose marks
        are neighbors: see :class:`osan.nn.layers.AcrossConv`. The bag needs marks.
    norm, activation, dropout, residual
        What follows each layer.
    shared_dropout
        Whether copies with the same features so far, whatever the weights, also share their dropout. They can
        then be computed once in training (see the page on sharing); otherwise each copy has its own dropout.
    last_activation
        Whether the last layer has the activation too.
    hidden, train_eps, degrees, towers
        Options of the named layers: see :class:`osan.nn.layers.LayerSpec`.

    Examples
    --------
    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> bag = bags.all_subsets(path, k=1)
    >>> Stack(8, 2)(torch.ones(bag.num_copies, 8), path, bag).shape
    torch.Size([6, 8])
    """

    @checked()
    def __init__(
        self,
        width: int,
        layers: int,
        conv: Conv = "gin",
        *,
        edge_encoder: Callable[[], Module] | None = None,
        edge_mark: bool = False,
        neighborhood: Neighborhood | Sequence[Neighborhood] = "edges",
        marked: bool = False,
        across: bool = False,
        norm: bool = True,
        activation: Activation = torch.nn.functional.relu,
        dropout: float = 0.0,
        residual: bool = False,
        last_activation: bool = True,
        hidden: int | None = None,
        train_eps: bool = False,
        degrees: Tensor | None = None,
        towers: int = 1,
        shared_dropout: bool = False,
    ) -> None:
        super().__init__()
        if isinstance(edge_encoder, Module) or not (edge_encoder is None or callable(edge_encoder)):
            raise OsanError(
                "edge_encoder: expected a function that makes an encoder for each layer, such as "
                f"lambda: Numerical(3, {width}), got {type(edge_encoder).__name__}"
            )
        each = [neighborhood] * layers if isinstance(neighborhood, str) else list(neighborhood)
        if len(each) != layers or not set(each) <= {"edges", "all"}:
            raise OsanError(
                f"neighborhood: expected 'edges' or 'all' for each of {layers} layers, got {each}"
            )
        spec = LayerSpec(hidden, norm, activation, train_eps, degrees, towers, edge_encoder is not None)

        def one(around: str) -> Module:
            inside = within(around)
            if not across:
                return inside
            own = torch.nn.Linear(width, width, bias=False)
            return AcrossConv(inside, GIN(spec.mlp(width), train_eps=train_eps), own)

        def within(around: str) -> Module:
            if around == "all":
                return AllConv(spec.mlp(width))
            if marked:
                return MarkedConv(make_layer(conv, width, spec), make_layer(conv, width, spec))
            return make_layer(conv, width, spec)

        self.layers = ModuleList(
            Layer(
                one(around),
                width,
                edge_encoder=edge_encoder() if edge_encoder is not None else None,
                edge_mark=edge_mark,
                norm=norm,
                activation=activation if last_activation or i + 1 < layers else None,
                dropout=dropout,
                residual=residual,
                shared_dropout=shared_dropout,
            )
            for i, around in enumerate(each)
        )
        if edge_encoder is not None and not self.looks_at_edges:
            raise OsanError(
                f"edge_encoder: no layer looks at edge features with conv={conv!r} and neighborhood="
                f"{neighborhood!r}; use conv='gine', 'pna', a PyG layer with edge_attr or a layer with "
                "looks_at_edges = True on 'edges', or leave the encoder out"
            )

    @property
    def looks_at_edges(self) -> bool:
        """Whether some layer takes edge features."""
        return any(layer.edge_encoder is not None for layer in self.layers)

    def forward(self, h: Tensor, batch: Data, bag: SubgraphBag) -> Tensor:
        """Run the layers on a bag, shape ``[copies, width]`` to the same."""
        return self.run(h, self.views(batch, bag))

    def views(self, batch: Data, bag: SubgraphBag) -> Sequence[View]:
        """What each layer sees of a bag."""
        self.check(bag)
        return views(batch, bag, len(self.layers), edges=self.looks_at_edges)

    def check(self, bag: SubgraphBag) -> None:
        """Refuse a bag with marks on edges that no layer looks at."""
        if bag.edge_mark is not None and all(layer.edge_mark is None for layer in self.layers):
            raise OsanError(
                "bag.edge_mark: expected no edge marks, since no layer of this network looks at them, got "
                "some; build it with conv='gine', an edge_encoder and edge_mark=True"
            )

    def run(self, h: Tensor, views: Sequence[View]) -> Tensor:
        """Run each layer on its view, shape ``[rows in, width]`` to ``[rows out of the last, width]``."""
        for layer, view in zip(self.layers, views, strict=True):
            h = layer(h, view)
        return h
