"""One round of a test, from colors to finer ones, and rounds until the colors are stable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from osan.wl import neighbor_kernels, relabel
from osan.wl.changed import Changed
from osan.wl.copies import Copies, vertex_of, whole_graphs
from osan.wl.encode import Colors, Encoded, pointers
from osan.wl.relabel import combine, multisets, split_classes

if TYPE_CHECKING:
    from osan.wl.settings import WLTest

# Takes colors and whether to compare signatures exactly; returns finer colors and their number.
Step = Callable[[Colors, bool], tuple[Colors, int]]
# Called with the round and the number of colors.
Progress = Callable[[int, int], None]


def within_step(encoded: Encoded, test: WLTest, copies: Copies) -> Step:
    """A copy sees the copies of its subgraph in the neighborhood of the test: N(v) or V(G)."""
    return (everyone_step if test.neighborhood == "all" else neighbors_step)(encoded, copies)


def within_changed(encoded: Encoded, test: WLTest, copies: Copies) -> Changed | None:
    """The rounds of :func:`within_step` for few classes that changed, where a copy sees N(v)."""
    return None if test.neighborhood == "all" else Changed(encoded, copies)


def everyone_step(encoded: Encoded, copies: Copies) -> Step:
    """A copy sees the multiset of the colors of its whole subgraph."""
    sizes = encoded.sizes[copies.graph]

    def step(colors: Colors, verify: bool) -> tuple[Colors, int]:
        finer = combine(colors, np.repeat(multisets(colors, copies.copy_ptr), sizes))
        return finer, _count(finer)

    return step


def neighbors_step(encoded: Encoded, copies: Copies) -> Step:
    """A copy sees the multiset of its neighbors' colors in its subgraph."""
    first_vertex = encoded.vertex_ptr[copies.graph]
    arc_edge = encoded.arc_edge if copies.edge_mode else np.empty(0, dtype=np.int32)
    arcs = (encoded.arc_ptr, encoded.arc_target, encoded.arc_code, arc_edge, copies.members)

    def step(colors: Colors, verify: bool) -> tuple[Colors, int]:
        where = (colors, copies.copy_ptr, first_vertex, *arcs, copies.edge_mode)
        return split_classes(
            colors,
            lambda places, salt: neighbor_kernels.neighbor_words(
                places, neighbor_kernels.color_words(colors, salt), *where, salt, relabel.HASH_MASK
            ),
            lambda places, ids, first: neighbor_kernels.neighbor_mismatches(
                ids, first, places, *where, encoded.max_degree
            ),
            verify,
        )

    return step


def refinement_step(encoded: Encoded) -> Step:
    """A round of 1-WL on the graphs themselves."""
    copies, _ = whole_graphs(encoded)
    neighbors = neighbors_step(encoded, copies)
    if encoded.arc_code.size:
        return neighbors
    degrees = np.diff(encoded.arc_ptr).astype(np.uint64)

    def step(colors: Colors, verify: bool) -> tuple[Colors, int]:
        if colors.any():
            return neighbors(colors, verify)
        # The first round on graphs without labels: all neighbors look alike, so their number decides.
        ids, first = relabel.relabel(degrees, colors)
        return ids, len(first)

    return step


def dss_step(encoded: Encoded, copies: Copies) -> Step:
    """DSS-WL (Bevilacqua et al. 2022): a copy also sees C(v) over all subgraphs, and its neighbors' C(u)."""
    within = neighbors_step(encoded, copies)
    across = refinement_step(encoded)
    vertex = vertex_of(encoded, copies)

    def step(colors: Colors, verify: bool) -> tuple[Colors, int]:
        shared, _ = across(per_vertex(encoded, copies, colors), verify)
        finer = combine(within(colors, verify)[0], shared[vertex])
        return finer, _count(finer)

    return step


def kernel_step(encoded: Encoded, copies: Copies, start: Colors) -> Step:
    """GNN-as-kernel: refine inside all ego-nets, color each vertex by its ego-net, start again with that.

    As in Zhao et al. (2022), a vertex keeps its color in its ego-net beside the multiset of the net's colors,
    so that repeating only refines.
    """
    center = copies.copy_ptr[:-1] + copies.members[:, 0]
    vertex = vertex_of(encoded, copies)
    local, changed = neighbors_step(encoded, copies), Changed(encoded, copies)

    def step(colors: Colors, verify: bool) -> tuple[Colors, int]:
        again = np.where(start >= 0, colors[vertex], -1).astype(np.int32)
        trail, *_ = iterate(again, local, None, False, None, None, changed)
        finer = combine(trail[-1][center], multisets(trail[-1], copies.copy_ptr))
        return finer, _count(finer)

    return step


def _count(colors: Colors) -> int:
    return int(colors.max(initial=-1)) + 1


def per_vertex(encoded: Encoded, copies: Copies, colors: Colors) -> Colors:
    """The multiset of colors of each vertex over the subgraphs that contain it."""
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
    changed: Changed | None = None,
) -> tuple[list[Colors], int, bool, bool]:
    """Refine until no class splits, ``rounds`` are over, or ``differ`` returns True.

    Where only the verdict counts, signatures are compared exactly in the last round only. Equal signatures
    have equal hashes, so the classes are never too fine, and they refine the first ones. A coloring that is
    too coarse, yet stable by exact comparison, would be coarser than the coarsest stable one.

    Where no history is asked for and few classes change, ``changed`` does the same rounds in less time.
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
        before, colors, count, done = colors, finer, finer_count, done + 1
        trail = [*trail, colors] if history else [colors]
        if progress is not None:
            progress(done, count)
        few = changed.start(before, colors, count) if changed is not None and not history else None
        while few is not None and not few.over and (rounds is None or done < rounds):
            done += few.run(None if rounds is None else rounds - done)
            colors, count = few.colors, few.count
            if progress is not None:
                progress(done, count)
            if differ is not None and differ(colors):
                break
        trail = trail if history else [colors]
        # Counts are compared exactly, but they begin with classes that may be too coarse for a verdict.
        if few is not None and few.stable and differ is None and (rounds is None or done < rounds):
            stable = True
            break
    return trail, done, stable, found
