"""Planted motif, generated CSL, and the corpora."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from osan import wl
from osan.data import brec, graph8c, load, planted_motif, relabeled, strongly_regular
from osan.errors import OsanError
from osan.graphs import to_networkx


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_planted_motif_is_a_tree_with_one_triangle_that_holds_the_target(seed):
    for data in planted_motif(3, seed):
        graph = nx.Graph(data.edge_index.t().tolist())
        assert 14 <= data.num_nodes <= 20
        assert nx.is_connected(graph)
        assert graph.number_of_nodes() == graph.number_of_edges() == data.num_nodes
        (cycle,) = nx.cycle_basis(graph)
        assert len(cycle) == 3
        assert data.y.item() == data.x[cycle].sum().item()
        assert set(data.x[:, 0].tolist()) <= {0, 1}


def test_planted_motif_seeds_and_sizes():
    first, again, other = (planted_motif(20, seed) for seed in (1, 1, 2))
    assert all(
        torch.equal(a.edge_index, b.edge_index) and torch.equal(a.x, b.x)
        for a, b in zip(first, again, strict=True)
    )
    assert any(not torch.equal(a.x, b.x) for a, b in zip(first, other, strict=True))
    sizes = {data.num_nodes for data in planted_motif(300, 0)}
    assert sizes == set(range(14, 21))
    targets = torch.cat([data.y for data in planted_motif(2000, 3)])
    assert abs(float(targets.mean()) - 1.5) < 4 * (0.75 / 2000) ** 0.5
    with pytest.raises(OsanError, match="num_graphs: expected at least 1"):
        planted_motif(0, 0)


@pytest.mark.parametrize("name", ["planted-motif", "csl-generated", "twisted-pairs"])
def test_labels_of_generated_graphs_are_categories_in_range(name):
    task = load(name)
    x = task.train.tensors["x"]
    assert x.dtype == torch.long
    assert int(x.min()) >= 0
    assert int(x.max()) < task.vertex_features.sizes[0]


def test_generated_csl_equals_the_published_classes(osan_data, real_cache):
    published = load("csl", osan_data, cache=real_cache)
    generated = load("csl-generated")

    def representatives(task):
        graphs = task.train.subset(torch.arange(150))
        return [graphs[int(i)] for i in [(graphs.y == c).nonzero()[0] for c in range(10)]]

    classes = [nx.Graph(data.edge_index.t().tolist()) for data in representatives(generated)]
    others = [nx.Graph(data.edge_index.t().tolist()) for data in representatives(published)]
    # The spectra tell which class must be which; isomorphism is then tested in full.
    for graph in classes:
        spectrum = nx.adjacency_spectrum(graph)
        matches = [
            h for h in others if np.allclose(np.sort(spectrum.real), np.sort(nx.adjacency_spectrum(h).real))
        ]
        assert len(matches) == 1
        assert nx.vf2pp_is_isomorphic(graph, matches[0])


def test_brec(osan_data):
    pairs = brec(osan_data)
    assert len(pairs) == 400
    counts = {}
    for pair in pairs:
        counts[pair.category] = counts.get(pair.category, 0) + 1
        assert pair.a.num_vertices == pair.b.num_vertices
        assert pair.a.num_edges == pair.b.num_edges
    assert counts == {"Basic": 60, "Regular": 140, "Extension": 100, "CFI": 100}


def test_relabeled_copies_are_isomorphic_and_fixed_by_the_seed(osan_data):
    pair = brec(osan_data)[3]
    copies, again, other = (relabeled(pair, 4, seed) for seed in (5, 5, 6))
    assert all(np.array_equal(p.a.edges, q.a.edges) for p, q in zip(copies, again, strict=True))
    assert any(not np.array_equal(p.a.edges, q.a.edges) for p, q in zip(copies, other, strict=True))
    for copy in copies:
        assert copy.category == pair.category
        assert nx.vf2pp_is_isomorphic(to_networkx(copy.a), to_networkx(pair.a))
        assert nx.vf2pp_is_isomorphic(to_networkx(copy.b), to_networkx(pair.b))
        assert not np.array_equal(copy.a.edges, pair.a.edges)
    with pytest.raises(OsanError, match="copies: expected at least 1"):
        relabeled(pair, 0, 0)


@pytest.mark.parametrize(
    ("family", "count"), [("sr16622", 2), ("sr251256", 15), ("sr261034", 10), ("sr281264", 4)]
)
def test_strongly_regular_families_have_their_parameters(osan_data, family, count):
    graphs = strongly_regular(family, osan_data)
    assert len(graphs) == count
    n, degree, shared, mutual = int(family[2:4]), *_parameters(family)
    for graph in graphs:
        a = nx.to_numpy_array(to_networkx(graph))
        eye, ones = np.eye(n), np.ones((n, n))
        np.testing.assert_array_equal(a @ a, degree * eye + shared * a + mutual * (ones - eye - a))


def _parameters(family):
    return {"sr16622": (6, 2, 2), "sr251256": (12, 5, 6), "sr261034": (10, 3, 4), "sr281264": (12, 6, 4)}[
        family
    ]


def test_graph8c(osan_data):
    graphs = graph8c(osan_data)
    assert len(graphs) == 11_117
    assert {graph.num_vertices for graph in graphs} == {8}
    assert all(nx.is_connected(to_networkx(graph)) for graph in graphs[::500])
    assert (
        len({(g.num_edges, tuple(sorted(np.bincount(g.edges.ravel(), minlength=8)))) for g in graphs}) > 500
    )


def test_missing_corpora(tmp_path, monkeypatch):
    monkeypatch.delenv("OSAN_DATA", raising=False)
    with pytest.raises(OsanError, match=r"brec_pairs\.tsv\.gz: expected this file in .*OSAN_DATA"):
        brec()
    (tmp_path / "SR").mkdir()
    with pytest.raises(OsanError, match="family: expected one of none, got 'sr251256'"):
        strongly_regular(root=tmp_path)


def test_a_blind_network_cannot_beat_half_on_generated_pairs():
    """1-WL sees no difference between the graphs of a pair, and the classes are even."""
    task = load("twisted-pairs", k=1, num_pairs=2, copies=3)
    graphs = list(task.test)
    assert not wl.distinguishes(graphs[0], graphs[1], "wl")
    assert task.test.y.mean() == 0.5
