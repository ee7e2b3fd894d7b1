"""Where compiled loops run: one question, so that tests can ask what other devices do."""

from __future__ import annotations

from torch import Tensor


def on_cpu(tensor: Tensor) -> bool:
    """Whether compiled loops apply to a tensor; other devices use ordinary operations."""
    return tensor.device.type == "cpu"
