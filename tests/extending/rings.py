"""A custom kind of subgraph: ``selection.policy = "select rings:Ring x 3"``."""

from dataclasses import dataclass

import networkx as nx
import torch

from osan.selection import Problem


@dataclass(frozen=True)
class Ring(Problem):
    """Choose the ring with the largest mean weight; a graph without rings is chosen whole."""

    rings: list  # of each graph: its rings, as lists of vertices

    sized = False
    operations = ("select", "mark")

    @classmethod
    def of(cls, policy, batch):
        ground = cls.ground_of(batch)
        found = [[] for _ in range(ground.num_graphs)]
        for ring in nx.chordless_cycles(nx.Graph(batch.edge_index.t().tolist())):
            if len(ring) > 2:  # no self-loops
                found[ground.graph[ring[0]]].append(ring)
        whole = [(ground.graph == graph).nonzero().flatten().tolist() for graph in range(ground.num_graphs)]
        return cls(policy, ground, [some or [each] for some, each in zip(found, whole, strict=True)])

    def solve(self, weights, tie):
        choice = torch.zeros_like(weights)
        for subgraph in range(weights.size(1)):
            for rings in self.rings:
                choice[best(rings, weights[:, subgraph], tie[:, subgraph]), subgraph] = 1
        return choice


def best(rings, weights, tie):
    return max(rings, key=lambda ring: (weights[ring].mean().item(), tie[ring].mean().item()))
