"""Graphs: the plain graph type, conversions, files and the constructions of the proofs."""

from osan.graphs.backbone import backbone_pair
from osan.graphs.cfi import cfi_graph, cfi_pair
from osan.graphs.cliques import distance_two_cliques
from osan.graphs.convert import GraphLike, as_graph, from_edge_list
from osan.graphs.decorated import decorate, icosahedral_pair
from osan.graphs.families import bicyclopentyl, csl, cycle_pair, decalin, rook_4x4, shrikhande
from osan.graphs.files import read_graphs, read_pairs, write_graphs
from osan.graphs.fuerer import fuerer_graph, fuerer_grid_pair
from osan.graphs.graph import Graph
from osan.graphs.graph6 import decode_graph6, encode_graph6
from osan.graphs.molecules import from_smiles
from osan.graphs.networkx import from_networkx, to_networkx
from osan.graphs.pairs import Pair, all_pairs
from osan.graphs.pyg import from_pyg, to_pyg
from osan.graphs.small import all_graphs

__all__ = [
    "Graph",
    "GraphLike",
    "Pair",
    "all_graphs",
    "all_pairs",
    "as_graph",
    "backbone_pair",
    "bicyclopentyl",
    "cfi_graph",
    "cfi_pair",
    "csl",
    "cycle_pair",
    "decalin",
    "decode_graph6",
    "decorate",
    "distance_two_cliques",
    "encode_graph6",
    "from_edge_list",
    "from_networkx",
    "from_pyg",
    "from_smiles",
    "fuerer_graph",
    "fuerer_grid_pair",
    "icosahedral_pair",
    "read_graphs",
    "read_pairs",
    "rook_4x4",
    "shrikhande",
    "to_networkx",
    "to_pyg",
    "write_graphs",
]
