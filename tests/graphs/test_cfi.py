"""CFI gadgets against a literal construction, isomorphism search and the paper's lemmas."""

from itertools import combinations
from math import comb

import networkx as nx
import pytest

from osan.errors import OsanError
from osan.graphs import Graph, as_graph, cfi_graph, cfi_pair


def literal(base: nx.Graph, odd=()) -> Graph:
    """The paper's construction, word by word, with frozensets of edges."""
    edges = [frozenset(e) for e in base.edges]
    graph = nx.Graph()
    for v in base:
        at_v = [e for e in edges if v in e]
        for size in range(v in odd, len(at_v) + 1, 2):
            for subset in combinations(at_v, size):
                graph.add_node((v, frozenset(subset)), label=("vertex", v))
                graph.add_edges_from(((v, frozenset(subset)), (e, int(e in subset))) for e in at_v)
    for u, v in base.edges:
        e = frozenset((u, v))
        graph.add_edge((e, 0), (e, 1))
        for bit in (0, 1):
            graph.nodes[e, bit]["label"] = ("edge", u, v)
    return as_graph(graph)


@pytest.mark.parametrize("k", range(1, 8))
def test_sizes(k):
    for graph in cfi_pair(k):
        assert graph.num_vertices == (k + 1) * 2 ** (k - 1) + 2 * comb(k + 1, 2)
        assert graph.num_edges == comb(k + 1, 2) + (k + 1) * 2 ** (k - 1) * k
        # The paper prints another number, which its construction does not give.
        assert graph.num_vertices != k * 2**k + 2 * comb(k + 2, 2)


@pytest.mark.parametrize(
    "base",
    [nx.complete_graph(3), nx.complete_graph(4), nx.star_graph(3), nx.path_graph("abc"), nx.empty_graph(2)],
)
@pytest.mark.parametrize("twist", [False, True])
def test_literal_construction(base, twist, isomorphic):
    odd = list(base)[:1] if twist else []
    assert isomorphic(cfi_graph(base, odd), literal(base, odd))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_gadgets_are_not_isomorphic(k, isomorphic):
    g, h = cfi_pair(k)
    assert not isomorphic(g, h)
    assert isomorphic(h, cfi_graph(nx.complete_graph(k + 1), [k]))


def test_uncolored_gadgets_are_not_isomorphic(isomorphic):
    g, h = cfi_pair(2, colors=False)
    assert g.vertex_labels is None
    assert not isomorphic(g, h)


@pytest.mark.parametrize("colors", [True, False])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_color_refinement_does_not_distinguish(k, colors, wl_equal):
    assert wl_equal(*cfi_pair(k, colors=colors))


@pytest.mark.parametrize("edges", ["ab", "ab ac", "ab bc ca", "ab bc ca cd", "ab bc cd da ac"])
def test_only_the_parity_of_odd_vertices_matters(edges, isomorphic):
    """Over paths, cycles and what lies between, for every set of odd vertices."""
    base = nx.Graph(map(tuple, edges.split()))
    g, h = cfi_pair(base)
    assert not isomorphic(g, h)
    for size in range(len(base) + 1):
        for odd in combinations(base, size):
            assert isomorphic(cfi_graph(base, odd), h if size % 2 else g)


def test_bad_bases():
    loop = nx.Graph([(0, 0)])
    for base, message in [
        (loop, "without self-loops"),
        (nx.DiGraph([(0, 1)]), "expected an undirected graph"),
        (Graph(2, [(0, 1), (1, 0)]), "parallel edges"),
        (Graph(0), "expected a graph with a vertex to twist"),
        (nx.star_graph(40), "got 549755813928 over"),
        ("K3", "expected an osan Graph"),
    ]:
        with pytest.raises(OsanError, match=message):
            cfi_pair(base)
    with pytest.raises(OsanError, match=r"vertex: expected one of the base graph \('a', 'b'\), got 'z'"):
        cfi_pair(nx.path_graph("ab"), twisted="z")
    with pytest.raises(OsanError, match="k: expected at least 1, got 0"):
        cfi_pair(0)
