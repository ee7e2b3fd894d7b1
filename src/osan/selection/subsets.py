"""Exact sampling and marginals of the distribution p(z; theta) over subsets of k elements."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from osan import devices
from osan.bags import straight_through
from osan.errors import OsanError
from osan.selection import subset_kernels as kernels
from osan.selection.ground import GroundSet

# Stands for the logarithm of 0: finite, so that no gradient becomes inf - inf.
_LOG_ZERO = -1e30


def padded(values: Tensor, ground: GroundSet, place: Tensor, fill: float) -> Tensor:
    """Lay out ``[elements, m]`` as ``[graphs, n, m]``, with n the size of the largest graph.

    ``place`` of shape ``[elements, m]`` or ``[elements, 1]`` is the position of each value in its graph. The
    size n is the shape of a count, so no value is read back from the device.
    """
    largest = max(torch.bincount(ground.position).numel(), 1)
    rows = ground.graph.unsqueeze(1) * largest + place
    dense = values.new_full((ground.num_graphs * largest, values.size(1)), fill)
    return dense.scatter(0, rows.expand_as(values), values).view(ground.num_graphs, largest, -1)


def without_masks(weights: Tensor, ground: GroundSet) -> Tensor:
    """Replace minus infinity by numbers so far below the rest of the graph that exp of the gap is 0.

    Examples
    --------
    >>> ground = GroundSet(torch.tensor([0, 0]), torch.tensor([0, 1]), torch.tensor([2]))
    >>> without_masks(torch.tensor([[3.0], [-torch.inf]]), ground).flatten().tolist()
    [3.0, -997.0]
    """
    masked = weights.detach().isneginf()
    lowest = weights.new_zeros(ground.num_graphs, weights.size(1)).scatter_reduce(
        0,
        ground.graph.unsqueeze(1).expand_as(weights),
        torch.where(masked, torch.inf, weights.detach()),
        "amin",
        include_self=False,
    )
    lowest = torch.where(lowest.isinf(), 0.0, lowest)  # all elements of the graph are masked
    return torch.where(masked, lowest[ground.graph] - 1000, weights)


def log_partitions(weights: Tensor, k: int) -> list[Tensor]:
    """Logarithms of the elementary symmetric polynomials of exp(weights), from every position on.

    Parameters
    ----------
    weights
        Shape ``[graphs, n, m]``, padded with large negative numbers.
    k
        The largest size of interest.

    Returns
    -------
    list of Tensor
        Entry j, of shape ``[graphs, m, k + 1]``, holds at c the logarithm of the sum over all c-subsets of
        the elements j, ..., n - 1 of the product of their exp(weights).

    Examples
    --------
    >>> log_partitions(torch.zeros(1, 4, 1), 2)[0].exp().round()
    tensor([[[1., 4., 6.]]])
    """
    graphs, n, m = weights.shape
    table = weights.new_full((graphs, m, k + 1), _LOG_ZERO)
    table[..., 0] = 0
    tables = [table]
    for j in reversed(range(n)):
        taken = table[..., :-1] + weights[:, j].unsqueeze(-1)
        # Unlike torch.logaddexp, this also has second derivatives where both are far below 0.
        more = torch.stack([table[..., 1:], taken.clamp(min=_LOG_ZERO)]).logsumexp(0)
        table = torch.cat([table[..., :1], more], dim=-1)
        tables.append(table)
    return tables[::-1]


def marginals(weights: Tensor, k: Tensor, tables: list[Tensor]) -> Tensor:
    r"""Probability of each element being in a k-subset z drawn with p(z; theta) ~ exp(<z, theta>).

    Element j is taken together with a elements before and k - 1 - a elements after it. The result can be
    differentiated.

    Parameters
    ----------
    weights
        Shape ``[graphs, n, m]``, padded with large negative numbers.
    k
        Size of the subsets of each graph, shape ``[graphs]``.
    tables
        From :func:`log_partitions`.

    Examples
    --------
    >>> weights = torch.zeros(1, 4, 1)
    >>> marginals(weights, torch.tensor([2]), log_partitions(weights, 2)).flatten()
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    largest = tables[0].size(-1) - 1
    before = torch.stack(log_partitions(weights.flip(1), largest)[:0:-1], dim=1)[..., :-1]
    after = torch.stack(tables[1:], dim=1)
    size = k.view(-1, 1, 1, 1)
    missing = (size - 1 - torch.arange(largest, device=k.device)).expand_as(before)
    after = torch.where(missing >= 0, after.gather(-1, missing.clamp(min=0)), _LOG_ZERO)
    others = torch.logsumexp(before + after, dim=-1)
    every = tables[0].unsqueeze(1).gather(-1, size.expand(-1, 1, weights.size(2), 1)).squeeze(-1)
    return torch.exp(weights + others - every)


