"""Published corpora: what is known of them must come out."""

from osan.graphs import read_graphs, read_pairs
from osan.wl import WLTest, refine, survey_graphs, survey_pairs


def test_brec(osan_data):
    """2-WL separates 270 of the 400 pairs (Wang and Zhang 2023), 1-WL none."""
    pairs = read_pairs(osan_data / "BREC" / "brec_pairs.tsv.gz")
    rows = survey_pairs(pairs, [WLTest("wl"), WLTest("wl", 2)])
    assert sum(row.pairs for row in rows) == 400
    assert sum(row.separated["1-WL"] for row in rows) == 0
    assert sum(row.separated["2-WL"] for row in rows) == 270


def test_exp(osan_data):
    """1-WL separates none of the 600 pairs (Abboud et al. 2021), one marked vertex all of them."""
    pairs = read_pairs(osan_data / "EXP" / "osan" / "EXP.txt")
    (row,) = survey_pairs(pairs, [WLTest("wl"), WLTest("vs-oswl", 1)])
    assert (row.pairs, row.separated["1-WL"]) == (600, 0)
    assert row.separated["vertex-subgraph 1-OSWL"] == 600


def test_strongly_regular_graphs(osan_data):
    """2-WL separates no two strongly regular graphs with the same parameters; 3-WL separates SR25."""
    row = survey_graphs(read_graphs(osan_data / "SR" / "sr251256.g6"), [WLTest("wl", 2), WLTest("wl", 3)])
    assert (row.pairs, row.separated["2-WL"], row.separated["3-WL"]) == (105, 0, 105)


def test_csl(osan_data):
    """1-WL gives all 150 graphs one color; 1-OSWL finds exactly the ten classes."""
    graphs = read_graphs(osan_data / "CSL" / "csl.tsv")
    assert len(set(refine(graphs).graph_colors.tolist())) == 1
    assert len(set(refine(graphs, "oswl", k=1).graph_colors.tolist())) == 10


def test_graph8c(osan_data):
    """1-WL leaves 312 of all pairs of connected graphs on 8 vertices (Balcilar et al. 2021), 2-WL none."""
    graphs = read_graphs(osan_data / "graph8c" / "graph8c.g6")
    row = survey_graphs(graphs, [WLTest("wl"), WLTest("wl", 2)])
    assert row.pairs == 61_788_286
    assert row.pairs - row.separated["1-WL"] == 312
    assert row.pairs - row.separated["2-WL"] == 0
