"""Temporary tables of names until the lower rooms have them."""

from osan import nn
from osan.selection import IMLE, SIMPLE, AdaptiveIMLE, Random, ScoreFunction, StraightThrough

ESTIMATORS = {
    "imle": IMLE,
    "adaptive-imle": AdaptiveIMLE,
    "simple": SIMPLE,
    "straight-through": StraightThrough,
    "score-function": ScoreFunction,
    "random": Random,
}
NOISES = dict.fromkeys(["gumbel", "sum-of-gamma", "gaussian", "none"])
AUXILIARY_LOSSES = dict.fromkeys(["cosine", "uniform"])
LAYERS = dict.fromkeys(["gin", "gine", "gcn", "pna"])
POOLS = dict.fromkeys(["sum", "mean", "max", "attention", "set2set"])
ARCHITECTURES = {
    "osan": nn.OSAN,
    "k-osan": nn.k_osan,
    "marked": nn.marked_gnn,
    "dropout": nn.dropout_gnn,
    "reconstruction": nn.reconstruction_gnn,
    "identity": nn.identity_gnn,
    "nested": nn.nested_gnn,
    "kernel": nn.kernel_gnn,
    "ds": nn.OSAN,
    "dss": nn.DSSNetwork,
}
