"""Any PyG convolution on a bag, with weights on copied edges.

The one mechanism by which the weight of a copied edge enters: *the message that travels along the edge is
multiplied by it, and whatever counts messages counts weights*. So the result is that of the graph without
the edges of weight 0, and gradients reach every weight the layer is smooth in. GIN and GINE sum, so their
messages are scaled; GCN takes edge weights itself; PNA's mean, min, max, std and degrees are in
:mod:`osan.nn.pna`. Any other layer is given the edges of non-zero weight only and its messages are scaled by
a hook; gradients then reach these edges alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import Module, Parameter
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GINConv, GINEConv, MessagePassing

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.encoders import encoded
from osan.nn.hooks import scaled_messages
from osan.nn.messages import sum_of_messages
from osan.nn.mlp import MLP
from osan.nn.norm import Activation
from osan.nn.pna import AGGREGATORS, SCALERS, WeightedPNAConv

ConvName = Literal["gin", "gine", "gcn", "pna"]


@dataclass(frozen=True)
class EdgeRows:
    """Edge features as few rows: each different row once, and the row of each copied edge.

    Parameters
    ----------
    rows
        Shape ``[rows, columns]`` or, encoded, ``[rows, width]``.
    index
        The row of each copied edge, shape ``[copied edges]``.
    """

    rows: Tensor
    index: Tensor

    @staticmethod
    def apart(rows: Tensor) -> EdgeRows:
        """One row per copied edge, as they are."""
        return EdgeRows(rows, torch.arange(len(rows), device=rows.device))

    def encoded(self, encoder: Module, width: int) -> EdgeRows:
        """The rows through an encoder."""
        return EdgeRows(encoded(encoder, self.rows, "edge_encoder", width), self.index)

    def full(self) -> Tensor:
        """One row per copied edge."""
        return self.rows.index_select(0, self.index)


def edge_rows(batch: Data, bag: SubgraphBag) -> EdgeRows:
    """The edge features of a batch for the edges of a bag; equal rows of integers are encoded once."""
    attributes = getattr(batch, "edge_attr", None)
    if attributes is None:
        raise OsanError(
            f"batch.edge_attr: expected one row of features for each of {batch.num_edges} edges, found none"
        )
    if len(attributes) != batch.num_edges:
        raise OsanError(
            f"batch.edge_attr: expected {batch.num_edges} rows, one per edge, "
            f"got shape {list(attributes.shape)}"
        )
    if attributes.is_floating_point():
        return EdgeRows(attributes, bag.edge)
    rows, inverse = unique_rows(attributes[:, None] if attributes.dim() == 1 else attributes)
    return EdgeRows(rows, inverse[bag.edge])


def unique_rows(table: Tensor) -> tuple[Tensor, Tensor]:
    """The different rows of a table of integers, and the place of each row among them.

    Numbering the values column by column takes a fraction of the time of ``torch.unique(dim=0)``.

    >>> unique_rows(torch.tensor([[7, 1], [7, 0], [7, 1]]))
    (tensor([[7, 0],
            [7, 1]]), tensor([1, 0, 1]))
    """
    inverse = torch.zeros(len(table), dtype=torch.long, device=table.device)
    for column in range(table.size(1)):
        values, number = torch.unique(table[:, column], return_inverse=True)
        inverse = torch.unique(inverse * values.numel() + number, return_inverse=True)[1]
    count = int(inverse.max()) + 1 if inverse.numel() else 0
    first = inverse.new_zeros(count)
    first[inverse] = torch.arange(len(table), device=table.device)
    return table[first], inverse


def make_conv(
    name: ConvName | Callable[[int], Module],
    width: int,
    *,
    hidden: int | None = None,
    norm: bool = True,
    activation: Activation = torch.nn.functional.relu,
    train_eps: bool = False,
    degrees: Tensor | None = None,
    towers: int = 1,
    edges: bool = True,
) -> Module:
    """One convolution of a given width.

    Parameters
    ----------
    name
        ``"gin"``, ``"gine"``, ``"gcn"``, ``"pna"``, or a function from the width to a PyG layer.
    hidden
        The inner width of GIN's perceptron; by default the width.
    norm, activation
        Those of GIN's perceptron.
    train_eps
        Whether GIN's epsilon is learned.
    degrees
        Histogram of the degrees of the training graphs, for PNA (``PNAConv.get_degree_histogram``).
    towers, edges
        PNA's towers, each of which sees all features, and whether it looks at edge features.
    """
    if callable(name):
        return _own_conv(name, width)
    if name in ("gin", "gine"):
        mlp = MLP([width, hidden or width, width], norm=norm, activation=activation)
        return (GINConv if name == "gin" else GINEConv)(mlp, train_eps=train_eps)
    if name == "gcn":
        return GCNConv(width, width)
    if name == "pna":
        if degrees is None:
            raise OsanError("degrees: PNA needs the histogram of degrees of the training graphs, got none")
        return WeightedPNAConv(
            width,
            width,
            list(AGGREGATORS),
            list(SCALERS),
            degrees,
            edge_dim=width if edges else None,
            towers=towers,
        )
    raise OsanError(f"conv: expected 'gin', 'gine', 'gcn', 'pna' or a function of the width, got {name!r}")


def _own_conv(make: Callable[[int], Module], width: int) -> Module:
    """The layer that a user's function makes, once it is clear that it is one."""
    expected = "conv: expected a function from the width to a layer, such as lambda w: GATConv(w, w)"
    if isinstance(make, Module):
        raise OsanError(
            f"{expected}; got the layer {type(make).__name__} itself, but each layer needs its own"
        )
    if isinstance(make, type):
        try:
            signature(make).bind(width)
        except TypeError as error:
            raise OsanError(f"{expected}; {make.__name__} alone will not do ({error})") from None
    conv = make(width)
    if not isinstance(conv, Module):
        raise OsanError(f"{expected}; got a function that returns {type(conv).__name__}")
    return conv


