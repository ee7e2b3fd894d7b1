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

import numpy as np
import torch
from torch import Tensor

from osan.compiled import threads
from osan.nn import message_kernels as kernels
from osan.nn.message_kernels import EdgeBlocks, edge_blocks
from osan.nn.second_order import differentiable_gradients

# With fewer numbers than this, a second thread takes longer to start than it saves.
SMALL = 1 << 14


def _array(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().contiguous().numpy()


def composed_sum(
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


def summed(
    h: Tensor,
    blocks: EdgeBlocks,
    own: float,
    feature: Tensor | None = None,
    index: Tensor | None = None,
    weight: Tensor | None = None,
    shift: Tensor | None = None,
) -> Tensor:
    """The sums of :func:`sum_of_messages` on the CPU, without gradients; with a shift, relu(sum + shift)."""
    out = h.new_empty(blocks.rows[1], h.size(1))
    order, begin = blocks.forward
    kernels.forward(
        out.numpy(),
        _array(h),
        blocks.source,
        blocks.target,
        *map(_array, (feature, index, weight)),
        order,
        begin,
        own,
        blocks.row,
        _array(shift),
        use=_threads(h, blocks),
    )
    return out


def gradients(
    gradient: Tensor,
    h: Tensor,
    blocks: EdgeBlocks,
    own: float,
    feature: Tensor | None = None,
    index: Tensor | None = None,
    weight: Tensor | None = None,
    *,
    of_feature: bool = False,
    of_weight: bool = False,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The gradients of :func:`summed` by rows, features and weights, if they are wanted."""
    # In rows, whatever the strides of the inputs: the loops write into these arrays.
    to_h = torch.empty_like(h, memory_format=torch.contiguous_format)
    to_weight = torch.empty(weight.shape, dtype=h.dtype) if of_weight and weight is not None else None
    use = _threads(h, blocks)
    given = (_array(gradient), _array(h), blocks.source, blocks.target)
    parts, apart = None, False
    if of_feature and feature is not None:
        # Few rows of features: one table per block of senders, added up at the end. Many: one table, which
        # one thread fills along the way, and several fill row by row in a pass of its own, in the same order.
        few = len(feature) * kernels.REPEATS <= len(blocks.source)
        apart = not few and use > 1
        parts = torch.zeros(kernels.BLOCKS if few else 1, *feature.shape, dtype=h.dtype)
    # One thread needs no blocks.
    order, begin = kernels.undealt(len(blocks.source)) if use == 1 else blocks.backward
    continued = kernels.undealt(len(blocks.row)) if use == 1 and blocks.row is not None else blocks.continued
    kernels.backward(
        *given,
        *map(_array, (feature, index, weight)),
        order,
        begin,
        own,
        blocks.row,
        *continued,
        to_h.numpy(),
        None if parts is None or apart else parts.numpy(),
        _array(to_weight),
        use=use,
    )
    if parts is None or feature is None:
        return to_h, None, to_weight
    if apart:
        edges = np.arange(len(blocks.source), dtype=np.uint64)
        grouped, first = kernels.sorted_by(edges, _array(index), len(feature))
        arrays = map(_array, (feature, weight))
        kernels.feature_gradients(*given, *arrays, grouped, first, parts[0].numpy(), use=use)
    return to_h, parts[0].clone() if len(parts) > 1 else parts[0], to_weight


def _threads(h: Tensor, blocks: EdgeBlocks) -> int:
    """How many threads to use for so many numbers."""
    return 1 if h.size(1) * (blocks.rows[1] + len(blocks.source)) < SMALL else threads()


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
        ctx.blocks = edge_blocks(edge_index, len(h), len(h) if row is None else len(row), row)
        return summed(h, ctx.blocks, own.item(), feature, index, weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        h, feature, weight, own, edge_index, index, row = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph: the gradient needs a gradient itself
            composed = partial(composed_sum, edge_index=edge_index, index=index, row=row)
            found = differentiable_gradients(composed, (h, feature, weight, own), gradient)
            return *found, None, None, None
        gradient = gradient.contiguous()
        needs = dict(zip(("of_feature", "of_weight"), ctx.needs_input_grad[1:3], strict=True))
        each = gradients(gradient, h, ctx.blocks, own.item(), feature, index, weight, **needs)
        to_own = own_gradient(gradient, h, row).view(own.shape) if ctx.needs_input_grad[3] else None
        return *each, to_own, None, None, None


def own_gradient(gradient: Tensor, h: Tensor, row: Tensor | None) -> Tensor:
    """The gradient of the factor of the rows themselves, a single number."""
    rows = h if row is None else h.index_select(0, row)
    return torch.dot(gradient.flatten(), rows.flatten())


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
    return composed_sum(*inputs)
