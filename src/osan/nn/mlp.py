"""Perceptrons whose batch norms count copies, and dropout."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Module, ModuleList

from osan.compiled import threads
from osan.errors import OsanError
from osan.nn import norm_kernels as kernels
from osan.nn.norm import SMALL, Activation, BagBatchNorm, activated


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


@torch.compiler.disable  # numba's loops cannot be traced
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
    if h.dtype not in (torch.float32, torch.float64):
        return h * _factor(bits, dropped, h.dtype)
    out: Tensor = _Dropout.apply(h, bits, dropped)  # type: ignore[no-untyped-call]
    return out


def _factor(bits: Tensor, dropped: int, dtype: torch.dtype) -> Tensor:
    """What each entry is multiplied by."""
    return (bits >= dropped - 2**15).to(dtype).mul_(2**16 / (2**16 - dropped))


class _Dropout(torch.autograd.Function):
    """The same in one pass each way, which keeps the bits instead of the factors."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, bits: Tensor, dropped: int) -> Tensor:
        ctx.save_for_backward(bits)
        ctx.dropped = dropped
        return _scaled(h, bits, dropped)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (bits,) = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph: the gradient needs a gradient itself
            return gradient * _factor(bits, ctx.dropped, gradient.dtype), None, None
        return _scaled(gradient, bits, ctx.dropped), None, None


def _scaled(h: Tensor, bits: Tensor, dropped: int) -> Tensor:
    out = torch.empty_like(h, memory_format=torch.contiguous_format)
    arrays = [t.detach().contiguous().view(-1).numpy() for t in (out, h, bits)]
    use = 1 if h.numel() < SMALL else threads()
    kernels.dropped(*arrays, dropped - 2**15, 2**16 / (2**16 - dropped), use, use=use)
    return out
