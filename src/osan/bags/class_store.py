"""Classes of the fixed bags of a dataset: found once for all graphs, put together for every batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from osan.bags.classes import Classes, ClassLayer, Groups
from osan.colors import signatures
from osan.compiled import njit

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
_NONE: Any = np.empty(0, np.int32)


@njit(nogil=True)
def _union(graphs, ptr, ids, counts, place):  # type: ignore[no-untyped-def]
    """The different numbers in the lists of some graphs and their counts; ``place`` is where they are."""
    total = 0
    for g in graphs:
        total += ptr[g + 1] - ptr[g]
    found, count = np.empty(total, np.int64), np.empty(total, np.int64)
    size = 0
    for i in range(graphs.shape[0]):
        for e in range(ptr[graphs[i]], ptr[graphs[i] + 1]):
            number = ids[e]
            if place[number] < 0:
                place[number] = size
                found[size], count[size] = number, 0
                size += 1
            count[place[number]] += counts[e]
    return found[:size].copy(), count[:size].copy()


@njit(nogil=True)
def _entries(numbers, ptr, color, code, place):  # type: ignore[no-untyped-def]
    """The entries of some numbers: where their colors are now, the position of the number, and the code."""
    total = 0
    for n in numbers:
        total += ptr[n + 1] - ptr[n]
    ends, codes = np.empty((2, total), np.int64), np.zeros(total, np.int64)
    size = 0
    for i in range(numbers.shape[0]):
        for e in range(ptr[numbers[i]], ptr[numbers[i] + 1]):
            ends[0, size], ends[1, size] = place[color[e]], i
            if code.shape[0]:
                codes[size] = code[e]
            size += 1
    return ends, codes


@njit(nogil=True)
def _sequence(graphs, ptr, ids, place):  # type: ignore[no-untyped-def]
    """The lists of some graphs one after the other, by where their numbers are now; and which graph it is."""
    total = 0
    for g in graphs:
        total += ptr[g + 1] - ptr[g]
    out, graph = np.empty(total, np.int64), np.empty(total, np.int64)
    size = 0
    for i in range(graphs.shape[0]):
        for e in range(ptr[graphs[i]], ptr[graphs[i] + 1]):
            out[size], graph[size] = place[ids[e]], i
            size += 1
    return out, graph


@dataclass(frozen=True, eq=False)
class _Lists:
    """For each graph some numbers, and how often each occurs."""

    ptr: Ints
    ids: Small
    counts: Small


@dataclass(frozen=True, eq=False)
class _Table:
    """For each number the number it continues, and its entries: a color and a code."""

    row: Small
    ptr: Ints
    color: Small
    code: Small


@dataclass(frozen=True, eq=False)
class Chunk:
    """The classes of some graphs.

    Parameters
    ----------
    classes
        Their classes.
    start
        What copies start from, for the first copy of each class; integers, shape ``[classes, columns]``.
    groups
        The groups that are pooled.
    graph, group_graph
        The graph of each copy and of each group, from 0; both sorted.
    num_graphs
        The number of graphs.
    """

    classes: Classes
    start: Tensor
    groups: Groups
    graph: Tensor
    group_graph: Tensor
    num_graphs: int


class ClassStore:
    """The classes of all graphs of a dataset, numbered jointly, with the lists of every graph.

    Parameters
    ----------
    chunks
        The classes of consecutive graphs.

    Examples
    --------
    See :class:`osan.nn.class_cache.ClassCache`, which makes one for a dataset and a network.
    """

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        parts = list(chunks)
        # The class of each copy before each layer follows from that after it.
        numbers: list[Any] = []
        table = np.concatenate([part.start.numpy() for part in parts])
        ids, first = signatures.number_rows(np.ascontiguousarray(table), signatures.HASH_MASK)
        self.start = torch.from_numpy(table[first])
        maps = np.split(ids, np.cumsum([len(part.start) for part in parts])[:-1])
        self.tables: list[_Table] = []
        numbers.append(maps)
        for level in range(len(parts[0].classes.layers)):
            layers = [part.classes.layers[level] for part in parts]
            maps, made = _numbered(layers, maps)
            numbers.append(maps)
            self.tables.append(made)
        self.lists = [_lists(parts, numbers[level], level) for level in range(len(numbers))]
        self.kinds, self.kind_ptr, self.members = _kinds(parts, numbers[-1])
        sizes = [len(self.start), *(len(made.row) for made in self.tables)]
        self._place = [np.full(size, -1, np.int32) for size in sizes]
        self._kind_place = np.full(len(self.kind_ptr) - 1, -1, np.int32)

    @property
    def nbytes(self) -> int:
        """The bytes that it takes."""
        arrays: list[Any] = [self._kind_place, self.kind_ptr, self.members, *self._place]
        for one in (*self.tables, *self.lists, self.kinds):
            arrays += list(vars(one).values())
        return int(sum(array.nbytes for array in arrays))

    def gather(self, graphs: Ints) -> tuple[Classes, Tensor, Groups, Tensor]:
        """Put the classes of some graphs together.

        Returns
        -------
        The classes (in which ``first`` does not point to copies), what each class starts from, the groups,
        and the position in ``graphs`` of the graph of each group.
        """
        place = self._place
        before, count = _union(graphs, *vars(self.lists[0]).values(), place[0])
        start, layers = before, []
        start_count, done = count, [before]
        for table, lists, old, new in zip(self.tables, self.lists[1:], place[:-1], place[1:], strict=True):
            found, count = _union(graphs, *vars(lists).values(), new)
            ends, code = _entries(found, table.ptr, table.color, table.code, old)
            row = torch.from_numpy(old[table.row[found]].astype(np.int64))
            layers.append(
                ClassLayer(row, row, torch.from_numpy(count), torch.from_numpy(ends), torch.from_numpy(code))
            )
            done.append(found)
        kinds, _ = _union(graphs, *vars(self.kinds).values(), self._kind_place)
        ends, _ = _entries(kinds, self.kind_ptr, self.members, _NONE, place[-1])
        of, graph = _sequence(graphs, self.kinds.ptr, self.kinds.ids, self._kind_place)
        for numbers, scratch in zip(done, place, strict=True):
            scratch[numbers] = -1
        self._kind_place[kinds] = -1
        groups = Groups(torch.from_numpy(of), torch.from_numpy(ends), len(kinds))
        first = torch.arange(len(start))
        classes = Classes(
            first, torch.from_numpy(start_count), tuple(layers), torch.empty(0, dtype=torch.long)
        )
        return classes, self.start[torch.from_numpy(start)], groups, torch.from_numpy(graph)


def _numbered(layers: list[ClassLayer], maps: list[Small]) -> tuple[list[Small], _Table]:
    """Number the classes of all chunks after a layer, given the numbers before it."""
    row = np.concatenate([known[layer.row.numpy()] for layer, known in zip(layers, maps, strict=True)])
    color = np.concatenate(
        [known[layer.edge_index[0].numpy()] for layer, known in zip(layers, maps, strict=True)]
    )
    code = np.concatenate([layer.code.numpy() for layer in layers]).astype(np.int32)
    sizes = [np.bincount(layer.edge_index[1].numpy(), minlength=layer.row.numel()) for layer in layers]
    ptr = np.concatenate(([0], np.cumsum(np.concatenate(sizes))))
    codes = int(code.max(initial=0)) + 1
    found = signatures.number_signatures(
        row, ptr, color, _LONG, code, codes, signatures.HASH_MASK, *signatures.UNKNOWN
    )
    ids, first, _, start, ends, sent = found
    maps = np.split(ids, np.cumsum([layer.row.numel() for layer in layers])[:-1])
    kept = sent.astype(np.int32) if codes > 1 else _NONE
    return maps, _Table(row[first], start, ends[0].astype(np.int32), kept)


_LONG: Any = np.empty(0, np.int64)


def _lists(parts: list[Chunk], maps: list[Small], level: int) -> _Lists:
    """For each graph its classes at one level."""
    ids, counts, sizes = [], [], []
    for part, known in zip(parts, maps, strict=True):
        of = part.classes.of.numpy()
        for layer in reversed(part.classes.layers[level:]):
            of = layer.row.numpy()[of]
        size = len(known)
        keys, times = np.unique(part.graph.numpy() * size + of, return_counts=True)
        ids.append(known[keys % size])
        counts.append(times.astype(np.int32))
        sizes.append(np.bincount(keys // size, minlength=part.num_graphs))
    ptr = np.concatenate(([0], np.cumsum(np.concatenate(sizes))))
    return _Lists(ptr, np.concatenate(ids), np.concatenate(counts))


def _kinds(parts: list[Chunk], maps: list[Small]) -> tuple[_Lists, Ints, Small]:
    """For each graph the kinds of its groups in order, and the members of each kind."""
    color = np.concatenate(
        [known[part.groups.ends[0].numpy()] for part, known in zip(parts, maps, strict=True)]
    )
    sizes = [np.bincount(part.groups.ends[1].numpy(), minlength=part.groups.num_kinds) for part in parts]
    ptr = np.concatenate(([0], np.cumsum(np.concatenate(sizes))))
    found = signatures.number_signatures(
        _NONE, ptr, color, _LONG, _NONE, 1, signatures.HASH_MASK, *signatures.UNKNOWN
    )
    ids, _, _, start, ends, _ = found
    numbers = np.split(ids, np.cumsum([part.groups.num_kinds for part in parts])[:-1])
    of = np.concatenate([known[part.groups.of.numpy()] for part, known in zip(parts, numbers, strict=True)])
    each = [np.bincount(part.group_graph.numpy(), minlength=part.num_graphs) for part in parts]
    lists = _Lists(np.concatenate(([0], np.cumsum(np.concatenate(each)))), of, np.ones(len(of), np.int32))
    return lists, start, ends[0].astype(np.int32)
