"""Certificates: every one is checked without a refinement, and a wrong one is noticed."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import brute
import numpy as np
import pytest
from checker import holds

from osan.errors import OsanError
from osan.graphs import Graph, cfi_pair, cycle_pair, read_graphs, read_pairs, rook_4x4, shrikhande
from osan.wl import WLTest, draw_certificate, explain, refine
from osan.wl.certificate_text import in_words
from osan.wl.encode import encode
from osan.wl.reasons import Arcs

TESTS = [
    WLTest("wl"),
    WLTest("wl", 2),
    WLTest("wl", 2, oblivious=True),
    WLTest("wl", 3),
    WLTest("oswl", 0),
    WLTest("oswl", 1),
    WLTest("oswl", 2),
    WLTest("oswl", 1, neighborhood="all"),
    WLTest("oswl", 2, ordered=False),
    WLTest("vs-oswl", 1),
    WLTest("vs-oswl", 1, operation="delete"),
    WLTest("vs-oswl", 2, operation="select"),
    WLTest("vs-oswl", 1, what="edge"),
    WLTest("vs-oswl", 1, what="edge", operation="select"),
    WLTest("vs-oswl", what="ego", hops=1, mark_center=True),
    WLTest("id", hops=2),
    WLTest("nested", hops=1),
    WLTest("dss", 1),
    WLTest("dss", 1, operation="delete"),
    WLTest("swl"),
    WLTest("vs-pswl"),
    WLTest("gswl"),
    WLTest("vs-sswl"),
    WLTest("swl", aggregations="Lu+Gu+Puu+Pvu"),
]


def random_pair(rng: np.random.Generator) -> tuple[Graph, Graph]:
    """Two graphs with up to 6 vertices, alike enough not to differ at once."""
    n, directed = int(rng.integers(1, 7)), bool(rng.random() < 0.2)
    m = int(rng.integers(0, 2 * n))
    labels = [f"{i % 2}" for i in range(n)] if rng.random() < 0.3 else None
    kinds = [("a", None, 2)[i % 3] for i in range(m)] if rng.random() < 0.3 else None
    one, other = (
        Graph(n, rng.integers(0, n, (m, 2)), directed=directed, vertex_labels=labels, edge_labels=kinds)
        for _ in range(2)
    )
    return one, other


@pytest.mark.parametrize("test", TESTS, ids=str)
def test_random_pairs(test):
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(12):
        pair = random_pair(rng)
        certificate = explain(*pair, test)
        assert (certificate is None) == refine(pair, test).same(0, 1)
        if certificate is None:
            continue
        found += 1
        assert holds(certificate, *pair)
        assert str(certificate).startswith(f"{test} separates the graphs")
        if certificate.round:  # no earlier round separates them
            _, (one, other), _ = brute.refine(list(pair), test, certificate.round - 1)
            assert one == other
    assert found > 5


@pytest.mark.parametrize(
    ("pair", "test"),
    [
        (cycle_pair(3), WLTest("oswl", 1)),
        (cycle_pair(4), WLTest("wl", 2)),
        (cfi_pair(2), WLTest("vs-oswl", 1)),
        (cfi_pair(2, colors=False), WLTest("sswl")),
        ((rook_4x4(), shrikhande()), WLTest("vs-oswl", 2, ordered=False)),
    ],
    ids=lambda x: str(x) if isinstance(x, WLTest) else "",
)
def test_hard_pairs(pair, test):
    certificate = explain(*pair, test)
    assert holds(certificate, *pair)
    # Of other graphs, and with other counts, it says nothing.
    assert not holds(certificate, pair[0], pair[0])
    assert not holds(replace(certificate, counts=(certificate.counts[0] + 1, certificate.counts[1])), *pair)
    wrong = replace(certificate.reasons[0], seen=dict.fromkeys(certificate.reasons[0].seen, "nothing"))
    assert not holds(replace(certificate, reasons=(wrong, *certificate.reasons[1:])), *pair)


def test_what_is_not_separated_has_no_certificate():
    assert explain(*cycle_pair(3)) is None
    assert explain(rook_4x4(), shrikhande(), "wl", 2) is None
    with pytest.raises(OsanError, match="expected one whose colors can be explained, got GNN-as-kernel"):
        explain(*cycle_pair(3), "kernel")


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("word", ["mark", "entry"])
def test_different_atomic_types_have_different_words(directed, word):
    """Loops of all entries, labels and numbers of edges: nothing that a color depends on is left out."""
    rng = np.random.default_rng(0)
    words: dict[object, str] = {}
    for _ in range(150):
        m = int(rng.integers(0, 6))
        kinds = [("a", None, 2)[i] for i in rng.integers(0, 3, m)] if rng.random() < 0.5 else None
        labels = [("x", None)[i] for i in rng.integers(0, 2, 3)] if rng.random() < 0.5 else None
        graph = Graph(
            3, rng.integers(0, 3, (m, 2)), directed=directed, vertex_labels=labels, edge_labels=kinds
        )
        arcs = Arcs(encode([graph]))
        for entries in product(range(3), repeat=int(rng.integers(1, 4))):
            words[arcs.atomic_type(0, entries)] = in_words(arcs.atomic_type(0, entries), word)
    assert len(words) > 500
    assert len(set(words.values())) == len(words)


def test_loops_in_words():
    one, other = Graph(3, [(0, 1), (1, 2), (2, 2)]), Graph(3, [(0, 1), (1, 2), (1, 1)])
    assert "mark 1: not adjacent, loop\n" in f"{explain(one, other, 'oswl')}\n"
    loops = [Graph(1, [(0, 0)], edge_labels=[label]) for label in "ab"]
    assert "label none, loop ('a'); entry 2: itself" in str(explain(*loops, "wl", 2))
    twice = explain(Graph(1, [(0, 0)] * 2), Graph(1, [(0, 0)]), "wl", 2)
    assert "label none, loop x 2; entry 2: itself" in str(twice)
    arc = explain(Graph(1, [(0, 0)], directed=True), Graph(1, directed=True), "wl", 2)
    assert "label none, loop; entry 2: itself" in str(arc)


def test_one_unit_has_its_subgraphs_and_several_have_theirs():
    star, path = Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3)])
    assert "1 vertex of the first graph has the colors 3 x c1, c0 over its subgraphs" in str(
        explain(star, path, "oswl")
    )
    assert "6 vertices of the first graph have" in str(explain(*cycle_pair(3), "oswl"))
    assert "over their subgraphs, and 0" in str(explain(*cycle_pair(3), "oswl"))


def test_labels_without_a_portable_text():
    """Sets are equal whatever the order in which they are written."""
    forth, back = frozenset([8, 0]), frozenset([0, 8])
    one = Graph(3, [(0, 1), (1, 2)], vertex_labels=[forth, back, forth], edge_labels=[forth, back])
    other = Graph(3, [(0, 1), (1, 2)], vertex_labels=[forth] * 3, edge_labels=[forth, frozenset()])
    certificate = explain(one, other)
    name = f"(1: {forth!r})"
    assert f"label {name}" in str(certificate)
    assert f"neighbors: 2 x {name} c1" in str(certificate) or f"neighbors: {name} c1" in str(certificate)
    same = Graph(3, [(0, 1), (1, 2)], vertex_labels=[back] * 3, edge_labels=[back, forth])
    assert explain(one, same) is None


def test_pictures():
    certificate = explain(*cycle_pair(3), "dss")
    texts = [text.get_text() for text in draw_certificate(certificate).axes[0].texts]
    assert {f"c{i}" for i in range(len(certificate.reasons))} <= set(texts)
    assert "label none\nmark 1: adjacent" in texts
    with pytest.raises(OsanError, match="expected at most 80 colors to draw"):
        draw_certificate(replace(certificate, reasons=certificate.reasons * 20))


def test_published_pairs(osan_data):
    """A part of BREC and SR25; benchmarks/certificates.py verifies all of them, which takes minutes."""
    pairs = read_pairs(osan_data / "BREC" / "brec_pairs.tsv.gz")
    for i in (0, 30, 70, 100, 170, 250):
        pair = pairs[i]
        assert holds(explain(pair.a, pair.b, "oswl", ordered=False), pair.a, pair.b)
    one, other = read_graphs(osan_data / "SR" / "sr251256.g6")[:2]
    assert holds(explain(one, other, "vs-oswl", 2, ordered=False), one, other)
