"""Certificates: why a test separates two graphs, written down so that anyone can check it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from osan.errors import OsanError
from osan.graphs import GraphLike, as_graph
from osan.wl import relabel
from osan.wl.certificate_text import told
from osan.wl.encode import Colors, Encoded, encode
from osan.wl.limits import require_memory
from osan.wl.plans import Plan
from osan.wl.reasons import Reasons
from osan.wl.settings import WLTest, make_test
from osan.wl.terms import Multiset, Term, renamed


@dataclass(frozen=True)
class Reason:
    """What one color stands for.

    Attributes
    ----------
    round
        The round after which places have this color.
    atom
        After round 0, the atomic type: labels, marks, equalities and adjacencies; else ``None``.
    before
        The color of the places one round before, as a number of a reason; ``None`` after round 0.
    seen
        What the places saw in the round, by name: terms over numbers of reasons.
    example
        A place with this color: the graph (0 or 1), and the number of the place in it.
    """

    round: int
    atom: Term | None
    before: int | None
    seen: dict[str, Term]
    example: tuple[int, int]


@dataclass(frozen=True)
class Certificate:
    """Why a test separates two graphs; see :func:`explain`.

    Attributes
    ----------
    test
        The test.
    round
        The first round after which the colors of the graphs differ.
    unit
        ``"vertex"`` or ``"subgraph"``: what the color of a graph counts.
    color
        A color of a unit, whose number differs: the multiset of the colors of its places, as numbers of
        ``reasons``.
    counts
        How many units of each graph have the color.
    example
        A unit with the color: its graph and its number.
    members
        For a subgraph, its chosen vertices or edges.
    marks
        Whether the tuples of atomic types consist of a vertex and marks, not of entries of a tuple.
    reasons
        What the colors stand for. Equal colors of one round have one reason.
    """

    test: WLTest
    round: int
    unit: str
    color: Multiset
    counts: tuple[int, int]
    example: tuple[int, int]
    members: tuple[int, ...] | None
    marks: bool
    reasons: tuple[Reason, ...]

    def __str__(self) -> str:
        return told(self)


def explain(
    a: GraphLike,
    b: GraphLike,
    test: str | WLTest = "wl",
    k: int | None = None,
    *,
    max_memory: int | None = None,
    **settings: Any,
) -> Certificate | None:
    """Why a test separates two graphs: the first round that does, and a color that one has more often.

    The color is unfolded: what its places saw in each round, down to labels and marks. So a certificate can
    be checked without a refinement: count the vertices (or subgraphs) of both graphs that match it.

    Parameters
    ----------
    a, b
        The graphs, as :func:`osan.wl.refine` takes them.
    test, k, settings
        The test: a name and the settings of :class:`osan.wl.WLTest`, or a ``WLTest``. Every test but
        ``"kernel"``, which starts anew in every round.
    max_memory
        Bytes that may be used.

    Returns
    -------
    Certificate or None
        ``None`` if the test does not separate the graphs. ``print(certificate)`` tells it in words;
        :func:`draw_certificate` draws it.

    Examples
    --------
    >>> from osan import wl
    >>> from osan.graphs import Graph
    >>> star, path = Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3)])
    >>> print(wl.explain(star, path))
    1-WL separates the graphs after round 1:
    1 vertex of the first graph has the color c0, and 0 vertices of the second graph.
    c0, after round 1: was c1; neighbors: 3 x c1
    c1, at the start: label none
    >>> wl.explain(star, star) is None
    True
    """
    chosen = make_test(test, k, **settings)
    graphs = [as_graph(a), as_graph(b)]
    require_memory(chosen, graphs, max_memory)
    encoded = encode(graphs)
    plan = chosen.builder.build(encoded, chosen)
    if plan.reasons is None:
        raise OsanError(f"test: expected one whose colors can be explained, got {chosen}")
    colors, first = relabel.relabel(plan.start.astype(np.uint64), plan.start)
    count, trail = len(first), [colors]
    while (difference := _difference(plan, encoded, trail[-1])) is None:
        finer, finer_count = plan.step(trail[-1], True)
        if finer_count == count:
            return None
        trail.append(finer)
        count = finer_count
    return _certificate(chosen, plan, encoded, trail, plan.reasons(), *difference)


def _units(plan: Plan, encoded: Encoded, colors: Colors) -> tuple[Colors, Colors]:
    """The colors of the units of both graphs."""
    vertex, subgraph = plan.aggregate(colors)
    units, ptr = (vertex, encoded.vertex_ptr) if subgraph is None else (subgraph, plan.subgraph_ptr)
    assert units is not None
    return units[: ptr[1]], units[ptr[1] :]


def _difference(plan: Plan, encoded: Encoded, colors: Colors) -> tuple[int, tuple[int, int]] | None:
    """A unit whose color the graphs have with different numbers, and these numbers."""
    one, other = _units(plan, encoded, colors)
    size = 1 + max(int(one.max(initial=-1)), int(other.max(initial=-1)))
    counts = np.bincount(one, minlength=size), np.bincount(other, minlength=size)
    differ = np.flatnonzero(counts[0] != counts[1])
    if not differ.size:
        return None
    # The rarest color is the easiest to check; one that a graph lacks is the easiest to see.
    both = np.stack([part[differ] for part in counts])
    color = int(differ[np.lexsort((both.sum(axis=0), both.min(axis=0)))[0]])
    graph = int(counts[1][color] > counts[0][color])
    unit = int(np.flatnonzero((one, other)[graph] == color)[0]) + graph * len(one)
    return unit, (int(counts[0][color]), int(counts[1][color]))


def _certificate(
    test: WLTest,
    plan: Plan,
    encoded: Encoded,
    trail: list[Colors],
    reasons: Reasons,
    unit: int,
    counts: tuple[int, int],
) -> Certificate:
    last = len(trail) - 1
    units_of_first = int((encoded.vertex_ptr if reasons.unit == "vertex" else plan.subgraph_ptr)[1])
    places_of_first = plan.per_graph(trail[0])[0].size
    representative = [_first_places(colors) for colors in trail]
    numbers: dict[tuple[int, int], int] = {}
    waiting: list[tuple[int, int]] = []

    def number(round_: int, color: int) -> int:
        if (round_, color) not in numbers:
            numbers[round_, color] = len(numbers)
            waiting.append((round_, color))
        return numbers[round_, color]

    top = trail[last][reasons.places(unit)].tolist()
    color = Multiset(number(last, c) for c in sorted(top))
    found: list[Reason] = []
    for round_, place_color in waiting:  # grows
        place = int(representative[round_][place_color])
        graph = int(place >= places_of_first)
        example = graph, place - graph * places_of_first
        if round_ == 0:
            found.append(Reason(0, reasons.atom(place), None, {}, example))
            continue
        before = number(round_ - 1, int(trail[round_ - 1][place]))
        seen = reasons.seen(trail[round_ - 1], place)
        named = {
            name: renamed(term, lambda c, r=round_: number(r - 1, c))  # type: ignore[misc]
            for name, term in seen.items()
        }
        found.append(Reason(round_, None, before, named, example))
    graph = int(unit >= units_of_first)
    members = None
    if reasons.unit == "subgraph" and plan.members is not None:
        members = tuple(m for m in plan.members[unit].tolist() if m >= 0)
    return Certificate(
        test=test,
        round=last,
        unit=reasons.unit,
        color=color,
        counts=counts,
        example=(graph, unit - graph * units_of_first),
        members=members,
        marks=plan.members is not None,
        reasons=tuple(found),
    )


def _first_places(colors: Colors) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A place of each color."""
    values, first = np.unique(colors, return_index=True)
    return first[values >= 0]
