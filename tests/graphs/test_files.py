"""Files of graphs and pairs: real ones, small ones, and everything that is neither."""

import contextlib
import gzip
import re
import time
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from osan.errors import OsanError
from osan.graphs import (
    Graph,
    encode_graph6,
    from_networkx,
    read_graphs,
    read_pairs,
    to_networkx,
    write_graphs,
)

SAT = "2\n3 1\n0 2 1 2\n1 1 0\n1 1 0\n2 0\n0 0\n7 0\n"


def edge_set(graph):
    return {frozenset(edge) for edge in graph.edges.tolist()}


def test_mixed_graph6_file_with_headers_and_blank_lines(write):
    path = write("some.g6", ">>graph6<<DQc\r\n\n>>sparse6<<:Fa@x^\n&DI?AO?\n  C~ \n")
    graphs = read_graphs(path)
    assert [(g.num_vertices, g.num_edges, g.directed) for g in graphs] == [
        (5, 4, False),
        (7, 4, False),
        (5, 4, True),
        (4, 6, False),
    ]
    assert graphs[3].name == "some[3]"
    assert [len(read_graphs(write(name, b">>graph6<<\nDQc\n"))) for name in ("a.g6", "b.txt", "c")] == [
        1,
        1,
        1,
    ]


@pytest.mark.parametrize("name", ["x.g6.gz", "x.gz", "x.g6"])
def test_gzip_is_told_from_the_content(name, write):
    assert read_graphs(write(name, gzip.compress(b"DQc\nC~\n", mtime=0)))[1].num_edges == 6


@pytest.mark.parametrize("name", ["all.g6", "all.g6.gz"])
def test_written_graphs_come_back(name, tmp_path):
    graphs = [
        Graph(3, [(0, 1)]),
        Graph(2, [(0, 0), (0, 1), (0, 1)]),
        Graph(2, [(1, 0)], directed=True),
        Graph(0),
    ]
    write_graphs(tmp_path / name, graphs)
    back = read_graphs(tmp_path / name)
    assert [(g.num_vertices, g.directed) for g in back] == [(g.num_vertices, g.directed) for g in graphs]
    assert [sorted(map(sorted, g.edges.tolist())) for g in back[:2]] == [[[0, 1]], [[0, 0], [0, 1], [0, 1]]]
    assert back[2].edges.tolist() == [[1, 0]]
    assert [p.name for p in tmp_path.iterdir()] == [name]
    with pytest.raises(OsanError, match="cannot be written"):
        write_graphs(tmp_path / name / name, graphs)  # a file is no folder
    with pytest.raises(OsanError, match="which graph6 cannot hold"):
        write_graphs(tmp_path / name, [Graph(1, vertex_labels="a")])
    assert len(read_graphs(tmp_path / name)) == 4


@pytest.mark.parametrize(
    ("suffixes", "reader"),
    [
        ("gexf", "networkx.read_gexf"),
        ("net", "networkx.read_pajek"),
        ("adjlist adj", "networkx.read_adjlist"),
        ("madj", "networkx.read_multiline_adjlist"),
        ("dot gv", "networkx.nx_agraph.read_dot"),
        ("json", "json.load and networkx.node_link_graph"),
        ("mtx MTX", "scipy.io.mmread and networkx.from_scipy_sparse_array"),
        ("col dimacs", "a reader for DIMACS"),
    ],
)
def test_files_of_other_formats_say_what_reads_them(write, suffixes, reader):
    for suffix in suffixes.split():
        for name, content in (
            (f"a.{suffix}", b"0 1\n"),
            (f"a.{suffix}.gz", gzip.compress(b"0 1\n", mtime=0)),
        ):
            with pytest.raises(OsanError, match=rf"read it with {re.escape(reader)}, and pass the graph"):
                read_graphs(write(name, content))


