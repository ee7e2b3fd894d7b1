"""A custom layer: ``network.conv = "my_layer:MeanLayer"``."""

import torch


class MeanLayer(torch.nn.Module):
    """A linear map of the vertex plus one of the mean of its neighbors, as GraphSAGE has it."""

    def __init__(self, width):
        super().__init__()
        self.own, self.neighbors = torch.nn.Linear(width, width), torch.nn.Linear(width, width)

    def forward(self, h, view):
        source, target = view.edge_index
        # Weights are how choices get their gradient: an edge of weight 0 does not exist.
        weight = h.new_ones(source.numel()) if view.weight is None else view.weight.to(h.dtype)
        total = h.new_zeros(view.num_rows, h.size(1)).index_add(0, target, h[source] * weight[:, None])
        degree = h.new_zeros(view.num_rows).index_add(0, target, weight)
        return self.own(view.own(h)) + self.neighbors(total / torch.where(degree == 0, 1, degree)[:, None])
