"""Shields against their definition, the propositions on them in plain Python."""

from itertools import combinations_with_replacement, product

import brute
import networkx as nx
import pytest

from osan.graphs import fuerer_graph, fuerer_grid_pair, to_networkx
from osan.wl import WLTest
from osan.wl.theory import always_room, is_shielding, without_shield


def by_definition(base, twisted, marks):
    """The paper's words: the twisted component, the marks' neighbors in it, and all cycles of the rest."""
    without = base.subgraph([v for v in base if v not in marks])
    components = [c for c in nx.connected_components(without) if set(twisted) <= c]
    if not components:  # an end of the twisted edge is marked
        return False
    neighbors = {v for v in components[0] if any(base.has_edge(v, mark) for mark in marks)}
    if neighbors & set(twisted):
        return False
    for cycle in nx.simple_cycles(base.subgraph(components[0] - neighbors)):
        if any({cycle[i - 1], cycle[i]} == set(twisted) for i in range(len(cycle))):
            return True
    return False


@pytest.mark.parametrize(("h", "n", "marks"), [(2, 4, 1), (2, 6, 2), (2, 7, 2), (3, 4, 2), (3, 5, 1)])
def test_shielding_is_as_defined(h, n, marks):
    base = nx.grid_2d_graph(h, n)
    seen = set()
    for twisted in [((0, (n - 1) // 2), (0, (n - 1) // 2 + 1)), ((0, 0), (1, 0))]:
        for chosen in combinations_with_replacement(base, marks):
            expected = by_definition(base, twisted, chosen)
            assert is_shielding(base, twisted, chosen) == expected
            seen.add(expected)
    assert seen == {True, False}


@pytest.mark.parametrize(("h", "n"), [(2, 4), (2, 6), (2, 8), (3, 4)])
def test_no_tuple_helps_a_vertex_beside_the_twist(h, n):
    """Proposition makeshield as printed: all k-tuples of base vertices are tried for every u."""
    base = nx.grid_2d_graph(h, n)
    twisted = ((0, (n - 1) // 2), (0, (n - 1) // 2 + 1))
    helpless = [
        u
        for u in base
        if not any(
            by_definition(base, twisted, (u, *others))
            for others in combinations_with_replacement(base, h - 1)
        )
    ]
    assert set(twisted) < set(helpless)
    assert without_shield(base, twisted) == helpless
    if h == 2:  # the columns of the twist and those beside them, in both rows
        assert len(helpless) == 8


@pytest.mark.parametrize(("h", "columns", "marks"), [(2, range(2, 12), 2), (3, range(2, 7), 2)])
def test_room_for_the_twist_is_as_defined(h, columns, marks):
    """A shield exists exactly if some edge can be twisted so that the tuple is shielding."""
    verdicts = []
    for n in columns:
        base = nx.grid_2d_graph(h, n)
        tuples = combinations_with_replacement(base, marks)
        verdicts.append(all(any(is_shielding(base, e, t) for e in base.edges) for t in tuples))
        assert always_room(base, marks) == verdicts[-1]
    if h == 2:
        assert verdicts == [n >= 10 for n in columns]


def test_the_propositions_in_plain_python():
    """On the 2 x 6 grid: shielded vertices keep their color, every u its multiset of colors."""
    base, twisted = nx.grid_2d_graph(2, 6), ((0, 2), (0, 3))
    x, y = fuerer_grid_pair(2, 6, [twisted])
    n = x.num_vertices
    colors, _, _ = brute.refine([x, y], WLTest("oswl", 1))
    cloud = [label[1] for label in x.vertex_labels]
    shielded = [
        (t, u) for t, u in product(range(n), repeat=2) if by_definition(base, twisted, (cloud[t], cloud[u]))
    ]
    assert shielded
    assert all(colors[0, t, u] == colors[1, t, u] for t, u in shielded)
    assert any(colors[0, t, u] != colors[1, t, u] for t, u in product(range(n), repeat=2))
    for u in range(n):
        assert sorted(colors[0, t, u] for t in range(n)) == sorted(colors[1, t, u] for t in range(n))


@pytest.mark.parametrize("u", [(0, 1), (0, 2), (1, 1), (1, 3)])
def test_the_twist_moves_past_a_vertex_that_stays(u):
    """An isomorphism takes a graph twisted at one edge to that twisted at another and fixes a vertex."""
    base = nx.grid_2d_graph(2, 4)

    def fixed(twisted):
        graph = to_networkx(fuerer_graph(base, twisted))
        first = next(v for v in graph if graph.nodes[v]["label"] == ("vertex", u))
        graph.nodes[first]["label"] = "fixed"
        return graph

    def isomorphic(a, b):
        return nx.is_isomorphic(a, b, node_match=lambda one, other: one["label"] == other["label"])

    middle = fixed([((0, 1), (0, 2))])
    assert not isomorphic(middle, fixed([]))
    assert all(isomorphic(middle, fixed([edge])) for edge in base.edges)
