"""Checks certificates in plain Python, without a refinement: counts what matches, by the definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product

import brute

from osan.graphs import Graph
from osan.wl import Certificate, WLTest


def plain(term: object) -> object:
    """A term of a certificate as numbers, texts, tuples and frozen sets of (item, count)."""
    if isinstance(term, int | str):
        return term
    if isinstance(term, tuple):
        return tuple(map(plain, term))
    return bag(plain(item) for item, count in term.counts.items() for _ in range(count))


def bag(items) -> frozenset:  # type: ignore[no-untyped-def, type-arg]
    return frozenset(Counter(items).items())


class Side:
    """One of the two graphs: its places, what they see, and its units."""

    def __init__(self, graph: Graph, test: WLTest) -> None:
        self.graph, self.test = graph, test
        self.n = graph.num_vertices
        self.arcs = brute.arcs(graph)
        self.tuples = test.name == "wl" and (test.k > 1 or test.oblivious)
        if self.tuples:
            self.places = list(product(range(self.n), repeat=test.k))
            return
        self.bags = list(brute.subgraphs(graph, test))
        self.places = [(s, v) for s in range(len(self.bags)) for v in range(self.n)]

    def start(self, place: tuple[int, ...]) -> object:
        if self.tuples:
            return brute.atp(self.graph, place)
        return self.bags[place[0]][1][place[1]]

    def code(self, code: object) -> str:
        """As certificates write the code of an arc; undirected ones without a label have none."""
        if code == "None":
            return ""
        label, direction = code if isinstance(code, tuple) else (code, "")
        return ("none" if label == "None" else label) + {"": "", "out": ">", "in": "<"}[direction]

    def near(self, v: int, find: Callable[[int], object], s: int | None = None) -> frozenset:  # type: ignore[type-arg]
        arcs = self.arcs[v]
        if s is not None:
            _, alive, edges = self.bags[s]
            arcs = [arc for arc in arcs if arc[0] in alive and arc[2] in edges]
        coded = [(self.code(code), u) for u, code, _ in arcs]
        return bag((code, find(u)) if code else find(u) for code, u in coded)

    def sees(self, place: tuple[int, ...], color: Callable[[tuple[int, ...]], object]) -> tuple[object, ...]:
        """What the test lets a place see, by its definition, in the order of the certificate."""
        test, n = self.test, self.n
        if self.tuples:
            swapped = [[color((*place[:j], w, *place[j + 1 :])) for j in range(test.k)] for w in range(n)]
            if test.oblivious:
                return tuple(bag(row[j] for row in swapped) for j in range(test.k))
            return (bag(map(tuple, swapped)),)
        s, v = place
        alive = [bag_[1] for bag_ in self.bags]
        across = lambda u: bag(color((r, u)) for r in range(len(alive)) if u in alive[r])  # noqa: E731
        if test.name == "dss":
            return self.near(v, lambda u: color((s, u)), s), across(v), self.near(v, across)
        if test.aggregations is None:
            if test.neighborhood == "all":
                return (bag(color((s, u)) for u in alive[s]),)
            return (self.near(v, lambda u: color((s, u)), s),)
        # Zhang et al. (2023), with C(u, v) for v in the subgraph of u: here (s, v).
        views = {
            "Lu": lambda: self.near(v, lambda w: color((s, w))),
            "Lv": lambda: self.near(s, lambda w: color((w, v))),
            "Gu": lambda: bag(color((s, w)) for w in range(n)),
            "Gv": lambda: bag(color((w, v)) for w in range(n)),
            "Puu": lambda: color((s, s)),
            "Pvv": lambda: color((v, v)),
            "Pvu": lambda: color((v, s)),
        }
        return tuple(views[name]() for name in test.aggregations)

    def units(self) -> list[list[tuple[int, ...]]]:
        """The places of each vertex or subgraph."""
        if self.tuples:
            return [[(v,) * self.test.k] for v in range(self.n)]
        name = self.test.name
        if name == "id":
            return [[(s, v) for s, (walk, *_) in enumerate(self.bags) if walk[0] == v] for v in range(self.n)]
        if name in ("wl", "oswl", "swl", "pswl", "gswl", "sswl"):
            return [[(s, v) for s, b in enumerate(self.bags) if v in b[1]] for v in range(self.n)]
        return [[(s, v) for v in sorted(b[1])] for s, b in enumerate(self.bags)]


def holds(certificate: Certificate, a: Graph, b: Graph) -> bool:
    """Whether as many units of both graphs match the certificate as it says, and not equally many."""
    sides = [Side(graph, certificate.test) for graph in (a, b)]
    by_atom, by_step = {}, {}
    for i, reason in enumerate(certificate.reasons):
        if reason.before is None:
            assert reason.round == 0
            graph, place = reason.example
            by_atom[sides[graph].start(sides[graph].places[place])] = i
        else:
            children = certificate.reasons[reason.before].round
            assert children == reason.round - 1
            by_step[reason.round, reason.before, tuple(plain(term) for term in reason.seen.values())] = i

    def count(side: Side) -> int:
        known: dict[tuple[int, tuple[int, ...]], int | None] = {}

        def color(round_: int, place: tuple[int, ...]) -> int | None:
            if (round_, place) not in known:
                if round_ == 0:
                    found = by_atom.get(side.start(place))
                else:
                    before = color(round_ - 1, place)
                    seen = None if before is None else side.sees(place, lambda p: color(round_ - 1, p))
                    found = by_step.get((round_, before, seen))
                known[round_, place] = found
            return known[round_, place]

        wanted = plain(certificate.color)
        return sum(bag(color(certificate.round, p) for p in unit) == wanted for unit in side.units())

    counts = count(sides[0]), count(sides[1])
    return counts == certificate.counts and counts[0] != counts[1]
