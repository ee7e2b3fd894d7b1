"""Joint refinement: run a test on many graphs until the joint colouring is stable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np

from osan.errors import OsanError
from osan.graphs import as_graph
from osan.wl import kernels, relabel, tuples
from osan.wl.colouring import Colouring
from osan.wl.copies import Copies, check_memory, count_subgraphs, make_copies
from osan.wl.encode import Colours, Encoded, encode, pointers
from osan.wl.relabel import combine, multisets
from osan.wl.settings import Test, make_test
from osan.wl.steps import Step, copies_step, dss_step, per_vertex

# Below this many updates a round a second thread saves a quarter of the time at most, and waiting for it costs
# several times that where another process is on its core.
SMALL = 1 << 18

Progress = Callable[[int, int], None]


def refine(
    graphs: Sequence[Any],
    test: str | Test = "wl",
    k: int | None = None,
    *,
    rounds: int | None = None,
    history: bool = False,
    max_memory: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Colouring:
    """Colour ``graphs`` jointly with a test until the joint colouring is stable.

    Parameters
    ----------
    graphs
        networkx graphs (vertex and edge attribute ``label`` if present), PyG ``Data``, or
        :class:`osan.graphs.Graph`; all directed or all undirected.
    test, k, settings
        The test: a name and the settings of :class:`osan.wl.Test`, or a ``Test``.
    rounds
        Stop after this many rounds; ``None`` refines until stable.
    history
        Keep the colours after every round.
    max_memory
        Bytes that may be used; by default half of what is free.
    progress
        Called with the round and the number of colours after every round.

    Raises
    ------
    OsanError
        If a setting is not allowed, graphs are mixed, or the work does not fit into memory.

    Examples
    --------
    >>> import networkx as nx
    >>> from osan import wl
    >>> hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    >>> wl.refine([hexagon, triangles]).same(0, 1)
    True
    >>> wl.refine([hexagon, triangles], "oswl", k=1).same(0, 1)
    False
    """
    chosen = make_test(test, k, **settings)
    encoded = _prepare(graphs, rounds)
    return _run(encoded, chosen, rounds, history, max_memory, progress, early=False)[0]


def distinguishes(
    g: Any,
    h: Any,
    test: str | Test = "wl",
    k: int | None = None,
    *,
    rounds: int | None = None,
    max_memory: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> bool:
    """Whether a test tells two graphs apart; stops at the first round that does.

    Takes the arguments of :func:`refine`.

    >>> import networkx as nx
    >>> from osan import wl
    >>> from osan.graphs import rook_4x4, shrikhande
    >>> [wl.distinguishes(rook_4x4(), shrikhande(), "wl", k=k) for k in (2, 3)]
    [False, True]
    """
    chosen = make_test(test, k, **settings)
    encoded = _prepare([g, h], rounds)
    colouring, differ = _run(encoded, chosen, rounds, False, max_memory, progress, early=True)
    return differ or not colouring.same(0, 1)


def _prepare(graphs: Sequence[Any], rounds: int | None) -> Encoded:
    if rounds is not None and rounds < 0:
        raise OsanError(f"rounds is {rounds}; it must be at least 0")
    return encode([as_graph(graph) for graph in graphs])


def _run(
    encoded: Encoded,
    test: Test,
    rounds: int | None,
    history: bool,
    max_memory: int | None,
    progress: Progress | None,
    early: bool,
) -> tuple[Colouring, bool]:
    """Run a test; with ``early``, also stop as soon as two graphs provably differ (then True)."""
    if test.name == "wl" and (test.k > 1 or test.oblivious):
        with _threads(int((encoded.sizes ** (test.k + 1)).sum())):
            return _run_tuples(encoded, test, rounds, history, max_memory, progress, early)
    check_memory(test, encoded, max_memory)
    edges = np.diff(encoded.edge_ptr).tolist()
    work = sum(n * count_subgraphs(test, n, m) for n, m in zip(encoded.sizes.tolist(), edges, strict=True))
    with _threads(work):
        if test.name == "kernel":
            return _run_kernel(encoded, test, rounds, history, progress), False
        return _run_copies(encoded, test, rounds, history, progress, early)


@contextmanager
def _threads(work: int) -> Iterator[None]:
    """One thread for little work, all that numba was given for more."""
    given = numba.get_num_threads()
    numba.set_num_threads(given if work > SMALL else 1)
    try:
        yield
    finally:
        numba.set_num_threads(given)


def _run_copies(
    encoded: Encoded,
    test: Test,
    rounds: int | None,
    history: bool,
    progress: Progress | None,
    early: bool,
) -> tuple[Colouring, bool]:
    copies = make_copies(encoded, test)
    differ = (
        _graphs_differ(encoded, test, copies) if early and test.name in ("wl", "oswl", "vs-oswl") else None
    )
    step = dss_step(encoded, copies) if test.name == "dss" else copies_step(encoded, test, copies)
    trail, done, stable, found = _iterate(copies.start, step, rounds, history, progress, differ)
    colours = trail[-1]
    vertex, subgraph = _aggregate(encoded, test, copies, colours)
    return (
        Colouring(
            test=test,
            graph_colours=_graph_colours(encoded, test, copies, vertex, subgraph),
            vertex_colours=_split(vertex, encoded.vertex_ptr),
            subgraph_colours=_split(subgraph, copies.subgraph_ptr),
            colours=_per_graph(encoded, test, copies, colours),
            subgraphs=None
            if test.name == "wl"
            else tuple(np.split(copies.members, copies.subgraph_ptr[1:-1])),
            rounds=done,
            stable=stable,
            history=tuple(_per_graph(encoded, test, copies, c) for c in trail) if history else None,
        ),
        found,
    )


def _iterate(
    start: Colours,
    step: Step,
    rounds: int | None,
    history: bool,
    progress: Progress | None,
    differ: Callable[[Colours], bool] | None,
) -> tuple[list[Colours], int, bool, bool]:
    """Refine until no class splits, ``rounds`` are over, or ``differ`` says so.

    Where only the verdict counts, signatures are compared exactly in the last round only. Equal signatures
    have equal hashes, so at any time the classes are at most too coarse, and they refine the first ones; a
    colouring that is too coarse, yet stable by exact comparison, would be coarser than the coarsest one.
    """
    lazy = differ is not None and rounds is None
    colours, first = relabel.relabel(start.astype(np.uint64), start)
    count, done, stable = len(first), 0, False
    trail = [colours]
    while not (found := differ is not None and differ(colours)) and (rounds is None or done < rounds):
        finer, finer_count = step(colours, not lazy)
        if lazy and finer_count == count:
            finer, finer_count = step(colours, True)
        if finer_count == count:
            stable = True
            break
        colours, count, done = finer, finer_count, done + 1
        trail = [*trail, colours] if history else [colours]
        if progress is not None:
            progress(done, count)
    return trail, done, stable, found


def _graphs_differ(encoded: Encoded, test: Test, copies: Copies) -> Callable[[Colours], bool]:
    """Proof of a difference by unequal hashes of the (unequal) nested multisets; never of equality."""
    per_vertex = test.aggregation == "per-vertex"

    def differ(colours: Colours) -> bool:
        words = kernels.graph_words(colours, copies.copy_ptr, copies.subgraph_ptr, encoded.sizes, per_vertex)
        return bool(words[0] != words[1])

    return differ


def _aggregate(
    encoded: Encoded, test: Test, copies: Copies, colours: Colours
) -> tuple[Colours | None, Colours | None]:
    """C(v) of all vertices and C(g) of all subgraphs, where the test forms them."""
    if test.name == "wl":
        return colours, None
    if test.name == "oswl":
        return per_vertex(encoded, copies, colours), None
    if test.name == "id":
        own = colours[copies.copy_ptr[:-1] + copies.members[:, 0]]
        starts = encoded.vertex_ptr[copies.graph] + copies.members[:, 0]
        order = np.argsort(starts, kind="stable")
        return multisets(own[order], pointers(np.bincount(starts, minlength=len(encoded.labels)))), None
    subgraph = multisets(colours, copies.copy_ptr)
    return (subgraph if test.name == "nested" else None), subgraph


def _graph_colours(
    encoded: Encoded, test: Test, copies: Copies, vertex: Colours | None, subgraph: Colours | None
) -> Colours:
    if test.aggregation == "per-vertex":
        return multisets(vertex, encoded.vertex_ptr)  # type: ignore[arg-type]
    return multisets(subgraph, copies.subgraph_ptr)  # type: ignore[arg-type]


def _split(colours: Colours | None, ptr: Any) -> tuple[Colours, ...] | None:
    return None if colours is None else tuple(np.split(colours, ptr[1:-1]))


def _per_graph(encoded: Encoded, test: Test, copies: Copies, colours: Colours) -> tuple[Colours, ...]:
    parts = np.split(colours, copies.copy_ptr[copies.subgraph_ptr[1:-1]])
    if test.name == "wl":
        return tuple(parts)
    return tuple(
        part.reshape(-1, n) if n else part for part, n in zip(parts, encoded.sizes.tolist(), strict=True)
    )


def _run_tuples(
    encoded: Encoded,
    test: Test,
    rounds: int | None,
    history: bool,
    max_memory: int | None,
    progress: Progress | None,
    early: bool,
) -> tuple[Colouring, bool]:
    tuples.check_memory(test, encoded, max_memory)
    all_tuples = tuples.Tuples(encoded, test)

    # At stability the colours of (v, ..., v) determine those of all tuples, so any difference will do.
    one_per_graph = np.arange(len(encoded.sizes) + 1)

    def differ(colours: Colours) -> bool:
        words = kernels.graph_words(
            colours, all_tuples.ptr, one_per_graph, np.diff(all_tuples.ptr), per_vertex=False
        )
        return bool(words[0] != words[1])

    trail, done, stable, found = _iterate(
        all_tuples.start(),
        all_tuples.step,
        rounds,
        history,
        progress,
        # After a given number of rounds the verdict is that of the colours of vertices.
        differ if early and rounds is None else None,
    )
    vertex = all_tuples.vertex_colours(trail[-1])
    colouring = Colouring(
        test=test,
        graph_colours=multisets(vertex, encoded.vertex_ptr),
        vertex_colours=_split(vertex, encoded.vertex_ptr),
        subgraph_colours=None,
        colours=all_tuples.per_graph(trail[-1]),
        subgraphs=None,
        rounds=done,
        stable=stable,
        history=tuple(all_tuples.per_graph(c) for c in trail) if history else None,
    )
    return colouring, found


def _run_kernel(
    encoded: Encoded, test: Test, rounds: int | None, history: bool, progress: Progress | None
) -> Colouring:
    """GNN-as-kernel: refine inside all ego-nets, colour each vertex by its own, start again with that.

    As in Zhao et al. (2022), a vertex keeps its own colour in its ego-net beside the multiset of the net's,
    so that repeating only refines. ``rounds`` counts the repetitions.
    """
    copies = make_copies(encoded, test)
    inside = copies.start
    centre = copies.copy_ptr[:-1] + copies.members[:, 0]
    sizes = encoded.sizes[copies.graph]
    vertex = np.arange(copies.copy_ptr[-1]) - np.repeat(copies.copy_ptr[:-1], sizes)
    place = np.repeat(encoded.vertex_ptr[copies.graph], sizes) + vertex
    local = copies_step(encoded, test, copies)

    def step(colours: Colours, verify: bool) -> tuple[Colours, int]:
        start = np.where(inside >= 0, colours[place], -1).astype(np.int32)
        trail, *_ = _iterate(start, local, None, False, None, None)
        finer = combine(trail[-1][centre], multisets(trail[-1], copies.copy_ptr))
        return finer, int(finer.max(initial=-1)) + 1

    trail, done, stable, _ = _iterate(encoded.labels, step, rounds, history, progress, None)
    colours = trail[-1]
    return Colouring(
        test=test,
        graph_colours=multisets(colours, encoded.vertex_ptr),
        vertex_colours=_split(colours, encoded.vertex_ptr),
        subgraph_colours=None,
        colours=tuple(np.split(colours, encoded.vertex_ptr[1:-1])),
        subgraphs=_split(copies.members, copies.subgraph_ptr),
        rounds=done,
        stable=stable,
        history=tuple(tuple(np.split(c, encoded.vertex_ptr[1:-1])) for c in trail) if history else None,
    )
