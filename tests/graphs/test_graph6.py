"""graph6, sparse6 and digraph6 against networkx and the examples of the format's description."""

from collections import Counter
from itertools import combinations_with_replacement, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from osan.errors import OsanError
from osan.graphs import Graph, decode_graph6, encode_graph6, to_networkx


def edge_counts(graph):
    pairs = graph.edges if graph.directed else np.sort(graph.edges, axis=1)
    return Counter(map(tuple, pairs.tolist()))


@st.composite
def multigraphs(draw, min_vertices=0):
    n = draw(st.one_of(st.integers(min_vertices, 20), st.integers(60, 70)))
    vertices = st.integers(0, max(0, n - 1))
    edges = draw(st.lists(st.tuples(vertices, vertices), max_size=30 if n else 0))
    return Graph(n, edges)


def simple(graph, directed=False):
    pairs = {pair if directed else tuple(sorted(pair)) for pair in map(tuple, graph.edges.tolist())}
    return Graph(graph.num_vertices, [p for p in pairs if directed or p[0] != p[1]], directed=directed)


@given(multigraphs())
def test_graph6_agrees_with_networkx_both_ways(graph):
    graph = simple(graph)
    reference = nx.to_graph6_bytes(to_networkx(graph), header=False).decode().strip()
    assert encode_graph6(graph) == reference
    assert edge_counts(decode_graph6(reference)) == edge_counts(graph)
    assert decode_graph6(">>graph6<<" + reference).num_vertices == graph.num_vertices


@given(multigraphs())
def test_sparse6_round_trip(graph):
    text = encode_graph6(Graph(graph.num_vertices, graph.edges))
    assert edge_counts(decode_graph6(text)) == edge_counts(graph)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_sparse6_of_every_small_graph_with_loops(n):
    """Among them those whose padding could pass for a loop at the last vertex."""
    pairs = list(combinations_with_replacement(range(n), 2))
    for chosen in product([0, 1], repeat=len(pairs)):
        graph = Graph(n, [pair for pair, c in zip(pairs, chosen, strict=True) if c])
        assert edge_counts(decode_graph6(encode_graph6(graph))) == edge_counts(graph)


# networkx gives the only vertex of a graph one bit, nauty and the format's description none.
@given(multigraphs(min_vertices=2))
def test_sparse6_agrees_with_networkx_both_ways(graph):
    text = nx.to_sparse6_bytes(nx.MultiGraph(to_networkx(graph)), header=False).decode().strip()
    assert edge_counts(decode_graph6(text)) == edge_counts(graph)
    ours = encode_graph6(graph)
    if ours.startswith(":"):
        theirs = nx.from_sparse6_bytes(ours.encode())
        assert Counter(tuple(sorted(e[:2])) for e in theirs.edges) == edge_counts(graph)


@given(multigraphs())
def test_digraph6_round_trip(graph):
    graph = simple(graph, directed=True)
    decoded = decode_graph6(encode_graph6(graph))
    assert decoded.directed
    assert decoded.num_vertices == graph.num_vertices
    assert edge_counts(decoded) == edge_counts(graph)


def test_examples_of_the_description():
    assert decode_graph6("DQc").edges.tolist() == [[0, 2], [1, 3], [0, 4], [3, 4]]
    assert decode_graph6(":Fa@x^").edges.tolist() == [[0, 1], [0, 2], [1, 2], [5, 6]]
    assert decode_graph6("&DI?AO?").edges.tolist() == [[0, 2], [0, 4], [3, 1], [3, 4]]
    assert decode_graph6(":~B?x").num_vertices == 12345
    assert decode_graph6("?").num_vertices == 0
    assert decode_graph6(":~~?ZZZZZ").num_vertices == 460175067


def test_sizes_beyond_one_byte():
    for n in (62, 63, 300):
        path = Graph(n, np.stack([np.arange(n - 1), np.arange(1, n)], axis=1))
        assert edge_counts(decode_graph6(encode_graph6(path))) == edge_counts(path)
    wide = Graph(300_000, [(0, 299_999)])
    assert encode_graph6(wide).startswith(":~~")
    assert decode_graph6(encode_graph6(wide)).edges.tolist() == [[0, 299_999]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected one graph, got nothing"),
        ("DQ", r"graph6, truncated: expected 2 bytes after the number of vertices \(5\), got 1"),
        ("DQcc", r"graph6, wrong length: expected 2 bytes after the number of vertices \(5\), got 3"),
        ("D Q", "graph6: expected bytes 63 to 126, got byte 32 in column 2"),
        (":D:", "sparse6: expected bytes 63 to 126, got byte 58 in column 3"),
        ("Dé?", "byte 195 in column 2"),
        ("\udbab", "expected bytes 63 to 126"),
        ("~?", "graph6, truncated: expected the number of vertices"),
        (":", "sparse6, truncated"),
        ("A~", "expected padding bits of zero"),
        (";A", "incremental sparse6"),
        (">>sparse6<<DQc", "expected sparse6 after its header"),
        ("&A", "digraph6, truncated: expected 1 byte after"),
        ("~~~~~~~~", "truncated: expected \\d+ bytes after the number of vertices \\(68719476735\\)"),
    ],
)
def test_bad_text(text, message):
    with pytest.raises(OsanError, match=message):
        decode_graph6(text)


@given(st.one_of(st.binary(max_size=12), st.lists(st.integers(58, 126), max_size=12).map(bytes)))
def test_any_bytes_are_a_graph_or_an_osan_error(data):
    try:
        graph = decode_graph6(data)
    except OsanError:
        return
    assert graph.num_vertices >= 0


def test_what_does_not_fit_is_refused():
    for graph, message in [
        (Graph(1, vertex_labels="a"), "expected no labels"),
        (Graph(2, [(0, 1), (0, 1)], directed=True), "parallel arcs"),
        (Graph(1 << 16, directed=True), "at most 32768 vertices"),
    ]:
        with pytest.raises(OsanError, match=message):
            encode_graph6(graph)
