"""Shields of the twist in Fürer grids (paper, "Twists and Shields"): the definition and the claims on it.

Propositions shield and makeshield are how the paper proves Lemma sepnew1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from itertools import combinations_with_replacement

import networkx as nx
import numpy as np

from osan.graphs import fuerer_grid_pair
from osan.wl.refine import refine
from osan.wl.settings import WLTest
from osan.wl.theory.check import Check


def is_shielding(base: nx.Graph, twisted: tuple[Hashable, Hashable], marks: Iterable[Hashable]) -> bool:
    r"""Whether a tuple over the base vertices ``marks`` is shielding for the graph twisted at ``twisted``.

    The twisted component TC is the component of :math:`B \setminus \text{marks}` with the twisted edge,
    :math:`N_{TC}` the vertices of TC that are neighbors of a mark. Shielding: the twisted edge meets neither
    marks nor :math:`N_{TC}`, and it lies on a cycle of :math:`TC \setminus N_{TC}`. Which vertices of the
    clouds are marked does not matter, only which clouds.

    Examples
    --------
    >>> grid = nx.grid_2d_graph(2, 6)
    >>> is_shielding(grid, ((0, 2), (0, 3)), [(1, 0), (0, 5)])
    True
    >>> is_shielding(grid, ((0, 2), (0, 3)), [(1, 0), (0, 4)])
    False
    """
    x, y = twisted
    marked = set(marks)
    if x in marked or y in marked:
        return False
    component = nx.node_connected_component(base.subgraph(set(base) - marked), x)
    beside = {v for v in component if not marked.isdisjoint(base[v])}
    if x in beside or y in beside:
        return False
    inner = nx.Graph(base.subgraph(component - beside))
    inner.remove_edge(x, y)
    return bool(nx.has_path(inner, x, y))


def without_shield(base: nx.Graph, twisted: tuple[Hashable, Hashable]) -> list[Hashable]:
    """The base vertices of which no tuple is shielding, whatever else is in the tuple.

    A further mark only takes away from the cycles that are left, so a vertex alone decides.

    >>> len(without_shield(nx.grid_2d_graph(2, 12), ((0, 5), (0, 6))))
    8
    """
    return [u for u in base if not is_shielding(base, twisted, [u])]


def always_room(base: nx.Graph, marks: int) -> bool:
    """Whether for all tuples of ``marks`` base vertices some edge could be twisted to make them shielding.

    That is, whether a cycle is left when the marks and their neighbors are deleted.

    >>> [always_room(nx.grid_2d_graph(2, n), marks=2) for n in (9, 10)]
    [False, True]
    """
    adjacency = nx.to_numpy_array(base)
    closed = adjacency + np.eye(len(base)) > 0
    tuples = np.array(list(combinations_with_replacement(range(len(base)), marks)))
    left = ~closed[tuples].any(axis=1)
    while True:
        # What has less than two neighbors left lies on no cycle.
        inner = left & (left @ adjacency >= 2)
        if (inner == left).all():
            return bool(left.any(axis=1).all())
        left = inner


def shielding_checks() -> Iterator[Check]:
    """Both propositions, and the claim that the proof of Lemma sepnew1 draws from them; t is a k-tuple."""
    for k, n in ((1, 6), (1, 8), (2, 4), (2, 5)):
        yield Check(
            "Proposition shield",
            "where (t, u) is shielding, u has the same color in (X, t) and (Y, t)",
            _name(k, n),
            True,
            partial(_shields_hold, k, n),
            k == 2 and n > 4,
        )
    for k, n in ((1, 6), (1, 12), (2, 14)):
        yield Check(
            "Proposition makeshield",
            "for every u there is a t such that (t, u) is shielding",
            _name(k, n),
            True,
            lambda _, k=k, n=n: not without_shield(nx.grid_2d_graph(k + 1, n), _middle(n)),  # type: ignore[misc]
        )
    for k, n in ((1, 9), (1, 10), (2, 13), (2, 14)):
        yield Check(
            "Proposition makeshield, proof",
            "every (t, u) is shielding once the twist is moved",
            _name(k, n),
            True,
            lambda _, k=k, n=n: always_room(nx.grid_2d_graph(k + 1, n), k + 1),  # type: ignore[misc]
        )
    for k, n in ((1, 4), (1, 6), (1, 9), (1, 10), (2, 4), (2, 5)):
        yield Check(
            "Lemma sepnew1, proof",
            f"every u has the same {k}-OSWL color in X and in Y",
            _name(k, n),
            True,
            partial(_every_color_alike, k, n),
            k == 2 and n > 4,
        )


def _name(k: int, n: int) -> str:
    return f"X, Y over the {k + 1} x {n} grid (k = {k})"


def _middle(n: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return (0, (n - 1) // 2), (0, (n - 1) // 2 + 1)


def _shields_hold(k: int, n: int, limit: int | None) -> bool:
    """That wherever the colors of a copy differ in X and Y, its tuple is not shielding."""
    base, twisted = nx.grid_2d_graph(k + 1, n), _middle(n)
    x, y = fuerer_grid_pair(k + 1, n, [twisted])
    coloring = refine([x, y], WLTest("oswl", k), max_memory=limit)
    tuple_, vertex = np.nonzero(coloring.colors[0] != coloring.colors[1])
    names = list(base)
    cloud = np.array([names.index(label[1]) for label in x.vertex_labels])  # type: ignore[union-attr,index]
    over = cloud[np.column_stack((coloring.subgraphs[0][tuple_], vertex))]  # type: ignore[index]
    return not any(
        is_shielding(base, twisted, [names[i] for i in marks])
        for marks in np.unique(np.sort(over, axis=1), axis=0)
    )


def _every_color_alike(k: int, n: int, limit: int | None) -> bool:
    """That C(u) in X is C(u) in Y, for each u: X and Y have the same vertices, in the same order."""
    pair = fuerer_grid_pair(k + 1, n, [_middle(n)])
    x, y = refine(pair, WLTest("oswl", k), max_memory=limit).vertex_colors or ()
    return bool((x == y).all())
