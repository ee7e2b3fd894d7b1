"""A GIN or GINE layer with its perceptron, norms and activations as one operation.

The sum of messages, two linear maps and two batch norms are small: for a few thousand rows a third of a
training step goes into the calls between them, forward and backward. Here they are one step of autograd, of
the same loops and products. Where anything in the layer is not as expected (hooks, other activations, other
devices), :class:`osan.nn.stack.Layer` runs its parts one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import Linear, Module
from torch.nn.functional import linear, relu

from osan.compiled import threads
from osan.nn import norm_kernels
from osan.nn.edges import EdgeRows
from osan.nn.layers import GIN, GINE
from osan.nn.message_kernels import EdgeBlocks
from osan.nn.messages import composed_sum, gradients, own_gradient, summed
from osan.nn.mlp import MLP
from osan.nn.norm import SMALL, BagBatchNorm, composed_norm, counts_of, remember
from osan.nn.second_order import differentiable_gradients
from osan.nn.view import View


@dataclass(frozen=True, eq=False)
class Setting:
    """What a layer is called with besides tensors that may have gradients.

    Parameters
    ----------
    view, blocks, index
        The view, its edges in blocks, and the row of the features for each edge.
    counts
        How many copies each row stands for.
    norms
        The two batch norms.
    last
        Whether an activation follows the second one.
    early
        Whether the first linear map comes before the sum of messages, where there are fewer rows.
    """

    view: View
    blocks: EdgeBlocks
    index: Tensor | None
    counts: Any
    norms: Sequence[BagBatchNorm]
    last: bool
    early: bool


def fused(layer: Any, h: Tensor, view: View, edges: EdgeRows | None) -> Tensor | None:
    """What convolution, norm and activation of a layer give, as one operation; ``None`` if it cannot be.

    >>> from torch_geometric.data import Data
    >>> from osan import bags
    >>> from osan.nn.stack import Stack
    >>> from osan.nn.view import view_of
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> layer = Stack(8, 1).layers[0]
    >>> fused(layer, torch.ones(3, 8), view_of(bags.whole_graphs(path)), None).shape
    torch.Size([3, 8])
    """
    parts = parts_of(layer, h, edges)
    if parts is None:
        return None
    conv, first, second, *norms = parts
    counts = counts_of(h.dtype, view.num_rows, view.count) if layer.training else None
    if counts is not None and np.count_nonzero(counts) < 2:  # no variance
        return None
    early = edges is None and view.row is not None and len(h) < view.num_rows
    last, index = layer.activation is not None, None if edges is None else edges.index
    setting = Setting(view, view.blocks(len(h)), index, counts, norms, last, early)
    given = (
        h,
        None if edges is None else edges.rows,
        None if view.weight is None else view.weight.to(h.dtype),
        conv.eps,
        *(t for part in (first, norms[0], second, norms[1]) for t in (part.weight, part.bias)),
    )
    if not layer.training:
        return _evaluated(setting, *given)
    out: Tensor = _Fused.apply(setting, *given)  # type: ignore[no-untyped-call]
    return out


def parts_of(layer: Any, h: Tensor, edges: EdgeRows | None) -> tuple[Any, ...] | None:
    """Convolution, linear maps and norms, if all are plain parts of one precision on the CPU.

    In evaluation only without gradients.
    """
    conv, norm, active = layer.conv, layer.norm, layer.activation
    kind = GIN if edges is None else GINE
    if type(conv) is not kind or not (active is None or active is relu):
        return None
    if not layer.training and torch.is_grad_enabled():
        return None
    if h.device.type != "cpu" or h.dtype not in (torch.float32, torch.float64):
        return None
    if torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu"):
        return None
    mlp: Any = conv.nn
    if (
        type(mlp) is not MLP
        or mlp.norms is None
        or mlp.activation is not relu
        or _hooked(mlp)
        or _hooked(conv)
    ):
        return None
    linears = tuple(mlp.linears._modules.values())
    norms = (*mlp.norms._modules.values(), norm)
    if len(linears) != 2 or not all(map(_plain, linears, (Linear, Linear))):
        return None
    if not all(_plain(part, BagBatchNorm) and _tracking(part, layer.training) for part in norms):
        return None
    if any(part.weight.dtype != h.dtype or part.bias is None for part in (*linears, *norms)):
        return None
    return conv, *linears, *norms


def _plain(module: Module, kind: type[Module]) -> bool:
    return type(module) is kind and "forward" not in module.__dict__ and not _hooked(module)


def _hooked(module: Module) -> bool:
    """Whether somebody wants to see what goes in or out."""
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )


def _tracking(norm: Any, training: bool) -> bool:
    """Whether a norm has weights, and statistics that follow the batches."""
    return norm.training == training and norm.affine and norm.track_running_stats


def normalize(setting: Setting, which: int, y: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Any]:
    """The normalized rows, and what their gradient needs."""
    norm, active = setting.norms[which], which == 0 or setting.last
    out, use = torch.empty_like(y), 1 if y.numel() < SMALL else threads()
    least = 0.0 if active else -np.inf
    arrays = (t.detach().numpy() for t in (out, y, weight, bias))
    mean, variance, copies = norm_kernels.forward(*arrays, setting.counts, norm.eps, least, use, use=use)
    remember(norm, mean, variance, copies)
    return out, (mean, variance, setting.counts, copies, norm.eps, least)


def normalize_back(gradient: Tensor, y: Tensor, weight: Tensor, bias: Tensor, rest: Any) -> Any:
    out, use = torch.empty_like(y), 1 if y.numel() < SMALL else threads()
    arrays = (t.detach().numpy() for t in (out, gradient, y, weight, bias))
    to_weight, to_bias = norm_kernels.backward(*arrays, *rest, use, use=use)
    return out, torch.from_numpy(to_weight), torch.from_numpy(to_bias)


def mapped(
    setting: Setting,
    h: Tensor,
    feature: Tensor | None,
    weight: Tensor | None,
    own: float,
    w: Tensor,
    b: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The sum of messages and the first linear map: its input, and its result."""
    if setting.early:
        out = summed(linear(h, w), setting.blocks, own, None, None, weight)
        return h, out if b is None else out.add_(b)
    given = summed(h, setting.blocks, own, feature, setting.index, weight)
    return given, linear(given, w, b)


