r"""Sharing in learned training: forward and weight gradients on classes, gradients of inputs by copies.

When the choice of subgraphs is learned, each copy needs a gradient of its own, but copies in one class still
have equal features. So two of the three matrix products of a linear map run on classes: the forward one, and
that of the gradient of its weight,

.. math:: \partial W = \sum_c \Bigl(\sum_{i \in c} g_i\Bigr) x_c^\top ,

with the gradients :math:`g_i` of the copies i of class c. Only :math:`g_i W` needs all copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.functional import linear
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.bags.build import thinned
from osan.bags.classes import share
from osan.nn.atomic import InitialFeatures
from osan.nn.edges import EdgeRows
from osan.nn.fused import Setting, composed, fused, mapped, normalize, normalize_back, parts_of
from osan.nn.messages import gradients, own_gradient
from osan.nn.norm import counts_of
from osan.nn.second_order import differentiable_gradients
from osan.nn.sharing import joined_columns, stack_alike, start_columns
from osan.nn.stack import Stack
from osan.nn.view import View

# With more than this share of rows, fewer copies or narrower layers, finding classes and going to and fro
# between them and copies costs what it saves (measured with GIN and GINE at widths 32 to 300).
MOST, LEAST, NARROW = 0.7, 500, 96


@dataclass(frozen=True, eq=False)
class LearnedLayer:
    """What a layer computes on classes, and how copies are among them.

    Parameters
    ----------
    view
        The view of the classes.
    first
        A copy of each class before the layer, shape ``[classes before]``.
    of
        The class of each copy after the layer, shape ``[copies]``.
    """

    view: View
    first: Tensor
    of: Tensor


def learned_layers(
    initial: Any,
    stack: Any,
    batch: Data,
    bag: SubgraphBag,
    most: float | None = None,
    least: int | None = None,
) -> list[LearnedLayer] | None:
    """The classes for training in which copies have gradients of their own; ``None`` if it does not pay.

    It does not with dropout, with soft weights, with other layers than GIN and GINE, with layers narrower
    than 96, for bags of fewer than ``least`` copies (by default 500), and if more than ``most`` of all rows
    (by default seven in ten) are left.
    """
    given = (bag.weight, bag.edge_weight, bag.mark)
    if not any(value is not None and value.requires_grad for value in given):
        return None
    if type(initial) is not InitialFeatures or type(stack) is not Stack or not stack.training:
        return None
    if bag.vertex.device.type != "cpu" or bag.edge_mark is not None:
        return None
    if initial.width < NARROW or bag.num_copies < (LEAST if least is None else least):
        return None
    if (
        torch.compiler.is_compiling()
        or not stack_alike(stack)
        or any(layer.dropout for layer in stack.layers)
    ):
        return None
    if bag.weight is not None and bag.edge_weight is None:  # removed copies take part in the layers
        return None
    if any(_soft(weight) for weight in (bag.weight, bag.edge_weight)):
        return None
    full: View = stack.views(batch, bag)[0]
    probe = torch.empty(0, initial.width)
    if any(parts_of(layer, probe, full.edges) is None for layer in stack.layers):
        return None
    hard = replace(bag, weight=None, edge_weight=None, mark=None if bag.mark is None else bag.mark.detach())
    kept = None if bag.edge_weight is None else bag.edge_weight.detach() != 0
    plain, code = thinned(hard, None, kept), None
    if full.edges is None:
        code = torch.zeros_like(plain.edge)
    else:
        code = full.edges.index if kept is None else full.edges.index[kept]
    start = joined_columns(start_columns(initial, batch, plain), plain)
    most = MOST if most is None else most
    classes = share(batch, plain, len(stack.layers), start=start, code=code, most=most)
    if classes is None:
        return None
    of, layers = [classes.of], []
    for layer in reversed(classes.layers):
        of.insert(0, layer.row.index_select(0, of[0]))
    firsts = [classes.first, *(layer.first for layer in classes.layers)]
    for layer, first, after in zip(classes.layers, firsts, of[1:], strict=False):
        present = after if full.count is None else after[full.count]
        view = View(
            edge_index=layer.edge_index,
            group=layer.row,
            num_groups=0,
            row=layer.row,
            edges=None if full.edges is None else EdgeRows(full.edges.rows, layer.code),
            count=torch.bincount(present, minlength=layer.row.numel()).to(probe.dtype),
        )
        layers.append(LearnedLayer(view, first, after))
    return layers


def _soft(weight: Tensor | None) -> bool:
    return weight is not None and bool(((weight != 0) & (weight != 1)).any())


def run_learned(stack: Stack, h: Tensor, view: View, layers: Sequence[LearnedLayer]) -> Tensor:
    """The layers of a stack on the copies of a view, shape ``[copies, width]`` to the same."""
    for one, classes in zip(stack.layers, layers, strict=True):
        layer, edges = cast(Any, one), None
        if layer.edge_encoder is not None and view.edges is not None:
            edges = view.edges.encoded(layer.edge_encoder, h.size(1))
        out = _run(layer, h, view, edges, classes)
        h = out + h if layer.residual else out
    return h


def _run(layer: Any, h: Tensor, view: View, edges: EdgeRows | None, classes: LearnedLayer) -> Tensor:
    parts = parts_of(layer, h, edges)
    inner, last = classes.view, layer.activation is not None
    counts = counts_of(h.dtype, inner.num_rows, inner.count)
    if parts is None or counts.sum() < 2:  # no variance
        alone = fused(layer, h, view, edges)
        return layer.in_parts(h, view, edges) if alone is None else alone
    norms = parts.norms
    rows = len(classes.first)
    early, index = edges is None and rows < inner.num_rows, None if edges is None else edges.index
    code = None if inner.edges is None else inner.edges.index
    each = counts_of(h.dtype, len(h), view.count)
    copies = Setting(view, view.blocks(len(h)), index, each, norms, last, False)
    out: Tensor = _Learned.apply(  # type: ignore[no-untyped-call]
        Setting(inner, inner.blocks(rows), code, counts, norms, last, early),
        copies,
        classes,
        h,
        None if edges is None else edges.rows,
        None if view.weight is None else view.weight.to(h.dtype),
        parts.conv.eps,
        *parts.parameters,
    )
    return out


class _Learned(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inner: Setting,
        copies: Setting,
        classes: LearnedLayer,
        h: Tensor,
        feature: Tensor | None,
        weight: Tensor | None,
        eps: Tensor,
        *parameters: Tensor,
    ) -> Tensor:
        w1, b1, s1, t1, w2, b2, s2, t2 = parameters
        h, own = h.contiguous(), 1 + eps.item()
        given, y1 = mapped(inner, h.index_select(0, classes.first), feature, None, own, w1)
        z1, ctx.one = normalize(inner, 0, y1, s1, t1, b1)
        y2 = linear(z1, w2)
        out, ctx.two = normalize(inner, 1, y2, s2, t2, b2)
        ctx.inner, ctx.copies, ctx.of, ctx.own = inner, copies, classes.of, own
        ctx.save_for_backward(h, feature, weight, eps, *parameters, given, y1, z1, y2)
        return out.index_select(0, classes.of)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        h, feature, weight, eps, *parameters, given, y1, z1, y2 = ctx.saved_tensors
        inner, copies, of, needs = ctx.inner, ctx.copies, ctx.of, ctx.needs_input_grad[3:]
        if torch.is_grad_enabled():  # create_graph: the gradient needs a gradient itself
            found = (h, feature, weight, eps, *parameters)
            again = differentiable_gradients(partial(composed, setting=copies), found, gradient)
            return None, None, None, *again
        w1, w2 = parameters[0], parameters[4]

        def back(gradient: Tensor, y: Tensor, rest: Any, overwrite: bool = False) -> Any:
            rest = (*rest[:4], copies.counts, *rest[5:])
            return normalize_back(gradient, y.index_select(0, of), rest, overwrite)

        to_y2, to_s2, to_t2 = back(gradient.contiguous(), y2, ctx.two)
        to_y1, to_s1, to_t1 = back(to_y2.mm(w2), y1, ctx.one, overwrite=True)
        to_sum = to_y1.mm(w1)
        wanted = {"of_feature": needs[1], "of_weight": needs[2]}
        rest = (copies.blocks, ctx.own, feature, copies.index, weight)
        to_h, to_feature, to_weight = gradients(to_sum, h, *rest, **wanted)
        to_eps = own_gradient(to_sum, h, None).view(eps.shape) if needs[3] else None
        second = torch.zeros_like(y2).index_add_(0, of, to_y2)
        first = torch.zeros_like(y1).index_add_(0, of, to_y1)
        if inner.early:
            first = gradients(first, first.new_empty(len(given), w1.size(0)), inner.blocks, ctx.own)[0]
        found = (first.t().mm(given), torch.zeros_like(to_t1), to_s1, to_t1)
        found = (*found, second.t().mm(z1), torch.zeros_like(to_t2), to_s2, to_t2)
        return None, None, None, to_h, to_feature, to_weight, to_eps, *found
