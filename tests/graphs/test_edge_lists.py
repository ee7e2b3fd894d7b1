"""Edge lists and adjacency matrices in text files, and what only looks like them."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from osan.errors import OsanError
from osan.graphs import from_networkx, read_graphs, to_networkx
from osan.wl import distinguishes


def test_edge_lists(write):
    (graph,) = read_graphs(write("a.edges", "# a path\nann bob\nbob  cy the  rest \n"))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_labels == (None, "the  rest")
    (graph,) = read_graphs(write("b.txt", "5\n3 1\n1 0\n"), directed=True)
    assert (graph.num_vertices, graph.edges.tolist(), graph.directed) == (5, [[3, 1], [1, 0]], True)
    (graph,) = read_graphs(write("c.el", "4\n"))
    assert (graph.num_vertices, graph.num_edges) == (4, 0)
    (graph,) = read_graphs(write("d.el", "4\na b\n"))
    assert (graph.num_vertices, graph.num_edges) == (4, 1)
    # Read as the SAT-pair format these would be three graphs, of which two are missing.
    (graph,) = read_graphs(write("e.txt", "3\n1 2\n2 0\n"))
    assert graph.edges.tolist() == [[1, 2], [2, 0]]


@given(
    st.integers(2, 8).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1, max_size=9),
        )
    )
)
def test_edge_lists_agree_with_networkx(tmp_path_factory, case):
    n, edges = case
    path = tmp_path_factory.mktemp("edges") / "graph.edges"
    path.write_text("".join(f"{u} {v}\n" for u, v in edges))
    count = Counter(edges)
    both_ways = all(count[u, v] == count[v, u] for u, v in edges)
    if both_ways:  # each edge, but for loops, stands there in both directions
        count = Counter({(u, v): times for (u, v), times in count.items() if u <= v})
    reference = nx.MultiGraph(list(count.elements()))
    assert nx.is_isomorphic(to_networkx(read_graphs(path)[0]), reference)
    path.write_text(f"{n}\n" + "".join(f"{u} {v}\n" for u, v in edges))
    (graph,) = read_graphs(path)
    assert graph.num_vertices == n
    assert Counter(map(tuple, graph.edges.tolist())) == count
    (graph,) = read_graphs(path, directed=True)
    assert graph.edges.tolist() == [list(edge) for edge in edges]


@pytest.mark.parametrize("labeled", [False, True])
def test_edges_that_are_listed_in_both_directions_are_edges_once(tmp_path, labeled):
    """A file of arcs of an undirected graph is that graph, as networkx reads it."""
    cycle = nx.cycle_graph(6)
    if labeled:
        nx.set_edge_attributes(cycle, {(0, 1): "a", (2, 3): "b"}, "label")
    cycle.add_edge(0, 0)
    path = tmp_path / "arcs.edges"
    nx.write_edgelist(cycle.to_directed(), path)
    (read,) = read_graphs(path)
    assert read.num_edges == nx.read_edgelist(path).number_of_edges() == 7
    assert not distinguishes(read, cycle, "wl", k=2)
    if labeled:  # the two directions differ, so they are two edges
        nx.set_edge_attributes(directed := cycle.to_directed(), {(0, 1): "b"}, "label")
        nx.write_edgelist(directed, path)
        assert read_graphs(path)[0].num_edges == 13


@given(st.integers(3, 7).flatmap(lambda n: st.lists(st.booleans(), min_size=n * n, max_size=n * n)))
def test_matrices_are_read_as_networkx_does(tmp_path_factory, entries):
    size = int(len(entries) ** 0.5)
    matrix = np.array(entries, dtype=int).reshape(size, size)
    both = matrix | matrix.T
    path = tmp_path_factory.mktemp("matrix") / "matrix.txt"
    for blank, first in ((" ", ""), (",", ""), ("", ""), (" ", f"{size}\n")):
        for given_matrix, directed in ((both, False), (matrix, True)):
            lines = [blank.join(map(str, row)) for row in given_matrix.tolist()]
            path.write_text(first + "\n".join(lines))
            (graph,) = read_graphs(path, directed=directed)
            arcs = np.zeros((size, size), dtype=int)
            np.add.at(arcs, tuple(graph.edges.T), 1)
            if not directed:
                arcs = np.maximum(arcs, arcs.T)
            assert (arcs == given_matrix).all()
            assert graph.directed == directed


@pytest.mark.parametrize(
    "content",
    [
        "0 1 0\n1 0 0\n0 1 0\n",
        "0 2 0\n2 0 1.5\n0 1.5 0\n",
        "0 2 0 0\n2 0 1 0\n0 1 0 7\n0 0 7 0\n",
    ],
)
def test_matrices_that_are_no_undirected_graph_are_refused(write, content):
    with pytest.raises(OsanError, match=r"a\.txt: expected .*adjacency matrix, got .* in row"):
        read_graphs(write("a.txt", content))


OTHERS = {
    "DIMACS": "c a path\np edge 3 2\ne 1 2\ne 2 3\n",
    "Matrix Market": "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n",
    "DOT": "graph G {\n0 -- 1\n1 -- 2\n}\n",
    "DOT, arcs": "digraph G\n0 -> 1\n1 -> 2\n",
    "DOT, one line": "graph {0 -- 1}",
    "JSON": '{"nodes": [0, 1], "edges": [[0, 1]]}\n',
    "GML": "graph [\nnode [ id 1 ]\n",
    "XML": '<?xml version="1.0"?>\n',
    "adjacency list": "0: 1 2\n1: 0\n2: 0\n",
    "commas": "0, 1\n1, 2\n",
    "multiline": "0 2\n1 {}\n2 {}\n1 0\n2 0\n",
    "tuples": "(0, 0) (0, 1) {}\n(0, 1) (1, 1) {}\n",
    "Python": "[(0, 1), (1, 2)]\n",
}


@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS.keys())
@pytest.mark.parametrize("name", ["a.txt", "a.edges", "a"])
def test_other_formats_are_not_taken_for_edge_lists(write, name, content):
    with pytest.raises(OsanError, match=r"line \d: expected an edge .* another format") as error:
        read_graphs(write(name, content))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("first", ["source target", "Source Target weight", "id_1 id_2", "3\nu v"])
def test_headers_are_not_taken_for_edges(write, first):
    with pytest.raises(OsanError, match=r"line [12]: .*looks like a header; delete the line"):
        read_graphs(write("a.txt", f"{first}\n0 1\n1 2\n"))
    (graph,) = read_graphs(write("a.txt", f"# {first}\n0 1\n1 2\n".replace("# 3\n", "# 3\n# ")))
    assert graph.num_edges == 2


def test_names_that_are_words_are_no_header(write):
    with pytest.raises(OsanError, match="looks like a header"):
        read_graphs(write("a.txt", "from to\nann bob\n"))
    for content in ("graph theory\ntheory book\n", "a b\nb 1\n", "source target\n", "p edge\nedge 1\n"):
        assert read_graphs(write("a.txt", content))[0].num_edges == content.count("\n")


def test_labels_that_are_numbers_are_compared_as_numbers(tmp_path):
    """Weights of networkx: 1 and 1.0 are one label; what no program writes as a number is a text."""
    whole, floats = nx.path_graph(3), nx.path_graph(3)
    nx.set_edge_attributes(whole, {(0, 1): 1, (1, 2): 2}, "weight")
    nx.set_edge_attributes(floats, {(0, 1): 1.0, (1, 2): 2.0}, "weight")
    for graph, name in ((whole, "a.edges"), (floats, "b.edges")):
        nx.write_weighted_edgelist(graph, tmp_path / name)
    one, other = (read_graphs(tmp_path / name)[0] for name in ("a.edges", "b.edges"))
    assert one.edge_labels == other.edge_labels == (1, 2)
    assert not distinguishes(one, other)
    texts = ["01", "1_0", "nan", "inf", "1e999", "9" * 50, "1 2", "١"]
    path = tmp_path / "c.edges"
    path.write_text("".join(f"a {i} {text}\n" for i, text in enumerate(texts)))
    assert read_graphs(path)[0].edge_labels == tuple(texts)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph])
def test_edge_lists_that_networkx_wrote_with_its_attributes(tmp_path, kind):
    """Its default: a dictionary per line. The graph is the one that was written, with its labels."""
    graph = kind([(0, 1), (1, 2), (2, 3)])
    nx.set_edge_attributes(graph, 2.5, "weight")
    plain = from_networkx(graph)
    path = tmp_path / "a.edgelist"
    nx.write_edgelist(graph, path)
    (read,) = read_graphs(path, directed=graph.is_directed())
    assert (read.edges.tolist(), read.directed) == (plain.edges.tolist(), plain.directed)
    assert read.edge_labels is None
    assert not distinguishes(read, graph)
    first, second, _ = graph.edges
    nx.set_edge_attributes(graph, {first: "a {b}", second: 7}, "label")
    nx.write_edgelist(graph, path)
    (read,) = read_graphs(path, directed=graph.is_directed())
    assert read.edge_labels == from_networkx(graph).edge_labels == ("a {b}", 7, None)


def test_braces_that_are_no_dictionary_are_a_label(write):
    assert read_graphs(write("a.el", b"a b {1, 2}\nb c {not python}\n"))[0].edge_labels == (
        "{1, 2}",
        "{not python}",
    )
