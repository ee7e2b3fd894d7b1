"""Exact sharing in networks: rows that are equal whatever the weights are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.bags.build import thinned
from osan.bags.classes import Classes, Groups, numbered, share
from osan.bags.layout import num_graphs_of
from osan.errors import OsanError
from osan.nn.alike import alike, elementwise, is_gcn, layer_alike, local, pool_alike, replaces_loops
from osan.nn.atomic import (
    InitialFeatures,
    membership,
    rank_rows,
    ranks_of,
    tuples_of,
    types_of_copies,
    types_of_tuples,
)
from osan.nn.edges import EdgeRows, attributes_of
from osan.nn.layers import AllConv
from osan.nn.messages import sum_of_messages
from osan.nn.pooling import MeanPool, SumPool
from osan.nn.relations import related
from osan.nn.stack import Stack
from osan.nn.structure import WithEncoding
from osan.nn.view import View
from osan.words import Sharing

# Above this share of rows, and with fewer copies than that, finding classes costs more than it saves.
MOST = 0.8
LEAST = 1500


@dataclass(frozen=True, eq=False)
class SharedRows:
    """A bag in which copies with equal features share a row.

    Parameters
    ----------
    bag
        The bag without removed copies.
    classes
        Its classes.
    views
        What each layer sees: the second argument of the ``run`` of the layers.
    start, groups
        If copies were not listed: a bag that has one copy for each class before the first layer, and the
        kinds of subgraphs. Only subgraphs can then be pooled.
    """

    bag: SubgraphBag
    classes: Classes
    views: Sequence[Any]
    start: SubgraphBag | None = None
    groups: Groups | None = None

    def run(self, initial: Any, stack: Any, batch: Data) -> Tensor:
        """Initial features and layers: one row for each class after the last layer."""
        if self.start is not None:
            first = initial(batch, self.start)
        else:
            first = initial(batch, self.bag, self.classes.first)
        h: Tensor = stack.run(first, self.views)
        return h

    def pooled_subgraphs(self, pool: Any, h: Tensor, then: Module) -> Tensor:
        """Pool the copies of each subgraph and map the result, as :meth:`pooled` does."""
        if self.groups is not None:
            return pooled(self.groups, pool, h, then)
        bag = self.bag
        return self.pooled(pool, h, bag.subgraph, bag.num_subgraphs, bag.weight, then)

    def pooled(
        self,
        pool: Any,
        h: Tensor,
        index: Tensor,
        size: int,
        weight: Tensor | None,
        then: Module,
        copies: Tensor | None = None,
    ) -> Tensor:
        """Pool groups of copies and map the result, groups with the same rows once; one row per group.

        Parameters
        ----------
        pool, h
            The pooling, and the rows after the last layer.
        index, size, weight
            The group of each copy, the number of groups, and 0 for copies that are left out.
        then
            The map.
        copies
            The members of the groups, if not all copies in order.
        """
        if not pool_alike(pool):
            rows = self.full(h) if copies is None else self.full(h).index_select(0, copies)
            return then(pool(rows, index, size, weight))
        groups = self.classes.groups(index, size, None if weight is None else weight != 0, copies)
        return pooled(groups, pool, h, then)

    def full(self, h: Tensor) -> Tensor:
        """One row for each copy of the bag, from the rows after the last layer."""
        return h.index_select(0, self.classes.of)


def pooled(groups: Groups, pool: Any, h: Tensor, then: Module) -> Tensor:
    """Pool each kind of group and map the result; one row per group."""
    rows = pooled_kinds(groups, pool, h)
    if local(then):
        return then(rows).index_select(0, groups.of)
    return then(rows.index_select(0, groups.of))


def pooled_kinds(groups: Groups, pool: Any, h: Tensor) -> Tensor:
    """Pool each kind of group; sums need no tensor with a row per member."""
    (member, kind), size = groups.ends, groups.num_kinds
    if type(pool) not in (SumPool, MeanPool) or not len(member):
        out: Tensor = pool(h.index_select(0, member), kind, size)
        return out
    begin = groups.begin
    if begin is None:
        begin = torch.nn.functional.pad(torch.bincount(kind, minlength=size).cumsum(0), (1, 0))
    count = begin[1:] - begin[:-1]
    # Sums start from 0 times the last member of the group (any row for an empty group).
    some = member.index_select(0, (begin[1:] - 1).clamp_(min=0))
    total = sum_of_messages(h, groups.ends, own=0.0, row=some)
    return total / count.clamp(min=1).to(h.dtype)[:, None] if type(pool) is MeanPool else total


def set_sharing(model: Module, sharing: Sharing) -> None:
    """Switch exact sharing on (``"auto"``) or ``"off"`` in all networks inside a model.

    Predictions and gradients do not depend on it beyond rounding; time and memory do.

    >>> from osan import nn
    >>> network = nn.osan(8, 2, 1)
    >>> nn.set_sharing(network, "off")
    >>> network.sharing
    'off'
    """
    if sharing not in ("auto", "off"):
        raise OsanError(f"sharing: expected 'auto' or 'off', got {sharing!r}")
    for part in model.modules():
        if hasattr(part, "sharing"):
            part.sharing = sharing  # type: ignore[assignment]


def shared_rows(
    initial: Any,
    stack: Any,
    batch: Data,
    bag: SubgraphBag,
    most: float | None = None,
    least: int | None = None,
    only_subgraphs: bool = False,
) -> SharedRows | None:
    """The classes of copies with equal features, where they are known to be equal and it pays; else ``None``.

    It is ``None`` if copies need gradients or draws of their own (weights or marks with gradients, soft
    weights, dropout in training), if a part of the network is not known to map equal rows to equal rows, on
    other devices than the CPU, for bags of fewer than ``least`` copies (by default 1,500), and if more than
    ``most`` of all rows (by default four in five) would be left. With shared dropout in training, bags of any
    size have classes. With ``only_subgraphs``, copies are only pooled by subgraph, and need not be listed.
    """
    if torch.compiler.is_compiling() or bag.graph.device.type != "cpu":
        return None
    if _shares_dropout(stack):  # which masks are shared must not depend on what pays
        most, least = 1.0 if most is None else most, 0 if least is None else least
    if small(bag, least):
        return None
    custom = getattr(stack, "shared_rows", None)
    if type(initial) is not InitialFeatures or (type(stack) is not Stack and custom is None):
        return None
    if custom is None and not stack_alike(stack):
        return None
    if any(_learned(getattr(batch, name, None)) for name in ("x", "edge_attr", "encoding")):
        return None
    plain = _without_weights(bag)
    if plain is None:
        return None
    initial.check(plain)
    most = MOST if most is None else most
    if custom is not None:
        return custom(initial, batch, plain, most)
    stack.check(plain)
    if only_subgraphs and plain.deletions is not None and _looks_at_vertices(initial, stack):
        return _without_copies(initial, stack, batch, plain, most)
    smooth = any(is_gcn(layer.conv) for layer in stack.layers)
    inside = plain  # as layers see it
    if any(replaces_loops(layer.conv) for layer in stack.layers):
        loops = plain.edge_index[0] == plain.edge_index[1]
        inside = thinned(plain, edges=~loops) if bool(loops.any()) else plain
    degree = torch.bincount(inside.edge_index[1], minlength=plain.num_copies) + 1 if smooth else None
    start = start_columns(initial, batch, plain)
    columns = start if degree is None else [*start, degree]
    code, table, marks = edge_codes(stack, batch, inside)
    classes = share(
        batch,
        inside,
        ["all" if isinstance(layer.conv, AllConv) else "edges" for layer in stack.layers],
        start=joined_columns(columns, plain),
        code=code,
        most=most,
    )
    if classes is None:
        return None
    levels = [classes.first, *(layer.first for layer in classes.layers)]
    mark = None if plain.mark is None else [plain.mark.index_select(0, first) for first in levels]
    degrees = None if degree is None else [degree.index_select(0, first) for first in levels]
    return SharedRows(plain, classes, views_of(classes, mark, degrees, table, marks))


def _looks_at_vertices(initial: InitialFeatures, stack: Stack) -> bool:
    """Whether copies start from vertex features alone, and layers look at edges and their features alone."""
    others = (initial.types, initial.mark, initial.relation, initial.rows, initial.ranks)
    if any(part is not None for part in others):
        return False
    convs = [layer.conv for layer in stack.layers]
    return not any(isinstance(conv, AllConv) or is_gcn(conv) or replaces_loops(conv) for conv in convs)


def _without_copies(
    initial: InitialFeatures, stack: Stack, batch: Data, bag: SubgraphBag, most: float
) -> SharedRows | None:
    """The classes of a bag that misses some vertices, without a list of its copies."""
    assert bag.deletions is not None
    start, code, table = vertex_numbers(initial, batch), None, None
    if start is None:
        start = torch.zeros(bag.num_vertices, dtype=torch.long)
    if stack.looks_at_edges:
        code, table = edge_numbers(attributes_of(batch))
    found = bag.deletions.classes(start, code, len(stack.layers), most)
    if found is None:
        return None
    classes, groups = found
    first = one_copy_each(classes.first, batch, like=bag)
    return SharedRows(bag, classes, views_of(classes, None, None, table), first, groups)


def one_copy_each(
    vertex: Tensor, batch: Data, mark: Tensor | None = None, like: SubgraphBag | None = None
) -> SubgraphBag:
    """A bag of one copy for each of the given vertices, all in one subgraph without edges.

    ``like`` is another bag of the batch, which knows its size.
    """
    none = vertex.new_empty(0)
    return SubgraphBag(
        vertex=vertex,
        subgraph=torch.zeros_like(vertex),
        edge_index=none.view(2, 0),
        edge=none,
        graph=torch.zeros(1, dtype=torch.long),
        num_vertices=batch.num_nodes if like is None else like.num_vertices,
        num_edges=batch.num_edges if like is None else like.num_edges,
        num_graphs=num_graphs_of(batch) if like is None else like.num_graphs,
        mark=mark,
    )


def small(bag: SubgraphBag, least: int | None = None) -> bool:
    """Whether a bag has so few copies that its time goes into the calls of each layer."""
    return bag.num_copies < max(LEAST if least is None else least, 1)


def views_of(
    classes: Classes,
    mark: Sequence[Tensor] | None,
    degree: Sequence[Tensor] | None,
    table: EdgeRows | None,
    marks: Tensor | None = None,
) -> list[View]:
    """What each layer sees, given the marks and degrees of the classes before each layer."""
    views = []
    for i, layer in enumerate(classes.layers):
        edges, edge_mark = None, None
        if table is not None:
            place = layer.code
            if marks is not None:
                place = torch.div(layer.code, marks.numel(), rounding_mode="floor")
                edge_mark = marks[layer.code - place * marks.numel()]
            edges = EdgeRows(table.rows, table.index.index_select(0, place))
        group = layer.group
        views.append(
            View(
                edge_index=layer.edge_index,
                group=torch.zeros_like(layer.row) if group is None else group,
                num_groups=layer.num_groups if group is not None else 1,
                row=layer.row,
                edges=edges,
                count=layer.count.to(torch.get_default_dtype()),
                mark=None if mark is None else mark[i],
                edge_mark=edge_mark,
                members=layer.members,
                degree=None if degree is None else degree[i],
            )
        )
    return views


def stack_alike(stack: Any) -> bool:
    """Whether all layers are known to give equal rows to copies that were equal and have equal neighbors."""
    for layer in stack.layers:
        if layer.dropout and layer.training and not layer.shared_dropout:
            return False
        if not elementwise(layer.activation) or not layer_alike(layer.conv):
            return False
        if layer.edge_encoder is not None and not alike(layer.edge_encoder):
            return False
    kinds = {replaces_loops(layer.conv) for layer in stack.layers if not isinstance(layer.conv, AllConv)}
    return len(kinds) < 2


def _shares_dropout(stack: Any) -> bool:
    """Whether copies of a class have one mask in common."""
    layers = stack.layers if type(stack) is Stack else ()
    return any(layer.training and layer.dropout and layer.shared_dropout for layer in layers)


def _learned(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _without_weights(bag: SubgraphBag) -> SubgraphBag | None:
    """The bag without what is removed; ``None`` if copies or edges have gradients or other weights than 0, 1.

    A weight that only pooling looks at (``deleted="unpooled"``) stays.
    """
    given = (bag.weight, bag.edge_weight, bag.mark, bag.edge_mark)
    if any(map(_learned, given)):
        return None
    weight, edge_weight = bag.weight, bag.edge_weight
    if weight is None and edge_weight is None:
        return bag
    soft = [bool(((w != 0) & (w != 1)).any()) for w in (weight, edge_weight) if w is not None]
    if any(soft):
        return None
    if edge_weight is None:
        return bag
    kept, edges = None if weight is None else weight != 0, edge_weight != 0
    if kept is not None and not bool((kept[bag.edge_index] | ~edges).all()):
        return None  # messages of removed copies
    return thinned(replace(bag, weight=None, edge_weight=None), kept, edges)


def start_columns(initial: InitialFeatures, batch: Data, bag: SubgraphBag) -> list[Tensor]:
    """What the initial features of copies depend on; each of shape ``[copies]`` or ``[copies, columns]``."""
    columns, vertices = [], vertex_numbers(initial, batch)
    if vertices is not None:
        columns.append(vertices.index_select(0, bag.vertex))
    if initial.types is not None:
        columns.append(types_of_copies(batch, bag))
        tuples = tuples_of(bag)
        labels = torch.zeros_like(tuples) if vertices is None else vertices[tuples.clamp(min=0)]
        # Numbered for each subgraph, of which there are far fewer than copies.
        kinds = torch.cat((types_of_tuples(batch, bag), torch.where(tuples < 0, -1, labels)), dim=1)
        columns.append(torch.from_numpy(numbered(kinds)[0]).index_select(0, bag.subgraph))
    if initial.mark is not None:
        columns.append(membership(bag))
    elif bag.mark is not None:  # for layers that look at marks
        columns.append(bag.mark)
    if isinstance(initial.relation, Module):  # it may learn: no two copies are sure to stay alike
        columns.append(torch.arange(bag.num_copies))
    elif initial.relation is not None and initial.relation_weight is not None:
        told = related(initial.relation, batch, bag, membership(bag).to(initial.relation_weight.dtype))
        columns.append(torch.arange(bag.num_copies) if told.requires_grad else told)
    if initial.rows is not None:
        columns.append(rank_rows(bag, initial.num_ranks, torch.get_default_dtype()))
    if initial.ranks is not None:
        columns.append(ranks_of(bag, initial.num_ranks))
    return columns


def vertex_numbers(initial: InitialFeatures, batch: Data) -> Tensor | None:
    """Numbers that are equal for vertices that are encoded alike; ``None`` if all are."""
    encoder = initial.vertex_encoder
    if encoder is None or initial.constant is not None:
        return None
    seen = [getattr(batch, "x", None)]
    if isinstance(encoder, WithEncoding):
        signed = encoder.training and any(encoder.encoding.signed)
        seen.append(getattr(batch, "encoding", None))
        known = not signed and alike(encoder.features) and not getattr(encoder.features, "takes_batch", False)
    else:
        known = alike(encoder) and not getattr(encoder, "takes_batch", False)
    if not known or any(value is None for value in seen):
        return torch.arange(batch.num_nodes)
    numbers = [torch.from_numpy(numbered(value)[0]) for value in seen if value is not None]
    return numbers[0].long() if len(numbers) == 1 else torch.from_numpy(_rows(numbers)).long()


def edge_codes(stack: Stack, batch: Data, bag: SubgraphBag) -> tuple[Tensor, EdgeRows | None, Tensor | None]:
    """Numbers for the copied edges; the table of features with the row of each number; the values of marks.

    A number is that of the features times the number of marks, plus that of the mark.
    """
    if not stack.looks_at_edges:
        return torch.zeros_like(bag.edge), None, None
    code, table = edge_numbers(attributes_of(batch))
    code = code.index_select(0, bag.edge)
    if bag.edge_mark is None:
        return code, table, None
    marks, of = torch.unique(bag.edge_mark, return_inverse=True)
    return code * marks.numel() + of, table, marks


def edge_numbers(attributes: Tensor) -> tuple[Tensor, EdgeRows]:
    """Numbers for edges with equal features, and the table of features with the row of each number.

    As without sharing, equal rows of integers are encoded once, others one by one.
    """
    ids, first = numbered(attributes)
    code, place = torch.from_numpy(ids).long(), torch.from_numpy(first)
    if attributes.is_floating_point():
        return code, EdgeRows(attributes, place)
    rows = attributes[place]
    return code, EdgeRows.one_per_edge(rows[:, None] if rows.dim() == 1 else rows)


def _rows(columns: Sequence[Tensor]) -> Any:
    return numbered(torch.stack([column.long() for column in columns], dim=1))[0]


def joined_columns(columns: Sequence[Tensor], bag: SubgraphBag) -> Tensor:
    """One table of numbers for all copies."""
    if not columns:
        return torch.zeros_like(bag.vertex)
    if len(columns) == 1:
        return columns[0]
    numbers = [torch.from_numpy(numbered(column)[0]) for column in columns]
    return torch.stack(numbers, dim=1)
