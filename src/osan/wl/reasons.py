"""Why a place has its color: its atomic type, and what it saw in a round, as terms.

A *place* is what a test refines: a copy (v, s), or a k-tuple. A *unit* is what the color of a graph is a
multiset of: a vertex, or a subgraph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from osan.errors import OsanError
from osan.wl.copies import Copies
from osan.wl.encode import Colors, Encoded, Ints
from osan.wl.terms import Multiset, Term, literal

if TYPE_CHECKING:
    from osan.wl.settings import WLTest


class Reasons(NamedTuple):
    """How to explain the colors of a plan.

    Attributes
    ----------
    atom
        The atomic type of a place, without colors.
    seen
        What a place sees in a round, by name: terms over the colors before the round.
    places
        The places whose colors form the multiset that is the color of a unit.
    unit
        ``"vertex"`` or ``"subgraph"``.
    """

    atom: Callable[[int], Term]
    seen: Callable[[Colors, int], dict[str, Term]]
    places: Callable[[int], Ints]
    unit: str


class Arcs:
    """The arcs of the vertices of all graphs, with codes as text."""

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded
        self._names: dict[Hashable, str] = {}

    def at(self, graph: int, v: int) -> list[tuple[int, int, str]]:
        """(other end, edge, code) of the arcs at vertex v of a graph; the code of plain edges is empty."""
        encoded = self.encoded
        vertex = encoded.vertex_ptr[graph] + v
        first, last = int(encoded.arc_ptr[vertex]), int(encoded.arc_ptr[vertex + 1])
        ends = encoded.arc_target[first:last].tolist()
        edges = encoded.arc_edge[first:last].tolist()
        labels = encoded.graphs[graph].edge_labels
        names = ["none" if labels is None else self._name(labels[e]) for e in edges]
        if encoded.graphs[graph].directed:
            leaves = (encoded.arc_code[first:last] % 2).tolist()
            codes = [name + ("<", ">")[leaving] for name, leaving in zip(names, leaves, strict=True)]
        else:
            codes = ["" if name == "none" else name for name in names]
        return list(zip(ends, edges, codes, strict=True))

    def label(self, graph: int, v: int) -> str:
        labels = self.encoded.graphs[graph].vertex_labels
        return "none" if labels is None else self._name(labels[v])

    def _name(self, label: Hashable) -> str:
        """A label as text, equal for equal labels only; one that is the same everywhere if there is one."""
        try:
            return literal(label)
        except OsanError:
            if label not in self._names:
                # Equal sets may be written in different orders, so the first stands for all.
                self._names[label] = f"({len(self._names) + 1}: {label!r})"
            return self._names[label]

    def atomic_type(self, graph: int, tuple_: tuple[int, ...]) -> Term:
        """Labels, equalities and adjacencies of a tuple."""
        joined = {u: self.at(graph, u) for u in set(tuple_)}
        return (
            tuple(self.label(graph, v) for v in tuple_),
            tuple("=" if u == v else "-" for u in tuple_ for v in tuple_),
            tuple(Multiset(code for w, _, code in joined[u] if w == v) for u in tuple_ for v in tuple_),
        )


def copy_reasons(
    encoded: Encoded, copies: Copies, test: WLTest, start: Colors, sees: tuple[str, ...], per_vertex: bool
) -> Reasons:
    """The reasons of a test that refines copies.

    Parameters
    ----------
    start
        The initial colors, which are -1 where a vertex is not in a subgraph.
    sees
        What a copy sees in a round; keys of :data:`VIEWS`.
    per_vertex
        Whether the color of a graph is a multiset over vertices, else over subgraphs.
    """
    arcs = Arcs(encoded)
    world = World(encoded, copies, arcs, start >= 0)

    def atom(place: int) -> Term:
        s, graph, v = world.where(place)
        members = tuple(m for m in copies.members[s].tolist() if m >= 0)
        # 1-WL has no marks, and starts with labels alone.
        if test.what == "vertex" and test.ordered and test.name != "wl":
            if not members:  # labels alone, too
                return (arcs.label(graph, v),), ("=",), (Multiset(),)
            return arcs.atomic_type(graph, (v, *members))
        marks = (test.what == "vertex" and test.operation == "mark") or test.mark_center
        return (arcs.label(graph, v), "marked" if marks and v in members else "plain")

    def seen(colors: Colors, place: int) -> dict[str, Term]:
        return {name: VIEWS[name](world, colors, place) for name in sees}

    def places(unit: int) -> Ints:
        if per_vertex:
            return world.copies_of(unit)
        every = np.arange(copies.copy_ptr[unit], copies.copy_ptr[unit + 1])
        return every[world.there[every]]

    return Reasons(atom, seen, places, "vertex" if per_vertex else "subgraph")


class World:
    """Copies and their neighbors, looked up one by one."""

    def __init__(
        self, encoded: Encoded, copies: Copies, arcs: Arcs, there: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> None:
        self.encoded, self.copies, self.arcs, self.there = encoded, copies, arcs, there

    def where(self, place: int) -> tuple[int, int, int]:
        """The subgraph, the graph and the vertex of a copy."""
        s = int(np.searchsorted(self.copies.copy_ptr, place, side="right")) - 1
        return s, int(self.copies.graph[s]), place - int(self.copies.copy_ptr[s])

    def copies_of(self, vertex: int) -> Ints:
        """The copies of a vertex of the union in the subgraphs that contain it."""
        graph = int(np.searchsorted(self.encoded.vertex_ptr, vertex, side="right")) - 1
        first, last = self.copies.subgraph_ptr[graph : graph + 2]
        every = self.copies.copy_ptr[first:last] + (vertex - self.encoded.vertex_ptr[graph])
        return every[self.there[every]]

    def around(self, graph: int, v: int, s: int | None, find: Callable[[int], Term]) -> Multiset:
        """``find`` for the neighbors of v (in subgraph s), with the codes of the arcs."""
        found: list[Term] = []
        members = set() if s is None else set(self.copies.members[s].tolist())
        for u, edge, code in self.arcs.at(graph, v):
            if s is not None:
                if not self.there[self.copies.copy_ptr[s] + u]:
                    continue
                if self.copies.edge_mode and (edge in members) != (self.copies.edge_mode == 2):
                    continue
            found.append((code, find(u)) if code else find(u))
        return Multiset(found)


def _neighbors(world: World, colors: Colors, place: int) -> Term:
    s, graph, v = world.where(place)
    first = int(world.copies.copy_ptr[s])
    return world.around(graph, v, s, lambda u: int(colors[first + u]))


def _everyone(world: World, colors: Colors, place: int) -> Term:
    s, _, _ = world.where(place)
    inside = colors[world.copies.copy_ptr[s] : world.copies.copy_ptr[s + 1]]
    return Multiset(inside[inside >= 0].tolist())


def _copies(world: World, colors: Colors, place: int) -> Term:
    _, graph, v = world.where(place)
    return _across(world, colors, graph, v)


def _across(world: World, colors: Colors, graph: int, v: int) -> Term:
    return Multiset(colors[world.copies_of(int(world.encoded.vertex_ptr[graph]) + v)].tolist())


def _neighbors_copies(world: World, colors: Colors, place: int) -> Term:
    _, graph, v = world.where(place)
    return world.around(graph, v, None, lambda u: _across(world, colors, graph, u))


def _entry(world: World, colors: Colors, graph: int, u: int, v: int) -> int:
    """C(v, u): vertex v in the subgraph of u, where subgraphs are marked vertices."""
    first = int(world.copies.subgraph_ptr[graph])
    return int(colors[world.copies.copy_ptr[first + u] + v])


def _same_in_neighbors(world: World, colors: Colors, place: int) -> Term:
    s, graph, v = world.where(place)
    mark = s - int(world.copies.subgraph_ptr[graph])
    return world.around(graph, mark, None, lambda w: _entry(world, colors, graph, w, v))


def _at(pick: Callable[[int, int], tuple[int, int]]) -> Callable[[World, Colors, int], Term]:
    def view(world: World, colors: Colors, place: int) -> Term:
        s, graph, v = world.where(place)
        mark = s - int(world.copies.subgraph_ptr[graph])
        return _entry(world, colors, graph, *pick(mark, v))

    return view


# What a copy of v in the subgraph s can see.
VIEWS: dict[str, Callable[[World, Colors, int], Term]] = {
    "neighbors": _neighbors,
    "everyone": _everyone,
    "copies": _copies,
    "copies of neighbors": _neighbors_copies,
    "same vertex, mark moved to its neighbors": _same_in_neighbors,
    "mark itself": _at(lambda u, v: (u, u)),
    "own subgraph": _at(lambda u, v: (v, v)),
    "exchanged": _at(lambda u, v: (v, u)),
}


def tuple_reasons(encoded: Encoded, k: int, oblivious: bool, ptr: Ints) -> Reasons:
    """The reasons of k-WL."""
    arcs = Arcs(encoded)

    def where(place: int) -> tuple[int, tuple[int, ...]]:
        graph = int(np.searchsorted(ptr, place, side="right")) - 1
        n, index = int(encoded.sizes[graph]), place - int(ptr[graph])
        return graph, tuple(index // n ** (k - 1 - j) % n for j in range(k))

    def atom(place: int) -> Term:
        return arcs.atomic_type(*where(place))

    def seen(colors: Colors, place: int) -> dict[str, Term]:
        graph, entries = where(place)
        n = int(encoded.sizes[graph])
        columns = [colors[place + (np.arange(n) - entries[j]) * n ** (k - 1 - j)].tolist() for j in range(k)]
        if oblivious:
            return {f"entry {j + 1} replaced": Multiset(column) for j, column in enumerate(columns)}
        return {"each entry replaced by w, for all w": Multiset(zip(*columns, strict=True))}

    def places(vertex: int) -> Ints:
        graph = int(np.searchsorted(encoded.vertex_ptr, vertex, side="right")) - 1
        n, v = int(encoded.sizes[graph]), vertex - int(encoded.vertex_ptr[graph])
        return np.array([ptr[graph] + v * sum(n**j for j in range(k))])

    return Reasons(atom, seen, places, "vertex")
