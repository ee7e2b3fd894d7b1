"""Stored weights of earlier versions."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

# New runs have the last one.
FORMATS = ("1", "2")


def upgrade_weights(weights: Mapping[str, Tensor], stored: str, model: nn.Module) -> dict[str, Tensor]:
    """Stored weights under the names that the model has now.

    Format 1 had vectors for marked edges (``edge_mark``) in every layer with an edge encoder, which nothing
    used without marked edges.

    >>> upgrade_weights({"a.edge_mark": None}, "1", nn.Linear(1, 1))
    {}
    """
    if stored == FORMATS[-1]:
        return dict(weights)
    known = model.state_dict().keys()
    return {
        name: tensor for name, tensor in weights.items() if name in known or not name.endswith(".edge_mark")
    }
