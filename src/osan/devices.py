"""What a device can do: asked here alone, so that tests can show what other devices do."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def on_cpu(tensor: Tensor) -> bool:
    """Whether compiled loops apply to a tensor; other devices use ordinary operations."""
    return tensor.device.type == "cpu"


def widest(device: torch.device) -> torch.dtype:
    """The type of random numbers and exact sums on a device: Apple's GPUs (MPS) have no float64.

    >>> widest(torch.device("cpu")), widest(torch.device("mps"))
    (torch.float64, torch.float32)
    """
    return torch.float32 if device.type == "mps" else torch.float64


def sent(values: Any, device: torch.device) -> Any:
    """A tensor or a batch on a device, float64 as what the device has."""
    if widest(device) != torch.float64:
        values = _narrow(values) if isinstance(values, Tensor) else values.clone().apply(_narrow)
    return values.to(device)


def _narrow(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype == torch.float64 else tensor
