"""Temporary tables of names until the lower rooms have them."""

from osan import nn

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
