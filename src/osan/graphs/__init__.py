"""Graphs: the plain graph type, conversions, files and the constructions of the proofs."""

from osan.graphs.graph import Graph

__all__ = ["Graph"]
