"""Pooling of weighted rows into groups: SAGG and READOUT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Module
from torch_geometric.nn.aggr import Aggregation, Set2Set

from osan.errors import OsanError, one_line
from osan.parts import resolve


def Pool(pooling: str | Module | Callable[[int], Module], width: int) -> Any:
    """A module that pools weighted rows into groups.

    It is called with ``(rows, group, groups, weight=None)``: rows of shape ``[rows, width]``, the group of
    each row, the number of groups, and the weight of each row. It returns one row per group, shape
    ``[groups, out_width]``. Groups without rows give 0. A row of weight 0 does not exist: it cannot be the
    maximum, and it has no share in the mean's count or in the attention.

    Parameters
    ----------
    pooling
        A name in :data:`POOLS`, ``"module:name"``, an aggregation of PyG, a module that is called as above,
        or a function from the width to one of these.

        - ``"sum"``: the sum of weight times row.
        - ``"mean"``: that sum divided by the sum of the weights.
        - ``"max"``: the maximum of weight times row over the rows of weight other than 0.
        - ``"attention"``: the weighted mean with a learned gate; weights multiply the terms of the softmax.
        - ``"set2set"``: set2set, whose attention is weighted in the same way.
        - An aggregation of PyG gets the rows of weight other than 0, each times its weight.
    width
        The width of the rows.

    Returns
    -------
    Module
        With an attribute ``out_width``.

    Examples
    --------
    >>> rows, group = torch.tensor([[1.0], [2.0], [6.0]]), torch.tensor([0, 0, 2])
    >>> Pool("mean", 1)(rows, group, 3).flatten().tolist()
    [1.5, 0.0, 6.0]
    >>> Pool("max", 1)(rows, group, 3, torch.tensor([1.0, 0.0, 1.0])).flatten().tolist()
    [1.0, 0.0, 6.0]
    >>> from torch_geometric.nn.aggr import MedianAggregation
    >>> Pool(MedianAggregation(), 1)(rows, group, 3).flatten().tolist()
    [1.0, 0.0, 6.0]
    """
    made = resolve(pooling, POOLS, "pooling")
    if not isinstance(made, Module):
        if not callable(made):
            raise OsanError(f"pooling: expected a name, a module or a function of the width, got {made!r}")
        try:
            made = made(width)
        except OsanError:
            raise
        except Exception as error:  # whatever a user's function raises
            name = getattr(made, "__name__", repr(made))
            raise OsanError(
                f"pooling: expected a function of the width, got {name}, which fails for {width} "
                f"({one_line(error)})"
            ) from error
    if isinstance(made, Aggregation):
        return AggregationPool(made, width)
    if not isinstance(made, Module):
        raise OsanError(f"pooling: expected a module, got {type(made).__name__}")
    if not hasattr(made, "out_width"):
        found = _probe(made, width, lambda rows, group: made(rows, group, 1, None))
        made.out_width = found  # type: ignore[assignment]
    # A hook and not a module around it, which would rename its parameters.
    if type(made) not in POOLS.values() and _check_rows not in made._forward_hooks.values():
        made.register_forward_hook(_check_rows, with_kwargs=True)
    return made


def _check_rows(module: Module, given: tuple[Any, ...], named: dict[str, Any], out: Any) -> None:
    """Raise unless a custom pooling returned a row for each group."""
    groups = given[2] if len(given) > 2 else named.get("groups")
    if isinstance(out, Tensor) and out.dim() == 2 and groups in (None, len(out)):
        return
    found = list(out.shape) if isinstance(out, Tensor) else type(out).__name__
    raise OsanError(
        f"pooling: expected {type(module).__name__} to return shape [{groups}, width], a row for each group, "
        f"got {found}"
    )


class SumPool(Module):
    """The sum of weight times row."""

    name = "sum"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.out_width = width

    def forward(self, rows: Tensor, group: Tensor, groups: int, weight: Tensor | None = None) -> Tensor:
        """Shape ``[rows, width]`` to ``[groups, width]``."""
        return _sum(rows, group, groups, None if weight is None else weight.to(rows.dtype))


class MeanPool(SumPool):
    """The sum of weight times row, divided by the sum of the weights."""

    name = "mean"

    def forward(self, rows: Tensor, group: Tensor, groups: int, weight: Tensor | None = None) -> Tensor:
        """Shape ``[rows, width]`` to ``[groups, width]``."""
        weight = None if weight is None else weight.to(rows.dtype)
        total = _sum(rows, group, groups, weight)
        ones = rows.new_ones(len(rows)) if weight is None else weight
        count = rows.new_zeros(groups).index_add(0, group, ones)
        return total / torch.where(count == 0, 1.0, count)[:, None]


class MaxPool(SumPool):
    """The maximum of weight times row over the rows of weight other than 0."""

    name = "max"

    def forward(self, rows: Tensor, group: Tensor, groups: int, weight: Tensor | None = None) -> Tensor:
        """Shape ``[rows, width]`` to ``[groups, width]``."""
        if weight is not None:
            weight = weight.to(rows.dtype)
            rows = torch.where(weight[:, None] != 0, rows * weight[:, None], -torch.inf)
        least = rows.new_full((groups, rows.size(1)), -torch.inf)
        index = group[:, None].expand_as(rows)
        out = least.scatter_reduce(0, index, rows, "amax")
        return torch.where(out == -torch.inf, 0.0, out)


class AttentionPool(SumPool):
    """The mean of the rows with a learned gate, as weights of a softmax."""

    name = "attention"

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.gate = Linear(width, 1)

    def forward(self, rows: Tensor, group: Tensor, groups: int, weight: Tensor | None = None) -> Tensor:
        """Shape ``[rows, width]`` to ``[groups, width]``."""
        weight = None if weight is None else weight.to(rows.dtype)
        score = self.gate(rows).squeeze(1).to(rows.dtype)  # they may differ under autocast
        return _sum(rows, group, groups, weighted_softmax(score, group, groups, weight))


class Set2SetPool(Module):
    """PyG's set2set, with an attention that leaves out rows of weight 0.

    Parameters
    ----------
    width
        The width of the rows; ``out_width`` is twice that.
    steps
        The number of processing steps.
    """

    name = "set2set"

    def __init__(self, width: int, steps: int = 6) -> None:
        super().__init__()
        self.out_width = 2 * width
        self.set2set = Set2Set(width, steps)

    def forward(self, rows: Tensor, group: Tensor, groups: int, weight: Tensor | None = None) -> Tensor:
        """Shape ``[rows, width]`` to ``[groups, 2 width]``."""
        weight = None if weight is None else weight.to(rows.dtype)
        # PyG's loop carries a state in the precision of its rows, which autocast would lower on the way.
        with torch.autocast(rows.device.type, enabled=False):
            exact = rows.float() if rows.dtype in (torch.bfloat16, torch.float16) else rows
            if weight is None:
                return self.set2set(exact, group, dim_size=groups).to(rows.dtype)
            return self._weighted(exact, group, groups, weight).to(rows.dtype)

    def _weighted(self, rows: Tensor, group: Tensor, groups: int, weight: Tensor) -> Tensor:
        width = rows.size(1)
        state = (rows.new_zeros(1, groups, width), rows.new_zeros(1, groups, width))
        out = rows.new_zeros(groups, 2 * width)
        for _ in range(self.set2set.processing_steps):
            query, state = self.set2set.lstm(out.unsqueeze(0), state)
            query = query.view(groups, width)
            attention = weighted_softmax((rows * query[group]).sum(1), group, groups, weight)
            out = torch.cat((query, _sum(rows, group, groups, attention)), dim=1)
        return out


class AggregationPool(Module):
    """An aggregation of PyG on weighted rows: rows of weight 0 are left out, others times their weight.

    Parameters
    ----------
    aggregation
        The aggregation.
    width
        The width of the rows.
    """

    def __init__(self, aggregation: Aggregation, width: int) -> None:
        super().__init__()
        self.name = type(aggregation).__name__
        self.aggregation = aggregation
        self.out_width = _probe(aggregation, width, lambda rows, group: aggregation(rows, group, dim_size=1))

    def forward(self, rows: Tensor, group: Tensor, groups: int, weight: Tensor | None = None) -> Tensor:
        """Shape ``[rows, width]`` to ``[groups, out_width]``."""
        if weight is not None:
            present = (weight.detach() != 0).nonzero().flatten()
            rows = (rows * weight.to(rows.dtype)[:, None]).index_select(0, present)
            group = group.index_select(0, present)
        # Many aggregations of PyG need the rows of a group side by side.
        group, order = torch.sort(group, stable=True)
        out: Tensor = self.aggregation(rows.index_select(0, order), group, dim_size=groups)
        _check_rows(self.aggregation, (rows, group, groups), {}, out)
        return out


POOLS: dict[str, Callable[[int], Module]] = {
    "sum": SumPool,
    "mean": MeanPool,
    "max": MaxPool,
    "attention": AttentionPool,
    "set2set": Set2SetPool,
}


def _probe(module: Module, width: int, call: Callable[[Tensor, Tensor], Tensor]) -> int:
    """The width of what a pooling gives, found by a call with two rows."""
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            found = call(torch.zeros(2, width), torch.zeros(2, dtype=torch.long))
    except Exception as error:  # whatever a user's module raises
        raise OsanError(
            f"pooling: {type(module).__name__} fails on two rows of width {width} in one group "
            f"({type(error).__name__}: {error})"
        ) from error
    finally:
        module.train(training)
    if not isinstance(found, Tensor) or found.dim() != 2 or len(found) != 1:
        shape = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise OsanError(
            f"pooling: expected {type(module).__name__} to return shape [groups, width], "
            f"got {shape} for one group"
        )
    return found.size(1)


def _sum(rows: Tensor, group: Tensor, groups: int, weight: Tensor | None) -> Tensor:
    rows = rows if weight is None else rows * weight[:, None]
    return rows.new_zeros(groups, rows.size(1)).index_add(0, group, rows)


def weighted_softmax(score: Tensor, group: Tensor, groups: int, weight: Tensor | None = None) -> Tensor:
    """Softmax of the scores of each group, every term multiplied by its weight.

    >>> weight = torch.tensor([1.0, 1.0, 0.0])
    >>> weighted_softmax(torch.tensor([0.0, 0.0, 9.0]), torch.zeros(3).long(), 1, weight)
    tensor([0.5000, 0.5000, 0.0000])
    """
    candidates = score if weight is None else score.masked_fill(weight == 0, -torch.inf)
    top = score.new_full((groups,), -torch.inf).scatter_reduce(0, group, candidates.detach(), "amax")
    # Rows of weight 0 may have scores far above the rest; their terms are capped, since they are multiplied
    # by 0 anyway.
    terms = torch.exp((score - top[group]).clamp(max=0))
    terms = terms if weight is None else terms * weight
    total = score.new_zeros(groups).index_add(0, group, terms)
    return terms / total.clamp(min=torch.finfo(score.dtype).tiny)[group]
