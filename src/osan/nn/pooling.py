"""Pooling of weighted rows into groups: SAGG and READOUT."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import Linear, Module
from torch_geometric.nn.aggr import Set2Set

from osan.errors import OsanError

PoolName = Literal["sum", "mean", "max", "attention", "set2set"]


class Pool(Module):
    """One row per group, from weighted rows; groups may be empty and then give 0.

    A row of weight 0 is not there: it is no candidate for the maximum, no part of the mean's count and gets
    no attention.

    Parameters
    ----------
    name
        ``"sum"``, ``"mean"``, ``"max"``, ``"attention"`` (a learned gate) or ``"set2set"``.
    width
        The width of the rows. ``out_width`` is twice that for set2set.
    steps
        Processing steps of set2set.

    Examples
    --------
    >>> rows, group = torch.tensor([[1.0], [2.0], [6.0]]), torch.tensor([0, 0, 2])
    >>> Pool("mean", 1)(rows, group, 3).flatten().tolist()
    [1.5, 0.0, 6.0]
    >>> Pool("max", 1)(rows, group, 3, torch.tensor([1.0, 0.0, 1.0])).flatten().tolist()
    [1.0, 0.0, 6.0]
    """

    def __init__(self, name: PoolName, width: int, *, steps: int = 6) -> None:
        super().__init__()
        if name not in get_args(PoolName):
            raise OsanError(
                f"pooling: expected one of {', '.join(map(repr, get_args(PoolName)))}, got {name!r}"
            )
        self.name = name
        self.out_width = 2 * width if name == "set2set" else width
        self.gate = Linear(width, 1) if name == "attention" else None
        self.set2set = Set2Set(width, steps) if name == "set2set" else None

    def forward(self, rows: Tensor, group: Tensor, groups: int, weight: Tensor | None = None) -> Tensor:
        """Pool ``rows`` of shape ``[rows, width]`` into ``[groups, out_width]``."""
        weight = None if weight is None else weight.to(rows.dtype)
        if self.gate is not None:
            score = self.gate(rows).squeeze(1).to(rows.dtype)  # they may differ under autocast
            attention = weighted_softmax(score, group, groups, weight)
            return _sum(rows, group, groups, attention)
        if self.set2set is not None:
            # PyG's loop carries a state of the precision of its rows, which autocast would lower on the way.
            with torch.autocast(rows.device.type, enabled=False):
                exact = rows.float() if rows.dtype in (torch.bfloat16, torch.float16) else rows
                return self._set2set(exact, group, groups, weight).to(rows.dtype)
        if self.name == "max":
            if weight is not None:
                rows = torch.where(weight[:, None] != 0, rows * weight[:, None], -torch.inf)
            least = rows.new_full((groups, rows.size(1)), -torch.inf)
            index = group[:, None].expand_as(rows)
            out = least.scatter_reduce(0, index, rows, "amax")
            return torch.where(out == -torch.inf, 0.0, out)
        total = _sum(rows, group, groups, weight)
        if self.name == "sum":
            return total
        ones = rows.new_ones(len(rows)) if weight is None else weight
        count = rows.new_zeros(groups).index_add(0, group, ones)
        return total / torch.where(count == 0, 1.0, count)[:, None]

    def _set2set(self, rows: Tensor, group: Tensor, groups: int, weight: Tensor | None) -> Tensor:
        """PyG's set2set, with an attention that leaves out what weighs nothing."""
        module = self.set2set
        if module is None or weight is None:
            return module(rows, group, dim_size=groups)  # type: ignore[misc]
        width = rows.size(1)
        state = (rows.new_zeros(1, groups, width), rows.new_zeros(1, groups, width))
        out = rows.new_zeros(groups, 2 * width)
        for _ in range(module.processing_steps):
            query, state = module.lstm(out.unsqueeze(0), state)
            query = query.view(groups, width)
            attention = weighted_softmax((rows * query[group]).sum(1), group, groups, weight)
            out = torch.cat((query, _sum(rows, group, groups, attention)), dim=1)
        return out


def _sum(rows: Tensor, group: Tensor, groups: int, weight: Tensor | None) -> Tensor:
    rows = rows if weight is None else rows * weight[:, None]
    return rows.new_zeros(groups, rows.size(1)).index_add(0, group, rows)


def weighted_softmax(score: Tensor, group: Tensor, groups: int, weight: Tensor | None = None) -> Tensor:
    """Softmax of the scores of each group, every term multiplied by its weight.

    >>> weight = torch.tensor([1.0, 1.0, 0.0])
    >>> weighted_softmax(torch.tensor([0.0, 0.0, 9.0]), torch.zeros(3).long(), 1, weight)
    tensor([0.5000, 0.5000, 0.0000])
    """
    there = score if weight is None else score.masked_fill(weight == 0, -torch.inf)
    top = score.new_full((groups,), -torch.inf).scatter_reduce(0, group, there.detach(), "amax")
    # What weighs nothing may lie far above the rest; its term is cut off, as it is multiplied by 0 anyway.
    terms = torch.exp((score - top[group]).clamp(max=0))
    terms = terms if weight is None else terms * weight
    total = score.new_zeros(groups).index_add(0, group, terms)
    return terms / total.clamp(min=torch.finfo(score.dtype).tiny)[group]
