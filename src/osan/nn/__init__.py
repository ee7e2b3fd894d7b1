"""Networks on bags of subgraphs: OSAN itself, its parts, and the architectures it captures."""

from osan.nn.adapter import OnSubgraphs
from osan.nn.architectures import (
    PolicyNetwork,
    dropout_gnn,
    ds_gnn,
    dss_gnn,
    esan_policy,
    identity_gnn,
    k_osan,
    kernel_gnn,
    marked_gnn,
    nested_gnn,
    reconstruction_gnn,
)
from osan.nn.atomic import InitialFeatures
from osan.nn.convolution import convolve
from osan.nn.data_driven import DataDrivenOSAN
from osan.nn.dss import DSSNetwork
from osan.nn.encoders import OGB_ATOM_FEATURES, OGB_BOND_FEATURES, Categorical, EdgeMLP, Numerical
from osan.nn.mlp import MLP
from osan.nn.nested import EgoNetwork
from osan.nn.network import OSAN, at_first
from osan.nn.norm import BagBatchNorm
from osan.nn.output import Output
from osan.nn.paper import paper_network
from osan.nn.pna import WeightedPNAConv
from osan.nn.pooling import Pool
from osan.nn.stack import Stack
from osan.nn.upstream import Upstream

__all__ = [
    "MLP",
    "OGB_ATOM_FEATURES",
    "OGB_BOND_FEATURES",
    "OSAN",
    "BagBatchNorm",
    "Categorical",
    "DSSNetwork",
    "DataDrivenOSAN",
    "EdgeMLP",
    "EgoNetwork",
    "InitialFeatures",
    "Numerical",
    "OnSubgraphs",
    "Output",
    "PolicyNetwork",
    "Pool",
    "Stack",
    "Upstream",
    "WeightedPNAConv",
    "at_first",
    "convolve",
    "dropout_gnn",
    "ds_gnn",
    "dss_gnn",
    "esan_policy",
    "identity_gnn",
    "k_osan",
    "kernel_gnn",
    "marked_gnn",
    "nested_gnn",
    "paper_network",
    "reconstruction_gnn",
]
