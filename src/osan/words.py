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
# How the weight of an edge follows from those of its ends; see osan.bags.from_choice.
Agg = Literal["mean", "sum"]
# Whether equal copies are computed once; see osan.nn.sharing.
Sharing = Literal["auto", "off"]
# How a task is scored; see osan.data.METRICS.
MetricName = Literal[
    "mae", "rmse", "r2", "spearman", "accuracy", "rocauc", "prauc", "mcc", "balanced", "logloss", "ece"
]

# Weighers by name: what settings can say. "learned" is the upstream network, and so is "neutral", which
# starts with equal weights.
LEARNED_WEIGHERS = ("learned", "neutral")
CENTRAL_WEIGHERS = ("centrality", "degree", "pagerank", "core")
WEIGHERS = (*LEARNED_WEIGHERS, "prior", *CENTRAL_WEIGHERS, "random")
# Encodings by name, with their usual number of columns; see osan.data.encodings.
ENCODINGS = {"cse": 16, "rwse": 16, "lap": 8, "distance": 10}
# Datasets that are generated; see osan.data.generated.tasks.
GENERATED_NAMES = ("twisted-pairs", "csl-generated", "planted-motif")
# The parts in each table, so that settings are read without importing them. A part that is missing here is
# found nevertheless, but only with its table; tests/test_words.py compares both.
PARTS = {
    "osan.nn.architectures:ARCHITECTURES": (
        *("osan", "k-osan", "marked", "dropout", "reconstruction", "identity", "nested", "kernel"),
        *("sswl", "ds", "dss", "few-marks", "few-marks-500k"),
    ),
    "osan.nn.layers:LAYERS": ("gin", "gine", "gcn", "pna"),
    "osan.nn.relations:RELATIONS": ("distance",),
    "osan.nn.pooling:POOLS": ("sum", "mean", "max", "attention", "set2set"),
    "osan.nn.paper:PAPER_NETWORKS": (
        *("zinc", "zinc-pna", "zinc-esan", "alchemy", "qm9", "ogbg-molesol", "ogbg-molbace", "exp"),
        "proteins",
    ),
    "osan.selection.estimators:ESTIMATORS": (
        *("imle", "adaptive-imle", "simple", "straight-through", "sparsemap", "score-function"),
        *("random", "fixed"),
    ),
    "osan.selection.noise:NOISES": ("gumbel", "sum-of-gamma", "gaussian", "none"),
    "osan.selection.auxiliary:AUXILIARY_LOSSES": ("cosine", "uniform"),
    "osan.training.loggers:LOGGERS": ("csv", "tensorboard", "wandb", "mlflow"),
    "osan.training.scores:LOSSES": ("mae", "mse", "huber"),
    "osan.training.optimizers:OPTIMIZERS": ("adam", "adamw", "sgd"),
    "osan.training.schedules:SCHEDULES": ("constant", "steps", "cosine", "one-cycle", "plateau"),
    "osan.training.schedules:NOISE_SCHEDULES": ("constant", "linear", "cosine"),
}


def counted(number: int, noun: str) -> str:
    """A number with its noun, which is singular for 1.

    >>> counted(1, "row"), counted(2, "row"), counted(0, "vertex")
    ('1 row', '2 rows', '0 vertices')
    """
    return f"{number} {noun if number == 1 else {'vertex': 'vertices'}.get(noun, noun + 's')}"
