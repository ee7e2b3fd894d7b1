"""What does not fit is rejected before anything is allocated, and what is too small for subsets is seen."""

import tracemalloc

import pytest
import torch
from torch_geometric.data import Batch

from osan import bags
from osan.errors import OsanError, TooLarge
from osan.graphs import Graph, decode_graph6, encode_graph6, read_graphs, to_networkx, to_pyg
from osan.wl import WLTest, distinguishes, refine


def claims(tmp_path, how):
    """A graph with a thousand million vertices and hardly any edge, in a few bytes."""
    if how == "sparse6":
        return decode_graph6(encode_graph6(Graph(10**9, [(0, 1)])))
    (tmp_path / "a.edges").write_text("1000000000\n0 1\n")
    return read_graphs(tmp_path / "a.edges")[0]


@pytest.mark.parametrize("how", ["sparse6", "edges"])
@pytest.mark.parametrize("use", [refine, to_networkx])
def test_a_huge_number_of_vertices_is_rejected_before_memory_is_taken(how, use, tmp_path):
    graph = claims(tmp_path, how)
    assert graph.num_vertices >= 10**9
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge, match=r"needs about \d+\.\d GB"):
            use([graph] if use is refine else graph)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("test", [("oswl", {}), ("oswl", {"ordered": False}), ("wl", {})])
def test_a_huge_k_is_rejected_at_once(test):
    name, settings = test
    k = 100_000 if settings == {} else 10**12
    with pytest.raises(OsanError, match=r"k: expected at most \d+, got 1000"):
        distinguishes(Graph(3), Graph(3), name, k=k, **settings)


def members(bag):
    """Vertices that are there, marks and arcs of each subgraph of a bag, in order."""
    out = []
    for s in range(bag.num_subgraphs):
        copies = (bag.subgraph == s).nonzero().flatten()
        marks = [] if bag.mark is None else bag.vertex[copies[bag.mark[copies] > 0]].tolist()
        arcs = bag.vertex[bag.edge_index[:, bag.subgraph[bag.edge_index[0]] == s]]
        out.append((bag.vertex[copies].tolist(), marks, sorted(map(tuple, arcs.t().tolist()))))
    return out


GRAPHS = [Graph(1), Graph(2, [(0, 1)]), Graph(4, [(0, 1), (1, 2)]), Graph(5, [(0, 1), (1, 2), (3, 4)])]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: f"n={graph.num_vertices}")
@pytest.mark.parametrize("what", ["vertex", "edge"])
@pytest.mark.parametrize("operation", ["delete", "select"])
@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_the_subgraphs_of_a_test_are_those_of_the_bag(graph, what, operation, k):
    """One vocabulary: the same vertices in the same number of subgraphs, in the same order."""
    coloring = refine([graph], WLTest("vs-oswl", k, what=what, operation=operation))
    make = bags.all_edges if what == "edge" else bags.all_subsets
    bag = make(Batch.from_data_list([to_pyg(graph)]), k, operation=operation)
    seen = [torch.from_numpy(row >= 0).nonzero().flatten().tolist() for row in coloring.colors[0]]
    assert seen == [vertices for vertices, _, _ in members(bag)]
