"""Bags of subgraphs, held as flat index tensors over a PyG batch."""

from osan.bags.bag import SubgraphBag
from osan.bags.choice import from_choice, induced_edge_weight, straight_through
from osan.bags.classes import share
from osan.bags.draw import draw, subgraph_of
from osan.bags.edges import maximum_spanning_forest, undirected_edges
from osan.bags.every import all_edges, all_egos, all_subsets, all_tuples, all_walks, whole_graphs
from osan.bags.random import (
    random_dropout,
    random_edges,
    random_egos,
    random_subsets,
    random_trees,
    random_tuples,
)
from osan.bags.transform import AddBag, bag_of
from osan.bags.union import as_batch

__all__ = [
    "AddBag",
    "SubgraphBag",
    "all_edges",
    "all_egos",
    "all_subsets",
    "all_tuples",
    "all_walks",
    "as_batch",
    "bag_of",
    "draw",
    "from_choice",
    "induced_edge_weight",
    "maximum_spanning_forest",
    "random_dropout",
    "random_edges",
    "random_egos",
    "random_subsets",
    "random_trees",
    "random_tuples",
    "share",
    "straight_through",
    "subgraph_of",
    "undirected_edges",
    "whole_graphs",
]
