"""Joint refinement: run a test on many graphs until the joint coloring is stable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from osan.arguments import integer
from osan.compiled import one_thread
from osan.errors import OsanError
from osan.graphs import Graph, GraphLike, as_graph
from osan.wl.coloring import Coloring
from osan.wl.encode import Colors, Ints, encode
from osan.wl.limits import require_memory, updates_per_round
from osan.wl.relabel import multisets
from osan.wl.settings import WLTest, make_test
from osan.wl.steps import Progress, iterate

# Below this many updates a round a second thread saves a quarter of the time at most, and waiting for it
# costs several times that where another process is on its core.
SMALL = 1 << 18


def refine(
    graphs: Sequence[GraphLike],
    test: str | WLTest = "wl",
    k: int | None = None,
    *,
    rounds: int | None = None,
    history: bool = False,
    max_memory: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Coloring:
    """Color ``graphs`` jointly with a test until the joint coloring is stable.

    Parameters
    ----------
    graphs
        networkx graphs (vertex and edge attribute ``label`` if present), PyG ``Data``, or
        :class:`osan.graphs.Graph`; all directed or all undirected.
    test, k, settings
        The test: a name and the settings of :class:`osan.wl.WLTest`, or a ``WLTest``.
    rounds
        Stop after this many rounds; ``None`` refines until stable.
    history
        Keep the colors after every round.
    max_memory
        Bytes that may be used; by default half of what is free.
    progress
        Called with the round and the number of colors as rounds are done.

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
    plain = _prepare(graphs, rounds)
    return _run(plain, chosen, rounds, history, max_memory, progress, early=False)[0]


def distinguishes(
    g: GraphLike,
    h: GraphLike,
    test: str | WLTest = "wl",
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
    plain = _prepare([g, h], rounds)
    coloring, differ = _run(plain, chosen, rounds, False, max_memory, progress, early=True)
    return differ or not coloring.same(0, 1)


def _prepare(graphs: Sequence[GraphLike], rounds: int | None) -> list[Graph]:
    if rounds is not None:
        integer(rounds, "rounds", least=0)
    if not isinstance(graphs, Sequence):
        _refuse_single(graphs)
    if not isinstance(graphs, Iterable):
        raise OsanError(f"graphs: expected a list of graphs, got {type(graphs).__name__}")
    return [as_graph(graph) for graph in graphs]


def _refuse_single(graphs: Any) -> None:
    """Raise for one graph instead of a list: iterating over a networkx graph would give its vertices."""
    try:
        single = as_graph(graphs)
    except OsanError:
        return
    raise OsanError(f"graphs: expected a list of graphs, got {single!r} alone; write [graph]")


def _run(
    graphs: list[Graph],
    test: WLTest,
    rounds: int | None,
    history: bool,
    max_memory: int | None,
    progress: Progress | None,
    early: bool,
) -> tuple[Coloring, bool]:
    """Run a test; with ``early``, also stop as soon as two graphs provably differ (then True)."""
    require_memory(test, graphs, max_memory)
    encoded = encode(graphs)
    with one_thread(updates_per_round(test, graphs) <= SMALL):
        plan = test.builder.build(encoded, test)
        # After a given number of rounds the verdict is that of the colors then.
        differ = plan.differ if early and rounds is None else None
        trail, done, stable, found = iterate(
            plan.start, plan.step, rounds, history, progress, differ, plan.changed
        )
        vertex, subgraph = plan.aggregate(trail[-1])
        coloring = Coloring(
            test=test,
            graph_colors=multisets(vertex, encoded.vertex_ptr)  # type: ignore[arg-type]
            if subgraph is None
            else multisets(subgraph, plan.subgraph_ptr),
            vertex_colors=_split(vertex, encoded.vertex_ptr),
            subgraph_colors=_split(subgraph, plan.subgraph_ptr),
            colors=plan.per_graph(trail[-1]),
            subgraphs=_split(plan.members, plan.subgraph_ptr),
            rounds=done,
            stable=stable,
            history=tuple(plan.per_graph(colors) for colors in trail) if history else None,
        )
    return coloring, found


def _split(values: Colors | None, ptr: Ints) -> tuple[Colors, ...] | None:
    return None if values is None else tuple(np.split(values, ptr[1:-1]))
