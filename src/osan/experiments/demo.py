"""The demo: where learned subgraphs find what matters, and where any subgraph helps."""

from __future__ import annotations

from typing import Any

from torch_geometric.nn import GIN

from osan.nn import Constant, Upstream
from osan.training.settings import Settings, validated

# What the command calls the networks, by the last part of their names.
MOTIF = {
    "plain": "GIN on the whole graph",
    "random": "GIN on 3 random vertices",
    "learned": "GIN on 3 learned vertices (I-MLE)",
}
PAIRS = {
    "plain": "GIN on the whole graph",
    "random": "GIN with 3 random marks",
    "learned": "GIN with 3 learned marks (I-MLE)",
}


def demo_settings(seed: int = 0, epochs: int | None = None) -> list[Settings]:
    """Plain GIN, random and learned subgraphs on two generated tasks.

    ``planted-motif``: the target is the sum of the features of the only triangle of a graph
    (:func:`osan.data.planted_motif`). The network sees three vertices, and evaluation has no noise.

    ``twisted-pairs`` with k = 1: 1-WL, and hence every GIN, assigns both graphs of each pair the same color;
    one marked vertex breaks the tie (:func:`osan.data.twisted_pairs`).

    Parameters
    ----------
    seed
        Of the graphs with a motif, the networks and the noise.
    epochs
        Of each run; by default 30 with motifs and 40 with pairs.

    Examples
    --------
    >>> [each.name for each in demo_settings()][:3]
    ['demo/motif/plain', 'demo/motif/random', 'demo/motif/learned']
    """
    return [*_motif(seed, epochs or 30), *_pairs(seed, epochs or 40)]


def sees_structure(count: int, width: int) -> Upstream:
    """A GIN that weighs vertices by their place in the graph and does not see their features.

    If it saw them, it could choose any three vertices with the right sum.
    """
    model = GIN(width, width, 4, norm="batch_norm", jk="last")
    return Upstream(count, width, vertex_encoder=Constant(width), model=model)


def _motif(seed: int, epochs: int) -> list[Settings]:
    seen = {"policy": "select 3 vertices"}
    # A learned choice is evaluated as it is, a random one by the mean of five.
    learned = {
        "weigher": "osan.experiments.demo:sees_structure",
        "estimator": "imle",
        "lam": 2.0,
        "draws": 2,
        "evaluation_noise": "none",
        "samples": 1,
    }
    selections: dict[str, dict[str, Any]] = {
        "plain": {},
        "random": {**seen, "estimator": "random"},
        "learned": {**seen, **learned},
    }
    return [
        _settings(
            f"demo/motif/{name}",
            seed,
            data={"dataset": "planted-motif", "seed": seed, "options": {"num_graphs": 1300}},
            selection=selection,
            network={"layers": 1 if selection else 4, "norm": not selection},
            training={
                "batch_size": 50,
                "epochs": epochs,
                "schedule": "one-cycle",
                "learning_rate": 0.005,
                "upstream_learning_rate": 0.005,
                "loss": "mse",
            },
        )
        for name, selection in selections.items()
    ]


def _pairs(seed: int, epochs: int) -> list[Settings]:
    marked = {"policy": "mark 1 vertex x 3"}
    selections = {"plain": {}, "random": {**marked, "estimator": "random"}, "learned": marked}
    return [
        _settings(
            f"demo/pairs/{name}",
            seed,
            data={"dataset": "twisted-pairs", "options": {"k": 1, "num_pairs": 3, "copies": 60}},
            selection=selection,
            network={"layers": 6, "between": 0},
            training={
                "batch_size": 32,
                "epochs": epochs,
                "learning_rate": 0.003,
                "upstream_learning_rate": 0.003,
            },
        )
        for name, selection in selections.items()
    ]


def _settings(name: str, seed: int, network: dict[str, Any], **sections: dict[str, Any]) -> Settings:
    return validated(
        {
            "name": name,
            "seed": seed,
            "network": {"conv": "gin", "width": 32, "readout": "sum", **network},
            "machine": {"accelerator": "cpu"},
            **sections,
        }
    )