def _evaluated(
    setting: Setting,
    h: Tensor,
    feature: Tensor | None,
    weight: Tensor | None,
    eps: Tensor,
    *parameters: Tensor,
) -> Tensor:
    """The layer in evaluation mode, without gradients."""
    w1, b1, s1, t1, w2, b2, s2, t2 = parameters
    out = mapped(setting, h.contiguous(), feature, weight, 1 + eps.item(), w1, None)[1]
    _evaluate(setting, 0, out, s1, t1, b1)
    out = linear(out, w2)
    _evaluate(setting, 1, out, s2, t2, b2)
    return out


def _evaluate(setting: Setting, which: int, h: Tensor, weight: Tensor, bias: Tensor, before: Tensor) -> None:
    """Normalize rows in place with the running statistics.

    ``before`` is the bias of the linear map, which they miss: it moves the mean instead of each row.
    """
    norm: Any = setting.norms[which]
    use = 1 if h.numel() < SMALL else threads()
    least = 0.0 if which == 0 or setting.last else -np.inf
    arrays = (t.detach().numpy() for t in (h, weight, bias, norm.running_mean - before, norm.running_var))
    norm_kernels.evaluated(*arrays, norm.eps, least, use, use=use)


def composed(
    h: Tensor,
    feature: Tensor | None,
    weight: Tensor | None,
    eps: Tensor,
    *parameters: Tensor,
    setting: Setting,
) -> Tensor:
    """The layer, of ordinary operations."""
    w1, b1, s1, t1, w2, b2, s2, t2 = parameters
    view, count = setting.view, setting.view.count
    one, two = setting.norms
    total = composed_sum(h, feature, weight, 1 + eps, view.edge_index, setting.index, view.row)
    out = composed_norm(linear(total, w1, b1), s1, t1, count, one.eps, True)
    return composed_norm(linear(out, w2, b2), s2, t2, count, two.eps, setting.last)


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        setting: Setting,
        h: Tensor,
        feature: Tensor | None,
        weight: Tensor | None,
        eps: Tensor,
        *parameters: Tensor,
    ) -> Tensor:
        w1, b1, s1, t1, w2, b2, s2, t2 = parameters
        h, own = h.contiguous(), 1 + eps.item()
        given, y1 = mapped(setting, h, feature, weight, own, w1, b1)
        z1, ctx.first = normalize(setting, 0, y1, s1, t1)
        y2 = linear(z1, w2, b2)
        out, ctx.second = normalize(setting, 1, y2, s2, t2)
        ctx.setting, ctx.own = setting, own
        ctx.save_for_backward(h, feature, weight, eps, *parameters, given, y1, z1, y2)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        h, feature, weight, eps, *parameters, given, y1, z1, y2 = ctx.saved_tensors
        setting, needs = ctx.setting, ctx.needs_input_grad[1:]
        if torch.is_grad_enabled():  # create_graph: the gradient needs a gradient itself
            inputs = (h, feature, weight, eps, *parameters)
            return None, *differentiable_gradients(partial(composed, setting=setting), inputs, gradient)
        w1, _, s1, t1, w2, _, s2, t2 = parameters
        to_y2, to_s2, to_t2 = normalize_back(gradient.contiguous(), y2, s2, t2, ctx.second)
        to_y1, to_s1, to_t1 = normalize_back(to_y2.mm(w2), y1, s1, t1, ctx.first)
        rest = (setting.blocks, ctx.own, feature, setting.index, weight)
        wanted = {"of_feature": needs[1], "of_weight": needs[2]}
        to_h: Tensor | None
        if setting.early:
            sent = linear(h, w1) if needs[2] or needs[3] else h.new_empty(len(h), w1.size(0))
            to_given, to_feature, to_weight = gradients(to_y1, sent, *rest, **wanted)
            to_eps = own_gradient(to_y1, sent, setting.view.row).view(eps.shape) if needs[3] else None
            to_h = to_given.mm(w1) if needs[0] else None
            to_w1 = to_given.t().mm(h)
        else:
            to_sum = to_y1.mm(w1)
            to_h, to_feature, to_weight = gradients(to_sum, h, *rest, **wanted)
            to_eps = own_gradient(to_sum, h, setting.view.row).view(eps.shape) if needs[3] else None
            to_w1 = to_y1.t().mm(given)
        found = (to_w1, to_y1.sum(0), to_s1, to_t1, to_y2.t().mm(z1), to_y2.sum(0), to_s2, to_t2)
        return None, to_h, to_feature, to_weight, to_eps, *found
