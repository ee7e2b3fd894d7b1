"""Any layer of PyG, or with PyG's calling convention, on a view."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from inspect import Parameter, signature
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.nn import (
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    GraphConv,
    MessagePassing,
    PNAConv,
    ResGatedGraphConv,
    SAGEConv,
    TransformerConv,
)

from osan.errors import OsanError
from osan.nn.hooks import scaled_messages
from osan.nn.layers.gcn import gcn, smooth
from osan.nn.layers.gin import missing_edges, require_single, sum_and_map, sums
from osan.nn.layers.row_local import row_local
from osan.nn.view import View

Run = Callable[[Any, Tensor, View], Tensor]


class PyGLayer(Module):
    """A layer that is called with ``(x, edge_index)``, as a layer that is called with ``(h, view)``.

    The layer gets the edges of weight other than 0 only, and the messages of all PyG layers in it are
    multiplied by the weights. So the result is that of the graph without the edges of weight 0; gradients
    reach the other edges. A layer that looks at several rows at once, through a batch norm or attention, gets
    only the copies that are present. ``GINConv``, ``GINEConv`` and ``GCNConv`` are smooth in all weights, so
    with them gradients reach removed edges too.

    A layer with ``edge_attr`` in its ``forward`` gets edge features, one with ``batch`` the subgraph of each
    copy.

    Parameters
    ----------
    conv
        The layer.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.nn import SAGEConv
    >>> PyGLayer(SAGEConv(4, 4)).looks_at_edges
    False
    """

    def __init__(self, conv: Module) -> None:
        super().__init__()
        takes = _parameters(conv)
        places = [p for p in takes.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if takes and (len(places) < 2 or places[1].name == "batch"):
            raise OsanError(
                f"conv: expected a layer that is called with (x, edge_index) or (h, view), got "
                f"{type(conv).__name__}, which is called with ({', '.join(takes)})"
            )
        self.conv = conv
        self.takes_batch = "batch" in takes
        self.looks_at_edges = _takes_edge_attr(conv)
        self.needs_edges = isinstance(conv, GINEConv) or (
            "edge_attr" in takes and takes["edge_attr"].default is Parameter.empty
        )
        self.passes_messages = any(isinstance(part, MessagePassing) for part in conv.modules())
        applies, run = _EXACT.get(type(conv), (None, _run))
        self.run: Run = run if applies is None or applies(conv) else _run
        self.local = row_local(conv)

    def forward(self, h: Tensor, view: View) -> Tensor:
        """Shape ``[rows, width]`` to ``[rows, width out]``."""
        return self.run(self if self.run is _run else self.conv, h, view)


def _run(layer: PyGLayer, h: Tensor, view: View) -> Tensor:
    conv, count, weight = layer.conv, view.count, view.weight
    if view.row is not None and weight is None and of_multisets(conv):
        return _between(layer, h, view)
    if view.row is not None or (weight is None and (count is None or layer.local)):
        return _whole(layer, h, view)
    if weight is not None and not layer.passes_messages:
        raise OsanError(
            f"conv: expected a layer with PyG's MessagePassing inside for edge weights, got "
            f"{type(conv).__name__}"
        )
    if layer.local:
        kept = weight.detach() != 0  # type: ignore[union-attr]
        rows, edge_index, weight = None, view.edge_index[:, kept], weight[kept]  # type: ignore[index]
    else:
        if count is not None:
            require_single(count, type(conv).__name__)
        present = view.present
        rows, kept, edge_index, weight = present.rows, present.kept, present.edge_index, present.weight
    more = _more(layer, view, kept)
    if layer.takes_batch:
        more["batch"] = view.present.batch
    scaled = nullcontext() if weight is None else scaled_messages(conv, edge_index, weight.to(h.dtype))
    with scaled:
        if rows is None:
            return conv(h, edge_index, **more)
        if not rows.numel():
            return h * 0
        out = conv(h.index_select(0, rows), edge_index, **more)
    return out.new_zeros(len(h), *out.shape[1:]).index_copy(0, rows, out)


def _whole(layer: PyGLayer, h: Tensor, view: View) -> Tensor:
    """The layer where nothing is removed and nothing is weighted."""
    if view.row is not None:
        raise OsanError(
            f"view.row: expected as many rows out as in for {type(layer.conv).__name__}, one per copy; "
            "got other rows out"
        )
    more = _more(layer, view, None)
    if layer.takes_batch:
        more["batch"] = view.batch
    return layer.conv(h, view.edge_index, **more)


def of_multisets(conv: Any) -> bool:
    """Whether a layer of PyG is known to be a function of the row itself and the multiset of its messages.

    It is so for the classes in :data:`MULTISET`, with an aggregation that does not look at the order of
    messages, and with row-wise parts only; not for layers that look at degrees of senders, or further than
    one step.
    """
    if type(conv) not in MULTISET or conv.flow != "source_to_target":
        return False
    if type(getattr(conv, "aggr_module", None)).__name__ not in _UNORDERED:
        return False
    if conv.training and float(getattr(conv, "dropout", 0.0) or 0.0) > 0:
        return False
    return row_local(conv) and not any(
        part.training and part.p > 0 for part in conv.modules() if _drops(part)
    )


def _drops(part: Module) -> bool:
    return type(part).__module__ == "torch.nn.modules.dropout"


def _between(layer: PyGLayer, h: Tensor, view: View) -> Tensor:
    """A layer where output rows differ from input rows: on a graph in which input rows only send."""
    edge_index = torch.stack((view.edge_index[0], view.edge_index[1] + len(h)))
    return layer.conv(torch.cat((h, view.own(h))), edge_index, **_more(layer, view, None))[len(h) :]


#: Layers of PyG that are functions of the row itself and the multiset of its messages.
MULTISET = (GINConv, GINEConv, SAGEConv, GraphConv, GATConv, GATv2Conv, TransformerConv, ResGatedGraphConv)
_UNORDERED = ("SumAggregation", "MeanAggregation", "MaxAggregation", "MinAggregation", "SoftmaxAggregation")


def _more(layer: PyGLayer, view: View, kept: Tensor | None) -> dict[str, Tensor]:
    """The edge features, for a layer that looks at them."""
    if view.edges is None and layer.needs_edges:
        raise missing_edges(type(layer.conv).__name__)
    if view.edges is None or not layer.looks_at_edges:
        return {}
    return {"edge_attr": (view.edges if kept is None else view.edges.where(kept)).full()}


# Layers with a faster way, or with gradients for removed edges, and whether that applies to one of them.
_EXACT: dict[type[Module], tuple[Callable[[Any], bool], Run]] = {
    GINConv: (sums, sum_and_map),
    GINEConv: (sums, sum_and_map),
    GCNConv: (smooth, gcn),
}


def _parameters(conv: Module) -> dict[str, Parameter]:
    try:
        return dict(signature(conv.forward).parameters)
    except (TypeError, ValueError):  # compiled code has no signature
        return {}


def _takes_edge_attr(conv: Module) -> bool:
    takes = _parameters(conv)
    if isinstance(conv, PNAConv | TransformerConv) and conv.edge_dim is None:
        return False  # they fail on edge features then
    if "edge_attr" in takes:
        return True
    # GPSConv hands keywords on to the layer inside it.
    inner = getattr(conv, "conv", None)
    hands_on = any(p.kind is Parameter.VAR_KEYWORD for p in takes.values())
    return hands_on and isinstance(inner, Module) and _takes_edge_attr(inner)
