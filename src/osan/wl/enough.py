"""How many subgraphs separate two graphs: at best, and if they are drawn at random."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from osan.arguments import integer
from osan.errors import OsanError
from osan.graphs import GraphLike
from osan.wl.draws import total_variation
from osan.wl.encode import Colors
from osan.wl.refine import refine
from osan.wl.settings import WLTest, make_test

# The distances that are asked for by default.
LEVELS = (0.5, 0.9, 0.99)
# Rows of the curve are added until this many, then twice as many, ...
_FIRST_ROWS = 8


@dataclass(frozen=True)
class Enough:
    """How many subgraphs of a policy separate two graphs; see :func:`enough`.

    Attributes
    ----------
    test
        The vertex-subgraph OSWL test with the policy.
    totals
        How many subgraphs the policy gives for each graph.
    counts
        How often each color of a subgraph occurs in each graph, shape ``(colors, 2)``.
    smallest
        The smallest number of subgraphs that can separate the graphs; ``None`` if not even all of them do.
    graph
        The graph (0 or 1) whose subgraphs to look at; ``None`` if nothing separates.
    chosen
        The members of these ``smallest`` subgraphs, shape ``(smallest, k)``: they have the same color, and
        the other graph has fewer subgraphs of this color.
    distances
        The total variation distance for 0, 1, 2, ... random subgraphs, as exact fractions.
    reached
        For each level, the smallest number of random subgraphs with a larger distance; ``None`` if there is
        none.
    """

    test: WLTest
    totals: tuple[int, int]
    counts: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    smallest: int | None
    graph: int | None
    chosen: Colors | None
    distances: tuple[Fraction, ...]
    reached: dict[float, int | None]

    def distance(self, m: int) -> float:
        """The distance for m random subgraphs; the last one that was computed if m is larger.

        A classifier that sees m random subgraphs of one of the two graphs, each equally likely, is right
        with probability (1 + distance) / 2 at best.
        """
        return float(self.distances[min(m, len(self.distances) - 1)])

    def __repr__(self) -> str:
        if self.smallest is None:
            return f"Enough({self.test}: not separated by all {self.totals[0]} subgraphs)"
        levels = ", ".join(f"{m} for {level}" for level, m in self.reached.items() if m is not None)
        random = f"; at random {levels}" if levels else ""
        return f"Enough({self.test}: {self.smallest} of {max(self.totals)} subgraphs{random})"


def enough(
    a: GraphLike,
    b: GraphLike,
    k: int | None = None,
    *,
    operation: str | None = None,
    max_m: int | None = None,
    levels: Sequence[float] = LEVELS,
    max_memory: int | None = None,
    **settings: Any,
) -> Enough:
    """How many subgraphs are enough to separate two graphs, at best and at random.

    The graphs are colored jointly by vertex-subgraph OSWL. Two subgraphs have the same color if and only if
    1-WL, and so a message-passing network, cannot tell them apart. Let c_a and c_b count the colors of the
    subgraphs of both graphs.

    - A policy that looks at m distinct subgraphs sees a multiset of m colors. With
      m = 1 + min(c_a(x), c_b(x)) for a color x whose counts differ, a policy that prefers the color x sees m
      subgraphs of this color in one graph only. With fewer than the smallest such m, every multiset that can
      be seen in one graph can be seen in the other, too.
    - If m distinct subgraphs are drawn uniformly, the colors seen follow a multivariate hypergeometric
      distribution for each graph. The total variation distance between the two is 0 if m subgraphs never
      tell the graphs apart, and 1 if they always do. It never decreases with m.

    Parameters
    ----------
    a, b
        The graphs, as :func:`osan.wl.refine` takes them.
    k, operation, settings
        The policy, as settings of :class:`osan.wl.WLTest`.
    max_m
        Up to how many random subgraphs to compute the distance; by default until all levels are exceeded. A
        graph with fewer subgraphs than are drawn shows all of them.
    levels
        Distances to exceed.
    max_memory
        Bytes that the coloring may use.

    Raises
    ------
    osan.errors.TooLarge
        If the exact distance has too many terms; a smaller ``max_m`` has fewer.

    Examples
    --------
    >>> from osan import wl
    >>> from osan.graphs import Graph, cycle_pair
    >>> wl.enough(*cycle_pair(3))
    Enough(vertex-subgraph 1-OSWL: 1 of 6 subgraphs; at random 1 for 0.5, 1 for 0.9, 1 for 0.99)

    A path and two single edges, less one vertex each: some of these subgraphs are alike.

    >>> found = wl.enough(Graph(4, [(0, 1), (1, 2)]), Graph(4, [(0, 1), (2, 3)]), operation="delete")
    >>> found.smallest, found.distances
    (1, (Fraction(0, 1), Fraction(1, 2), Fraction(5, 6), Fraction(1, 1)))
    """
    test = make_test("vs-oswl", k, operation=operation, **settings)
    _check(max_m, levels)
    coloring = refine([a, b], test, max_memory=max_memory)
    assert coloring.subgraph_colors is not None
    assert coloring.subgraphs is not None
    counts = _counts(coloring.subgraph_colors)
    smallest, graph, chosen = _best(counts, coloring.subgraph_colors, coloring.subgraphs)
    distances = _curve(counts, max_m, levels, smallest)
    return Enough(
        test=test,
        totals=(len(coloring.subgraph_colors[0]), len(coloring.subgraph_colors[1])),
        counts=counts,
        smallest=smallest,
        graph=graph,
        chosen=chosen,
        distances=distances,
        reached={level: next((m for m, d in enumerate(distances) if d > level), None) for level in levels},
    )


def _check(max_m: int | None, levels: Sequence[float]) -> None:
    if max_m is not None:
        integer(max_m, "max_m", least=0)
    if not isinstance(levels, Iterable) or not all(isinstance(level, Real) for level in levels):
        raise OsanError(f"levels: expected numbers, got {levels!r}")
    bad = next((level for level in levels if not 0 <= level < 1), None)
    if bad is not None:
        raise OsanError(f"levels: expected numbers from 0 up to, but not including, 1, got {bad}")


def _counts(colors: Sequence[Colors]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    size = 1 + max(int(part.max(initial=-1)) for part in colors)
    return np.stack([np.bincount(part, minlength=size) for part in colors], axis=1)


def _best(
    counts: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    colors: Sequence[Colors],
    members: Sequence[Colors],
) -> tuple[int | None, int | None, Colors | None]:
    """The smallest number of subgraphs that can separate, the graph to look at, and such subgraphs."""
    differ = np.flatnonzero(counts[:, 0] != counts[:, 1])
    if not differ.size:
        return None, None, None
    fewer = counts[differ].min(axis=1)
    color = int(differ[fewer.argmin()])
    smallest = int(fewer.min()) + 1
    graph = int(counts[color].argmax())
    return smallest, graph, members[graph][np.flatnonzero(colors[graph] == color)[:smallest]]


def _curve(
    counts: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    max_m: int | None,
    levels: Sequence[float],
    smallest: int | None,
) -> tuple[Fraction, ...]:
    """The distances for m = 0, 1, ..., as far as they are asked for."""
    pairs = [(int(a), int(b)) for a, b in counts]
    if max_m is not None:
        return total_variation(pairs, max_m)
    if smallest is None:
        return (Fraction(0),)
    rows = max(_FIRST_ROWS, 2 * smallest)
    while True:
        distances = total_variation(pairs, rows)
        beyond = next((m for m, d in enumerate(distances) if d > max(levels, default=0)), None)
        if beyond is not None:
            return distances[: beyond + 1]
        rows *= 2
