"""What a test refines and how its result is read off; what one needs to know of a test before it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from osan.graphs import Graph
from osan.wl import kernels
from osan.wl.changed import Changed
from osan.wl.copies import Copies
from osan.wl.encode import Colors, Encoded, Ints
from osan.wl.reasons import Reasons
from osan.wl.steps import Step

if TYPE_CHECKING:
    from osan.wl.settings import WLTest

# Bytes per copy at the peak of a round: three colorings, a place, a hash and, when all differ, twice the
# first places, the table of the relabeling and the one before it.
BYTES_PER_COPY = 3 * 4 + 8 + 8 + 2 * 8 + 8 * 4 + 2 * 4

# C(v) of all vertices and C(g) of all subgraphs; None where the test does not form them.
Aggregate = Callable[[Colors], tuple[Colors | None, Colors | None]]
Differ = Callable[[Colors], bool]


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
        Whether two graphs provably differ already; ``None`` if only the stable colors decide.
    changed
        The same rounds for few classes that changed, where ``step`` lets copies see their neighbors.
    reasons
        Why places have their colors, for :func:`osan.wl.explain`; ``None`` if the test cannot tell.
    """

    start: Colors
    step: Step
    aggregate: Aggregate
    per_graph: Callable[[Colors], tuple[Colors, ...]]
    members: Colors | None
    subgraph_ptr: Ints
    differ: Differ | None = None
    changed: Changed | None = None
    reasons: Callable[[], Reasons] | None = None


class Cost(NamedTuple):
    """What a test costs on one graph: bytes at the peak, and color updates in a round."""

    memory: int
    updates: int


@dataclass(frozen=True)
class PlanBuilder:
    """One kind of test. To add a test, write its builder and add one line to :data:`osan.wl.plans.PLANS`.

    Attributes
    ----------
    build
        Makes the plan of a test on some graphs.
    cost
        What a test costs at most on a graph with n vertices and m edges, known before anything is allocated.
    title
        The name of a test in tables and messages.
    fixed
        The settings that this kind of test does not leave open, with their values.
    least_k
        The smallest k.
    exact_cost
        What a test costs on a graph, if that depends on more than its size and may be far less.
    """

    build: Callable[[Encoded, WLTest], Plan]
    cost: Callable[[WLTest, int, int], Cost]
    title: Callable[[WLTest], str]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    least_k: int = 0
    exact_cost: Callable[[WLTest, Graph], Cost] | None = None

    def cost_on(self, test: WLTest, graph: Graph) -> Cost:
        """What a test costs on a graph."""
        if self.exact_cost is not None:
            return self.exact_cost(test, graph)
        return self.cost(test, graph.num_vertices, graph.num_edges)


def copies_plan(
    encoded: Encoded,
    copies: Copies,
    start: Colors,
    step: Step,
    aggregate: Aggregate,
    differ: Differ | None = None,
    changed: Changed | None = None,
    reasons: Callable[[], Reasons] | None = None,
) -> Plan:
    """The plan of a test that refines the colors C(v, g) of copies."""

    def per_graph(colors: Colors) -> tuple[Colors, ...]:
        parts = np.split(colors, copies.copy_ptr[copies.subgraph_ptr[1:-1]])
        sizes = encoded.sizes.tolist()
        return tuple(part.reshape(-1, n) if n else part for part, n in zip(parts, sizes, strict=True))

    return Plan(
        start, step, aggregate, per_graph, copies.members, copies.subgraph_ptr, differ, changed, reasons
    )


def copies_cost(subgraphs: int, n: int, m: int, width: int, pairs: bool = False) -> Cost:
    """The cost of refining the copies of ``subgraphs`` subgraphs, each with ``width`` members.

    ``pairs``: whether atomic types look at all pairs of vertices.
    """
    relation = 4 * n * n if pairs else 0
    memory = subgraphs * (n * BYTES_PER_COPY + 8 * max(1, width) + 16) + relation + 64 * (n + 2 * m)
    return Cost(memory, n * subgraphs)


def graphs_differ(copy_ptr: Ints, subgraph_ptr: Ints, sizes: Ints, per_vertex: bool) -> Differ:
    """Proof of a difference by unequal hashes of the (unequal) nested multisets; never of equality."""

    def differ(colors: Colors) -> bool:
        words = kernels.graph_words(colors, copy_ptr, subgraph_ptr, sizes, per_vertex)
        return bool(words[0] != words[1])

    return differ
