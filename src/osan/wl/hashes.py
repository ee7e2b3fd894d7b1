"""Hashes of stable colorings that are the same on every machine, for every numbering of the vertices."""

from __future__ import annotations

from dataclasses import fields
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from osan.compiled import one_thread
from osan.errors import OsanError
from osan.graphs import Graph, GraphLike, as_graph
from osan.wl import changed_kernels, hash_kernels, relabel
from osan.wl.copies import whole_graphs
from osan.wl.encode import Encoded, encode
from osan.wl.limits import require_memory
from osan.wl.settings import WLTest, make_test
from osan.wl.terms import Multiset, Term, digest, literal, renamed

Words = npt.NDArray[np.uint64]

# Hashes change if and only if this does.
_VERSION = "osan color hash 1"


def color_hash(
    graph: GraphLike,
    test: str | WLTest = "wl",
    k: int | None = None,
    *,
    max_memory: int | None = None,
    **settings: Any,
) -> str:
    """A hash of 128 bits of the color that a test gives a graph: equal for graphs that it does not separate.

    It does not depend on the numbering of the vertices, the machine, the process or the version of Python, so
    it can be stored and compared later. Graphs that the test separates have different hashes, but for
    collisions: among N such graphs some two collide with probability about N^2 / 2^129 (10^-21 for 10^9
    graphs). This holds for graphs that are not built to collide.

    Parameters
    ----------
    graph
        As :func:`osan.wl.refine` takes it. Labels must be ``None``, numbers, texts or tuples of them.
    test, k, settings
        The test: a name and the settings of :class:`osan.wl.WLTest`, or a ``WLTest``. Every test but
        ``"kernel"``. Hashes of different tests are different.
    max_memory
        Bytes that may be used.

    Returns
    -------
    str
        32 hexadecimal digits.

    Notes
    -----
    1-WL takes O((n + m) log n) steps. Other tests hash the unfolding of each color, round by round, in
    Python.

    Examples
    --------
    >>> import networkx as nx
    >>> from osan import wl
    >>> hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    >>> wl.color_hash(hexagon) == wl.color_hash(triangles)
    True
    >>> wl.color_hash(hexagon, "oswl") == wl.color_hash(triangles, "oswl")
    False
    """
    chosen, plain = make_test(test, k, **settings), as_graph(graph)
    require_memory(chosen, [plain], max_memory)
    if _refines_vertices(chosen):
        words = _vertex_words(plain)
        # A sum forgets the order and keeps the numbers.
        total = hash_kernels.mixed(words).sum(axis=0, dtype=np.uint64)
        units: Term = (str(len(words)), _text(total))
    else:
        unit, names = _unfolded(plain, chosen)
        units = Multiset(names)
        if unit == "subgraph" and chosen.operation != "mark":  # vertices that no subgraph has are not seen
            return digest((_VERSION, _settings(chosen), units))
    return digest((_VERSION, _settings(chosen), str(plain.num_vertices), units))


def vertex_hashes(
    graph: GraphLike,
    test: str | WLTest = "wl",
    k: int | None = None,
    *,
    max_memory: int | None = None,
    **settings: Any,
) -> Words:
    """A hash of 128 bits for the color of each vertex: equal for vertices that a test does not separate.

    Hashes of 1-WL can be compared between vertices of any two graphs, as colors of a joint refinement can;
    those of other tests between vertices of graphs with the same :func:`color_hash`. They are as portable as
    that hash, and the function takes the same arguments.

    Returns
    -------
    numpy.ndarray
        Two 64-bit words per vertex, shape ``(n, 2)``.

    Raises
    ------
    OsanError
        If the test forms no colors of vertices.

    Examples
    --------
    >>> import networkx as nx
    >>> from osan import wl
    >>> hashes = wl.vertex_hashes(nx.path_graph(3))
    >>> bool((hashes[0] == hashes[2]).all()), bool((hashes[0] == hashes[1]).all())
    (True, False)
    """
    chosen, plain = make_test(test, k, **settings), as_graph(graph)
    require_memory(chosen, [plain], max_memory)
    if _refines_vertices(chosen):
        return _vertex_words(plain)
    unit, names = _unfolded(plain, chosen)
    if unit != "vertex":
        raise OsanError(f"test: expected one that forms colors of vertices, got {chosen}")
    return np.array([[int(name[:16], 16), int(name[16:], 16)] for name in names], np.uint64).reshape(-1, 2)


def _refines_vertices(test: WLTest) -> bool:
    return test == WLTest("wl")


def _settings(test: WLTest) -> Term:
    """The settings of a test that are not the default, which a hash depends on."""
    given = [(f.name, getattr(test, f.name)) for f in fields(test) if getattr(test, f.name) != f.default]
    return tuple((name, literal(value)) for name, value in given)


def _text(words: Words) -> str:
    return "".join(f"{int(word):016x}" for word in words)


def _words(text: str) -> Words:
    """Two words for a text."""
    return np.frombuffer(blake2b(text.encode(), digest_size=16).digest(), dtype="<u8").astype(np.uint64)


