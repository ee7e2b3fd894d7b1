r"""Batch norms that count copies, with the activation in the same pass.

.. math:: y_i = \sigma\bigl(\gamma\,(x_i - \mu) / \sqrt{v + \varepsilon} + \beta\bigr)

for every row i, with the mean :math:`\mu` and variance :math:`v` over all copies that the rows stand for: a
row of count 0 (removed) has no share in them, a row of count c has the share of c equal rows. PyTorch has no
such norm. Composed of PyTorch's operations it takes half of a training step on the CPU, and even PyTorch's
plain norm followed by its relu takes four times as long as the compiled loops here (``benchmarks/bags.py``
measures the step). Other devices, and gradients of gradients, use ordinary operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Module

from osan.compiled import threads
from osan.errors import OsanError
from osan.nn import norm_kernels as kernels
from osan.nn.second_order import differentiable_gradients

Activation = Callable[[Tensor], Tensor]

# With fewer numbers than this, a second thread takes longer to start than it saves.
SMALL = 1 << 14
_NO_BATCHES: Any = np.zeros((), np.int64)


def activated(h: Tensor, activation: Activation) -> Tensor:
    """The activation of a fresh tensor: relu, whose gradient needs only its result, overwrites it."""
    return torch.relu_(h) if activation is torch.nn.functional.relu else activation(h)


class BagBatchNorm(BatchNorm1d):
    """Batch norm whose statistics weight each row with the number of copies it stands for.

    Rows of count 0 are normalized with the statistics of the others. With fewer than two copies in total
    there is no variance, and the running statistics are used.

    Examples
    --------
    >>> norm = BagBatchNorm(1)
    >>> norm(torch.tensor([[0.0], [2.0], [99.0]]), torch.tensor([1, 1, 0]))[:2].flatten().tolist()
    [-0.9999949932098389, 0.9999949932098389]
    """

    def forward(self, h: Tensor, count: Tensor | None = None, activation: Activation | None = None) -> Tensor:
        """Normalize ``h`` of shape ``[rows, width]``.

        ``count`` says how many copies each row stands for, shape ``[rows]``, as booleans or numbers;
        ``None`` means 1.
        """
        return normalized(self, h, count, activation)


@torch.compiler.disable  # numba's loops cannot be traced
def normalized(
    norm: BatchNorm1d, h: Tensor, count: Tensor | None = None, activation: Activation | None = None
) -> Tensor:
    """What :class:`BagBatchNorm` computes, with the parameters and state of any one-dimensional norm."""
    if count is not None and count.shape != h.shape[:1]:
        raise OsanError(f"count: expected shape {list(h.shape[:1])}, one per row, got {list(count.shape)}")
    weight, bias = norm.weight, norm.bias
    if weight is None:
        weight, bias = h.new_ones(h.size(1)), h.new_zeros(h.size(1))
    h = h.to(weight.dtype)  # under autocast layers hand on fewer digits than statistics need
    statistics = None
    if norm.training or norm.running_mean is None:
        if h.device.type == "cpu" and h.dtype in (torch.float32, torch.float64):
            relu = activation is torch.nn.functional.relu
            found: list[float] = []
            out = _Normalized.apply(h, weight, bias, count, norm, relu, found)  # type: ignore[no-untyped-call]
            if found[0] >= 2:
                return out if activation is None or relu else activation(out)
        else:
            statistics = _statistics(h, count)
    if statistics is None:
        mean, variance = norm.running_mean, norm.running_var
        if mean is None or variance is None:
            mean, variance = h.new_zeros(h.size(1)), h.new_ones(h.size(1))
        out = torch.nn.functional.batch_norm(h, mean, variance, weight, bias, False, 0.0, norm.eps)
        return out if activation is None else activated(out, activation)
    mean, variance, rows = statistics
    if norm.training:
        _remember_tensors(norm, mean.detach(), variance.detach() * (rows / (rows - 1)))
    out = (h - mean) * torch.rsqrt(variance + norm.eps) * weight + bias
    return out if activation is None else activated(out, activation)


@contextmanager
def counted_norms(module: Module, count: Tensor | None) -> Iterator[None]:
    """Let PyTorch's one-dimensional batch norms inside a module count copies, as :class:`BagBatchNorm` does.

    >>> norm = BatchNorm1d(1)
    >>> with counted_norms(norm, torch.tensor([1, 1, 0])):
    ...     norm(torch.tensor([[0.0], [2.0], [99.0]]))[:2].flatten().tolist()
    [-0.9999949932098389, 0.9999949932098389]
    """
    norms = [m for m in module.modules() if type(m) is BatchNorm1d and m.training]
    if count is None:
        norms = []
    for norm in norms:
        norm.forward = partial(normalized, norm, count=count)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for norm in norms:
            del norm.forward


def normalize_arrays(
    norm: BatchNorm1d,
    out: Any,
    h: Any,
    weight: Any,
    bias: Any,
    counts: Any,
    least: float,
    use: int,
    left_out: Any = None,
) -> tuple[Any, Any, float]:
    """Normalize arrays in the compiled loop, which also updates the running statistics as PyTorch does.

    ``left_out`` is a row that should have been added to all rows. Returns mean (without it), variance and
    number of the copies.
    """
    none = weight[:0]
    buffers = norm._buffers  # attributes of modules take a search
    before, spread = buffers["running_mean"], buffers["running_var"]
    number = buffers["num_batches_tracked"]
    given = (out, h, weight, bias, counts, norm.eps, least, use)
    if not norm.training or before is None or spread is None or number is None:
        found: tuple[Any, Any, float] = kernels.forward(*given, none, none, _NO_BATCHES, 0.0, none, use=use)
        return found
    share = 1 / (float(number) + 1) if norm.momentum is None else norm.momentum
    running = (before.numpy(), spread.numpy(), number.numpy())
    found = kernels.forward(*given, *running, share, none if left_out is None else left_out, use=use)
    torch.autograd.graph.increment_version((before, spread, number))
    return found


def _remember_tensors(norm: BatchNorm1d, mean: Tensor, variance: Tensor) -> None:
    """The same on any device."""
    if norm.running_mean is None or norm.running_var is None or norm.num_batches_tracked is None:
        return
    norm.num_batches_tracked.add_(1)
    share = 1 / float(norm.num_batches_tracked) if norm.momentum is None else norm.momentum
    norm.running_mean.lerp_(mean, share)
    norm.running_var.lerp_(variance, share)


def _statistics(h: Tensor, count: Tensor | None) -> tuple[Tensor, Tensor, float] | None:
    """Mean, variance and number of the copies, with gradients; ``None`` if they are fewer than two."""
    copies = len(h) if count is None else count.sum().item()
    if copies < 2:
        return None
    if count is None or count.dtype == torch.bool:
        rows = h if count is None or copies == len(h) else h[count]
        variance, mean = torch.var_mean(rows, dim=0, correction=0)
        return mean, variance, copies
    share = (count.to(h.dtype) / copies)[:, None]
    mean = (h * share).sum(0)
    return mean, ((h - mean).square() * share).sum(0), copies


def composed_norm(
    h: Tensor, weight: Tensor, bias: Tensor, count: Tensor | None, eps: float, relu: bool
) -> Tensor:
    """The normalized rows, of ordinary operations."""
    statistics = _statistics(h, count)
    assert statistics is not None
    out = (h - statistics[0]) * torch.rsqrt(statistics[1] + eps) * weight + bias
    return torch.relu(out) if relu else out


class _Normalized(torch.autograd.Function):
    r"""The formula above, and its derivative through mean and variance of the n copies.

    With g the gradient after the activation and :math:`s = \gamma / \sqrt{v + \varepsilon}`,

    .. math:: \partial x_i = s \Bigl(g_i - \frac{c_i}{n} \Bigl(\sum_j g_j
              + \frac{x_i - \mu}{v + \varepsilon} \sum_j g_j (x_j - \mu)\Bigr)\Bigr).
    """

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        weight: Tensor,
        bias: Tensor,
        count: Tensor | None,
        norm: BatchNorm1d,
        relu: bool,
        found: list[float],
    ) -> Tensor:
        out = torch.empty_like(h, memory_format=torch.contiguous_format)
        counts, least, use = counts_of(h.dtype, len(h), count), 0.0 if relu else -np.inf, _threads(h)
        given = (_array(h), _array(weight), _array(bias))
        mean, variance, copies = normalize_arrays(norm, out.numpy(), *given, counts, least, use)
        found.append(copies)
        ctx.save_for_backward(h, weight, bias, count)
        ctx.rest = (mean, variance, counts, copies, norm.eps, least)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        h, weight, bias, count = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph: the gradient needs a gradient itself
            composed = partial(composed_norm, count=count, eps=ctx.rest[-2], relu=ctx.rest[-1] == 0)
            found = differentiable_gradients(composed, (h, weight, bias), gradient)
            return *found, None, None, None, None
        to_h = torch.empty_like(h, memory_format=torch.contiguous_format)
        given, use = (_array(gradient), _array(h), _array(weight), _array(bias)), _threads(h)
        to_weight, to_bias = kernels.backward(to_h.numpy(), *given, *ctx.rest, use, use=use)
        return to_h, torch.from_numpy(to_weight), torch.from_numpy(to_bias), None, None, None, None


def _threads(h: Tensor) -> int:
    """How many threads to use for so many numbers."""
    return 1 if h.numel() < SMALL else threads()


def _array(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().numpy()


def counts_of(dtype: torch.dtype, rows: int, count: Tensor | None) -> Any:
    """The counts as booleans, or as numbers of a type: the loops are compiled for each."""
    if count is None:
        return np.ones(rows, dtype=np.bool_)
    return _array(count if count.dtype == torch.bool else count.to(dtype))
