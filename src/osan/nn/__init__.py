"""Networks on bags of subgraphs: OSAN itself, its parts, and the architectures it captures."""

from osan.nn.adapter import OnSubgraphs
from osan.nn.architectures import (
    ARCHITECTURES,
    dropout_gnn,
    ds_gnn,
    ds_network,
    dss_gnn,
    esan_policy,
    few_marks,
    identity_gnn,
    k_osan,
    kernel_gnn,
    marked_gnn,
    nested_gnn,
    reconstruction_gnn,
    sswl_gnn,
)
from osan.nn.atomic import InitialFeatures
from osan.nn.convolution import convolve
from osan.nn.data_driven import DataDrivenOSAN
from osan.nn.descriptors import Descriptors
from osan.nn.dss import SharingStack, dss_network
from osan.nn.encoders import Categorical, Constant, Numerical
from osan.nn.explainer import Explainable, SelectionExplainer
from osan.nn.fixed_bags import FixedBags, brings_bags, remember
from osan.nn.from_options import osan
from osan.nn.gaussian_process import GaussianProcess
from osan.nn.layers import LAYERS, make_layer
from osan.nn.mlp import MLP
from osan.nn.nested import EgoNetwork, ego_network
from osan.nn.network import OSAN
from osan.nn.norm import BagBatchNorm
from osan.nn.normalized import Normalized
from osan.nn.output import Output
from osan.nn.paper import paper_network
from osan.nn.pooling import POOLS, Pool
from osan.nn.sharing import set_sharing
from osan.nn.stack import Stack
from osan.nn.structure import Encoding, WithEncoding
from osan.nn.upstream import Upstream
from osan.nn.view import View, views
from osan.nn.weighers import CentralityWeigher, Prior, neutral

__all__ = [
    "ARCHITECTURES",
    "LAYERS",
    "MLP",
    "OSAN",
    "POOLS",
    "BagBatchNorm",
    "Categorical",
    "CentralityWeigher",
    "Constant",
    "DataDrivenOSAN",
    "Descriptors",
    "EgoNetwork",
    "Encoding",
    "Explainable",
    "FixedBags",
    "GaussianProcess",
    "InitialFeatures",
    "Normalized",
    "Numerical",
    "OnSubgraphs",
    "Output",
    "Pool",
    "Prior",
    "SelectionExplainer",
    "SharingStack",
    "Stack",
    "Upstream",
    "View",
    "WithEncoding",
    "brings_bags",
    "convolve",
    "dropout_gnn",
    "ds_gnn",
    "ds_network",
    "dss_gnn",
    "dss_network",
    "ego_network",
    "esan_policy",
    "few_marks",
    "identity_gnn",
    "k_osan",
    "kernel_gnn",
    "make_layer",
    "marked_gnn",
    "nested_gnn",
    "neutral",
    "osan",
    "paper_network",
    "reconstruction_gnn",
    "remember",
    "set_sharing",
    "sswl_gnn",
    "views",
]
