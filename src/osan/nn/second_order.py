"""Gradients of gradients for operations with compiled loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def differentiable_gradients(
    function: Callable[..., Tensor], inputs: Sequence[Tensor | None], gradient: Tensor
) -> list[Tensor | None]:
    """The gradients of ``function(*inputs)``, themselves with gradients.

    For the backward pass of an ``autograd.Function`` with ``create_graph=True``: ``function`` computes the
    same as its forward pass, of ordinary operations.

    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> (first,) = differentiable_gradients(lambda x: x**3, [x], torch.ones(1))
    >>> first.item(), torch.autograd.grad(first, x)[0].item()
    (27.0, 18.0)
    """
    # Views, so that an input that another one depends on does not get the gradient along that way too.
    given = [None if t is None else t.view_as(t) for t in inputs]
    needed = [t for t in given if t is not None and t.requires_grad]
    if not needed:
        return [None for _ in inputs]
    with torch.enable_grad():
        out = function(*given)
        found = iter(torch.autograd.grad(out, needed, gradient, create_graph=True, allow_unused=True))
    return [next(found) if t is not None and t.requires_grad else None for t in given]
