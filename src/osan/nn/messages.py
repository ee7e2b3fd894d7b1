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

from osan.compiled import threads
from osan.nn import message_kernels as kernels
from osan.nn.second_order import differentiable_gradients

# With fewer numbers than this, a second thread takes longer to start than it saves.
SMALL = 1 << 14


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
        rows = len(h) if row is None else len(row)
        ctx.blocks = kernels.edge_blocks(edge_index, len(h), rows)
        source, target, (order, begin) = ctx.blocks.source, ctx.blocks.target, ctx.blocks.forward
        if row is None:
            out = torch.empty_like(h, memory_format=torch.contiguous_format)
        else:
            out = (h.index_select(0, row) * own).contiguous()
        arrays = map(_array, (feature, index, weight))
        ctx.threads = 1 if h.size(1) * (rows + len(source)) < SMALL else threads()
        given = (out.numpy(), _array(h), source, target, *arrays, order, begin, own.item(), row is None)
        kernels.forward(*given, use=ctx.threads)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        h, feature, weight, own, edge_index, index, row = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph: the gradient needs a gradient itself
            composed = partial(_composed, edge_index=edge_index, index=index, row=row)
            found = differentiable_gradients(composed, (h, feature, weight, own), gradient)
            return *found, None, None, None
        gradient = gradient.contiguous()
        # In rows, whatever the strides of the inputs: the loops write into these arrays.
        if row is None:
            to_h = torch.empty_like(h, memory_format=torch.contiguous_format)
        else:
            to_h = torch.zeros_like(h, memory_format=torch.contiguous_format)
            to_h.index_add_(0, row, gradient * own)
        needs = dict(zip(("feature", "weight", "own"), ctx.needs_input_grad[1:4], strict=True))
        to_weight = torch.empty(weight.shape, dtype=h.dtype) if needs["weight"] else None
        to_feature = _backward(ctx, gradient, to_h, to_weight, needs["feature"])
        to_own = None
        if needs["own"]:
            rows = h if row is None else h.index_select(0, row)
            to_own = torch.dot(gradient.flatten(), rows.flatten()).view(own.shape)
        return to_h, to_feature, to_weight, to_own, None, None, None


def _backward(
    ctx: Any, gradient: Tensor, to_h: Tensor, to_weight: Tensor | None, wanted: bool
) -> Tensor | None:
    """Write the gradients of rows and weights; return that of the features if it is wanted."""
    h, feature, weight, own, _, index, row = ctx.saved_tensors
    blocks = ctx.blocks
    order, begin = blocks.backward
    given = (_array(gradient), _array(h), blocks.source, blocks.target)
    parts, apart = None, False
    if wanted:
        # Few rows of features: one table per block, added up at the end. Many: one table, which one thread
        # fills along the way, and several fill row by row in a pass of its own, in the same order.
        few = len(feature) * kernels.REPEATS <= len(blocks.source)
        apart = not few and ctx.threads > 1
        parts = torch.zeros(kernels.BLOCKS if few else 1, *feature.shape, dtype=h.dtype)
    kernels.backward(
        *given,
        *map(_array, (feature, index, weight)),
        order,
        begin,
        own.item(),
        row is None,
        to_h.numpy(),
        None if parts is None or apart else parts.numpy(),
        _array(to_weight),
        use=ctx.threads,
    )
    if parts is None:
        return None
    if apart:
        grouped, first = kernels.sorted_by(order, _array(index), len(feature))
        arrays = map(_array, (feature, weight))
        kernels.feature_gradients(*given, *arrays, grouped, first, parts[0].numpy(), use=ctx.threads)
    return parts[0].clone() if len(parts) > 1 else parts[0]


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