def sample(weights: Tensor, k: Tensor, tables: list[Tensor], uniform: Tensor) -> Tensor:
    """Draw a k-subset from p(z; theta), element after element, each given those before it.

    Parameters
    ----------
    weights, uniform
        Shape ``[graphs, n, m]``.
    k
        Size of the subsets of each graph, shape ``[graphs]``.
    tables
        From :func:`log_partitions`.
    """
    left = k.unsqueeze(1).expand(-1, weights.size(2))
    taken = []
    for j in range(weights.size(1)):
        every = tables[j].gather(-1, left.unsqueeze(-1)).squeeze(-1)
        rest = tables[j + 1].gather(-1, (left - 1).clamp(min=0).unsqueeze(-1)).squeeze(-1)
        probability = torch.where(left > 0, torch.exp(weights[:, j] + rest - every), 0.0)
        take = uniform[:, j] < probability
        left = left - take.long()
        taken.append(take)
    return torch.stack(taken, dim=1)


class _Drawn(torch.autograd.Function):
    """Samples forward, the gradient of the marginals backward."""

    @staticmethod
    def forward(
        ctx: Any, theta: Tensor, uniform: Tensor, ground: GroundSet, k: Tensor, largest: int
    ) -> Tensor:
        ctx.save_for_backward(theta, uniform)
        ctx.rest = (ground, k, largest)
        out = torch.zeros_like(theta, memory_format=torch.contiguous_format)
        kernels.draw(theta.numpy(), uniform.numpy(), ground.sizes.numpy(), k.numpy(), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        theta, uniform = ctx.saved_tensors
        ground, k, largest = ctx.rest
        if torch.is_grad_enabled():  # create_graph: the gradient needs a gradient itself
            given = theta.view_as(theta)
            out = _composed(given, uniform, ground, k, largest)
            (found,) = torch.autograd.grad(out, given, gradient, create_graph=True)
            return found, None, None, None, None
        out = torch.empty_like(theta, memory_format=torch.contiguous_format)
        sizes = ground.sizes.numpy()
        kernels.derivative(theta.numpy(), gradient.contiguous().numpy(), sizes, k.numpy(), out.numpy())
        return out, None, None, None, None


def _composed(theta: Tensor, uniform: Tensor, ground: GroundSet, k: Tensor, largest: int) -> Tensor:
    """What :func:`drawn` gives, of ordinary operations."""
    place = ground.position.unsqueeze(1)
    dense = padded(theta, ground, place, fill=-1e20)
    tables = log_partitions(dense, largest)
    values = padded(uniform, ground, place, fill=1.0)
    taken = sample(dense.detach(), k, [table.detach() for table in tables], values).to(dense.dtype)
    if theta.requires_grad:
        taken = straight_through(taken, marginals(dense, k, tables))
    return taken[ground.graph, ground.position]


def drawn(theta: Tensor, uniform: Tensor, ground: GroundSet, k: Tensor, largest: int) -> Tensor:
    """A k-subset of each graph and column from p(z; theta), with the gradient of the marginals.

    On the CPU the recursions are compiled; other devices, and gradients of gradients, use
    :func:`log_partitions`, :func:`sample` and :func:`marginals`.

    Parameters
    ----------
    theta, uniform
        Float64, shape ``[elements, m]``; ``uniform`` holds random numbers between 0 and 1.
    ground
        The elements.
    k, largest
        Size of the subsets of each graph, shape ``[graphs]``, and an upper bound of all.

    Raises
    ------
    OsanError
        If a number is not finite (on the CPU).

    Examples
    --------
    >>> ground = GroundSet(torch.tensor([0, 0, 0]), torch.arange(3), torch.tensor([3]))
    >>> theta = torch.zeros(3, 1, dtype=torch.float64, requires_grad=True)
    >>> uniform = torch.tensor([[0.9], [0.1], [0.1]], dtype=torch.float64)
    >>> subset = drawn(theta, uniform, ground, torch.tensor([1]), 1)
    >>> subset[2].backward()
    >>> subset.flatten().tolist(), (9 * theta.grad).flatten().round().tolist()
    ([0.0, 1.0, 0.0], [-1.0, -1.0, 2.0])
    """
    if not devices.on_cpu(theta):
        return _composed(theta, uniform, ground, k, largest)
    wrong = theta.detach().isfinite().logical_not_()
    if bool(wrong.any()):
        row, column = wrong.nonzero()[0].tolist()
        raise OsanError(
            f"weights: expected numbers below infinity, got {theta[row, column].abs().item():g} in graph "
            f"{int(ground.graph[row])} of the batch, subgraph {column}"
        )
    out: Tensor = _Drawn.apply(theta, uniform, ground, k, largest)  # type: ignore[no-untyped-call]
    return out
