"""The demo: GIN with and without subgraphs on graphs that plain message passing cannot distinguish."""

from __future__ import annotations

from osan.training.settings import Settings, validated

NAMES = {
    "demo/plain": "GIN on the whole graph",
    "demo/random": "GIN on random subgraphs",
    "demo/learned": "GIN on learned subgraphs (I-MLE)",
}


def demo_settings(seed: int = 0, epochs: int = 80) -> list[Settings]:
    """Plain GIN, random and learned subgraphs on ``twisted-pairs`` with k = 1.

    1-WL, and hence every GIN, assigns both graphs of each pair the same color; one marked vertex breaks the
    tie (:func:`osan.data.twisted_pairs`). The three settings differ only in the selection.

    >>> [each.name for each in demo_settings()]
    ['demo/plain', 'demo/random', 'demo/learned']
    """
    marked = {"policy": "mark 1 vertex x 3"}
    selections: tuple[dict[str, str], ...] = (
        {},
        {**marked, "estimator": "random"},
        {**marked, "estimator": "imle"},
    )
    return [
        validated(
            {
                "name": name,
                "seed": seed,
                "data": {"dataset": "twisted-pairs", "options": {"k": 1, "num_pairs": 3, "copies": 60}},
                "selection": selection,
                "network": {"conv": "gin", "width": 32, "layers": 6, "readout": "sum", "between": 0},
                "training": {
                    "batch_size": 32,
                    "epochs": epochs,
                    "learning_rate": 0.003,
                    "upstream_learning_rate": 0.003,
                },
                "machine": {"accelerator": "cpu"},
            }
        )
        for name, selection in zip(NAMES, selections, strict=True)
    ]
