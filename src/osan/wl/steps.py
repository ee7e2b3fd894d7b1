"""One round of a test: from colours to finer ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from osan.wl import neighbour_kernels, relabel
from osan.wl.copies import Copies, make_copies
from osan.wl.encode import Colours, Encoded, pointers
from osan.wl.relabel import combine, multisets, split_classes
from osan.wl.settings import Test

# Colours and whether to compare signatures exactly; returns finer colours and their number.
Step = Callable[[Colours, bool], tuple[Colours, int]]


def copies_step(encoded: Encoded, test: Test, copies: Copies) -> Step:
    if test.neighbourhood == "all":
        sizes = encoded.sizes[copies.graph]

        def everyone(colours: Colours, verify: bool) -> tuple[Colours, int]:
            finer = combine(colours, np.repeat(multisets(colours, copies.copy_ptr), sizes))
            return finer, int(finer.max(initial=-1)) + 1

        return everyone
    first_vertex = encoded.vertex_ptr[copies.graph]
    arc_edge = encoded.arc_edge if copies.edge_mode else np.empty(0, dtype=np.int32)
    arcs = (encoded.arc_ptr, encoded.arc_target, encoded.arc_code, arc_edge, copies.members)
    degrees = np.diff(encoded.arc_ptr).astype(np.uint64)
    only_degrees = test.name == "wl" and not encoded.arc_code.size

    def neighbours(colours: Colours, verify: bool) -> tuple[Colours, int]:
        # The first round on graphs without labels: neighbours all alike, so their number says it all.
        if only_degrees and not colours.any():
            ids, first = relabel.relabel(degrees, colours)
            return ids, len(first)
        where = (colours, copies.copy_ptr, first_vertex, *arcs, copies.edge_mode)
        return split_classes(
            colours,
            lambda places, salt: neighbour_kernels.neighbour_words(places, *where, salt, relabel.HASH_MASK),
            lambda places, ids, first: neighbour_kernels.neighbour_mismatches(
                ids, first, places, *where, encoded.max_degree
            ),
            verify,
        )

    return neighbours


def dss_step(encoded: Encoded, copies: Copies) -> Step:
    """DSS-WL (Bevilacqua et al. 2022): a copy also sees C(v) over all subgraphs, and its neighbours' C(u)."""
    test = Test("dss")
    within = copies_step(encoded, test, copies)
    whole = make_copies(encoded, Test("wl"))
    across = copies_step(encoded, Test("wl"), whole)
    sizes = encoded.sizes[copies.graph]
    vertex = np.arange(copies.copy_ptr[-1]) - np.repeat(copies.copy_ptr[:-1], sizes)
    place = np.repeat(encoded.vertex_ptr[copies.graph], sizes) + vertex

    def step(colours: Colours, verify: bool) -> tuple[Colours, int]:
        shared, _ = across(per_vertex(encoded, copies, colours), verify)
        finer = combine(within(colours, verify)[0], shared[place])
        return finer, int(finer.max(initial=-1)) + 1

    return step


def per_vertex(encoded: Encoded, copies: Copies, colours: Colours) -> Colours:
    """The multiset of colours of each vertex over the subgraphs that have it."""
    counts = np.diff(copies.subgraph_ptr)
    parts = np.split(colours, copies.copy_ptr[copies.subgraph_ptr[1:-1]])
    rows = [
        part.reshape(int(s), int(n)).T.ravel()
        for part, s, n in zip(parts, counts, encoded.sizes, strict=True)
    ]
    return multisets(np.concatenate(rows), pointers(np.repeat(counts, encoded.sizes)))
