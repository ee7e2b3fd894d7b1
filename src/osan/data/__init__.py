"""Datasets: the paper's, the expressiveness corpora, generated ones, and your own graphs and molecules."""

from osan.data.corpora import brec, graph8c, relabeled, strongly_regular
from osan.data.flat import FlatDataset, FlatLoader, flatten
from osan.data.loading import load, names
from osan.data.molecules import load_table
from osan.data.own import load_graphs, task_from_graphs
from osan.data.planted import planted_motif
from osan.data.task import Features, Normalization, Task
from osan.data.twisted import twisted_pairs

__all__ = [
    "Features",
    "FlatDataset",
    "FlatLoader",
    "Normalization",
    "Task",
    "brec",
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
]
