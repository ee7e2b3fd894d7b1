"""DSS-GNN: layers that also share information between the subgraphs of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, ModuleList
from torch_geometric.data import Data
from typing_extensions import Unpack

from osan.bags import SubgraphBag, share, whole_graphs
from osan.bags.build import thinned
from osan.bags.classes import Classes, Groups, numbered
from osan.nn.alike import elementwise, pool_alike, replaces_loops
from osan.nn.atomic import InitialFeatures
from osan.nn.from_options import osan
from osan.nn.layers import AllConv
from osan.nn.mlp import dropout
from osan.nn.network import OSAN
from osan.nn.norm import Activation
from osan.nn.options import BagOptions, Pooling, SharingOptions, checked
from osan.nn.pooling import Pool
from osan.nn.sharing import (
    SharedRows,
    edge_codes,
    joined_columns,
    pooled_kinds,
    stack_alike,
    start_columns,
    views_of,
)
from osan.nn.stack import Stack
from osan.nn.view import View


class SharingStack(Module):
    r"""Layers :math:`h_{v,s}' = \sigma(L_1(h)_{v,s} + L_2(\mathrm{pool}_s h_{v,s})_v)`.

    The first runs inside each subgraph, the second on the graph itself, with the features of each vertex
    pooled over the subgraphs that contain it.

    Parameters
    ----------
    width, layers, activation, dropout, residual, options
        As in :class:`osan.nn.Stack`.
    share
        How the copies of a vertex are pooled; the result must have the width of the features.
    """

    @checked()
    def __init__(
        self,
        width: int,
        layers: int,
        *,
        share: Pooling = "mean",
        activation: Activation = torch.nn.functional.relu,
        dropout: float = 0.0,
        residual: bool = False,
        **options: Unpack[SharingOptions],
    ) -> None:
        super().__init__()
        self.activation, self.dropout, self.residual = activation, dropout, residual
        inner: SharingOptions = {"last_activation": False, **options}
        self.inside = ModuleList(Stack(width, 1, activation=activation, **inner) for _ in range(layers))
        self.between = ModuleList(Stack(width, 1, activation=activation, **inner) for _ in range(layers))
        self.share = Pool(share, width)

    def forward(self, h: Tensor, batch: Data, bag: SubgraphBag) -> Tensor:
        """Shape ``[copies, width]`` to the same."""
        if not len(self.inside):
            return h
        whole = _shared_graph(batch, bag, h.dtype)
        within, across = self.inside[0].views(batch, bag), self.between[0].views(batch, whole)  # type: ignore[operator]
        for inside, between in zip(self.inside, self.between, strict=True):
            shared = self.share(h, bag.vertex, bag.num_vertices, bag.weight)
            out = inside.run(h, within) + between.run(shared, across).index_select(0, bag.vertex)  # type: ignore[operator]
            out = dropout(self.activation(out), self.dropout, self.training)
            h = out + h if self.residual else out
        return h

    def run(self, h: Tensor, steps: Sequence[SharedStep]) -> Tensor:
        """The same on rows that copies share, shape ``[rows in, width]`` to ``[rows out, width]``."""
        for inside, between, step in zip(self.inside, self.between, steps, strict=True):
            shared = pooled_kinds(step.groups, self.share, h).index_select(0, step.kind)
            out = inside.run(h, step.within).index_select(0, step.inner)  # type: ignore[operator]
            out = out + between.run(shared, step.across).index_select(0, step.outer)  # type: ignore[operator]
            out = self.activation(out)
            h = out + h.index_select(0, step.row) if self.residual else out
        return h

    def shared_rows(
        self, initial: InitialFeatures, batch: Data, bag: SubgraphBag, most: float
    ) -> SharedRows | None:
        """The classes of copies with equal features; ``None`` if they are not known, or it does not pay."""
        stacks: list[Any] = [*self.inside, *self.between]
        known = (
            not (self.dropout and self.training) and elementwise(self.activation) and pool_alike(self.share)
        )
        # A weight that only pooling looks at leaves copies of vertices that are not in the graph.
        if not known or bag.weight is not None or not all(map(stack_alike, stacks)):
            return None
        if any(
            replaces_loops(layer.conv) or isinstance(layer.conv, AllConv)
            for s in stacks
            for layer in s.layers
        ):
            return None
        return shared_steps(stacks[0], len(self.inside), initial, batch, bag, most)


def shared_steps(
    stack: Stack, layers: int, initial: InitialFeatures, batch: Data, bag: SubgraphBag, most: float
) -> SharedRows | None:
    """Classes and steps of layers that share information between subgraphs.

    The copies of a vertex are pooled, so vertices have classes, too: the multiset of those of their copies,
    then refined along the edges of the graph. A copy ends up in the class of both.
    """
    left = torch.zeros(bag.num_vertices, dtype=torch.bool).index_fill(0, bag.vertex, True)
    whole = thinned(whole_graphs(batch), left)
    place = left.long().cumsum(0) - 1
    code, table, marks = edge_codes(stack, batch, bag)
    edges, whole_table, _ = edge_codes(stack, batch, whole)
    ids, first = numbered(joined_columns(start_columns(initial, batch, bag), bag))
    colors, start, steps, rows = torch.from_numpy(ids), torch.from_numpy(first), [], 0
    for _ in range(layers):
        inside = share(batch, bag, 1, start=colors, code=code)
        assert inside is not None
        groups = replace(inside, of=colors).groups(bag.vertex, bag.num_vertices)
        kinds = groups.of[left]
        between = share(batch, whole, 1, start=kinds, code=edges)
        assert between is not None
        mark = None if bag.mark is None else [bag.mark.index_select(0, inside.first)]
        inner, outer = inside.of.long(), between.of.long().index_select(0, place.index_select(0, bag.vertex))
        ids, first = numbered(torch.stack((inner, outer), dim=1))
        chosen = torch.from_numpy(first)
        steps.append(
            SharedStep(
                within=views_of(inside, mark, None, table, marks),
                across=views_of(between, None, None, whole_table),
                groups=groups,
                kind=kinds.index_select(0, between.first),
                inner=inner[chosen],
                outer=outer[chosen],
                row=colors[chosen].long(),
            )
        )
        colors, rows = torch.from_numpy(ids), rows + len(first)
        if rows > most * layers * bag.num_copies:
            return None
    count = torch.bincount(colors)
    return SharedRows(bag, Classes(start, count, (), colors), steps)


@dataclass(frozen=True, eq=False)
class SharedStep:
    """One layer on classes: what its two parts see, and how they are put together.

    Parameters
    ----------
    within, across
        The views of the layer inside subgraphs, and of that on the graph.
    groups
        The copies of each vertex, by their classes.
    kind
        The kind of vertex of each row that the layer on the graph starts from.
    inner, outer, row
        For each class after the layer the rows of both parts, and the class before the layer.
    """

    within: Sequence[View]
    across: Sequence[View]
    groups: Groups
    kind: Tensor
    inner: Tensor
    outer: Tensor
    row: Tensor


def _shared_graph(batch: Data, bag: SubgraphBag, dtype: torch.dtype) -> SubgraphBag:
    """The graphs themselves, without the vertices of which no copy is left."""
    whole = whole_graphs(batch)
    ones = torch.ones_like(bag.vertex) if bag.weight is None else (bag.weight.detach() != 0).long()
    left = torch.zeros_like(whole.vertex).index_add(0, bag.vertex, ones) > 0
    if bool(left.all()):
        return whole
    edges = left[whole.edge_index[0]] & left[whole.edge_index[1]]
    return replace(whole, weight=left.to(dtype), edge_weight=edges.to(dtype))


@checked()
def dss_network(
    width: int, layers: int, out: int, *, share: Pooling = "mean", **options: Unpack[BagOptions]
) -> OSAN:
    """An OSAN whose layers share information between subgraphs (ESAN's DSS-GNN).

    Parameters
    ----------
    width, layers, out, options
        As in :func:`osan.nn.osan`.
    share
        How the copies of a vertex are pooled.
    """
    return osan(width, layers, out, stack=partial(SharingStack, share=share), **options)