def takes_edge_features(conv: Module) -> bool:
    """Whether a layer looks at edge features."""
    if isinstance(conv, MarkedConv):
        return takes_edge_features(conv.marked)
    if isinstance(conv, WeightedPNAConv):
        return conv.edge_dim is not None
    return isinstance(conv, MessagePassing) and "edge_attr" in signature(conv.forward).parameters


class AllConv(Module):
    r"""GIN with V(G) as the neighborhood: :math:`\mathrm{MLP}(h_v + \sum_{u \in V(G)} h_u)`.

    The sum runs over the copies in the same subgraph, v itself included.
    """

    def __init__(self, mlp: MLP) -> None:
        super().__init__()
        self.mlp = mlp

    def forward(self, h: Tensor, bag: SubgraphBag, kept: Tensor | None) -> Tensor:
        """Shape ``[copies, width]`` to the same."""
        weight = bag.layer_weight
        there = h if weight is None else h * weight.to(h.dtype)[:, None]
        total = h.new_zeros(bag.num_subgraphs, h.size(1)).index_add(0, bag.subgraph, there)
        return self.mlp(h + total.index_select(0, bag.subgraph), kept)


class MarkedConv(Module):
    r"""Separate aggregation of marked and unmarked neighbors (paper, appendix, equation of marked GNNs).

    .. math:: h_v' = \mathsf{AGG}_{marked}\{\!\{h_u \mid u \in N(v) \cap M\}\!\}
              + \mathsf{AGG}_{unmarked}\{\!\{h_u \mid u \in N(v) \setminus M\}\!\}

    Each part is a layer of its own, so GIN's parts also see :math:`h_v`.

    Parameters
    ----------
    marked, unmarked
        The two layers, of the same kind.
    """

    def __init__(self, marked: Module, unmarked: Module) -> None:
        super().__init__()
        self.marked, self.unmarked = marked, unmarked


