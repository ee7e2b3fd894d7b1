"""Perceptrons and batch norms that do not see removed copies."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, Module, ModuleList

from osan.errors import OsanError

Activation = Callable[[Tensor], Tensor]


class BagBatchNorm(BatchNorm1d):
    """Batch norm whose statistics come from the kept copies only.

    Removed copies (weight 0, kept for their gradients) are normalised with the statistics of the others.
    With fewer than two kept copies there is no variance, and the running statistics are used.

    Examples
    --------
    >>> norm = BagBatchNorm(1)
    >>> norm(torch.tensor([[0.0], [2.0], [99.0]]), torch.tensor([True, True, False]))[:2].flatten().tolist()
    [-0.9999949932098389, 0.9999949932098389]
    """

    def forward(self, h: Tensor, kept: Tensor | None = None) -> Tensor:
        """Normalise ``h`` of shape ``[copies, width]``; ``kept`` is boolean, ``None`` keeps all."""
        rows = len(h) if kept is None else int(kept.sum())
        if not self.training or rows < 2:
            return torch.nn.functional.batch_norm(
                h, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
            )
        if kept is None or rows == len(h):
            return super().forward(h)
        variance, mean = torch.var_mean(h[kept], dim=0, correction=0)
        with torch.no_grad():
            momentum = self.momentum if self.momentum is not None else 0.1
            unbiased = variance * rows / (rows - 1)
            if self.running_mean is not None and self.running_var is not None:
                self.running_mean.lerp_(mean, momentum)
                self.running_var.lerp_(unbiased, momentum)
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
        return (h - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias


class MLP(Module):
    """Linear layers with activations, and batch norms if asked for, between them.

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

    def forward(self, h: Tensor, kept: Tensor | None = None) -> Tensor:
        """Map ``h`` of shape ``[rows, widths[0]]``; batch norms see only the rows that are ``kept``."""
        for i, linear in enumerate(self.linears):
            h = linear(h)
            if i + 1 < len(self.linears):
                h = h if self.norms is None else self.norms[i](h, kept)
                h = activated(h, self.activation)
        return h


def activated(h: Tensor, activation: Activation) -> Tensor:
    """The activation of a fresh tensor: relu, whose gradient needs only its result, overwrites it."""
    return torch.relu_(h) if activation is torch.nn.functional.relu else activation(h)


def dropout(h: Tensor, p: float, training: bool) -> Tensor:
    """Dropout with 16 random bits per entry.

    On the CPU ``torch.nn.functional.dropout`` draws one number per entry, which takes a tenth of a training
    step; four entries share one here. The probability is p rounded to a multiple of 2^-16, and what stays is
    scaled by the rounded one, so the expectation is exact.

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
