r"""Sums of messages over copied edges, in one pass and without a tensor per edge.

For the layers that sum (GIN, GINE) this computes

.. math:: s\,h_{r(v)} + \sum_{(u, v) \in E} w_{uv} \, \sigma(h_u + e_{uv})

row by row. On the CPU, gather - add - activate - scatter spends most of a training step on tensors with one
row per edge. The compiled loop needs no such tensor, neither forward nor backward, and is many times faster
(``benchmarks/bags.py`` measures it). Other devices, and gradients of gradients, use ordinary operations.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from osan.compiled import njit
from osan.nn.second_order import differentiable_gradients


@njit(cache=True, nogil=True)
def _forward(out, h, source, target, feature, index, weight):  # type: ignore[no-untyped-def]
    width = h.shape[1]
    zero = h.dtype.type(0)
    for e in range(source.shape[0]):
        u, v = source[e], target[e]
        if feature is None:
            if weight is None:
                for j in range(width):
                    out[v, j] += h[u, j]
            else:
                w = weight[e]
                for j in range(width):
                    out[v, j] += w * h[u, j]
        else:
            f = index[e]
            if weight is None:
                for j in range(width):
                    out[v, j] += max(h[u, j] + feature[f, j], zero)
            else:
                w = weight[e]
                for j in range(width):
                    out[v, j] += w * max(h[u, j] + feature[f, j], zero)


# The compiler may reorder sums: only then does it vectorize the dot product for the weight.
@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _backward(  # type: ignore[no-untyped-def]
    gradient, h, source, target, feature, index, weight, to_h, to_feature, to_weight
):
    width = h.shape[1]
    zero = h.dtype.type(0)
    for e in range(source.shape[0]):
        u, v = source[e], target[e]
        if feature is None:
            if weight is None:
                for j in range(width):
                    to_h[u, j] += gradient[v, j]
            else:
                w = weight[e]
                for j in range(width):
                    to_h[u, j] += w * gradient[v, j]
                total = zero
                for j in range(width):
                    total += gradient[v, j] * h[u, j]
                to_weight[e] = total
        else:
            f = index[e]
            if weight is None:
                for j in range(width):
                    g = gradient[v, j] if h[u, j] + feature[f, j] > zero else zero
                    to_h[u, j] += g
                    to_feature[f, j] += g
            else:
                w = weight[e]
                for j in range(width):
                    g = w * gradient[v, j] if h[u, j] + feature[f, j] > zero else zero
                    to_h[u, j] += g
                    to_feature[f, j] += g
                total = zero
                for j in range(width):
                    message = h[u, j] + feature[f, j]
                    total += gradient[v, j] * message if message > zero else zero
                to_weight[e] = total


def _array(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().contiguous().numpy()


def _composed(
    h: Tensor,
    feature: Tensor | None,
    weight: Tensor | None,
    own: Tensor,
    edge_index: Tensor,
    index: Tensor | None,
    row: Tensor | None,
) -> Tensor:
    """The sum, of ordinary operations."""
    source, target = edge_index
    message = h[source] if feature is None or index is None else torch.relu(h[source] + feature[index])
    message = message if weight is None else message * weight[:, None]
    return ((h if row is None else h[row]) * own).index_add(0, target, message)


class _SumOfMessages(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        feature: Tensor | None,
        weight: Tensor | None,
        own: Tensor,
        edge_index: Tensor,
        index: Tensor | None,
        row: Tensor | None,
    ) -> Tensor:
        ctx.save_for_backward(h, feature, weight, own, edge_index, index, row)
        out = ((h if row is None else h.index_select(0, row)) * own).contiguous()
        _forward(out.numpy(), _array(h), *_array(edge_index), *map(_array, (feature, index, weight)))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        h, feature, weight, own, edge_index, index, row = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph: the gradient needs a gradient itself
            composed = partial(_composed, edge_index=edge_index, index=index, row=row)
            found = differentiable_gradients(composed, (h, feature, weight, own), gradient)
            return *found, None, None, None
        gradient = gradient.contiguous()
        to_h = gradient * own
        if row is not None:
            to_h = torch.zeros_like(h, memory_format=torch.contiguous_format).index_add_(0, row, to_h)
        # In rows, whatever the strides of the inputs: the loop below writes into these arrays.
        to_feature, to_weight = (
            None if t is None else torch.zeros_like(t, memory_format=torch.contiguous_format)
            for t in (feature, weight)
        )
        _backward(
            _array(gradient),
            _array(h),
            *_array(edge_index),
            *map(_array, (feature, index, weight, to_h, to_feature, to_weight)),
        )
        to_own = None
        if ctx.needs_input_grad[3]:
            rows = h if row is None else h.index_select(0, row)
            to_own = torch.dot(gradient.flatten(), rows.flatten()).view(own.shape)
        return to_h, to_feature, to_weight, to_own, None, None, None


@torch.compiler.disable  # numba's loops cannot be traced
def sum_of_messages(
    h: Tensor,
    edge_index: Tensor,
    *,
    feature: Tensor | None = None,
    index: Tensor | None = None,
    weight: Tensor | None = None,
    own: Tensor | float = 0.0,
    row: Tensor | None = None,
) -> Tensor:
    """Sum over the edges into v of w * h_u or, with edge features, of w * relu(h_u + e_uv).

    Parameters
    ----------
    h
        Shape ``[rows in, width]``.
    edge_index
        Sender and receiver of each edge, shape ``[2, edges]``.
    feature
        Rows that edges add to the sender, shape ``[rows, width]``.
    index
        The row of ``feature`` for each edge, shape ``[edges]``.
    weight
        Shape ``[edges]``.
    own
        The multiple of the row itself that is added (a number, or a tensor with one entry).
    row
        The input row that each output row continues, shape ``[rows out]``; ``None`` if they are the same.

    Returns
    -------
    Tensor
        Shape ``[rows out, width]``.

    Examples
    --------
    >>> h = torch.tensor([[1.0], [10.0], [100.0]])
    >>> sum_of_messages(h, torch.tensor([[0, 1, 2], [1, 2, 1]])).tolist()
    [[0.0], [101.0], [10.0]]
    """
    weight = None if weight is None else weight.to(h.dtype)
    feature = None if feature is None else feature.to(h.dtype)  # they may differ under autocast
    own = torch.as_tensor(own, dtype=h.dtype, device=h.device)
    inputs = (h, feature, weight, own, edge_index, index, row)
    if h.device.type == "cpu" and h.dtype in (torch.float32, torch.float64):
        out: Tensor = _SumOfMessages.apply(*inputs)  # type: ignore[no-untyped-call]
        return out
    return _composed(*inputs)
