"""Stored weights of earlier versions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torch import Tensor, nn

# New runs have the last one.
FORMATS = ("1", "2", "3")

# Names of format 1, and the names since.
_RENAMED = {r"^upstream\.encoder\.": "upstream.vertex_encoder."}


def upgrade_weights(weights: Mapping[str, Tensor], stored: str, model: nn.Module) -> dict[str, Tensor]:
    """Stored weights under the names that the model has now.

    Format 2 had no checksums. Format 1 also had a vector for marked edges (``edge_mark``) in every layer with
    an edge encoder. No policy marks edges, so nothing used it.

    Parameters
    ----------
    weights
        Tensors by their stored names.
    stored
        The format they were stored in, one of ``FORMATS``.
    model
        The model that takes them.

    Examples
    --------
    >>> old = {"upstream.encoder.weight": None, "downstream.stack.layers.0.edge_mark": None}
    >>> upgrade_weights(old, "1", nn.Identity())
    {'upstream.vertex_encoder.weight': None}
    """
    if stored != "1":
        return dict(weights)
    known, upgraded = model.state_dict().keys(), {}
    for name, tensor in weights.items():
        for old, new in _RENAMED.items():
            name = re.sub(old, new, name)
        if name in known or not name.endswith(".edge_mark"):
            upgraded[name] = tensor
    return upgraded
