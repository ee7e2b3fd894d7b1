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
from typing import Any, NamedTuple

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
from osan.nn.norm import SMALL, BagBatchNorm, composed_norm, counts_of, normalize_arrays
from osan.nn.second_order import differentiable_gradients
from osan.nn.view import View

# From so many rows on, oneDNN's linear map with the activation in the same pass takes less time.
MANY = 4096


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


class Parts(NamedTuple):
    """What a layer consists of.

    Parameters
    ----------
    conv, norms
        The convolution and the two batch norms.
    parameters
        Weight and bias of the first linear map, the first norm, the second map and the second norm.
    """

    conv: Any
    norms: tuple[BagBatchNorm, BagBatchNorm]
    parameters: list[Tensor]


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
    counts = counts_of(h.dtype, view.num_rows, view.count) if layer.training else None
    rows = 2 if counts is None else np.count_nonzero(counts)
    if rows < 2:  # no variance
        return None
    early = edges is None and view.row is not None and len(h) < view.num_rows
    last, index = layer.activation is not None, None if edges is None else edges.index
    setting = Setting(view, view.blocks(len(h)), index, counts, parts.norms, last, early)
    given = (
        h,
        None if edges is None else edges.rows,
        None if view.weight is None else view.weight.to(h.dtype),
        parts.conv.eps,
        *parts.parameters,
    )
    if not layer.training:
        return _evaluated(setting, *given)
    out: Tensor = _Fused.apply(setting, *given)  # type: ignore[no-untyped-call]
    return out


def parts_of(layer: Any, h: Tensor, edges: EdgeRows | None) -> Parts | None:
    """Convolution, linear maps and norms, if all are plain parts of one precision on the CPU.

    In evaluation only without gradients.
    """
    # Each attribute of a module that is a module takes a search; their tables do not.
    modules, active = layer._modules, layer.activation
    conv, norm = modules["conv"], modules.get("norm")
    kind = GIN if edges is None else GINE
    if type(conv) is not kind or not (active is None or active is relu):
        return None
    if not layer.training and torch.is_grad_enabled():
        return None
    if h.device.type != "cpu" or h.dtype not in (torch.float32, torch.float64):
        return None
    if torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu"):
        return None
    mlp: Any = conv._modules["nn"]
    if type(mlp) is not MLP or mlp.activation is not relu or _hooked(mlp) or _hooked(conv):
        return None
    inner: Any = mlp._modules.get("norms")
    linears: Any = mlp._modules["linears"]
    if inner is None or norm is None or len(linears) != 2:
        return None
    one, two = linears._modules.values()
    (first,) = inner._modules.values()
    parameters: list[Tensor] = []
    for part, wanted in ((one, Linear), (first, BagBatchNorm), (two, Linear), (norm, BagBatchNorm)):
        if not _plain(part, wanted) or (wanted is BagBatchNorm and not _tracking(part, layer.training)):
            return None
        parameters += (part._parameters["weight"], part._parameters["bias"])
    if any(each is None or each.dtype != h.dtype for each in parameters):
        return None
    return Parts(conv, (first, norm), parameters)


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


def normalize(
    setting: Setting, which: int, y: Tensor, weight: Tensor, bias: Tensor, left_out: Tensor
) -> tuple[Tensor, Any]:
    """The normalized rows, and what their gradient needs.

    ``left_out`` is the bias of the linear map before the norm. The mean takes it away again, so it is not
    added to the rows, only to the running mean.
    """
    norm, active = setting.norms[which], which == 0 or setting.last
    out, use = torch.empty_like(y), 1 if y.numel() < SMALL else threads()
    least, scale, shift = 0.0 if active else -np.inf, weight.detach().numpy(), bias.detach().numpy()
    given = (out.numpy(), y.numpy(), scale, shift, setting.counts, least, use)
    mean, variance, copies = normalize_arrays(norm, *given, left_out.detach().numpy())
    return out, (scale, shift, mean, variance, setting.counts, copies, norm.eps, least)


def normalize_back(gradient: Tensor, y: Tensor, rest: Any, overwrite: bool = False) -> Any:
    """The gradients of the rows, of the weight and of the bias; the rows may overwrite the gradient."""
    out, use = gradient if overwrite else torch.empty_like(y), 1 if y.numel() < SMALL else threads()
    given = (out.numpy(), None if overwrite else gradient.numpy(), y.numpy(), *rest, use)
    to_weight, to_bias = norm_kernels.backward(*given, use=use)
    return out, torch.from_numpy(to_weight), torch.from_numpy(to_bias)


def mapped(
    setting: Setting,
    h: Tensor,
    feature: Tensor | None,
    weight: Tensor | None,
    own: float,
    w: Tensor,
) -> tuple[Tensor, Tensor]:
    """The sum of messages and the first linear map without its bias: its input, and its result."""
    if setting.early:
        return h, summed(linear(h, w), setting.blocks, own, None, None, weight)
    given = summed(h, setting.blocks, own, feature, setting.index, weight)
    return given, linear(given, w)


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
    one, two = setting.norms
    h, own = h.contiguous(), 1 + eps.item()
    w, b = _folded(one, w1, b1, s1, t1)
    if setting.early:
        out = summed(_linear(h, w, None), setting.blocks, own, None, None, weight, b)
    else:
        given = summed(h, setting.blocks, own, feature, setting.index, weight)
        out = _linear(given, w, b, True)
    return _linear(out, *_folded(two, w2, b2, s2, t2), setting.last)


def _folded(norm: Any, w: Tensor, b: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
    """Weight and bias of the linear map that a linear map and a norm with its running statistics are."""
    given = (t.detach().numpy() for t in (w, b, scale, shift, norm.running_mean, norm.running_var))
    weight, bias = norm_kernels.folded(*given, norm.eps)
    return torch.from_numpy(weight), torch.from_numpy(bias)


def _linear(h: Tensor, w: Tensor, b: Tensor | None, active: bool = False) -> Tensor:
    """A linear map, and an activation in the same pass where it pays."""
    out: Tensor
    if h.dtype == torch.float32 and len(h) >= MANY and _has_onednn():
        out = torch.ops.mkldnn._linear_pointwise(h, w, b, "relu" if active else "none", [], "")
        return out
    out = linear(h, w, b)
    return out.relu_() if active else out


def _has_onednn() -> bool:
    """Whether this PyTorch was built with oneDNN, it is not switched off, and has the operation."""
    backend: Any = torch.backends.mkldnn
    return bool(backend.is_available() and backend.enabled) and hasattr(torch.ops.mkldnn, "_linear_pointwise")


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
        given, y1 = mapped(setting, h, feature, weight, own, w1)
        z1, ctx.first = normalize(setting, 0, y1, s1, t1, b1)
        y2 = linear(z1, w2)
        out, ctx.second = normalize(setting, 1, y2, s2, t2, b2)
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
        w1, w2 = parameters[0], parameters[4]
        to_y2, to_s2, to_t2 = normalize_back(gradient.contiguous(), y2, ctx.second)
        to_y1, to_s1, to_t1 = normalize_back(to_y2.mm(w2), y1, ctx.first, overwrite=True)
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
        # The biases have no effect: the means take them away.
        first = (to_w1, torch.zeros_like(to_t1), to_s1, to_t1)
        second = (to_y2.t().mm(z1), torch.zeros_like(to_t2), to_s2, to_t2)
        return None, to_h, to_feature, to_weight, to_eps, *first, *second
