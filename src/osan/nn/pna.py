"""PNA's aggregators over weighted messages."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn import PNAConv
from torch_geometric.nn.aggr import DegreeScalerAggregation

from osan.errors import OsanError

AGGREGATORS = ("mean", "min", "max", "std")
SCALERS = ("identity", "amplification", "attenuation")


class WeightedPNAConv(PNAConv):
    """PyG's ``PNAConv`` whose aggregators and degrees count weights instead of edges.

    Without weights it is ``PNAConv``. With weights in {0, 1} the result is that of the graph without the
    edges of weight 0, and gradients reach all weights: those of removed edges through mean, std and degree,
    which are smooth in them.

    Examples
    --------
    >>> conv = WeightedPNAConv(4, 4, list(AGGREGATORS), list(SCALERS), deg=torch.tensor([0, 1, 2]))
    >>> h, pair = torch.randn(3, 4), torch.tensor([[0, 2], [1, 1]])
    >>> bool(torch.allclose(conv(h, pair, weight=torch.tensor([1.0, 0.0])), conv(h, pair[:, :1]), atol=1e-6))
    True
    """

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, weight: Tensor | None = None
    ) -> Tensor:
        """As in PyG, with one weight per edge."""
        if weight is None:
            return super().forward(x, edge_index, edge_attr)
        if self.divide_input:
            x = x.view(-1, self.towers, self.F_in)
        else:
            x = x.view(-1, 1, self.F_in).repeat(1, self.towers, 1)
        source, target = edge_index
        messages = self.message(x[target], x[source], edge_attr).to(x.dtype)  # they may differ under autocast
        out = weighted_pna(self.aggr_module, messages, target, len(x), weight.to(x.dtype))
        out = torch.cat([x, out], dim=-1)
        return self.lin(torch.cat([nn(out[:, i]) for i, nn in enumerate(self.post_nns)], dim=1))


def weighted_pna(
    module: DegreeScalerAggregation, messages: Tensor, index: Tensor, size: int, weight: Tensor
) -> Tensor:
    """What PyG's aggregators and degree scalers give when a message of weight 0 is not there."""
    w = weight.view(-1, 1, 1)
    shape = (size, *messages.shape[1:])
    degree = weight.new_zeros(size).index_add(0, index, weight).view(-1, 1, 1)
    count = torch.where(degree == 0, 1.0, degree)
    mean = messages.new_zeros(shape).index_add(0, index, messages * w) / count
    square = messages.new_zeros(shape).index_add(0, index, messages * messages * w) / count

    def extreme(reduce: str, nothing: float) -> Tensor:
        there = torch.where(w != 0, messages * w, nothing)
        place = index.view(-1, 1, 1).expand_as(messages)
        out = messages.new_full(shape, nothing).scatter_reduce(0, place, there, reduce)
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
            # As PyG has it: no gradient at 0.
            std = (square - mean * mean).clamp(min=1e-5).sqrt()
            outs.append(std.masked_fill(std <= 1e-5**0.5, 0.0))
        elif name == "SumAggregation":
            outs.append(mean * count)
        else:
            raise OsanError(f"PNA with edge weights knows mean, min, max, std and sum, not {name}")
    out = torch.cat(outs, dim=-1)
    scale = {
        "identity": torch.ones_like(degree),
        "amplification": torch.log(degree + 1) / module.avg_deg_log,
        "attenuation": module.avg_deg_log / torch.log(count + 1),
        "linear": degree / module.avg_deg_lin,
        "inverse_linear": module.avg_deg_lin / count,
    }
    return torch.cat([out * scale[name] for name in module.scaler], dim=-1)
