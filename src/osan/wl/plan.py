"""What a test refines, and how its result is read off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from osan import memory
from osan.wl import kernels, tuples
from osan.wl.copies import Copies, count_subgraphs, make_copies
from osan.wl.copies import memory_needed as copies_memory_needed
from osan.wl.encode import Colors, Encoded, Ints, pointers
from osan.wl.relabel import multisets
from osan.wl.settings import Test
from osan.wl.steps import Step, copies_step, dss_step, kernel_step, per_vertex


@dataclass(frozen=True)
class Plan:
    """How to run a test on some graphs.

    Attributes
    ----------
    start, step
        The colors to start from and one round.
    aggregate
        C(v) of all vertices and C(g) of all subgraphs; ``None`` where the test does not form them.
    per_graph
        The colors of each graph, in the shape that :class:`osan.wl.Coloring` describes.
    members, subgraph_ptr
        The chosen vertices, edges or centers of each subgraph, if any, and where each graph's begin.
    differ
        Whether two graphs provably differ already; ``None`` if only the stable colors say so.
    """

    start: Colors
    step: Step
    aggregate: Callable[[Colors], tuple[Colors | None, Colors | None]]
    per_graph: Callable[[Colors], tuple[Colors, ...]]
    members: Colors | None
    subgraph_ptr: Ints
    differ: Callable[[Colors], bool] | None


def _of_tuples(test: Test) -> bool:
    return test.name == "wl" and (test.k > 1 or test.oblivious)


def check_memory(test: Test, encoded: Encoded, limit: int | None) -> None:
    """Refuse, with numbers, what would not fit."""
    sizes, edges = encoded.sizes.tolist(), np.diff(encoded.edge_ptr).tolist()

    def all_need(test: Test) -> int:
        return sum(_memory_needed(test, n, m) for n, m in zip(sizes, edges, strict=True))

    needed, allowed = all_need(test), memory.allowance(limit)
    if needed <= allowed:
        return
    worst = int(np.argmax(sizes))
    n, m = sizes[worst], edges[worst]
    # The largest graph, equally dense and as often, that the limit admits.
    fitting = next(
        (
            size
            for size in range(n, 0, -max(1, n // 200))
            if len(sizes) * _memory_needed(test, size, m * size // n) <= allowed
        ),
        0,
    )
    smaller = next((k for k in range(test.k - 1, 0, -1) if all_need(replace(test, k=k)) <= allowed), None)
    hint = f"n up to about {fitting} would fit" + (f", so would k = {smaller}" if smaller else "")
    what = f"{test} on {len(sizes)} graphs with up to n = {n} vertices (k = {test.k})"
    memory.require(needed, limit, what, hint)


def _memory_needed(test: Test, n: int, m: int) -> int:
    """Bytes that refining one graph with n vertices and m edges takes at the peak."""
    return tuples.memory_needed(test.k, n) if _of_tuples(test) else copies_memory_needed(test, n, m)


def updates(test: Test, encoded: Encoded) -> int:
    """How much is to be done in a round: colors, and for tuples the vertices that replace an entry."""
    if _of_tuples(test):
        return int((encoded.sizes ** (test.k + 1)).sum())
    edges = np.diff(encoded.edge_ptr).tolist()
    return sum(n * count_subgraphs(test, n, m) for n, m in zip(encoded.sizes.tolist(), edges, strict=True))


def make_plan(encoded: Encoded, test: Test) -> Plan:
    """The plan of a test."""
    if _of_tuples(test):
        return _tuples_plan(encoded, test)
    copies = make_copies(encoded, test)
    return (_kernel_plan if test.name == "kernel" else _copies_plan)(encoded, test, copies)


def _tuples_plan(encoded: Encoded, test: Test) -> Plan:
    every = tuples.Tuples(encoded, test)
    one_per_graph = np.arange(len(encoded.sizes) + 1)
    return Plan(
        start=every.start(),
        step=every.step,
        aggregate=lambda colors: (every.vertex_colors(colors), None),
        per_graph=every.per_graph,
        members=None,
        subgraph_ptr=one_per_graph,
        # At stability the colors of (v, ..., v) determine those of all tuples, so any difference will do.
        differ=_graphs_differ(every.ptr, one_per_graph, np.diff(every.ptr), per_vertex=False),
    )


def _copies_plan(encoded: Encoded, test: Test, copies: Copies) -> Plan:
    def per_graph(colors: Colors) -> tuple[Colors, ...]:
        parts = np.split(colors, copies.copy_ptr[copies.subgraph_ptr[1:-1]])
        if test.name == "wl":
            return tuple(parts)
        sizes = encoded.sizes.tolist()
        return tuple(part.reshape(-1, n) if n else part for part, n in zip(parts, sizes, strict=True))

    differ = _graphs_differ(
        copies.copy_ptr, copies.subgraph_ptr, encoded.sizes, test.aggregation == "per-vertex"
    )
    return Plan(
        start=copies.start,
        step=dss_step(encoded, copies) if test.name == "dss" else copies_step(encoded, test, copies),
        aggregate=lambda colors: _aggregate(encoded, test, copies, colors),
        per_graph=per_graph,
        members=None if test.name == "wl" else copies.members,
        subgraph_ptr=copies.subgraph_ptr,
        differ=differ if test.name in ("wl", "oswl", "vs-oswl") else None,
    )


def _kernel_plan(encoded: Encoded, test: Test, copies: Copies) -> Plan:
    return Plan(
        start=encoded.labels,
        step=kernel_step(encoded, test, copies),
        aggregate=lambda colors: (colors, None),
        per_graph=lambda colors: tuple(np.split(colors, encoded.vertex_ptr[1:-1])),
        members=copies.members,
        subgraph_ptr=copies.subgraph_ptr,
        differ=None,
    )


def _graphs_differ(
    copy_ptr: Ints, subgraph_ptr: Ints, sizes: Ints, per_vertex: bool
) -> Callable[[Colors], bool]:
    """Proof of a difference by unequal hashes of the (unequal) nested multisets; never of equality."""

    def differ(colors: Colors) -> bool:
        words = kernels.graph_words(colors, copy_ptr, subgraph_ptr, sizes, per_vertex)
        return bool(words[0] != words[1])

    return differ


def _aggregate(
    encoded: Encoded, test: Test, copies: Copies, colors: Colors
) -> tuple[Colors | None, Colors | None]:
    """C(v) of all vertices and C(g) of all subgraphs, where the test forms them."""
    if test.name == "wl":
        return colors, None
    if test.name == "oswl":
        return per_vertex(encoded, copies, colors), None
    if test.name == "id":
        own = colors[copies.copy_ptr[:-1] + copies.members[:, 0]]
        starts = encoded.vertex_ptr[copies.graph] + copies.members[:, 0]
        order = np.argsort(starts, kind="stable")
        return multisets(own[order], pointers(np.bincount(starts, minlength=len(encoded.labels)))), None
    subgraph = multisets(colors, copies.copy_ptr)
    return (subgraph if test.name == "nested" else None), subgraph
