"""PNA, whose aggregators and degrees count weights."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn import PNAConv
from torch_geometric.nn.aggr import DegreeScalerAggregation

from osan.errors import OsanError
from osan.nn.view import View

AGGREGATORS = ("mean", "min", "max", "std")
SCALERS = ("identity", "amplification", "attenuation")


class PNA(PNAConv):
    """PyG's ``PNAConv`` on a view: aggregators and degrees count weights instead of edges.

    Without weights it is ``PNAConv``. With weights in {0, 1} the result is that of the graph without the
    edges of weight 0, and gradients reach all weights: those of removed edges through mean, std and degree,
    which are smooth in them. Minimum and maximum are of the messages times their weights, without those of
    weight 0.

    Examples
    --------
    >>> from osan.nn.view import View
    >>> conv = PNA(4, 4, list(AGGREGATORS), list(SCALERS), deg=torch.tensor([0, 1, 2]))
    >>> h, pair, group = torch.randn(3, 4), torch.tensor([[0, 2], [1, 1]]), torch.zeros(3).long()
    >>> found = conv(h, View(pair, group, 1, weight=torch.tensor([1.0, 0.0])))
    >>> bool(torch.allclose(found, conv(h, View(pair[:, :1], group, 1)), atol=1e-6))
    True
    """

    @property
    def looks_at_edges(self) -> bool:
        """Whether the layer was made for edge features."""
        return self.edge_dim is not None

    def forward(self, h: Tensor, view: View) -> Tensor:
        """Shape ``[rows in, width]`` to ``[rows out, width]``."""
        features = view.edges.full() if view.edges is not None and self.looks_at_edges else None
        if view.weight is None and view.row is None:
            return PNAConv.forward(self, h, view.edge_index, features)
        if self.divide_input:
            x = h.view(-1, self.towers, self.F_in)
        else:
            x = h.view(-1, 1, self.F_in).repeat(1, self.towers, 1)
        source, target = view.edge_index
        weight = x.new_ones(source.numel()) if view.weight is None else view.weight.to(x.dtype)
        own = view.own(x)
        messages = self.message(own[target], x[source], features).to(x.dtype)  # may differ under autocast
        out = weighted_pna(self.aggr_module, messages, target, len(own), weight)
        out = torch.cat([own, out], dim=-1)
        return self.lin(torch.cat([nn(out[:, i]) for i, nn in enumerate(self.post_nns)], dim=1))


def weighted_pna(
    module: DegreeScalerAggregation, messages: Tensor, index: Tensor, size: int, weight: Tensor
) -> Tensor:
    """What PyG's aggregators and degree scalers give if messages of weight 0 do not exist."""
    w = weight.view(-1, 1, 1)
    shape = (size, *messages.shape[1:])
    degree = weight.new_zeros(size).index_add(0, index, weight).view(-1, 1, 1)
    count = torch.where(degree == 0, 1.0, degree)
    mean = messages.new_zeros(shape).index_add(0, index, messages * w) / count
    square = messages.new_zeros(shape).index_add(0, index, messages * messages * w) / count

    def extreme(reduce: str, nothing: float) -> Tensor:
        candidates = torch.where(w != 0, messages * w, nothing)
        place = index.view(-1, 1, 1).expand_as(messages)
        out = messages.new_full(shape, nothing).scatter_reduce(0, place, candidates, reduce)
        return torch.where(out == nothing, 0.0, out)

    outs = []
    for aggregator in module.aggr.aggrs:
        name = type(aggregator).__name__
        if name == "MeanAggregation":
            outs.append(mean)
        elif name == "MinAggregation":
            outs.append(extreme("amin", torch.inf))
        elif name == "MaxAggregation":
            outs.append(extreme("amax", -torch.inf))
        elif name == "StdAggregation":
            # As in PyG: no gradient at 0.
            std = (square - mean * mean).clamp(min=1e-5).sqrt()
            outs.append(std.masked_fill(std <= 1e-5**0.5, 0.0))
        elif name == "SumAggregation":
            outs.append(mean * count)
        else:
            raise OsanError(f"aggregators: expected mean, min, max, std or sum for weighted PNA, got {name}")
    out = torch.cat(outs, dim=-1)
    scale = {
        "identity": torch.ones_like(degree),
        "amplification": torch.log(degree + 1) / module.avg_deg_log,
        "attenuation": module.avg_deg_log / torch.log(count + 1),
        "linear": degree / module.avg_deg_lin,
        "inverse_linear": module.avg_deg_lin / count,
    }
    return torch.cat([out * scale[name] for name in module.scaler], dim=-1)