@pytest.mark.parametrize("kind", ["gml", "graphml"])
@pytest.mark.parametrize("make", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_gml_and_graphml_as_networkx_writes_them(tmp_path, kind, make):
    graph = make([("a", "b"), ("b", "c"), ("c", "c")], name="three")
    graph.add_node("alone")
    if graph.is_multigraph():
        graph.add_edge("a", "b")
    for *_, data in graph.edges(data=True):
        data["label"] = "single"
    if kind == "graphml":  # in GML the label of a vertex is its name
        nx.set_node_attributes(graph, {"a": 1, "b": 2, "c": 2, "alone": 3}, "label")
    path = tmp_path / f"a.{kind}.gz"
    getattr(nx, f"write_{kind}")(graph, path)
    (read,), expected = read_graphs(path), from_networkx(graph)
    assert nx.utils.graphs_equal(to_networkx(read), to_networkx(expected))


def test_gml_takes_no_names_for_labels(write):
    node = b'node [ id %d label "same" ] '
    content = b"graph [ " + node % 3 + node % 5 + b"edge [ source 5 target 3 ] ]"
    (graph,) = read_graphs(write("a.gml", content))
    assert (graph.vertex_labels, graph.edges.tolist()) == (None, [[0, 1]])


@pytest.mark.parametrize("name", ["a.gml", "a.graphml"])
@pytest.mark.parametrize("content", [b"0 1\n", b"\xff\xfe", b"<graphml><node", b"graph [ node [ id 1 ]"])
def test_broken_gml_and_graphml(write, name, content):
    with pytest.raises(OsanError, match=rf"{name}: expected (GML|GraphML) that networkx reads, got"):
        read_graphs(write(name, content))


def test_sat_pairs(write):
    first, second = read_graphs(write("pairs.txt", SAT))
    assert (first.vertex_labels, first.edges.tolist()) == ((0, 1, 1), [[0, 1], [0, 2]])
    assert (second.vertex_labels, second.num_edges) == ((0, 7), 0)
    (pair,) = read_pairs(write("pairs.txt", SAT))
    assert (pair.a.num_vertices, pair.b.num_vertices, pair.category, pair.name) == (3, 2, "pairs", "0")


def test_smiles(write):
    ethanol, benzene = read_graphs(write("a.smi", "CCO ethyl alcohol\n\nc1ccccc1\n"))
    assert (ethanol.name, ethanol.num_edges) == ("ethyl alcohol", 2)
    assert set(benzene.edge_labels) == {"AROMATIC"}


def test_tables(write):
    table = "pair\tcategory\tg6_a\tg6_b\n7\tBasic\tDQc\tD??\n8\tCFI\tC~\tC?\n"
    pairs = read_pairs(write("a.tsv", table))
    assert [(p.name, p.category, p.a.num_edges, p.b.num_edges) for p in pairs] == [
        ("7", "Basic", 4, 0),
        ("8", "CFI", 6, 0),
    ]
    assert [g.num_edges for g in read_graphs(write("b", table))] == [4, 0, 6, 0]
    labeled = write("c.tsv", "label\tgraph6\nx\tDQc\nx\tC~\ny\tC?\nz\tA_\n")
    assert [(p.name, p.a.num_edges, p.b.num_edges) for p in read_pairs(labeled)] == [
        ("x-y", 4, 0),
        ("x-z", 4, 1),
        ("y-z", 0, 1),
    ]
    assert len(read_pairs(write("d.tsv", "graph6\nDQc\nC~\n"))) == 1


def test_pairings(write):
    path = write("a.g6", "C~\nC?\nA_\nA?\n")
    assert [p.name for p in read_pairs(path)] == ["0", "1"]
    assert [p.name for p in read_pairs(path, pairing="all")] == ["0-1", "0-2", "0-3", "1-2", "1-3", "2-3"]
    with pytest.raises(OsanError, match="pairing: expected 'consecutive' or 'all', got 'some'"):
        read_pairs(path, pairing="some")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.g6", "", "a.g6: expected at least one graph, got an empty file"),
        ("a.g6", " \n\n", "a.g6: expected at least one graph, got an empty file"),
        ("a.g6", ">>graph6<<\n", "a.g6: expected at least one graph, got none"),
        ("a.g6", "DQc\n\nDQ\n", "a.g6, line 3: graph6, truncated: expected 2 bytes"),
        ("a.g6", "DQc\n0 1\n", "a.g6, line 2: graph6: expected bytes 63 to 126, got byte 48 in column 1"),
        ("a.g6", "DQc\nDQd\n", "a.g6, line 2: graph6, damaged"),
        ("a.g6", b"DQc\n\xff\xfe\n", "line 2: graph6: expected bytes 63 to 126, got byte 255"),
        ("a.g6.gz", b"DQc\n", "a.g6.gz, line 1: the compressed file is cut off or damaged"),
        (
            "a.g6",
            gzip.compress(b"DQc\n" * 99, mtime=0)[:-9],
            "a.g6, line 100: the compressed file is cut off or damaged",
        ),
        (
            "a.g6",
            gzip.compress(b"DQc\n" * 99, mtime=0)[:12] + b"garbage garbage garbage",
            "the compressed file is cut off or damaged",
        ),
        ("a.txt", b"a b\nc \xff\n", "a.txt, line 2: expected UTF-8 text, got byte 0xff"),
        ("a.edges", "# nothing\n", "a.edges: expected lines .* got neither an edge nor a number of vertices"),
        ("a.edges", "0 1\n2\n", r"a.edges, line 2: expected an edge 'u v \[label\]', got '2'"),
        (
            "a.edges",
            "x\n0 1\n",
            "a.edges, line 1: expected the number of vertices, or an edge 'u v', got 'x'",
        ),
        ("a.edges", "# c\n3\n0 1\n1 3\n", "a.edges, line 4: expected a vertex from 0 to 2.* got 3"),
        ("a.edges", "1\na b\n", "a.edges: expected at most 1 vertex names, as in the first line, got 2"),
        ("a.txt", SAT.replace("2 1 2", "2 1 5"), "a.txt, line 3: expected neighbors from 0 to 2, got 5"),
        (
            "a.txt",
            SAT.replace("\n1 1 0\n2 0", "\n1 1 1\n2 0"),
            "line 3: expected every edge in both directions, got 0 to 2 only",
        ),
        ("a.txt", SAT.replace("7 0\n", ""), "a.txt, line 7: truncated, .* a vertex 'label degree"),
        ("a.txt", SAT + "9 9\n", "a.txt, line 9: expected the end after 2 graphs"),
        ("a.txt", SAT.replace("1 1 0\n2 0", "1 2 0\n2 0"), "line 5: .*as many neighbors as its degree"),
        ("a.txt", SAT.replace("1 1 0\n2 0", "1 x 0\n2 0"), "line 5: expected a vertex .*, got 'x'"),
        ("a.tsv", "a\tb\n", "a.tsv, line 1: expected a header with the tab-separated columns g6_a"),
        ("a.tsv", "g6_a\tg6_b\nDQc\n", "a.tsv, line 2: expected 2 columns, got 1"),
        ("a.tsv", "g6_a\tg6_b\nDQc\tDQ\n", "a.tsv, line 2: graph6, truncated"),
        ("a.tsv", "g6_a\tg6_b\nDQc\t>>graph6<<\n", "a.tsv, line 2: expected a graph in graph6"),
        (
            "a.tsv",
            "g6_a\tg6_b\tn_a\nDQc\tDQc\t6\n",
            "line 2: column n_a: expected 5, the graph's num_vertices, got '6'",
        ),
        (
            "a.tsv",
            "g6_a\tg6_b\tm_b\nDQc\tDQc\t5\n",
            "line 2: column m_b: expected 4, the graph's num_edges, got '5'",
        ),
        ("a.tsv", "g6_a\tg6_b\n", "a.tsv: expected at least one graph, got none"),
        (
            "a.smi",
            "CC\nC(C\n",
            r"a.smi, line 2: smiles: expected a SMILES string that RDKit reads, got 'C\(C'",
        ),
    ],
)
def test_bad_files(name, content, message, write):
    with pytest.raises(OsanError, match=message) as error:
        read_graphs(write(name, content))
    assert "\n" not in str(error.value)


