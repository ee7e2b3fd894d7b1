"""Perceptrons whose batch norms count copies, and dropout."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import Linear, Module, ModuleList

from osan.errors import OsanError
from osan.nn.norm import Activation, BagBatchNorm, activated


class MLP(Module):
    """Linear layers with activations, and optionally batch norms, between them.

    Parameters
    ----------
    widths
        The widths from input to output; ``[w]`` is the identity.
    norm
        Whether a batch norm follows every layer but the last.
    activation
        Applied after every layer but the last.

    Examples
    --------
    >>> MLP([4, 8, 2])(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(
        self, widths: list[int], *, norm: bool = False, activation: Activation = torch.nn.functional.relu
    ) -> None:
        super().__init__()
        if not widths or min(widths) < 1:
            raise OsanError(f"widths: expected positive integers, got {widths}")
        self.linears = ModuleList(Linear(a, b) for a, b in pairwise(widths))
        self.norms = ModuleList(BagBatchNorm(b) for b in widths[1:-1]) if norm else None
        self.activation = activation

    def forward(self, h: Tensor, count: Tensor | None = None) -> Tensor:
        """Map ``h`` of shape ``[rows, widths[0]]``; batch norms weight the rows with ``count``."""
        return self.after_first(self.linears[0](h), count) if len(self.linears) else h

    def after_first(self, h: Tensor, count: Tensor | None = None) -> Tensor:
        """What follows the first linear map, on its result."""
        for i in range(1, len(self.linears)):
            norm = None if self.norms is None else self.norms[i - 1]
            h = activated(h, self.activation) if norm is None else norm(h, count, self.activation)
            h = self.linears[i](h)
        return h


def dropout(h: Tensor, p: float, training: bool) -> Tensor:
    """Dropout with 16 random bits per entry.

    On the CPU ``torch.nn.functional.dropout`` draws one number per entry, which takes a tenth of a training
    step; here four entries share one draw. The probability is p rounded to a multiple of 2^-16, and what
    stays is scaled by the rounded one, so the expectation is exact.

    >>> dropout(torch.ones(2, 2), 0.5, training=False)
    tensor([[1., 1.],
            [1., 1.]])
    """
    dropped = round(p * 2**16)
    if not training or dropped == 0:
        return h
    if h.device.type != "cpu" or dropped >= 2**16:
        return torch.nn.functional.dropout(h, p)
    words = torch.empty(-(-h.numel() // 4), dtype=torch.int64).random_(torch.iinfo(torch.int64).min, None)
    bits = words.view(torch.int16)[: h.numel()].view(h.shape)
    factor = (bits >= dropped - 2**15).to(h.dtype).mul_(2**16 / (2**16 - dropped))
    return h * factor
