"""One round of a test, from colors to finer ones, and rounds until the colors are stable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from osan.wl import neighbor_kernels, relabel
from osan.wl.copies import Copies, make_copies
from osan.wl.encode import Colors, Encoded, Ints, pointers
from osan.wl.relabel import combine, multisets, split_classes
from osan.wl.settings import Test

# Colors and whether to compare signatures exactly; returns finer colors and their number.
Step = Callable[[Colors, bool], tuple[Colors, int]]
# Told the round and the number of colors.
Progress = Callable[[int, int], None]


def copies_step(encoded: Encoded, test: Test, copies: Copies) -> Step:
    """A copy sees the multiset of its neighbors' colors in the subgraph, or of everyone's."""
    if test.neighborhood == "all":
        sizes = encoded.sizes[copies.graph]

        def everyone(colors: Colors, verify: bool) -> tuple[Colors, int]:
            finer = combine(colors, np.repeat(multisets(colors, copies.copy_ptr), sizes))
            return finer, int(finer.max(initial=-1)) + 1

        return everyone
    first_vertex = encoded.vertex_ptr[copies.graph]
    arc_edge = encoded.arc_edge if copies.edge_mode else np.empty(0, dtype=np.int32)
    arcs = (encoded.arc_ptr, encoded.arc_target, encoded.arc_code, arc_edge, copies.members)
    degrees = np.diff(encoded.arc_ptr).astype(np.uint64)
    only_degrees = test.name == "wl" and not encoded.arc_code.size

    def neighbors(colors: Colors, verify: bool) -> tuple[Colors, int]:
        # The first round on graphs without labels: neighbors all alike, so their number says it all.
        if only_degrees and not colors.any():
            ids, first = relabel.relabel(degrees, colors)
            return ids, len(first)
        where = (colors, copies.copy_ptr, first_vertex, *arcs, copies.edge_mode)
        return split_classes(
            colors,
            lambda places, salt: neighbor_kernels.neighbor_words(places, *where, salt, relabel.HASH_MASK),
            lambda places, ids, first: neighbor_kernels.neighbor_mismatches(
                ids, first, places, *where, encoded.max_degree
            ),
            verify,
        )

    return neighbors


def dss_step(encoded: Encoded, copies: Copies) -> Step:
    """DSS-WL (Bevilacqua et al. 2022): a copy also sees C(v) over all subgraphs, and its neighbors' C(u)."""
    test = Test("dss")
    within = copies_step(encoded, test, copies)
    whole = make_copies(encoded, Test("wl"))
    across = copies_step(encoded, Test("wl"), whole)
    vertex = _vertex(encoded, copies)

    def step(colors: Colors, verify: bool) -> tuple[Colors, int]:
        shared, _ = across(per_vertex(encoded, copies, colors), verify)
        finer = combine(within(colors, verify)[0], shared[vertex])
        return finer, int(finer.max(initial=-1)) + 1

    return step


def kernel_step(encoded: Encoded, test: Test, copies: Copies) -> Step:
    """GNN-as-kernel: refine inside all ego-nets, color each vertex by its own, start again with that.

    As in Zhao et al. (2022), a vertex keeps its own color in its ego-net beside the multiset of the net's,
    so that repeating only refines.
    """
    center = copies.copy_ptr[:-1] + copies.members[:, 0]
    vertex = _vertex(encoded, copies)
    local = copies_step(encoded, test, copies)

    def step(colors: Colors, verify: bool) -> tuple[Colors, int]:
        start = np.where(copies.start >= 0, colors[vertex], -1).astype(np.int32)
        trail, *_ = iterate(start, local, None, False, None, None)
        finer = combine(trail[-1][center], multisets(trail[-1], copies.copy_ptr))
        return finer, int(finer.max(initial=-1)) + 1

    return step


def _vertex(encoded: Encoded, copies: Copies) -> Ints:
    """The vertex of the union that each copy is one of."""
    sizes = encoded.sizes[copies.graph]
    first = np.repeat(encoded.vertex_ptr[copies.graph] - copies.copy_ptr[:-1], sizes)
    return first + np.arange(copies.copy_ptr[-1])


def per_vertex(encoded: Encoded, copies: Copies, colors: Colors) -> Colors:
    """The multiset of colors of each vertex over the subgraphs that have it."""
    counts = np.diff(copies.subgraph_ptr)
    parts = np.split(colors, copies.copy_ptr[copies.subgraph_ptr[1:-1]])
    rows = [
        part.reshape(int(s), int(n)).T.ravel()
        for part, s, n in zip(parts, counts, encoded.sizes, strict=True)
    ]
    return multisets(np.concatenate(rows), pointers(np.repeat(counts, encoded.sizes)))


def iterate(
    start: Colors,
    step: Step,
    rounds: int | None,
    history: bool,
    progress: Progress | None,
    differ: Callable[[Colors], bool] | None,
) -> tuple[list[Colors], int, bool, bool]:
    """Refine until no class splits, ``rounds`` are over, or ``differ`` says so.

    Where only the verdict counts, signatures are compared exactly in the last round only. Equal signatures
    have equal hashes, so at any time the classes are at most too coarse, and they refine the first ones; a
    coloring that is too coarse, yet stable by exact comparison, would be coarser than the coarsest one.
    """
    colors, first = relabel.relabel(start.astype(np.uint64), start)
    count, done, stable = len(first), 0, False
    trail = [colors]
    while not (found := differ is not None and differ(colors)) and (rounds is None or done < rounds):
        finer, finer_count = step(colors, differ is None)
        if differ is not None and finer_count == count:
            finer, finer_count = step(colors, True)
        if finer_count == count:
            stable = True
            break
        colors, count, done = finer, finer_count, done + 1
        trail = [*trail, colors] if history else [colors]
        if progress is not None:
            progress(done, count)
    return trail, done, stable, found
