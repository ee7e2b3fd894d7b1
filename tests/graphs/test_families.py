"""Small families against their defining properties, networkx and real files."""

import networkx as nx
import numpy as np
import pytest

from osan.errors import OsanError
from osan.graphs import (
    bicyclopentyl,
    csl,
    cycle_pair,
    decalin,
    from_smiles,
    read_graphs,
    rook_4x4,
    shrikhande,
    to_networkx,
)


@pytest.mark.parametrize(("n", "s"), [(5, 2), (8, 3), (9, 7), (10, 4), (41, 16)])
def test_csl_is_a_circulant(n, s, isomorphic):
    graph = to_networkx(csl(n, s))
    assert {d for _, d in graph.degree} == {4}
    assert nx.is_isomorphic(graph, nx.circulant_graph(n, [1, s]))


@pytest.mark.parametrize(("n", "s"), [(8, 1), (8, 4), (8, 7), (4, 2), (0, 0)])
def test_csl_refuses_other_skips(n, s):
    with pytest.raises(OsanError, match=f"got n = {n}, s = {s}"):
        csl(n, s)


def test_csl_files(osan_data, isomorphic):
    """The ten classes of the dataset are these skips, fifteen graphs each."""
    graphs = read_graphs(osan_data / "CSL" / "csl.tsv")
    for i, s in enumerate([2, 3, 4, 5, 6, 9, 11, 12, 13, 16]):
        assert isomorphic(graphs[15 * i], csl(41, s))


@pytest.mark.parametrize("make", [rook_4x4, shrikhande])
def test_strongly_regular(make):
    a = nx.to_numpy_array(to_networkx(make()))
    identity, ones = np.eye(16), np.ones((16, 16))
    assert (a @ a == 6 * identity + 2 * a + 2 * (ones - identity - a)).all()


def test_rook_and_shrikhande_differ(isomorphic, wl_equal):
    rook, other = rook_4x4(), shrikhande()
    assert not isomorphic(rook, other)
    assert wl_equal(rook, other)
    # A vertex's neighbors form two triangles in one, a hexagon in the other.
    graphs = [to_networkx(graph) for graph in (rook, other)]
    pieces = [nx.number_connected_components(graph.subgraph(graph[0])) for graph in graphs]
    assert pieces == [2, 1]


def test_strongly_regular_file(osan_data, isomorphic):
    graphs = read_graphs(osan_data / "SR" / "sr16622.g6")
    assert sorted([isomorphic(g, rook_4x4()), isomorphic(g, shrikhande())] for g in graphs) == [
        [False, True],
        [True, False],
    ]


@pytest.mark.parametrize("n", [3, 4, 7])
def test_cycle_pair(n, wl_equal):
    one, two = cycle_pair(n)
    assert nx.is_isomorphic(to_networkx(one), nx.cycle_graph(2 * n))
    assert nx.is_isomorphic(to_networkx(two), nx.disjoint_union(nx.cycle_graph(n), nx.cycle_graph(n)))
    assert wl_equal(one, two)


def test_cycles_need_three_vertices():
    with pytest.raises(OsanError, match="n: expected at least 3, got 2"):
        cycle_pair(2)


def test_decalin_and_bicyclopentyl(isomorphic, wl_equal):
    pair = decalin(), bicyclopentyl()
    assert [(g.num_vertices, g.num_edges) for g in pair] == [(10, 11), (10, 11)]
    for graph, smiles in zip(pair, ("C1CCC2CCCCC2C1", "C1CCCC1C1CCCC1"), strict=True):
        assert isomorphic(graph, from_smiles(smiles).without_labels())
    assert not isomorphic(*pair)
    assert wl_equal(*pair)
    # Even the atoms' labels do not help.
    assert wl_equal(from_smiles("C1CCC2CCCCC2C1"), from_smiles("C1CCCC1C1CCCC1"))
