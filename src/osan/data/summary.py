"""Statistics of datasets."""

from __future__ import annotations

from typing import Any

from osan.data.generated.tasks import GENERATED
from osan.data.loading import load
from osan.data.published.catalog import CORPORA, PUBLISHED
from osan.data.published.paths import Folder
from osan.data.published.places import locate, where_to_put
from osan.data.task import Features, Task


def describe_dataset(name: str, root: Folder = None, cache: Folder = None) -> dict[str, Any]:
    """The :func:`statistics` of a dataset by name, or what is known if its files are missing."""
    if name in PUBLISHED:
        source = PUBLISHED[name]
        if locate(source, root, cache) is None:
            return {
                "name": name,
                "ready": "missing",
                "task": source.kind,
                "metric": source.metric,
                "needs": where_to_put(source, root),
                "source": source.source,
                "license": source.license,
            }
    return {
        **statistics(load(name, root, cache=cache)),
        "ready": "embedded" if name in GENERATED else "cached",
    }


def statistics(task: Task) -> dict[str, Any]:
    """Graphs, average vertices and edges, labels, targets and splits, as plain values.

    The averages are over the whole dataset; every edge counts once.

    >>> from osan.data import load
    >>> facts = statistics(load("csl-generated"))
    >>> facts["graphs"], facts["vertices"], facts["edges"], facts["classes"]
    (150, 41.0, 82.0, 10)
    """
    whole = task.whole
    return {
        "name": task.name,
        "graphs": len(whole),
        "vertices": float(whole.num_vertices.double().mean()),
        "edges": float(whole.num_arcs.double().mean()) / 2,
        "task": task.kind,
        "targets": task.num_targets,
        "classes": task.num_classes,
        "metric": f"{task.metric} ({task.direction})",
        "vertex labels": _features(task.vertex_features),
        "edge labels": "none" if task.edge_features is None else _features(task.edge_features),
        "splits": {part: len(graphs) for part, graphs in task.splits.items()},
        "split": task.split,
        "source": task.source,
        "license": task.license,
    }


def _features(features: Features) -> str:
    if features.categorical:
        return "none" if features.sizes == (1,) else f"categories {', '.join(map(str, features.sizes))}"
    return f"{features.width} numbers"


def corpus_facts(name: str, root: Folder = None) -> dict[str, Any]:
    """The facts about a corpus of graphs, which has no task."""
    from osan.data.published.corpora import brec, families, graph8c, strongly_regular

    _, origin, license = CORPORA[name]
    if name == "sr":
        counts = {family: len(strongly_regular(family, root)) for family in families(root)}
        facts: dict[str, Any] = {"graphs": sum(counts.values()), "families": counts}
    elif name == "graph8c":
        facts = {"graphs": len(graph8c(root)), "vertices": 8.0}
    else:
        pairs = brec(root)
        categories: dict[str, int] = {}
        for pair in pairs:
            categories[pair.category] = categories.get(pair.category, 0) + 1
        facts = {"pairs": len(pairs), "categories": categories}
    return {"name": name, **facts, "ready": "raw", "source": origin, "license": license}
