"""Custom architectures: ``network.architecture = "my_architecture:Gated"`` or ``"my_architecture:egos"``."""

from functools import partial

import torch

from osan import bags, nn


class Gated(torch.nn.Module):
    """Predict from every subgraph, and join the predictions with weights from a learned gate.

    It is called with a batch and a bag, so it works with every policy.
    """

    def __init__(self, width, layers, out, *, vertex_encoder=None, conv="gin", readout="mean", sharpness=1.0):
        super().__init__()
        self.initial = nn.InitialFeatures(width, vertex_encoder)
        self.stack = nn.Stack(width, layers, conv=conv)
        self.pool = nn.Pool(readout, width)
        self.head = torch.nn.Linear(self.pool.out_width, out)
        self.gate = torch.nn.Linear(self.pool.out_width, 1)
        self.join, self.sharpness = nn.Pool("mean", out), sharpness

    def forward(self, batch, bag):
        h = self.stack(self.initial(batch, bag), batch, bag)
        subgraphs = self.pool(h, bag.subgraph, bag.num_subgraphs, bag.weight)
        weight = torch.exp(self.sharpness * torch.tanh(self.gate(subgraphs))).squeeze(1)
        return self.join(self.head(subgraphs), bag.graph, bag.num_graphs, weight)


def egos(width, layers, out, *, hops=1, **options):
    """All ego-nets, pooled by their maximum. It makes its bags itself, so it needs no policy."""
    return nn.FixedBags(partial(bags.all_egos, hops=hops), nn.osan(width, layers, out, sagg="max", **options))
