r"""Batch norms that do not see removed copies, with the activation in the same pass.

.. math:: y_i = \sigma\bigl(\gamma\,(x_i - \mu) / \sqrt{v + \varepsilon} + \beta\bigr)

for every copy i, with the mean :math:`\mu` and variance :math:`v` of the kept copies only. On the CPU
PyTorch has no such norm, composed of its operations it takes half of a training step, and its own norm
followed by its relu still four times as long as the compiled loops here (``benchmarks/bags.py`` measures the
step). Elsewhere the composed way is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import BatchNorm1d

from osan import compiled as numba
from osan.errors import OsanError

Activation = Callable[[Tensor], Tensor]

# Rows that stay in the innermost cache between two passes, and whose sums lose little to rounding.
_BLOCK = 32


def activated(h: Tensor, activation: Activation) -> Tensor:
    """The activation of a fresh tensor: relu, whose gradient needs only its result, overwrites it."""
    return torch.relu_(h) if activation is torch.nn.functional.relu else activation(h)


class BagBatchNorm(BatchNorm1d):
    """Batch norm whose statistics come from the kept copies only.

    Removed copies (weight 0, kept for their gradients) are normalized with the statistics of the others.
    With fewer than two kept copies there is no variance, and the running statistics are used.

    Examples
    --------
    >>> norm = BagBatchNorm(1)
    >>> norm(torch.tensor([[0.0], [2.0], [99.0]]), torch.tensor([True, True, False]))[:2].flatten().tolist()
    [-0.9999949932098389, 0.9999949932098389]
    """

    @torch.compiler.disable  # numba's loops cannot be traced
    def forward(self, h: Tensor, kept: Tensor | None = None, activation: Activation | None = None) -> Tensor:
        """Normalize ``h`` of shape ``[copies, width]``; ``kept`` is boolean, ``None`` keeps all."""
        if kept is not None and (kept.shape != h.shape[:1] or kept.dtype != torch.bool):
            expected, found = f"bool of shape {tuple(h.shape[:1])}", f"{kept.dtype} of {tuple(kept.shape)}"
            raise OsanError(f"kept: expected {expected}, one per copy, got {found}")
        h = h.to(self.weight.dtype)  # under autocast layers hand on fewer digits than statistics need
        compiled = h.device.type == "cpu" and h.dtype in (torch.float32, torch.float64)
        statistics = (_statistics_compiled if compiled else _statistics)(h, kept) if self.training else None
        if statistics is None:
            out = torch.nn.functional.batch_norm(
                h, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
            )
            return out if activation is None else activated(out, activation)
        mean, variance, rows = statistics
        self._remember(mean.detach(), variance.detach() * (rows / (rows - 1)))
        if not compiled:
            out = (h - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias
            return out if activation is None else activated(out, activation)
        relu = activation is torch.nn.functional.relu
        out = _Normalized.apply(h, self.weight, self.bias, kept, mean, variance, rows, self.eps, relu)  # type: ignore[no-untyped-call]
        return out if activation is None or relu else activation(out)

    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        """Update the running statistics as PyTorch does."""
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked.add_(1)
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean, share)
        self.running_var.lerp_(variance, share)


def _statistics(h: Tensor, kept: Tensor | None) -> tuple[Tensor, Tensor, int] | None:
    """Mean, variance and number of the kept rows, with gradients; ``None`` if they are fewer than two."""
    rows = len(h) if kept is None else int(kept.sum())
    if rows < 2:
        return None
    variance, mean = torch.var_mean(h if kept is None or rows == len(h) else h[kept], dim=0, correction=0)
    return mean, variance, rows


def _statistics_compiled(h: Tensor, kept: Tensor | None) -> tuple[Tensor, Tensor, int] | None:
    """The same without gradients; :class:`_Normalized` knows how the statistics depend on its input."""
    mean, variance, rows = _moments(_array(h), _mask(h, kept))
    return (torch.from_numpy(mean), torch.from_numpy(variance), rows) if rows > 1 else None


class _Normalized(torch.autograd.Function):
    r"""The formula above, and its derivative through mean and variance of the n kept rows.

    With g the gradient after the activation and :math:`s = \gamma / \sqrt{v + \varepsilon}`,

    .. math:: \partial x_i = s \Bigl(g_i - \frac{[i \text{ kept}]}{n} \Bigl(\sum_j g_j
              + \frac{x_i - \mu}{v + \varepsilon} \sum_j g_j (x_j - \mu)\Bigr)\Bigr).
    """

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        weight: Tensor,
        bias: Tensor,
        kept: Tensor | None,
        mean: Tensor,
        variance: Tensor,
        rows: int,
        eps: float,
        relu: bool,
    ) -> Tensor:
        ctx.save_for_backward(h, weight, bias, kept, mean, variance)
        ctx.rest = (rows, eps, 0.0 if relu else -np.inf)
        out = torch.empty_like(h, memory_format=torch.contiguous_format)
        _forward(out.numpy(), *map(_array, (h, weight, bias, mean, variance)), *ctx.rest[1:])
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        h, weight, bias, kept, mean, variance = ctx.saved_tensors
        to_h = torch.empty_like(h, memory_format=torch.contiguous_format)
        given = map(_array, (gradient, h, weight, bias, mean, variance))
        to_weight, to_bias = _backward(to_h.numpy(), *given, _mask(h, kept), *ctx.rest)
        return to_h, torch.from_numpy(to_weight), torch.from_numpy(to_bias), *[None] * 6


def _array(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().numpy()


def _mask(h: Tensor, kept: Tensor | None) -> Any:
    return np.ones(len(h), dtype=np.bool_) if kept is None else _array(kept)


@numba.njit(cache=True, nogil=True)
def _moments(h, kept):  # type: ignore[no-untyped-def]
    """Mean, variance and number of the kept rows, joined from blocks (Chan, Golub and LeVeque 1983)."""
    rows, width = h.shape
    mean, square, count = np.zeros(width), np.zeros(width), 0
    center, part = np.empty(width, h.dtype), np.empty(width, h.dtype)
    for first in range(0, rows, _BLOCK):
        last = min(first + _BLOCK, rows)
        center[:] = 0
        part[:] = 0
        n = 0
        for i in range(first, last):
            if kept[i]:
                n += 1
                for j in range(width):
                    center[j] += h[i, j]
        if n == 0:
            continue
        for j in range(width):
            center[j] /= n
        for i in range(first, last):
            if kept[i]:
                for j in range(width):
                    part[j] += (h[i, j] - center[j]) ** 2
        share = n / (count + n)
        for j in range(width):
            step = center[j] - mean[j]
            mean[j] += share * step
            square[j] += part[j] + count * share * step * step
        count += n
    return mean.astype(h.dtype), (square / max(count, 1)).astype(h.dtype), count


@numba.njit(cache=True, nogil=True)
def _affine(weight, bias, mean, variance, eps):  # type: ignore[no-untyped-def]
    """Factor and summand that normalize, and the inverse deviation, from one formula in both directions."""
    inverse = (1 / np.sqrt(variance + eps)).astype(weight.dtype)
    scale = weight * inverse
    return scale, bias - mean * scale, inverse


@numba.njit(cache=True, nogil=True)
def _forward(out, h, weight, bias, mean, variance, eps, least):  # type: ignore[no-untyped-def]
    scale, shift, _ = _affine(weight, bias, mean, variance, eps)
    least = h.dtype.type(least)
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            value = h[i, j] * scale[j] + shift[j]
            out[i, j] = least if value < least else value


@numba.njit(cache=True, nogil=True)
def _backward(out, gradient, h, weight, bias, mean, variance, kept, count, eps, least):  # type: ignore[no-untyped-def]
    scale, shift, inverse = _affine(weight, bias, mean, variance, eps)
    rows, width = h.shape
    zero, least = h.dtype.type(0), h.dtype.type(least)
    total, centered = np.zeros(width), np.zeros(width)
    part, centred_part = np.empty(width, h.dtype), np.empty(width, h.dtype)
    for first in range(0, rows, _BLOCK):
        part[:] = 0
        centred_part[:] = 0
        for i in range(first, min(first + _BLOCK, rows)):
            for j in range(width):
                x, g = h[i, j], gradient[i, j]
                g = g if x * scale[j] + shift[j] > least else zero
                part[j] += g
                centred_part[j] += g * (x - mean[j])
        for j in range(width):
            total[j] += part[j]
            centered[j] += centred_part[j]
    constant = (total / count).astype(h.dtype)
    slope = (centered * inverse * inverse / count).astype(h.dtype)
    for i in range(rows):
        through = kept[i]
        for j in range(width):
            x, g = h[i, j], gradient[i, j]
            g = g if x * scale[j] + shift[j] > least else zero
            common = constant[j] + slope[j] * (x - mean[j]) if through else zero
            out[i, j] = scale[j] * (g - common)
    return (centered * inverse).astype(h.dtype), total.astype(h.dtype)
