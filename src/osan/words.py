"""The words that several rooms share, each with one definition and without heavy imports."""

from __future__ import annotations

from typing import Literal

# What is done with a chosen set of vertices or edges.
Operation = Literal["delete", "select", "mark"]
# What becomes of a vertex that is not part of a subgraph; see osan.bags.from_choice.
Deleted = Literal["masked", "isolated", "unpooled"]
# What a choice has one row per.
What = Literal["vertex", "edge"]
# What a vertex aggregates over: its neighbors, or all vertices of its graph.
Neighborhood = Literal["edges", "all"]
# What the targets of a task are.
Kind = Literal["regression", "binary", "multiclass"]
# What is kept of a molecule with several fragments; see osan.data.custom.fragments.
Fragments = Literal["keep", "largest"]
# How a task is scored; see osan.data.METRICS.
MetricName = Literal[
    "mae", "rmse", "r2", "spearman", "accuracy", "rocauc", "prauc", "mcc", "balanced", "logloss", "ece"
]
