"""Tests that color one tuple of each orbit: tuples that an automorphism maps to each other have one color."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from osan import memory
from osan.compiled import one_thread
from osan.errors import OsanError
from osan.graphs import Graph, GraphLike, as_graph
from osan.wl import orbit_kernels, relabel
from osan.wl.copies import Copies, atomic_types, ordered_subgraphs
from osan.wl.encode import Colors, Encoded, Ints, encode, pointers
from osan.wl.plans.plan import BYTES_PER_COPY, copies_cost
from osan.wl.refine import SMALL
from osan.wl.relabel import multisets
from osan.wl.settings import WLTest, make_test
from osan.wl.steps import Progress, iterate, within_changed, within_step
from osan.wl.symmetry import Orbits, automorphisms, is_automorphism, tuple_orbits

# Bytes for each tuple while orbits are found, and then for its orbit and its color.
_BYTES_PER_TUPLE = 8


def distinguishes_by_orbits(
    g: GraphLike,
    h: GraphLike,
    test: str | WLTest = "wl",
    k: int | None = None,
    *,
    groups: Sequence[Sequence[npt.ArrayLike]] | None = None,
    max_memory: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> bool:
    r"""The answer of :func:`osan.wl.distinguishes`, from one tuple of each orbit.

    An automorphism of a graph maps tuples to tuples of the same color. So k-WL has to color one tuple of each
    orbit of k-tuples only, and k-OSWL to refine one marked graph of each orbit. The answer is exact, whatever
    group of automorphisms is used; a larger one saves more. If the orbit :math:`O` of a tuple t has
    :math:`|O|` elements and the orbit :math:`P` of a vertex v has :math:`|P|`, then

    - the multiset over tuples of C(s) takes the color of t :math:`|O|` times,
    - the multiset over tuples s of C(v, s) takes the color c :math:`|O| / |P|` times for each w of P
      with C(w, t) = c.

    Parameters
    ----------
    g, h, test, k, settings
        As for :func:`osan.wl.distinguishes`; k-WL with k of at least 2, or k-OSWL or vertex-subgraph k-OSWL
        with ordered marks.
    groups
        For each graph, permutations that are automorphisms; by default those of
        :func:`osan.wl.automorphisms`.
    max_memory, progress
        As for :func:`osan.wl.refine`.

    Raises
    ------
    OsanError
        For other tests, and for permutations that are not automorphisms.
    osan.errors.TooLarge
        If the work does not fit into memory: before orbits are computed, or once it is known how many there
        are.

    Examples
    --------
    >>> from osan.graphs import rook_4x4, shrikhande
    >>> [distinguishes_by_orbits(rook_4x4(), shrikhande(), "wl", k=k) for k in (2, 3)]
    [False, True]
    """
    chosen = make_test(test, k, **settings)
    marks = chosen.name in ("oswl", "vs-oswl")
    if not (marks and chosen.ordered and chosen.k > 0) and not (chosen.name == "wl" and chosen.k > 1):
        raise OsanError(
            f"test: expected k-WL with k > 1, or k-OSWL with ordered marks, got {chosen}; "
            "osan.wl.distinguishes takes all tests"
        )
    graphs = [as_graph(g), as_graph(h)]
    tuples = sum(graph.num_vertices**chosen.k for graph in graphs)
    _require(_BYTES_PER_TUPLE * tuples, max_memory, chosen, graphs, "one value per tuple")
    encoded = encode(graphs)
    found = [automorphisms(graph) for graph in graphs] if groups is None else _checked(groups, graphs)
    orbits = [
        tuple_orbits(group, graph.num_vertices, chosen.k) for group, graph in zip(found, graphs, strict=True)
    ]
    work = _needed(chosen, graphs, orbits)
    kept = _BYTES_PER_TUPLE * tuples if not marks else 0
    _require(kept + work, max_memory, chosen, graphs, f"{sum(len(o.first) for o in orbits)} orbits of tuples")
    updates = sum(len(o.first) * graph.num_vertices for o, graph in zip(orbits, graphs, strict=True))
    with one_thread(updates <= SMALL):
        if marks:
            vertices = [
                tuple_orbits(group, graph.num_vertices, 1) for group, graph in zip(found, graphs, strict=True)
            ]
            return _marks_differ(encoded, chosen, orbits, vertices, progress)
        return _tuples_differ(encoded, chosen, orbits, progress)


def _checked(groups: Sequence[Sequence[npt.ArrayLike]], graphs: Sequence[Graph]) -> list[list[Ints]]:
    try:
        found = [[np.asarray(each) for each in group] for group in groups]
    except (TypeError, ValueError):  # no lists, or rows of different lengths
        raise OsanError(f"groups: expected a list of permutations for each graph, got {groups!r}") from None
    if len(found) != len(graphs):
        raise OsanError(f"groups: expected permutations for each of the 2 graphs, got {len(found)}")
    for i, (group, graph) in enumerate(zip(found, graphs, strict=True)):
        for each in group:
            if not is_automorphism(each, encode([graph])):
                raise OsanError(f"groups: expected automorphisms of graph {i}, got {each.tolist()}")
    return found


def _needed(test: WLTest, graphs: Sequence[Graph], orbits: Sequence[Orbits]) -> int:
    """Bytes of the rounds, now that it is known how many orbits there are."""
    if test.name == "wl":
        return sum(len(o.first) for o in orbits) * (BYTES_PER_COPY + 24)
    return sum(
        copies_cost(len(o.first), graph.num_vertices, graph.num_edges, width=test.k, pairs=True).memory
        for o, graph in zip(orbits, graphs, strict=True)
    )


def _require(needed: int, limit: int | None, test: WLTest, graphs: Sequence[Graph], what: str) -> None:
    size = max(graph.num_vertices for graph in graphs)
    title = f"{test} by orbits on 2 graphs with up to n = {size} vertices ({what})"
    memory.require(needed, limit, title, "a smaller k needs less")


def _tuples_differ(
    encoded: Encoded, test: WLTest, orbits: Sequence[Orbits], progress: Progress | None
) -> bool:
    """Whether k-WL separates the two graphs; once a multiset of tuples differs, it does."""
    sizes, k = encoded.sizes, test.k
    ptr = pointers(sizes**k)
    first_orbit = pointers([len(o.first) for o in orbits])
    graph = np.repeat(np.arange(2), np.diff(first_orbit))
    places = np.concatenate([o.first for o in orbits]) + ptr[graph]
    n = sizes[graph]
    entries = [((places - ptr[graph]) // n ** (k - 1 - j)) % n for j in range(k)]
    start = atomic_types(encoded, graph, np.stack(entries, axis=1).astype(np.int32))
    every = np.empty(ptr[-1], dtype=np.int32)

    def step(colors: Colors, verify: bool) -> tuple[Colors, int]:
        for i, o in enumerate(orbits):
            orbit_kernels.spread(colors, o.of_tuple, first_orbit[i], ptr[i], every)
        bits = int(colors.max(initial=0)).bit_length() or 1
        salts: list[np.uint64] = []

        def hashes(salt: np.uint64) -> relabel.Words:
            salts.append(salt)
            return orbit_kernels.place_words(
                places, graph, every, k, ptr, sizes, test.oblivious, salt, relabel.HASH_MASK
            )

        def mismatches(ids: Colors, first: Ints) -> int:
            return int(
                orbit_kernels.place_mismatches(
                    ids,
                    first,
                    np.argsort(ids, kind="stable"),
                    places,
                    graph,
                    every,
                    k,
                    ptr,
                    sizes,
                    test.oblivious,
                    bits if bits * k <= 64 else 0,
                    salts[-1],
                )
            )

        return relabel.exact(hashes, mismatches, colors, verify)

    def differ(colors: Colors) -> bool:
        return not _same_weighted(colors, orbits)

    *_, found = iterate(start, step, None, False, progress, differ)
    return found


def _same_weighted(colors: Colors, orbits: Sequence[Orbits]) -> bool:
    """Whether each color has as many tuples in both graphs; ``colors`` are those of orbits."""
    count = int(colors.max(initial=-1)) + 1
    parts = np.split(colors, [len(orbits[0].first)])
    totals = [_weighted(part, o.size, count) for part, o in zip(parts, orbits, strict=True)]
    return bool((totals[0] == totals[1]).all())


def _weighted(colors: npt.NDArray[Any], weights: Ints, count: int) -> Ints:
    """The sum of the weights of each color, in whole numbers."""
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, colors, weights)
    return total


def _marks_differ(
    encoded: Encoded,
    test: WLTest,
    orbits: Sequence[Orbits],
    vertices: Sequence[Orbits],
    progress: Progress | None,
) -> bool:
    """Whether k-OSWL separates the two graphs, from its stable colors."""
    copies, start = ordered_subgraphs(encoded, [o.first for o in orbits], test.k)
    trail, *_ = iterate(
        start,
        within_step(encoded, test, copies),
        None,
        False,
        progress,
        lambda colors: False,
        within_changed(encoded, test, copies),
    )
    if test.name == "vs-oswl":
        return not _same_weighted(multisets(trail[-1], copies.copy_ptr), orbits)
    return not _same_per_vertex(encoded, copies, trail[-1], orbits, vertices)


def _same_per_vertex(
    encoded: Encoded,
    copies: Copies,
    colors: Colors,
    orbits: Sequence[Orbits],
    vertices: Sequence[Orbits],
) -> bool:
    """Whether both graphs have the same multiset over vertices of multisets over tuples."""
    count = int(colors.max(initial=-1)) + 1
    parts = np.split(colors, [copies.copy_ptr[copies.subgraph_ptr[1]]])
    found: list[dict[bytes, int]] = []
    for part, o, of_vertex, n in zip(parts, orbits, vertices, encoded.sizes.tolist(), strict=True):
        by_vertex = part.reshape(len(o.first), n)
        seen: dict[bytes, int] = {}
        for orbit, size in enumerate(of_vertex.size.tolist()):
            inside = by_vertex[:, of_vertex.of_tuple == orbit]
            total = _weighted(inside.ravel(), np.repeat(o.size, inside.shape[1]), count)
            there = np.flatnonzero(total)
            color = there.tobytes() + (total[there] // size).tobytes()
            seen[color] = seen.get(color, 0) + size
        found.append(seen)
    return found[0] == found[1]