def test_files_that_hold_no_pairs_or_cannot_be_read(write, tmp_path):
    with pytest.raises(OsanError, match=r"a.g6: expected an even number of graphs"):
        read_pairs(write("a.g6", "C~\nC?\nA_\n"))
    with pytest.raises(OsanError, match="expected at least one pair of graphs, got 1 graphs"):
        read_pairs(write("a.tsv", "label\tgraph6\nx\tC~\n"))
    with pytest.raises(OsanError, match=r"none.g6 cannot be read: No such file"):
        read_graphs(tmp_path / "none.g6")
    with pytest.raises(OsanError, match="cannot be read"):
        read_graphs(tmp_path)
    with pytest.raises(OsanError, match=r"format: expected one of graph6, .*, gml, graphml, got 'dot'"):
        read_graphs(write("a.g6", "C~\n"), format="dot")


TOKENS = st.sampled_from(
    [
        "0",
        "1",
        "2",
        "3",
        " ",
        "\n",
        "\t",
        "#",
        "a",
        ":",
        "&",
        "?",
        "~",
        "C",
        ">>graph6<<",
        "g6_a\tg6_b\n",
        "label\tgraph6\n",
        "é",
        "\r",
        "-1",
        "9" * 30,
    ]
)


@given(
    st.sampled_from(["f.g6", "f.edges", "f.txt", "f", "f.tsv", "f.smi", "f.gz"]),
    st.one_of(st.binary(max_size=60), st.lists(TOKENS, max_size=25).map(lambda t: "".join(t).encode())),
)
@example("f.gz", gzip.compress(b"C~", mtime=0)[:10])
@example("f", b"\xef\xbb\xbf3\n0 1\n")
@settings(max_examples=600, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_content_is_read_or_an_osan_error(write, name, content):
    path = write(name, content)
    for read in (read_graphs, read_pairs):
        with contextlib.suppress(OsanError):
            assert read(path)


@pytest.mark.parametrize("cut", range(len(SAT) - 1))
def test_no_beginning_of_a_sat_file_passes_for_the_whole(cut, write):
    with pytest.raises(OsanError, match=r"cut\.txt"):
        read_graphs(write("cut.txt", SAT[:cut]), format="sat")


def test_graph6_collections(osan_data):
    for file, count, n in [("graph8c/graph8c.g6", 11117, 8), ("SR/sr351668.g6", 3854, 35)]:
        start = time.process_time()
        graphs = read_graphs(osan_data / file)
        assert time.process_time() - start < 4
        assert len(graphs) == count
        assert {g.num_vertices for g in graphs} == {n}
        lines = (osan_data / file).read_bytes().split()
        for i in range(0, count, 97):
            assert edge_set(graphs[i]) == set(map(frozenset, nx.from_graph6_bytes(lines[i]).edges))
            assert encode_graph6(graphs[i]) == lines[i].decode()


def test_strongly_regular_collections(osan_data):
    """The file's name gives n, degree, lambda, mu."""
    for file, count, (n, d, common, other) in [
        ("sr251256", 15, (25, 12, 5, 6)),
        ("sr401224", 28, (40, 12, 2, 4)),
    ]:
        graphs = read_graphs(osan_data / "SR" / f"{file}.g6")
        assert len(graphs) == count
        for graph in graphs:
            a = np.zeros((n, n), dtype=int)
            a[tuple(graph.edges.T)] = 1
            a += a.T
            identity = np.eye(n, dtype=int)
            assert (a @ a == d * identity + common * a + other * (1 - identity - a)).all()
    assert len(read_pairs(osan_data / "SR" / "sr251256.g6", pairing="all")) == 105


def test_brec(osan_data):
    pairs = read_pairs(osan_data / "BREC" / "brec_pairs.tsv.gz")
    assert Counter(p.category for p in pairs) == {"Basic": 60, "Regular": 140, "Extension": 100, "CFI": 100}
    assert [p.name for p in pairs] == [str(i) for i in range(400)]
    for pair in pairs:
        assert sorted(np.bincount(pair.a.edges.ravel())) == sorted(np.bincount(pair.b.edges.ravel()))
    with gzip.open(osan_data / "BREC" / "brec_pairs.tsv.gz", "rt") as file:
        last = file.read().splitlines()[-1].split("\t")
    assert edge_set(pairs[-1].b) == set(map(frozenset, nx.from_graph6_bytes(last[-1].encode()).edges))


def test_csl(osan_data):
    assert len(read_graphs(osan_data / "CSL" / "csl.tsv")) == 150
    assert len(read_pairs(osan_data / "CSL" / "csl.tsv")) == 45


@pytest.mark.parametrize(
    ("file", "vertices", "edges"),
    [
        ("EXP/osan/EXP.txt", 44.55, 55.24),
        ("EXP/gnn-rni/GRAPHSAT_pkl.txt", 44.45, 55.11),
        ("EXP/gnn-rni/GRAPHSAT.txt", 48.70, 60.44),
        ("CEXP/osan/CEXP.txt", 43.81, 54.77),
        ("CEXP/gnn-rni/GRAPHSAT.txt", 55.78, 69.78),
    ],
)
def test_sat_collections(osan_data, file, vertices, edges):
    """The published averages, and pairs of equal size and labels."""
    pairs = read_pairs(osan_data / file)
    graphs = [graph for pair in pairs for graph in (pair.a, pair.b)]
    assert len(pairs) == 600
    assert round(sum(g.num_vertices for g in graphs) / 1200, 2) == vertices
    assert round(sum(g.num_edges for g in graphs) / 1200, 2) == edges
    assert {label for graph in graphs for label in graph.vertex_labels} == {0, 1}


def test_lines_that_take_far_more_memory_as_graphs(tmp_path, monkeypatch):
    path = tmp_path / "a.g6.gz"
    path.write_bytes(gzip.compress(b"A_\n" * 1_000_000))
    monkeypatch.setattr("osan.memory.free_memory", lambda: 10**9)
    with pytest.raises(OsanError, match=r"1000000 graphs needs about 1\.3 GB"):
        read_graphs(path)