def _vertex_words(graph: Graph) -> Words:
    """The hashes of the vertices by 1-WL, each component for itself: its unfoldings do not leave it."""
    if not graph.num_vertices:
        return np.empty((0, 2), dtype=np.uint64)
    encoded = encode([graph])
    component = _components(encoded)
    labels, label_words = _in_order(graph.vertex_labels, encoded.labels)
    codes, code_words = _codes(encoded)
    start = relabel.combine(component, labels)
    colors, first = relabel.relabel(start.astype(np.uint64), start)
    count = len(first)
    order, where, begin, size = changed_kernels.grouped(colors, count)
    names = np.zeros((len(order), 2), dtype=np.uint64)
    names[:count] = label_words[labels[first]]
    copies, _ = whole_graphs(encoded)
    arcs = (encoded.arc_ptr, encoded.arc_target, codes)
    with one_thread():
        count, _, _ = changed_kernels.run_rounds(
            colors, count, order, where, begin, size, np.arange(count, dtype=np.int32),
            -1, np.iinfo(np.int64).max, np.iinfo(np.int64).max,
            np.zeros(len(order), dtype=np.int32), copies.copy_ptr, encoded.vertex_ptr[copies.graph], *arcs,
            np.empty(0, dtype=np.int32), copies.members, 0, names, code_words,
        )  # fmt: skip
    words = hash_kernels.universal_words(colors, count, order, begin, names, component, *arcs, code_words)
    return words[colors]


def _components(encoded: Encoded) -> npt.NDArray[np.int32]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(encoded.labels)
    ones = np.ones(len(encoded.arc_target), dtype=np.int8)
    # Before 1.13, scipy takes 32-bit indices only, and gives no error otherwise.
    index = np.int32 if len(ones) < 2**31 else np.int64
    places = encoded.arc_target.astype(index), encoded.arc_ptr.astype(index)
    matrix = csr_array((ones, *places), shape=(n, n))
    return connected_components(matrix, directed=False)[1].astype(np.int32)


def _in_order(
    labels: tuple[Any, ...] | None, numbers: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], Words]:
    """Numbers of labels in the order of their texts, and two words for each."""
    if labels is None:
        return np.zeros_like(numbers), _words(literal(None))[None]
    # Equal labels have equal numbers; the first of each stands for all.
    _, first = np.unique(numbers, return_index=True)
    texts = [literal(labels[i]) for i in first]
    rank = np.argsort(np.argsort(np.array(texts)), kind="stable").astype(np.int32)
    return rank[numbers], np.stack([_words(text) for text in sorted(texts)])


def _codes(encoded: Encoded) -> tuple[npt.NDArray[np.int32], Words]:
    """Codes of arcs, numbered in the order of their texts, and a word for each; empty if all are alike.

    The word of an undirected arc without a label is 0, as in graphs in which no edge has one.
    """
    if not encoded.arc_code.size:
        return encoded.arc_code, np.empty(0, dtype=np.uint64)
    (graph,) = encoded.graphs
    kinds, first = np.unique(encoded.arc_code, return_index=True)
    labels = graph.edge_labels
    edges = encoded.arc_edge[first]
    texts = [
        f"{literal(None if labels is None else labels[e])} {kind % 2 if graph.directed else ''}"
        for e, kind in zip(edges.tolist(), kinds.tolist(), strict=True)
    ]
    rank = np.argsort(np.argsort(np.array(texts)), kind="stable")
    numbers = rank[np.searchsorted(kinds, encoded.arc_code)].astype(np.int32)
    plain = None if graph.directed else f"{literal(None)} "
    words = [0 if text == plain else _words(text)[0] for text in sorted(texts)]
    return numbers, np.array(words, dtype=np.uint64)


def _unfolded(graph: Graph, test: WLTest) -> tuple[str, list[str]]:
    """The unit of a test, and a name for the color of each unit of a graph.

    A name stands for the unfolding of a color, one round deeper than the stable coloring. Two graphs with
    equal names have equal colors in that round, in a coloring that is as fine as a round before for each of
    them, and so for both together: then it is stable.
    """
    for label in {*(graph.vertex_labels or ()), *(graph.edge_labels or ())}:
        literal(label)  # raises for labels without a text that is the same everywhere
    encoded = encode([graph])
    plan = test.builder.build(encoded, test)
    if plan.reasons is None:
        raise OsanError(f"test: expected one whose colors can be hashed, got {test}")
    reasons = plan.reasons()
    colors, first = relabel.relabel(plan.start.astype(np.uint64), plan.start)
    known = len(first)
    names = [digest(reasons.atom(place)) for place in _first_places(colors)]
    while True:
        finer, count = plan.step(colors, True)
        names = [_next_name(names, colors, reasons.seen, place) for place in _first_places(finer)]
        if count == known:
            break
        colors, known = finer, count
    units = encoded.vertex_ptr[-1] if reasons.unit == "vertex" else plan.subgraph_ptr[-1]
    return reasons.unit, [
        digest(Multiset(names[c] for c in finer[reasons.places(unit)].tolist())) for unit in range(int(units))
    ]


def _next_name(names: list[str], colors: Any, seen: Any, place: int) -> str:
    terms = seen(colors, place)
    parts = tuple((name, renamed(term, lambda c: names[c])) for name, term in terms.items())
    return digest((names[colors[place]], *parts))


def _first_places(colors: npt.NDArray[np.int32]) -> list[int]:
    values, first = np.unique(colors, return_index=True)
    return [int(place) for place in first[values >= 0]]
