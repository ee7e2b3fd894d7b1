"""Wrong and absurd arguments: one kind of error, at once, that says what was expected."""

import pytest

from osan import graphs, wl
from osan.errors import OsanError, TooLarge
from osan.graphs import Graph

PATH, EDGE = Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1)])
HUGE = 10**30

WRONG = {
    "rounds: expected an integer, got 1.5": lambda: wl.refine([PATH, EDGE], rounds=1.5),
    "rounds: expected at least 0, got -1": lambda: wl.refine([PATH, EDGE], rounds=-1),
    "ordered: expected True or False, got 'no'": lambda: wl.WLTest("oswl", ordered="no"),
    "oblivious: expected True or False": lambda: wl.WLTest("wl", k=2, oblivious="no"),
    "mark_center: expected True or False": lambda: wl.WLTest("vs-oswl", what="ego", mark_center=0),
    "aggregations: expected names such as": lambda: wl.WLTest("swl", aggregations=3),
    "k: expected at most 64, got 1000000": lambda: wl.WLTest("oswl", k=10**6),
    "k: expected at most 64, got 65": lambda: wl.WLTest("wl", k=65),
    "k: expected at most 1000000, got 1000000000": lambda: wl.WLTest("oswl", k=10**9, ordered=False),
    "k: expected at most 1000000, got one of 20001 bits": lambda: wl.WLTest("oswl", k=2**20000),
    "hops: expected at most 1000000": lambda: wl.WLTest("nested", hops=HUGE),
    "graphs: expected a list of graphs, got int": lambda: wl.refine(3),
    "graphs: expected a list of graphs, got NoneType": lambda: wl.refine(None),
    "max_memory: expected an integer, got '4GB'": lambda: wl.refine([PATH], max_memory="4GB"),
    "levels: expected numbers, got 'a'": lambda: wl.enough(PATH, EDGE, levels="a"),
    "levels: expected numbers, got 3": lambda: wl.enough(PATH, EDGE, levels=3),
    "max_m: expected an integer, got 1.5": lambda: wl.enough(PATH, EDGE, max_m=1.5),
    "tests: expected a list of tests, got 3": lambda: wl.ladder(PATH, EDGE, tests=3),
    "max_k: expected an integer, got 1.5": lambda: wl.dimension(PATH, max_k=1.5),
    "order: expected a permutation of 0 to 2, got None": lambda: PATH.permuted(None),
    "order: expected a permutation of 0 to 2, got ((0,),": lambda: PATH.permuted(((0,), (1, 2))),
    "order: expected a permutation of 0 to 2, got (0.0,": lambda: PATH.permuted((0.0, 1.0, 2.0)),
    "num_vertices: expected at most 2147483647": lambda: Graph(HUGE),
    "vertex labels: expected a sequence of 2 labels, got dict": lambda: Graph(2, vertex_labels={0: 1}),
    "vertex labels: expected a sequence of 2 labels, got set": lambda: Graph(2, vertex_labels={0, 1}),
    "vertex labels: expected a sequence of 2 labels, got generator": lambda: Graph(
        2, vertex_labels=(i for i in range(2))
    ),
    "n: expected an integer, got 'a'": lambda: graphs.cycle_pair("a"),
    "n: expected at most 100000000, got 1000000000": lambda: graphs.cycle_pair(10**9),
    "n: expected at most 100000000, got 1000000000000": lambda: graphs.csl(10**12, 2),
    "n: expected an integer, got None": lambda: graphs.all_graphs(None),
    "connected: expected all connected graphs with 8": lambda: graphs.all_graphs(HUGE),
    "k: expected at most 64, got 1000000000": lambda: graphs.cfi_pair(10**9),
    "h: expected an integer, got 2.5": lambda: graphs.fuerer_grid_pair(2.5, 3),
    "h: expected an integer, got '2'": lambda: graphs.fuerer_grid_pair("2", 3),
    "n: expected an integer, got 3.0": lambda: graphs.fuerer_grid_pair(2, 3.0),
    "graphs: expected a list of graphs, got float": lambda: graphs.all_pairs(1.5),
    "graph6 text: expected text, got int": lambda: graphs.decode_graph6(10**12),
    "graph: expected an osan Graph, got str": lambda: graphs.encode_graph6("a"),
    "graph: expected an osan Graph, got list": lambda: graphs.to_networkx([1]),
    "graph: expected an osan Graph, got int": lambda: graphs.to_pyg(1),
    "graph: expected a networkx graph, got str": lambda: graphs.from_networkx("a"),
    "graph: expected a torch_geometric Data, got int": lambda: graphs.from_pyg(3),
    "edges: expected pairs (u, v)": lambda: graphs.from_edge_list([1]),
    "path: expected the name of a file, got 3": lambda: graphs.read_graphs(3),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments(message):
    with pytest.raises(OsanError) as caught:
        WRONG[message]()
    assert message in str(caught.value)


def test_subsets_that_are_many_are_refused_at_once():
    path = Graph(10**6, [(i, i + 1) for i in range(10)])
    with pytest.raises(TooLarge, match=r"needs about 9e\+295 TB"):
        wl.refine([path], "oswl", k=5 * 10**5, ordered=False, max_memory=10**9)


def test_the_memory_of_walks_is_that_of_the_walks():
    """A path of 60 vertices has 234 walks of three vertices, and 216,000 triples."""
    path = Graph(60, [(i, i + 1) for i in range(59)])
    coloring = wl.refine([path], "id", k=3, max_memory=3_000_000)
    assert len(coloring.subgraphs[0]) == 234
    assert coloring.subgraphs[0].tolist() == sorted(coloring.subgraphs[0].tolist())
    assert all(abs(a - b) == abs(b - c) == 1 for a, b, c in coloring.subgraphs[0].tolist())
