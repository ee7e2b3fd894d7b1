"""What a test costs on some graphs, and work that does not fit into memory: rejected before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from osan import memory
from osan.graphs import Graph
from osan.wl.settings import WLTest

# Smaller values of k that a message suggests are searched for among these; k beyond them never fits.
_MAX_K = 64


def require_memory(test: WLTest, graphs: Sequence[Graph], limit: int | None) -> None:
    """Raise :class:`osan.errors.TooLarge`, with numbers, if the test needs more memory than allowed."""
    sizes, edges = [g.num_vertices for g in graphs], [g.num_edges for g in graphs]

    def needed_for(test: WLTest) -> int:
        return sum(test.builder.cost_on(test, graph).memory for graph in graphs)

    needed, allowed = needed_for(test), memory.allowance(limit)
    if needed <= allowed:
        return
    worst = sizes.index(max(sizes))
    n, m = sizes[worst], edges[worst]
    cost = test.builder.cost
    # The largest graph, equally dense and as often, that the limit admits.
    fitting = next(
        (
            size
            for size in range(n, 0, -max(1, n // 200))
            if len(sizes) * cost(test, size, m * size // n).memory <= allowed
        ),
        0,
    )
    smaller = next(
        (k for k in range(min(test.k - 1, _MAX_K), 0, -1) if needed_for(replace(test, k=k)) <= allowed), None
    )
    hint = f"n up to about {fitting} would fit" + (f", so would k = {smaller}" if smaller else "")
    what = f"{test} on {len(sizes)} graphs with up to n = {n} vertices (k = {test.k})"
    memory.require(needed, limit, what, hint)


def updates_per_round(test: WLTest, graphs: Sequence[Graph]) -> int:
    """How many colors, or pairs of a tuple and a vertex that replaces an entry, a round looks at."""
    return sum(test.builder.cost_on(test, graph).updates for graph in graphs)
