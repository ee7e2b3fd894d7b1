"""A custom pooling: ``network.readout = "my_pooling:RootMeanSquare"``."""

import torch


class RootMeanSquare(torch.nn.Module):
    """The root of the weighted mean of the squares of each group."""

    def __init__(self, width):
        super().__init__()
        self.out_width = width

    def forward(self, rows, group, groups, weight=None):
        weight = rows.new_ones(len(rows)) if weight is None else weight.to(rows.dtype)
        total = rows.new_zeros(groups, rows.size(1)).index_add(0, group, rows.square() * weight[:, None])
        count = rows.new_zeros(groups).index_add(0, group, weight)
        # The root has no gradient at 0.
        return torch.sqrt(total / torch.where(count == 0, 1, count)[:, None] + 1e-12)