def convolve(
    conv: Any, h: Tensor, bag: SubgraphBag, edges: EdgeRows | Tensor | None = None, kept: Tensor | None = None
) -> Tensor:
    """One layer on a bag.

    Parameters
    ----------
    conv
        An :class:`AllConv`, a :class:`MarkedConv`, or any PyG layer.
    h
        Shape ``[copies, width]``.
    bag
        The bag; its edge weights scale the messages (see the module's text).
    edges
        Edge features for layers that take them, one row per copied edge: ``batch.edge_attr[bag.edge]``.
    kept
        Which copies batch norms see.

    Examples
    --------
    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> path.edge_attr = torch.eye(4)
    >>> bag = bags.all_subsets(path, k=1)
    >>> conv = GINEConv(torch.nn.Linear(8, 8), edge_dim=4)
    >>> convolve(conv, torch.ones(bag.num_copies, 8), bag, path.edge_attr[bag.edge]).shape
    torch.Size([6, 8])
    """
    if len(h) != bag.num_copies:
        raise OsanError(
            f"h: expected {bag.num_copies} rows, one per copy as in x[bag.vertex], got {list(h.shape)}"
        )
    if isinstance(edges, Tensor):
        edges = _rows_of(edges, bag)
    if edges is None and isinstance(conv, GINEConv):
        raise OsanError(
            "GINE needs edge features: build the network with an edge_encoder or take GIN; in a network of "
            "your own, convolve(layer, h, bag, batch.edge_attr[bag.edge])"
        )
    if isinstance(conv, AllConv):
        return conv(h, bag, kept)
    if isinstance(conv, MarkedConv):
        return _marked(conv, h, bag, edges, kept)
    if _sums(conv):
        gine = type(conv) is GINEConv
        out = sum_of_messages(
            h,
            bag.edge_index,
            feature=edges.rows if gine and edges is not None else None,
            index=edges.index if gine and edges is not None else None,
            weight=bag.edge_weight,
            own=1 + conv.eps,
        )
        return conv.nn(out, kept) if isinstance(conv.nn, MLP) else conv.nn(out)
    features = {"edge_attr": edges.full()} if edges is not None and takes_edge_features(conv) else {}
    if bag.edge_weight is None:
        return conv(h, bag.edge_index, **features)
    weight = bag.edge_weight.to(h.dtype)
    if isinstance(conv, WeightedPNAConv):
        return conv(h, bag.edge_index, weight=weight, **features)
    if isinstance(conv, GCNConv):
        return conv(h, bag.edge_index, edge_weight=weight)
    if not isinstance(conv, MessagePassing):
        raise OsanError(f"conv: edge weights need a PyG MessagePassing layer, got {type(conv).__name__}")
    there = weight.detach() != 0
    edge_index = bag.edge_index[:, there]
    with scaled_messages(conv, edge_index, weight[there]):
        return conv(h, edge_index, **{name: value[there] for name, value in features.items()})


def _sums(conv: Any) -> bool:
    """Whether a layer adds up messages along the edges, as :func:`sum_of_messages` does."""
    return (
        type(conv) in (GINConv, GINEConv)
        and conv.aggr in ("add", "sum")
        and conv.flow == "source_to_target"
        and getattr(conv, "lin", None) is None
    )


def _rows_of(features: Tensor, bag: SubgraphBag) -> EdgeRows:
    """Features that a user hands over, once it is clear that they are those of copied edges."""
    if features.dim() != 2 or len(features) != bag.num_copied_edges:
        raise OsanError(
            f"edges: expected shape [{bag.num_copied_edges}, d], one row per copied edge as in "
            f"batch.edge_attr[bag.edge], got {list(features.shape)}"
        )
    return EdgeRows.apart(features)


def _marked(
    conv: MarkedConv, h: Tensor, bag: SubgraphBag, edges: EdgeRows | None, kept: Tensor | None
) -> Tensor:
    if bag.mark is None:
        raise OsanError(f"bag.mark: expected shape [{bag.num_copies}], found none; make the bag with marks")
    mark = bag.mark[bag.edge_index[0]]
    out = None
    for layer, share in ((conv.marked, mark), (conv.unmarked, 1 - mark)):
        if mark.requires_grad or bag.edge_weight is not None:
            weight = share if bag.edge_weight is None else share * bag.edge_weight
            part, part_edges = replace(bag, edge_weight=weight), edges
        else:
            mask = share != 0
            part = replace(bag, edge_index=bag.edge_index[:, mask], edge=bag.edge[mask], edge_mark=None)
            part_edges = None if edges is None else EdgeRows(edges.rows, edges.index[mask])
        result = convolve(layer, h, part, part_edges, kept)
        out = result if out is None else out + result
    return out  # type: ignore[return-value]


def edge_mark_rows(edges: EdgeRows, mark: Tensor, vector: Parameter) -> EdgeRows:
    """Encoded edge features with a learned vector added to marked edges, one row per copied edge."""
    return EdgeRows.apart(edges.full() + mark.to(vector.dtype)[:, None] * vector)
