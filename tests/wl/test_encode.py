"""The flat arrays of a union of graphs, against the edges they were made of."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from osan.graphs import Graph
from osan.wl.encode import encode
from osan.wl.neighbor_kernels import by_vertex


@st.composite
def families(draw):
    """Up to four graphs, all directed or none, with loops, parallel edges, and maybe edge labels."""
    directed, labeled = draw(st.booleans()), draw(st.booleans())
    family = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(0, 5))
        vertex = st.integers(0, max(0, n - 1))
        edges = draw(st.lists(st.tuples(vertex, vertex), max_size=8 if n else 0))
        labels = draw(st.lists(st.sampled_from("ab"), min_size=len(edges), max_size=len(edges)))
        family.append(Graph(n, edges, directed=directed, edge_labels=labels if labeled else None))
    return family


@given(families())
@settings(max_examples=200, deadline=None)
def test_every_vertex_has_the_arcs_of_its_edges(family):
    encoded = encode(family)
    kinds = {}
    for g, graph in enumerate(family):
        expected = {v: [] for v in range(graph.num_vertices)}
        for e, (u, v) in enumerate(graph.edges.tolist()):
            label = None if graph.edge_labels is None else graph.edge_labels[e]
            expected[u].append((v, e, (label, "out" if graph.directed else "")))
            if graph.directed or u != v:
                expected[v].append((u, e, (label, "in" if graph.directed else "")))
        for v, arcs in expected.items():
            at = slice(*encoded.arc_ptr[encoded.vertex_ptr[g] + v :][:2])
            targets, edges = encoded.arc_target[at].tolist(), encoded.arc_edge[at].tolist()
            codes = encoded.arc_code[at].tolist() if encoded.arc_code.size else [0] * len(targets)
            # Codes are numbers for (label, direction): the same number if and only if those are the same.
            named = [kinds.setdefault(kind, code) for (_, _, kind), code in zip(arcs, codes, strict=False)]
            found = zip(targets, edges, codes, strict=True)
            wanted = [(target, e, code) for (target, e, _), code in zip(arcs, named, strict=True)]
            assert Counter(found) == Counter(wanted)
    assert len(set(kinds.values())) == len(kinds)


@given(families())
@settings(max_examples=100, deadline=None)
def test_relation_tells_apart_how_two_vertices_are_joined(family):
    encoded = encode(family)
    joined = {}
    for g, graph in enumerate(family):
        n = graph.num_vertices
        matrix = encoded.relation[encoded.relation_ptr[g] : encoded.relation_ptr[g + 1]].reshape(n, n)
        for u, v in np.ndindex(n, n):
            arcs = Counter()
            for e, (a, b) in enumerate(graph.edges.tolist()):
                label = None if graph.edge_labels is None else graph.edge_labels[e]
                if (a, b) == (u, v):
                    arcs[label, "out" * graph.directed] += 1
                if (b, a) == (u, v) and (graph.directed or u != v):
                    arcs[label, "in" * graph.directed] += 1
            number = int(matrix[u, v])
            assert joined.setdefault(frozenset(arcs.items()), number) == number
            assert (number == 0) == (not arcs)
    assert len(set(joined.values())) == len(joined)


@given(families(), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_the_number_of_threads_does_not_matter(family, parts):
    """Vertices divided among threads: the same arcs in the same order."""
    encoded = encode(family)
    edges = np.concatenate([graph.edges for graph in family])
    edges.setflags(write=False)
    arguments = (edges, edges, encoded.edge_ptr, encoded.vertex_ptr, family[0].directed)
    ptr, arcs = by_vertex(*arguments, parts, use=1)
    assert (ptr == encoded.arc_ptr).all()
    assert (arcs == encoded.arc_target).all()
