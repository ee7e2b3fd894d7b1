"""Datasets: published, generated, and your graphs and molecules; :func:`load` takes a name or a path."""

from typing import TYPE_CHECKING

from osan.lazy import attach

if TYPE_CHECKING:
    from osan.data.centralities import CENTRALITIES
    from osan.data.custom.graphs import load_graphs, task_from_graphs
    from osan.data.custom.molecules import load_table
    from osan.data.encodings import AddEncodings, encode
    from osan.data.flat import FlatDataset, flatten
    from osan.data.generated.planted import planted_motif
    from osan.data.generated.twisted import twisted_pairs
    from osan.data.loader import FlatLoader
    from osan.data.loading import load
    from osan.data.metrics import METRICS, Metric
    from osan.data.naming import names
    from osan.data.published.corpora import brec, graph8c, relabeled, strongly_regular
    from osan.data.structure import with_structure
    from osan.data.task import Features, Normalization, Task

__all__ = [
    "CENTRALITIES",
    "METRICS",
    "AddEncodings",
    "Features",
    "FlatDataset",
    "FlatLoader",
    "Metric",
    "Normalization",
    "Task",
    "brec",
    "encode",
    "flatten",
    "graph8c",
    "load",
    "load_graphs",
    "load_table",
    "names",
    "planted_motif",
    "relabeled",
    "strongly_regular",
    "task_from_graphs",
    "twisted_pairs",
    "with_structure",
]

# Listing datasets must not import torch.
__getattr__, __dir__ = attach(
    __name__,
    {
        "centralities": ["CENTRALITIES"],
        "custom.graphs": ["load_graphs", "task_from_graphs"],
        "custom.molecules": ["load_table"],
        "encodings": ["AddEncodings", "encode"],
        "flat": ["FlatDataset", "flatten"],
        "generated.planted": ["planted_motif"],
        "generated.twisted": ["twisted_pairs"],
        "loader": ["FlatLoader"],
        "loading": ["load"],
        "metrics": ["METRICS", "Metric"],
        "naming": ["names"],
        "published.corpora": ["brec", "graph8c", "relabeled", "strongly_regular"],
        "structure": ["with_structure"],
        "task": ["Features", "Normalization", "Task"],
    },
)
