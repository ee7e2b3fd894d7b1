"""Fürer's graphs against a literal construction and isomorphism search."""

from itertools import combinations

import networkx as nx
import pytest

from osan.errors import OsanError
from osan.graphs import Graph, as_graph, fuerer_graph, fuerer_grid_pair


def literal(base: nx.Graph, twisted=()) -> Graph:
    """The paper's construction, word by word, with frozensets of edges."""
    edges = [frozenset(e) for e in base.edges]
    twists = [frozenset(e) for e in twisted]
    clouds = {
        v: [frozenset(s) for size in range(0, base.degree(v) + 1, 2) for s in combinations(at_v, size)]
        for v in base
        for at_v in [[e for e in edges if v in e]]
    }
    graph = nx.Graph()
    for v, cloud in clouds.items():
        graph.add_nodes_from(((v, s) for s in cloud), label=("vertex", v))
    for u, v in base.edges:
        e = frozenset((u, v))
        for s in clouds[u]:
            for t in clouds[v]:
                both_or_neither = (e in s) == (e in t)
                if both_or_neither != (e in twists):
                    graph.add_edge((u, s), (v, t))
    return as_graph(graph)


@pytest.mark.parametrize(
    "base", [nx.grid_2d_graph(2, 3), nx.complete_graph(4), nx.star_graph(3), nx.empty_graph(2)]
)
@pytest.mark.parametrize("twists", [0, 1, 2])
def test_literal_construction(base, twists, isomorphic):
    twisted = list(base.edges)[:twists]
    assert isomorphic(fuerer_graph(base, twisted), literal(base, twisted))


@pytest.mark.parametrize(("h", "n"), [(1, 2), (2, 1), (2, 2), (2, 5), (3, 4), (3, 10)])
def test_grid_sizes(h, n):
    degrees = [d for _, d in nx.grid_2d_graph(h, n).degree]
    edges = nx.grid_2d_graph(h, n).edges
    degree = dict(nx.grid_2d_graph(h, n).degree)
    x, y = fuerer_grid_pair(h, n)
    assert x.num_vertices == y.num_vertices == sum(2 ** (d - 1) for d in degrees)
    # Half the pairs of two clouds are joined, unless an end of degree 1 holds the empty set alone.
    if min(degrees) > 1:
        joined = sum(2 ** (degree[u] + degree[v] - 3) for u, v in edges)
        assert x.num_edges == y.num_edges == joined


@pytest.mark.parametrize(
    "base", [nx.path_graph(3), nx.cycle_graph(4), nx.complete_graph(4), nx.grid_2d_graph(2, 3)], ids=str
)
def test_even_twists_give_x_and_odd_twists_y(base, isomorphic):
    """For every set of twisted edges, named in either direction."""
    edges = list(base.edges)
    x, y = fuerer_graph(base), fuerer_graph(base, edges[:1])
    assert not isomorphic(x, y)
    for size in range(len(edges) + 1):
        for twisted in combinations(edges, size):
            z = fuerer_graph(base, [(v, u) for u, v in twisted])
            assert isomorphic(z, y if size % 2 else x)


@pytest.mark.parametrize("colors", [True, False])
def test_color_refinement_does_not_distinguish_grids(colors, wl_equal):
    assert wl_equal(*fuerer_grid_pair(2, 4, colors=colors))
    assert wl_equal(*fuerer_grid_pair(3, 4, colors=colors))


def test_the_cloud_coloring_is_stable():
    """As the paper says: vertices of one cloud have equally many neighbors in every other cloud."""
    for graph in fuerer_grid_pair(3, 4):
        labels = graph.vertex_labels
        counts = [dict.fromkeys(labels, 0) for _ in labels]
        for u, v in graph.edges.tolist():
            counts[u][labels[v]] += 1
            counts[v][labels[u]] += 1
        for cloud in set(labels):
            assert len({tuple(counts[v].values()) for v, label in enumerate(labels) if label == cloud}) == 1


def test_options():
    x, y = fuerer_grid_pair(2, 3, twisted=[((0, 0), (1, 0))], colors=False)
    assert x.vertex_labels is None
    assert x.edges.tolist() != y.edges.tolist()
    assert set(fuerer_grid_pair(2, 3)[0].vertex_labels) == {
        ("vertex", (r, c)) for r in (0, 1) for c in range(3)
    }


def test_bad_requests():
    with pytest.raises(OsanError, match="h, n >= 1 and h \\* n >= 2, got 1 x 1"):
        fuerer_grid_pair(1, 1)
    with pytest.raises(OsanError, match=r"expected an edge of the base graph, got \(\(0, 0\), \(1, 1\)\)"):
        fuerer_grid_pair(2, 2, twisted=[((0, 0), (1, 1))])
    with pytest.raises(OsanError, match=r"vertex: expected one of the base graph .*, got 7"):
        fuerer_graph(Graph(2, [(0, 1)]), [(0, 7)])
    with pytest.raises(OsanError, match=r"expected an edge \(u, v\) of the base graph, got 0"):
        fuerer_graph(Graph(2, [(0, 1)]), [0])
